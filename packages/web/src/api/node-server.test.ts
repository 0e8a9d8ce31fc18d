import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { queryObjects } from 'node:v8'
import { expect, onTestFinished, test } from 'vitest'
import { createNodeServer } from './node-server.js'

/** A server with one stream, and the answer that a client reads. */
async function openStream(type: string) {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  let cancel = (): void => {}
  const canceled = new Promise<void>((resolve) => (cancel = resolve))
  const body = new ReadableStream<Uint8Array>({
    start: (own) => void (controller = own),
    cancel: () => cancel(),
  })
  const headers = new Headers({ 'content-type': type })
  headers.append('set-cookie', 'a=1')
  headers.append('set-cookie', 'b=2')
  const server = createNodeServer(() => new Response(body, { status: 202, headers }), 'localhost')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  await once(server.listen(0), 'listening')
  const request = get(`http://localhost:${(server.address() as AddressInfo).port}`)
  const [answer] = (await once(request, 'response')) as [IncomingMessage]
  const send = (text: string): void => controller?.enqueue(Buffer.from(text))
  return { answer, send, controller: controller as NonNullable<typeof controller>, canceled }
}

const TYPES = ['text/event-stream; charset=utf-8', 'application/x-ndjson; charset=utf-8']

test.each(TYPES)('a lasting stream (%s) retains nothing of what it has sent', async (type) => {
  const { answer, send } = await openStream(type)
  answer.resume()
  const sendMany = async (): Promise<number> => {
    for (let count = 0; count < 2000; count++) {
      send('.')
      await turn()
    }
    return queryObjects(Promise, { format: 'count' })
  }
  await sendMany()
  const before = await sendMany()
  expect((await sendMany()) - before).toBeLessThan(500)
})

test('a lasting stream has the status, headers and chunks of its response', async () => {
  const { answer, send, controller } = await openStream('text/event-stream')
  send('data: 1\n\n')
  const [first] = (await once(answer, 'data')) as [Buffer]
  expect(first.toString()).toBe('data: 1\n\n')
  expect(answer.statusCode).toBe(202)
  expect(answer.headers).toMatchObject({
    'content-type': 'text/event-stream',
    'set-cookie': ['a=1', 'b=2'],
  })
  controller.close()
  answer.resume()
  await once(answer, 'end')
})

test('a client that leaves cancels the stream', async () => {
  const { answer, canceled } = await openStream('text/event-stream')
  answer.destroy()
  await expect(canceled).resolves.toBe(undefined)
})

test('a stream that fails breaks off the connection', async () => {
  const { answer, controller } = await openStream('text/event-stream')
  controller.error(new Error('too slow'))
  await expect(once(answer.resume(), 'end')).rejects.toThrow('aborted')
})
