import Koa from 'koa'
import { ask } from './model.mjs'

const app = new Koa().use(async (context) => {
  context.body = await ask('hello')
})
const server = app.listen(0, '127.0.0.1', async () => {
  console.log(await (await fetch(`http://127.0.0.1:${server.address().port}/`)).text())
  server.close()
})
