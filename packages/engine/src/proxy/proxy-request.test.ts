import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ClientProcess } from './client-process.js'
import { RequestQueue } from './proxy-request.js'

test.skipIf(process.platform !== 'linux')(
  'simultaneous requests are forwarded in the order of their connections, however they arrive',
  async () => {
    // A client that always waits, and so has sent everything.
    const child = spawn('sleep', ['600'])
    onTestFinished(() => void child.kill())
    const client = new ClientProcess()
    client.started(child.pid, 1)
    const queue = new RequestQueue(client)
    const order: string[] = []
    const folder = mkdtempSync(join(tmpdir(), 'retake-test-'))
    const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      await queue.collect(request)
      order.push(request.url ?? '')
      response.end()
    }
    const server = createServer((request, response) => void answer(request, response))
    await new Promise<void>((resolve) => server.listen(join(folder, 'socket'), resolve))
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
      rmSync(folder, { recursive: true })
    })
    const [first, second] = await Promise.all(
      [0, 1].map(async () => {
        const socket = connect(join(folder, 'socket'))
        await once(socket, 'connect')
        return socket
      }),
    )
    const head = (path: string): string =>
      `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\n`
    first?.write(head('/first'))
    await once(server, 'request')
    // By now, the kernel no longer reports unread bytes on the first connection.
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve))
    second?.write(`${head('/second')}body`)
    first?.write('body')
    const heldUpUntil = performance.now() + 100
    while (performance.now() < heldUpUntil);
    await Promise.all([first, second].map(async (socket) => socket && once(socket, 'data')))
    expect(order).toEqual(['/first', '/second'])
    // A client that first has to close an expired connection sends the head of its first request
    // late.
    second?.write(`${head('/fourth')}body`)
    first?.write(`${head('/third')}body`)
    await Promise.all([first, second].map(async (socket) => socket && once(socket, 'data')))
    expect(order.slice(2)).toEqual(['/third', '/fourth'])
  },
)

test.skipIf(process.platform !== 'linux')(
  'a client is waited for until it waits, however little of the processor it gets',
  async () => {
    const child = spawn(process.execPath, [
      '-e',
      `process.stdin.on('data', () => {
        const { user, system } = process.cpuUsage()
        for (let now = { user, system }; now.user + now.system < user + system + 600_000; )
          now = process.cpuUsage()
        process.stdout.write('done')
      })
      process.stdout.write('ready')`,
    ])
    onTestFinished(() => void child.kill())
    await once(child.stdout, 'data')
    const client = new ClientProcess()
    client.started(child.pid, 1)
    await client.settled()
    let isDone = false
    child.stdout.on('data', () => (isDone = true))
    child.stdin.write('compute')
    await client.settled()
    expect(isDone).toBe(true)
  },
)
