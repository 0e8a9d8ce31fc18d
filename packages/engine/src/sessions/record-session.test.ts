import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TapeWriter } from '@retake/tape/node'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { install, uninstall } from '../boundaries/install.js'
import { insideRun } from '../scope.js'
import { RecordSession } from './record-session.js'

beforeAll(() => install())
afterAll(uninstall)

function openSession(): { session: RecordSession; writer: TapeWriter } {
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
  return { session, writer }
}

/** How often the tape was synced after each of three writes to a real child. */
const syncsOf = (text: string): Promise<number[]> => {
  const { session, writer } = openSession()
  return insideRun(session, async () => {
    const child = spawn(process.execPath, ['-e', 'process.stdin.resume()'])
    const syncs = [1, 2, 3].map(() => {
      child.stdin.write(text)
      return writer.syncs
    })
    child.stdin.end()
    await once(child, 'exit')
    return syncs
  })
}

test('each request to a server on a pipe is on disk before it leaves', async () => {
  const [first = 0, ...more] = await syncsOf('{"jsonrpc":"2.0","id":7,"method":"tools/call"}\n')
  expect(more).toEqual([first + 1, first + 2])
})

test('what is only piped into a child waits for the disk once', async () => {
  const text = '{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
  const [first, ...more] = await syncsOf(text)
  expect(more).toEqual([first, first])
})
