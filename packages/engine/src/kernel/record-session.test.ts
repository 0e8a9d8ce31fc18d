import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { Duplex } from 'node:stream'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { tapeErrors } from '@retake/tape/format'
import { openTape, TapeWriter } from '@retake/tape/node'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { install, uninstall } from '../boundaries/install.js'
import { insideRun } from './scope.js'
import { recordingPorts } from '../session-ports.js'
import type { EventWriter } from './background-writer.js'
import { RecordSession } from './record-session.js'
import { type Action, EMPTY, type Operation } from './session.js'

beforeAll(() => install())
afterAll(uninstall)

function openSession(through = (writer: TapeWriter): EventWriter => writer): {
  session: RecordSession
  writer: TapeWriter
} {
  const folder = mkdtempSync(join(tmpdir(), 'retake-session-'))
  const run = { type: 'run', id: 'r', name: 'r', startedAt: 0, scope: 'function' } as const
  const path = join(folder, 'run.tape')
  const writer = TapeWriter.create(path, { ...run, node: process.version }, {})
  const session = new RecordSession(through(writer), recordingPorts())
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

test('what an unfinished request could depend on is on disk before its head leaves', async () => {
  const { session, writer } = openSession()
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const arrived = once(server, 'connection').then(([socket]) => once(socket as Duplex, 'data'))
  const syncs = await insideRun(session, async () => {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    const before = writer.syncs
    socket.write(`POST /${Math.random()} HTTP/1.1\r\ncontent-length: 9\r\n\r\n`)
    await arrived
    socket.destroy()
    return writer.syncs - before
  })
  server.close()
  expect(syncs).toBe(1)
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

describe('a disk that becomes full while a run is recorded', () => {
  /** A session whose writer fails from the moment `fill` is called; syncs end with `endSync`. */
  const openOnSmallDisk = () => {
    let failure: Error | undefined
    let endSync = (): void => {}
    const fails = <A extends unknown[], R>(write: (...args: A) => R) => {
      return (...args: A): R => {
        if (failure !== undefined) throw failure
        return write(...args)
      }
    }
    const { session, writer } = openSession((whole) => ({
      path: whole.path,
      isAlone: false,
      append: fails((...args) => whole.append(...args)),
      buffer: fails((...args) => whole.buffer(...args)),
      flush: fails(() => whole.flush()),
      barrier: fails(() => whole.barrier()),
      whenDurable: fails((then) => (endSync = () => then(failure))),
      seal: fails((options) => whole.seal(options)),
      sealLater: fails((options, then) => whole.sealLater(options, then)),
      close: () => whole.close(),
    }))
    const got: string[] = []
    /** Starts a call whose parts the agent gets; its real answer comes when the test reports it. */
    const perform = (action: Pick<Action, 'event' | 'durable'>): Operation => {
      const operation = session.perform({
        ...action,
        start: () => {},
        deliver: ({ event, body }) => {
          const error = 'error' in event ? event.error?.code : undefined
          const part = event.type === 'deliver' ? event.part : event.type
          got.push([action.event.type, part, error ?? Buffer.from(body)].join(' ').trim())
        },
      })
      return operation
    }
    const fill = (): void => {
      failure = tapeErrors.TAPE_WRITE_FAILED(writer.path, new Error('ENOSPC'))
    }
    return { session, writer, got, perform, fill, endSync: () => endSync() }
  }
  const tool = { type: 'call', kind: 'tool', name: 'pay' } as const
  const read = { type: 'call', kind: 'file', name: 'fs.readFile' } as const
  const timer = { type: 'timer', kind: 'timeout', ms: 1 } as const
  const stream = { type: 'call', kind: 'process', name: 'spawn' } as const
  const turns = (): Promise<void> => sleep(20)

  test('reaches the agent as the error of the call that was being answered', async () => {
    const { perform, fill, got, writer } = openOnSmallDisk()
    const operations = [read, stream].map((event) => perform({ event }))
    fill()
    operations[0]?.complete({ type: 'result' }, Buffer.from('content'))
    operations[1]?.complete({ type: 'deliver', part: 'chunk', pipe: 1 }, Buffer.from('line'))
    await turns()
    expect(got).toEqual(['call result TAPE_WRITE_FAILED', 'call error TAPE_WRITE_FAILED'])
    expect(openTape(writer.path)).toMatchObject({ count: 3, tornBytes: 0 })
  })

  test('does not stop timers, which have no error to report', async () => {
    const { session, perform, fill, got } = openOnSmallDisk()
    const operation = perform({ event: timer })
    fill()
    operation.complete({ type: 'deliver', part: 'fire' })
    await turns()
    expect(got).toEqual(['timer fire'])
    expect(() => session.draw('Date.now', () => 1)).toThrow(
      expect.objectContaining({ code: 'TAPE_WRITE_FAILED' }),
    )
  })

  test('lets nothing leave the process any more', () => {
    const { session, fill } = openOnSmallDisk()
    fill()
    const send = (): Operation =>
      session.perform({
        event: tool,
        durable: true,
        start: () => sent.push('x'),
        deliver: () => {},
      })
    const sent: string[] = []
    expect(send).toThrow(expect.objectContaining({ code: 'TAPE_WRITE_FAILED' }))
    expect(sent).toEqual([])
  })

  test('fails a connection instead of sending a part of a request', async () => {
    const { session, fill } = openOnSmallDisk()
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const sent = once(server, 'connection').then(([socket]) => once(socket as Duplex, 'data'))
    const outcome = await insideRun(session, async () => {
      const socket = connect(port, '127.0.0.1')
      await once(socket, 'connect')
      socket.write('POST / HTTP/1.1\r\ncontent-length: 9\r\n\r\n')
      fill()
      return Promise.race([once(socket, 'error'), sent])
    })
    server.close()
    expect(outcome).toEqual([expect.objectContaining({ code: 'TAPE_WRITE_FAILED' })])
  })

  test('does not leave later answers waiting behind a result that cannot be synced', async () => {
    const { perform, fill, got, endSync } = openOnSmallDisk()
    const paying = perform({ event: tool, durable: 'deferrable' })
    const reading = perform({ event: read })
    paying.complete({ type: 'result' }, EMPTY)
    await turns()
    reading.complete({ type: 'result' }, EMPTY)
    await turns()
    expect(got).toEqual([])
    fill()
    endSync()
    await turns()
    expect(got).toEqual(['call result TAPE_WRITE_FAILED', 'call result TAPE_WRITE_FAILED'])
  })
})
