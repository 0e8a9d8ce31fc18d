import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { createServer as createRawServer, type AddressInfo } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import type { EditedDelivery } from '@retake/tape'

/** A server that gives one answer to everything, without knowing what it says. */
export interface Served {
  readonly url: string
  readonly close: () => Promise<void>
}

/** Serves deliveries of `fetch` or HTTP/2, every chunk as one write. */
export async function serveDeliveries(deliveries: readonly EditedDelivery[]): Promise<Served> {
  const server = createServer((request, response) => {
    const send = async (): Promise<void> => {
      for await (const _ of request) continue
      for (const { event, body } of deliveries) {
        if (event.type === 'response') {
          response.writeHead(event.status, event.statusText, event.headers.flat())
          response.flushHeaders()
        } else if (event.type === 'deliver' && event.part === 'chunk') response.write(body)
        await turn()
      }
      response.end()
    }
    send().catch(() => response.destroy())
  })
  return listen(server)
}

/** Serves the raw bytes of deliveries on a socket; the client must find the end of the answer itself. */
export async function serveBytes(deliveries: readonly EditedDelivery[]): Promise<Served> {
  const server = createRawServer((socket) => {
    socket.on('error', () => {})
    let request = ''
    socket.on('data', (data) => {
      request += data.toString('latin1')
      const [head = '', body] = request.split('\r\n\r\n', 2)
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
      if (body === undefined || body.length < length) return
      request = ''
      const send = async (): Promise<void> => {
        for (const delivery of deliveries) {
          socket.write(delivery.body)
          await turn()
        }
      }
      void send()
    })
  })
  return listen(server)
}

async function listen(server: Server | ReturnType<typeof createRawServer>): Promise<Served> {
  const sockets = new Set<{ destroy(): void }>()
  server.on('connection', (socket) => sockets.add(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}
