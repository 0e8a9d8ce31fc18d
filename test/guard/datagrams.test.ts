import dgram from 'node:dgram'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { guard } from 'retake'
import { expect, onTestFinished, test } from 'vitest'

/** A socket at another address of this machine. */
async function listen(): Promise<dgram.Socket> {
  const socket = dgram.createSocket('udp4')
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.2', resolve))
  onTestFinished(() => void socket.close())
  return socket
}

type Send = (socket: dgram.Socket, port: number, done: (error: unknown) => void) => void

const forms: Readonly<Record<string, Send>> = {
  'port, address': (socket, port, done) => socket.send('x', port, '127.0.0.2', done),
  'undefined at the end': (socket, port) =>
    (socket.send as (...args: unknown[]) => void)('x', port, '127.0.0.2', undefined),
  'offset, length': (socket, port, done) => socket.send('x', 0, 1, port, '127.0.0.2', done),
  connected: (socket, port, done) =>
    socket.connect(port, '127.0.0.2', ((error?: Error) =>
      error ? done(error) : socket.send('x', done)) as () => void),
}

test.each(Object.entries(forms))(
  'every port of one address allows no other address: %s',
  async (_, send) => {
    const listening = await listen()
    const dir = mkdtempSync(join(tmpdir(), 'retake-datagrams-'))
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
    const tryWith = async (address: string): Promise<string> => {
      const policy = { name: 'local', network: { allow: [], addresses: [address] } }
      const run = guard({ name: 'datagrams', dir, policy, durability: 'process' })
      // Ends when the message has arrived, or could not be sent.
      run.tool(
        'send',
        () =>
          new Promise<void>((resolve, reject) => {
            const socket = dgram.createSocket('udp4').once('error', reject)
            void once(listening, 'message').then(() => resolve())
            send(socket, listening.address().port, (error) => error && reject(error as Error))
          }),
      )
      const { status } = await run.call('send', {})
      run.end()
      return status
    }
    expect(await tryWith('127.0.0.1')).toBe('denied')
    expect(await tryWith('127.0.0.2')).toBe('done')
  },
)
