// One limiter for all requests, which limits how many model calls are made at a time.
import 'retake'
import { once } from 'node:events'
import { createServer } from 'node:http'
import Bottleneck from 'bottleneck'
import { ask } from './model.mjs'
import { handled, main } from './requests.mjs'

const limiter = new Bottleneck({ maxConcurrent: 2, minTime: 5 })

const agent = async (question) => {
  const parts = ['a', 'b', 'c'].map((part) => limiter.schedule(() => ask(`${question} ${part}`)))
  return `${(await Promise.all(parts)).join(' ')} ${Math.random()}`
}

await main(agent, async () => {
  const server = createServer(async (request, response) => {
    response.end(await handled(agent, new URL(request.url, 'http://host').searchParams.get('q')))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() }
})
