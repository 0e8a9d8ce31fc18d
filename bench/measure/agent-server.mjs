/**
 * A server whose handler is a small agent: it asks the model, runs a tool, asks again and
 * answers. `node agent-server.mjs <way> <model URL> <folder>`; `way` is `plain`, `imported`
 * (Retake is loaded and records nothing), `process` or `machine` (every request is a run with
 * that durability), `least` or `least-synced` (the floor: one file per request, without and with
 * syncs where `machine` has them). Prints its address and ends with its stdin. `/cpu` answers with the microseconds of CPU time so far.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import fs from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { fetchInto, syncFolderOf, syncLater, toolInto } from './least-recorder.mjs'

const [way, model, dir] = process.argv.slice(2)
const isLeast = way.startsWith('least')
const sync = way === 'least-synced' ? syncLater : async () => {}
const retake = way === 'plain' || isLeast ? undefined : await import('retake')
const { default: OpenAI } = await import('openai')
const cpuUsage = process.cpuUsage.bind(process)

const client = new OpenAI({ apiKey: 'none', baseURL: model, maxRetries: 0 })
const findOrder = (id) => ({ id, status: 'shipped', items: ['lamp', 'table'], total: 120 })
const isRecording = way === 'process' || way === 'machine'
const files = new AsyncLocalStorage()
const lookUp = isRecording
  ? retake.tool('look_up', findOrder)
  : isLeast
    ? toolInto(findOrder, { fileOf: () => files.getStore(), sync })
    : async (id) => findOrder(id)
const system = 'You answer questions about orders. '.repeat(40)

async function agent(question) {
  const messages = [
    { role: 'system', content: system },
    { role: 'user', content: question },
  ]
  const ask = async () => {
    const { choices } = await client.chat.completions.create({ model: 'gpt-example', messages })
    messages.push(choices[0].message)
  }
  await ask()
  messages.push({ role: 'user', content: JSON.stringify(await lookUp(question.length)) })
  await ask()
  return messages.at(-1).content
}

if (isLeast) globalThis.fetch = (url, init) => fetchInto(files.getStore(), sync)(url, init)
let runs = 0

async function runLeast(question) {
  const path = join(dir, `${way}-${runs++}`)
  const file = fs.openSync(path, 'w')
  if (way === 'least-synced') await syncFolderOf(path)
  const answer = await files.run(file, () => agent(question))
  fs.writeSync(file, answer)
  await sync(file)
  fs.closeSync(file)
  return answer
}

async function run(question) {
  if (isLeast) return runLeast(question)
  if (!isRecording) return agent(question)
  const { output } = await retake.record({ name: 'request', dir, durability: way }, () =>
    agent(question),
  )
  return output
}

const server = createServer({ keepAliveTimeout: 60_000 }, async (request, response) => {
  if (request.url === '/cpu') {
    const { user, system: kernel } = cpuUsage()
    return response.end(String(user + kernel))
  }
  let body = ''
  for await (const chunk of request.setEncoding('utf8')) body += chunk
  const answer = await run(JSON.parse(body).question)
  response.setHeader('content-type', 'application/json').end(JSON.stringify({ answer }))
})
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`))
process.stdin.resume().on('end', () => process.exit(0))
