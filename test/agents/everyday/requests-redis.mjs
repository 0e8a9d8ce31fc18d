// One Redis client for all requests, connected when the module is loaded, as servers have it.
import 'retake'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { Redis } from 'ioredis'
import { ask } from './model.mjs'
import { handled, main } from './requests.mjs'

const redis = new Redis(process.env.REDIS_URL)

const agent = async (question) => {
  const number = await redis.incr('questions')
  await redis.set(`question:${number}`, question)
  const [[, text], [, bytes]] = await redis
    .multi()
    .get(`question:${number}`)
    .getBuffer(`question:${number}`)
    .exec()
  return `${number} ${bytes.length} ${await ask(text)} ${await redis.time()}`
}

await main(agent, async () => {
  const server = createServer(async (request, response) => {
    response.end(await handled(agent, new URL(request.url, 'http://host').searchParams.get('q')))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() }
})
redis.disconnect()
