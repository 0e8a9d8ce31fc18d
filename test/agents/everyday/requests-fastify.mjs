import 'retake'
import Fastify from 'fastify'
import { ask } from './model.mjs'
import { handled, main } from './requests.mjs'

const agent = async (question) => `${await ask(question)} at ${Date.now()}`

await main(agent, async () => {
  const app = Fastify()
  app.get('/', (request) => handled(agent, request.query.q))
  return { url: await app.listen({ port: 0, host: '127.0.0.1' }), close: () => app.close() }
})
