import 'retake'
import { once } from 'node:events'
import express from 'express'
import { ask } from './model.mjs'
import { handled, main } from './requests.mjs'

const agent = async (question) => `${await ask(question)} ${await ask('again')} ${Math.random()}`

await main(agent, async () => {
  const app = express().get('/', async (request, response) =>
    response.send(await handled(agent, request.query.q)),
  )
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() }
})
