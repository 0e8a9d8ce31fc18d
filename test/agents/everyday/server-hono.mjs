import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { ask } from './model.mjs'

const app = new Hono().get('/', async (c) => c.text(await ask('hello')))
const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, async ({ port }) => {
  console.log(await (await fetch(`http://127.0.0.1:${port}/`)).text())
  server.close()
})
