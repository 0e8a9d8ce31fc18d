import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TapeWriter } from '@retake/tape/node'
import { expect, onTestFinished, test } from 'vitest'
import { RecordSession } from './record-session.js'
import type { Operation } from './session.js'

function openSession(): { session: RecordSession; writer: TapeWriter; child: Operation } {
  const folder = mkdtempSync(join(tmpdir(), 'retake-session-'))
  const run = { type: 'run', id: 'r', name: 'r', startedAt: 0, scope: 'function' } as const
  const path = join(folder, 'run.tape')
  const writer = TapeWriter.create(path, { ...run, node: process.version, flags: [] }, {})
  const session = new RecordSession(writer)
  onTestFinished(() => {
    session.close()
    writer.close()
    rmSync(folder, { recursive: true })
  })
  const event = { type: 'call', kind: 'process', name: 'spawn' } as const
  const child = session.perform({ event, start: () => {}, deliver: () => {} })
  return { session, writer, child }
}

const syncsOf = (text: string): number[] => {
  const { session, writer, child } = openSession()
  return [1, 2, 3].map(() => {
    session.write(child, Buffer.from(text))
    return writer.syncs
  })
}

test('each request to a server on a pipe is on disk before it leaves', () => {
  const [first = 0, ...more] = syncsOf('{"jsonrpc":"2.0","id":7,"method":"tools/call"}\n')
  expect(more).toEqual([first + 1, first + 2])
})

test('what is only piped into a child waits for the disk once', () => {
  const [first, ...more] = syncsOf('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
  expect(more).toEqual([first, first])
})
