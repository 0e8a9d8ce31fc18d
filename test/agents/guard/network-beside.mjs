/** Guarded and other requests at once, through the same clients and pools; prints how many were answered. */
import http from 'node:http'
import axios from 'axios'
import { guard } from '@retake/guard'
import * as undici from 'undici'

const server = http.createServer((_, response) => setImmediate(() => response.end('answer')))
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
const { port } = server.address()
const url = `http://localhost:${port}/`
const agent = new http.Agent({ keepAlive: true })

const getText = () =>
  new Promise((resolve, reject) => {
    const request = http.get(url, { agent }, (response) => {
      response.resume().on('end', resolve).on('error', reject)
    })
    request.on('error', reject)
  })

const clients = [
  async () => (await fetch(url)).text(),
  async () => (await undici.request(url)).body.text(),
  async () => (await undici.fetch(url)).text(),
  async () => (await axios.get(url, { httpAgent: agent })).data,
  getText,
]

const run = guard({
  name: 'beside',
  dir: process.argv[2],
  durability: 'process',
  policy: { name: 'listed', network: { addresses: [`127.0.0.1:${port}`] } },
})
run.tool('ask', ({ client }) => clients[client]())

const counts = { guarded: 0, others: 0, errors: [] }
const failed = (error) => void counts.errors.push(String(error?.cause ?? error))

await Promise.all(
  Array.from({ length: 60 }, async (_, number) => {
    for (let round = 0; round < 5; round += 1) {
      const client = (number + round) % clients.length
      if (number % 2 === 0) {
        const { status, error } = await run.call('ask', { client, number, round })
        if (status === 'done') counts.guarded += 1
        else failed(error)
      } else await clients[client]().then(() => void (counts.others += 1), failed)
    }
  }),
)
run.end()
console.log(JSON.stringify(counts))
agent.destroy()
process.exit(0)
