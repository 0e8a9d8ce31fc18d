import { Hono } from 'hono'
import { expect, test } from 'vitest'
import { answerStream } from './responses.js'

/** A stream, and what its server does with it. */
async function opened() {
  const server = { send: (_text: string): void => {}, end: (): void => {}, watchers: 0 }
  const app = new Hono().get('/', (c) =>
    answerStream(c, {
      type: 'text/event-stream',
      first: 'first ',
      alive: 'alive ',
      watch: (send, end) => {
        Object.assign(server, { send, end, watchers: 1 })
        return () => (server.watchers -= 1)
      },
    }),
  )
  return { server, response: await app.request('/') }
}

test('a stream has its first text and all that follow, and ends with the last', async () => {
  const { server, response } = await opened()
  server.send('second ')
  server.end()
  server.end()
  server.send('late ')
  expect(await response.text()).toBe('first second ')
  expect(server.watchers).toBe(0)
})

test('a reader that leaves ends the watch, and later texts are ignored', async () => {
  const { server, response } = await opened()
  await response.body?.cancel()
  expect(server.watchers).toBe(0)
  server.send('late ')
  server.end()
})

test('a reader that does not read is disconnected', async () => {
  const { server, response } = await opened()
  for (let count = 0; count < 2000; count++) server.send('change ')
  expect(server.watchers).toBe(0)
  await expect(response.text()).rejects.toThrow('too slow')
})
