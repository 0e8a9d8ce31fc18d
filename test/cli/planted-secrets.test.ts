import { once } from 'node:events'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createSocketServer } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { openTape } from '@retake/tape/node'
import { expect, onTestFinished, test } from 'vitest'
import { plantedSecrets, secretsFoundIn, variablesOf } from '../support/planted-secrets.mjs'
import { blocksOf } from '../support/report-blocks.js'
import { agentPath } from '../support/run-retake.mjs'
import { folderWith, tapesOf } from './workspace.js'

const planted = plantedSecrets()

/** Answers with planted secrets: whole, in two chunks, packed, and as a model streams them. */
async function startServer(): Promise<string> {
  const server = createServer((request, response) => {
    const [, form, id = ''] = /^\/(\w+)(?:\/(\d+))?/.exec(request.url ?? '') ?? []
    request.resume().on('end', () => {
      const { text = 'none', value = '' } = planted[Number(id)] ?? {}
      const isPlanted = id !== ''
      if (form === 'gzip') {
        const filler = 'some words '.repeat(20)
        response.setHeader('content-encoding', 'gzip')
        response.end(gzipSync(isPlanted ? `${filler}${text}` : ''))
      } else if (form === 'cut') {
        const cut = Math.max(0, text.indexOf(value.slice(0, 8))) + 5
        response.write(text.slice(0, cut))
        setTimeout(() => response.end(text.slice(cut)), 5)
      } else if (form === 'stream') {
        response.setHeader('content-type', 'text/event-stream')
        const pieces = text.match(/[^"\\]{1,5}|["\\]/g) ?? []
        const events = pieces.map(
          (content) => `data: ${JSON.stringify({ delta: { content } })}\n\n`,
        )
        for (const event of events) response.write(event)
        response.end()
      } else response.end(isPlanted && form === 'text' ? text : 'fine')
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Speaks no protocol that Retake knows. */
async function startRowServer(): Promise<string> {
  const server = createSocketServer((socket) => {
    socket.once('data', (asked) => {
      const id = Number(/\d+/.exec(asked.toString())?.[0])
      socket.end(`\0\u0001${planted[id]?.text}\0`)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return String((server.address() as AddressInfo).port)
}

async function recordPlanted(env: Readonly<Record<string, string>> = {}) {
  const url = await startServer()
  const port = await startRowServer()
  const workspace = await folderWith({ 'package.json': '{}' })
  const { folder, retake } = workspace
  await mkdir(join(folder, 'data'))
  for (const { id, place, text } of planted)
    if (place === 'file read' || place === 'child output')
      await writeFile(join(folder, 'data', `${id}.txt`), text)
  const variables = variablesOf(planted)
  const recorded = await retake(['record', agentPath('planted-secrets.mjs'), url, port, 'data'], {
    env: { ...variables, ...env },
  })
  expect(recorded.code, recorded.stderr.slice(-2000)).toBe(0)
  const [tape = ''] = await tapesOf(workspace)
  return { workspace, variables, recorded, tape }
}

/** Everything on a tape, with streams put together, also as their texts read. */
function contentOf(file: string): Buffer[] {
  const tape = openTape(file)
  const parts: Buffer[] = [Buffer.from(JSON.stringify(tape.details))]
  const streams = new Map<string, Buffer[]>()
  for (const event of tape.events()) {
    const body = Buffer.from(tape.body(event.seq))
    parts.push(Buffer.from(JSON.stringify(event)), body, ...wireBytes(body))
    if (event.type !== 'deliver') continue
    const stream = streams.get(`${event.op} ${event.pipe}`) ?? []
    stream.push(body)
    streams.set(`${event.op} ${event.pipe}`, stream)
  }
  for (const stream of streams.values()) {
    const whole = Buffer.concat(stream)
    const said = [...whole.toString().matchAll(/"content":"((?:[^"\\]|\\.)*)"/g)]
    parts.push(whole, Buffer.from(said.map(([, text]) => text).join('')))
  }
  return parts
}

/** Bytes that are inside a value on the tape. */
const wireBytes = (body: Buffer): Buffer[] =>
  [...body.toString().matchAll(/"v":"([A-Za-z0-9+/]+=*)"/g)].map(([, base64 = '']) =>
    Buffer.from(base64, 'base64'),
  )

function* filesIn(folder: string): Generator<string> {
  for (const name of readdirSync(folder)) {
    const file = join(folder, name)
    if (statSync(file).isDirectory()) yield* filesIn(file)
    else yield file
  }
}

const named = (found: readonly { kind: string; place: string; encoding: string }[]): string[] =>
  found.map(({ kind, place, encoding }) => `${kind}, ${place}, ${encoding}`)

test('none of hundreds of planted secrets is in any written file, and the run replays', async () => {
  expect(planted.length).toBeGreaterThanOrEqual(300)
  const { workspace, variables, recorded, tape } = await recordPlanted()
  const { folder, retake } = workspace
  expect(named(secretsFoundIn(contentOf(tape), planted))).toEqual([])

  const replayed = await retake(['replay', 'last'])
  expect(replayed.code, replayed.stderr.slice(-3000)).toBe(0)
  const withSecrets = await retake(['replay', 'last'], { env: variables })
  expect(withSecrets.code, withSecrets.stderr.slice(-3000)).toBe(0)
  expect(withSecrets.stdout.length).toBe(recorded.stdout.length)

  const report = await retake(['report', 'last', '-o', 'report.html'])
  expect(report.code, report.stderr).toBe(0)
  const shown = [Buffer.from(report.stdout + report.stderr)]
  for (const block of blocksOf(join(folder, 'report.html')).values()) shown.push(Buffer.from(block))
  for (const args of [
    ['show', 'last'],
    ['show', 'last', '--json'],
    ['export', 'last', '--jsonl'],
    ['scrub', '--check', 'last', '--json'],
    ['list', '--json'],
  ]) {
    const { stdout, stderr, code } = await retake(args, { env: variables })
    expect(code, `${args.join(' ')}: ${stderr.slice(-2000)} ${stdout.slice(0, 2000)}`).toBe(0)
    shown.push(Buffer.from(stdout + stderr))
  }
  for (const file of filesIn(join(folder, '.retake'))) shown.push(readFileSync(file))
  expect(named(secretsFoundIn(shown, planted))).toEqual([])
})

test('without the redactor, every planted secret is found', async () => {
  const { tape } = await recordPlanted({ WITHOUT_REDACTOR: '1' })
  const found = new Set(secretsFoundIn(contentOf(tape), planted).map(({ id }) => id))
  expect(named(planted.filter(({ id }) => !found.has(id)))).toEqual([])
})
