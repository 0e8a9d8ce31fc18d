import 'retake'
import { createWriteStream } from 'node:fs'
import { once } from 'node:events'
import { createServer } from 'node:http'
import pino from 'pino'
import { ask } from './model.mjs'
import { handled, main } from './requests.mjs'

/** Loggers of the whole server: when they write depends on all its requests. */
const isReplayed = process.argv[2] === 'replay'
const file = isReplayed ? '/dev/null' : 'server.log'
const buffered = pino(pino.destination({ dest: file, sync: false }))
const inThread = pino({ transport: { target: 'pino/file', options: { destination: file } } })
const plain = createWriteStream(file, { flags: 'a' })
for (const log of [buffered, inThread]) log.info('starts')
plain.write('starts\n')

const agent = async (question) => {
  const answers = []
  for (const part of ['a', 'b', 'c']) {
    buffered.info({ question }, part)
    inThread.info({ question }, part)
    plain.write(`${question} ${part}\n`)
    answers.push(await ask(part))
  }
  return `${question} ${answers.join(' ')} ${Math.random()}`
}

await main(agent, async () => {
  const server = createServer(async (request, response) => {
    const question = new URL(request.url, 'http://host').searchParams.get('q')
    response.end(await handled(agent, question))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() }
})
