import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { Duplex } from 'node:stream'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TapeWriter } from '@retake/tape/node'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { install, uninstall } from '../boundaries/install.js'
import { insideRun } from './scope.js'
import { recordingPorts } from '../session-ports.js'
import { RecordSession } from './record-session.js'

beforeAll(() => install())
afterAll(uninstall)

function openSession(): {
  session: RecordSession
  writer: TapeWriter
} {
  const folder = mkdtempSync(join(tmpdir(), 'retake-session-'))
  const run = { type: 'run', id: 'r', name: 'r', startedAt: 0, scope: 'function' } as const
  const path = join(folder, 'run.tape')
  const writer = TapeWriter.create(path, { ...run, node: process.version }, {})
  const session = new RecordSession(writer, recordingPorts())
  onTestFinished(() => {
    session.close()
    writer.close()
    rmSync(folder, { recursive: true })
  })
  return { session, writer }
}

/** Number of syncs of the tape after each of three writes to a real child. */
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

test('data piped into a child waits for the disk once', async () => {
  const text = '{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
  const [first, ...more] = await syncsOf(text)
  expect(more).toEqual([first, first])
})

test('processes take numbers as arguments, as in Node', async () => {
  const { session } = openSession()
  const args = ['-p', 'process.argv[1]', 7] as string[]
  await insideRun(session, async () => {
    expect(spawnSync(process.execPath, args).stdout.toString()).toBe('7\n')
    const child = spawn(process.execPath, args)
    expect(`${(await once(child.stdout, 'data'))[0]}`).toBe('7\n')
    await once(child, 'close')
  })
})

test('stdin of a child has the methods of a stream that can be read, as in Node', async () => {
  const { session } = openSession()
  await insideRun(session, async () => {
    const child = spawn(process.execPath, ['-e', 'process.stdin.pipe(process.stdout)'])
    const stdin = child.stdin as Duplex
    expect(stdin.setEncoding('utf8').readable).toBe(false)
    const closed = Promise.all([once(stdin, 'close'), once(child, 'close')])
    stdin.end('text')
    expect(`${(await once(child.stdout, 'data'))[0]}`).toBe('text')
    await closed
  })
})

test('what a write to a connection could depend on is on disk before it leaves', async () => {
  const { session, writer } = openSession()
  const server = createServer((socket) => socket.pipe(socket)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const syncs = await insideRun(session, async () => {
    const socket = connect(port, '127.0.0.1')
    const before = writer.syncs
    const counts: number[] = []
    for (const command of ['SET a 1\r\n', 'GET a\r\n', 'QUIT\r\n']) {
      socket.write(command)
      await once(socket, 'data')
      counts.push(writer.syncs - before)
    }
    socket.destroy()
    return counts
  })
  server.close()
  expect(syncs).toEqual([1, 2, 3])
})

/**
 * Delivers the parts of a whole answer. Reports which of them are in the file, and in which turn
 * each reaches the agent.
 */
async function deliverWhole() {
  const { session, writer } = openSession()
  const delivered: { readonly written: number; readonly joined: number }[] = []
  const turns = new Set<number>()
  let turn = 0
  await new Promise<void>((resolve) => {
    session.perform({
      event: { type: 'request', seam: 'fetch', method: 'GET', url: 'http://x/', headers: [] },
      joins: true,
      start: (operation) => {
        operation.complete({ type: 'response', status: 200, statusText: '', headers: [] })
        operation.complete({ type: 'deliver', part: 'chunk' }, Buffer.from('text'))
        operation.complete({ type: 'deliver', part: 'end' })
      },
      deliver: ({ event }) => {
        const text = readFileSync(writer.path, 'utf8')
        const count = (pattern: RegExp): number => text.match(pattern)?.length ?? 0
        delivered.push({ written: count(/"op":1/g), joined: count(/"joined":true/g) })
        turns.add(turn)
        setImmediate(() => (turn += 1))
        if (event.type === 'deliver' && event.part === 'end') resolve()
      },
    })
  })
  return { delivered, turns: turns.size }
}

test('parts of an answer that arrived together share a turn, and are written before it', async () => {
  const whole = { written: 3, joined: 2 }
  expect(await deliverWhole()).toEqual({ delivered: [whole, whole, whole], turns: 1 })
})
