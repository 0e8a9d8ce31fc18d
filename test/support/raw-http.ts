import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** A server that answers every connection with what `answer` does to its socket, byte by byte. */
export async function rawServer(
  answer: (socket: Socket, head: string, connection: number) => unknown,
): Promise<string> {
  let connections = 0
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    const connection = connections++
    open.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => open.delete(socket))
    socket.once('data', (head: Buffer) => answer(socket, head.toString('latin1'), connection))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    for (const socket of open) socket.destroy()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

export interface RawAnswer {
  /** Everything that came, as latin1. */
  readonly text: string
  /** How the connection ended. */
  readonly end: 'closed' | 'reset' | 'left'
}

/** Sends bytes as they are and collects what comes back, until the connection ends or `leaveAfter` came. */
export function rawRequest(
  url: string,
  bytes: string | Buffer,
  leaveAfter?: string,
): Promise<RawAnswer> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => socket.write(bytes))
    let text = ''
    const done = (end: RawAnswer['end']) => {
      socket.destroy()
      resolve({ text, end })
    }
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1')
      if (leaveAfter !== undefined && text.includes(leaveAfter)) done('left')
    })
    socket.on('end', () => done('closed'))
    socket.on('error', () => done('reset'))
    socket.on('close', () => done('closed'))
  })
}
