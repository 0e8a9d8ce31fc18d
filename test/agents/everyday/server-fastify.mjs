import Fastify from 'fastify'
import { ask } from './model.mjs'

const app = Fastify()
app.get('/', async () => ask('hello'))
const address = await app.listen({ port: 0, host: '127.0.0.1' })
console.log(await (await fetch(address)).text())
await app.close()
