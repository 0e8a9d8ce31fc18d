import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  brotliCompressSync,
  deflateRawSync,
  deflateSync,
  gzipSync,
  type InputType,
} from 'node:zlib'
import { looseTape, TapeWriter } from '@retake/tape/node'
import { expect, test } from 'vitest'
import type { StepDetail } from '../../model/run-source.js'
import { openReport } from './open-report.js'

const TEXT = JSON.stringify({ said: 'hello '.repeat(50) })

/** A report of a run with one answer that was recorded as it came over the wire. */
async function stepWith(coding: string, body: Buffer) {
  const folder = mkdtempSync(join(tmpdir(), 'retake-test-'))
  const path = join(folder, 'r.tape')
  const run = {
    id: 'r',
    name: 'r',
    startedAt: 0,
    scope: 'process',
    node: 'v20',
  } as const
  const writer = TapeWriter.create(path, { type: 'run', ...run }, {})
  const socket = writer.append({ type: 'socket', kind: 'tcp', host: 'h', port: 80 })
  writer.append({
    type: 'request',
    seam: 'http',
    method: 'GET',
    url: 'http://h/',
    headers: [],
    socket,
  })
  const head = `HTTP/1.1 200 OK\r\ncontent-encoding: ${coding}\r\ncontent-length: ${body.length}\r\n\r\n`
  writer.append(
    { type: 'deliver', op: socket, part: 'chunk' },
    Buffer.concat([Buffer.from(head), body]),
  )
  writer.append({ type: 'deliver', op: socket, part: 'end' })
  writer.seal()
  const block = (data: InputType): string => deflateRawSync(data).toString('base64')
  const parts = {
    status: 'done',
    redacted: false,
    tornBytes: 0,
    prices: {},
    states: [],
    sources: {},
  }
  const data = { run: 'r', tapes: [block(looseTape(path))], parts: block(JSON.stringify(parts)) }
  rmSync(folder, { recursive: true })
  const answers = await openReport(data)
  const [step] = answers({ method: 'step', args: ['1'] })
  const [bytes] = answers({ method: 'body', args: ['1', 'response'] })
  return { response: (step as StepDetail).response, bytes: Buffer.from(bytes as Uint8Array) }
}

test.each([
  ['gzip', gzipSync(TEXT)],
  ['deflate', deflateSync(TEXT)],
])('an answer recorded as %s is shown decoded', async (coding, body) => {
  const { response, bytes } = await stepWith(coding, body)
  expect(response?.undecoded).toBeUndefined()
  expect(String(bytes)).toBe(TEXT)
})

test.each([
  ['br', brotliCompressSync(TEXT)],
  ['deflate', deflateRawSync(TEXT)],
  ['gzip', Buffer.from('no gzip at all')],
])(
  'an answer in %s that cannot be decoded says so, and its bytes are available',
  async (coding, body) => {
    const { response, bytes } = await stepWith(coding, body)
    expect(response?.undecoded).toBe(coding)
    expect(bytes.equals(body)).toBe(true)
  },
)
