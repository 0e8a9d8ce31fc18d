import dgram from 'node:dgram'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { guard } from 'retake'
import { expect, onTestFinished, test } from 'vitest'

/** Counts the messages that arrive at another address of this machine. */
async function listen(): Promise<{ port: number; count: () => number }> {
  const socket = dgram.createSocket('udp4')
  let count = 0
  socket.on('message', () => (count += 1))
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.2', resolve))
  onTestFinished(() => void socket.close())
  return { port: socket.address().port, count: () => count }
}

type Send = (socket: dgram.Socket, port: number, done: (error: unknown) => void) => void

const forms: Readonly<Record<string, Send>> = {
  'port, address': (socket, port, done) => socket.send('x', port, '127.0.0.2', done),
  'undefined at the end': (socket, port, done) => {
    // oxlint-disable-next-line typescript/unbound-method -- called with the socket below
    const send = socket.send as (...args: unknown[]) => void
    send.call(socket, 'x', port, '127.0.0.2', undefined)
    done(undefined)
  },
  'offset, length': (socket, port, done) => socket.send('x', 0, 1, port, '127.0.0.2', done),
  connected: (socket, port, done) =>
    socket.connect(port, '127.0.0.2', ((error?: Error) =>
      error ? done(error) : socket.send('x', done)) as () => void),
}

test.each(Object.entries(forms))(
  'every port of one address allows no other address: %s',
  async (_, send) => {
    const { port, count } = await listen()
    const dir = mkdtempSync(join(tmpdir(), 'retake-datagrams-'))
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
    const tryWith = async (address: string) => {
      const policy = { name: 'local', network: { allow: [], addresses: [address] } }
      const run = guard({ name: 'datagrams', dir, policy, durability: 'memory' })
      run.tool(
        'send',
        () =>
          new Promise<void>((resolve, reject) => {
            const socket = dgram.createSocket('udp4').once('error', reject)
            send(socket, port, (error) => (error ? reject(error as Error) : resolve()))
          }),
      )
      const { status } = await run.call('send', {})
      run.end()
      return status
    }
    expect(await tryWith('127.0.0.1')).toBe('denied')
    expect(await tryWith('127.0.0.2')).toBe('done')
    // Datagrams on the loopback keep their order: one that was denied would have come before.
    await expect.poll(count).toBe(1)
  },
)
