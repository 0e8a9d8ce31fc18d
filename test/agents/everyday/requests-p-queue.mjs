// One queue for all requests, which limits how many model calls are made at a time.
import 'retake'
import { once } from 'node:events'
import { createServer } from 'node:http'
import queues from 'p-queue'
import { ask } from './model.mjs'
import { handled, main } from './requests.mjs'

// Version 6, which LangChain uses, is a CommonJS module.
const queue = new queues.default({ concurrency: 2 })

const agent = async (question) => {
  const parts = ['a', 'b', 'c'].map((part) => queue.add(() => ask(`${question} ${part}`)))
  return `${(await Promise.all(parts)).join(' ')} ${Math.random()}`
}

await main(agent, async () => {
  const server = createServer(async (request, response) => {
    response.end(await handled(agent, new URL(request.url, 'http://host').searchParams.get('q')))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() }
})
