// An agent to which everything goes wrong; prints each error in full.
import dns from 'node:dns'
import fs from 'node:fs'
import http from 'node:http'
import { inspect } from 'node:util'
import OpenAI from 'openai'

const base = process.env.AGENT_BASE_URL
let line = 0
const log = (...words) => console.log(line++, Date.now(), ...words)

/** One line per error of the chain: class, name, code, message. */
function chainOf(error) {
  const links = []
  for (let link = error; link instanceof Error && links.length < 5; link = link.cause) {
    links.push([link.constructor.name, link.name, link.code, link.errno, link.message].join(' | '))
  }
  return links.join('\n    caused by ')
}

async function attempt(name, run) {
  try {
    log(name, 'succeeded', await run())
  } catch (error) {
    log(name, chainOf(error))
    log(inspect(error, { colors: false }))
  }
}

/** Nothing listens here. */
const closedPort = 2

const httpGet = (url, options = {}) =>
  new Promise((resolve, reject) => {
    http
      .get(url, options, (response) => {
        response.on('error', reject)
        response.on('end', () => resolve(response.statusCode))
        response.resume()
      })
      .on('error', reject)
  })

await attempt('refused', () => fetch(`http://127.0.0.1:${closedPort}/`))
await attempt('refused by http', () => httpGet(`http://127.0.0.1:${closedPort}/`))
await attempt('reset', () => fetch(`${base}/reset`))
await attempt('reset by http', () => httpGet(`${base}/reset`))
await attempt('reset mid body', async () => (await fetch(`${base}/reset-mid-body`)).text())
await attempt('reset mid body by http', () => httpGet(`${base}/reset-mid-body`))
await attempt('no such name', () => fetch('http://nothing.invalid/'))
await attempt('no such name by dns', () => dns.promises.lookup('nothing.invalid'))
await attempt('bad address', () => fetch('http://'))

await attempt('aborted before', () => fetch(`${base}/echo`, { signal: AbortSignal.abort() }))
await attempt('aborted before the head', () => {
  const controller = new AbortController()
  setTimeout(() => controller.abort(), 5)
  return fetch(`${base}/hang`, { signal: controller.signal })
})
await attempt('aborted after the head', async () => {
  const controller = new AbortController()
  const response = await fetch(`${base}/hang-mid-body`, { signal: controller.signal })
  setTimeout(() => controller.abort(new RangeError('own reason')), 5)
  return response.text()
})
await attempt('timeout', () => fetch(`${base}/hang`, { signal: AbortSignal.timeout(10) }))
await attempt('destroyed', () => httpGet(`${base}/hang`, { signal: AbortSignal.timeout(10) }))

const client = new OpenAI({ apiKey: 'none', baseURL: `${base}/v1`, maxRetries: 0 })
for (const status of [400, 401, 404, 409, 422, 429, 500, 503]) {
  await client.chat.completions
    .create({
      model: 'gpt-example',
      messages: [],
      user: `flaky:${crypto.randomUUID()}:1:${status}`,
    })
    .catch((error) =>
      log(status, error.constructor.name, error.status, error.message, error.requestID),
    )
}
const lost = new OpenAI({
  apiKey: 'none',
  baseURL: `http://127.0.0.1:${closedPort}`,
  maxRetries: 0,
})
await lost.models.list().catch((error) => log(chainOf(error)))

await attempt('no such file', () => fs.promises.readFile('/nothing/here'))
class ToolFailed extends Error {
  name = 'ToolFailed'
}
await attempt('own class', () => {
  throw new ToolFailed(`tool ${Math.random()}`, { cause: new TypeError('inner') })
})
await attempt('several', () =>
  Promise.any([fetch(`${base}/reset`), Promise.reject(new Error('no'))]),
)
await attempt('bad JSON', async () => (await fetch(`${base}/chunks?count=1`)).json())
