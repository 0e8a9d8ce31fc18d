import 'retake'
import { once } from 'node:events'
import Koa from 'koa'
import { ask } from './model.mjs'
import { handled, main } from './requests.mjs'

/** Asks twice at the same time; the order of the answers is part of what it says. */
const agent = async (question) => {
  const order = []
  await Promise.all(['a', 'b'].map(async (name) => order.push(`${name}: ${await ask(name)}`)))
  return `${question} ${order.join(' ')}`
}

await main(agent, async () => {
  const app = new Koa().use(async (context) => {
    context.body = await handled(agent, context.query.q)
  })
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() }
})
