import { once } from 'node:events'
import { createServer } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import { answerMessages } from './provider/anthropic-messages.mjs'
import { Dice } from './provider/dice.mjs'
import { Flaky } from './provider/flaky.mjs'
import { writeOddly } from './provider/odd-chunks.mjs'
import { answerChat } from './provider/openai-chat.mjs'
import { answerResponses } from './provider/openai-responses.mjs'
import { plainEndpoints, sendJson } from './provider/plain-endpoints.mjs'
import { serveWebSocket } from './provider/web-socket.mjs'

/**
 * One request the provider got.
 *
 * @typedef {object} SeenRequest
 * @property {number} number From 1.
 * @property {'http1' | 'http2' | 'websocket'} protocol
 * @property {string} method
 * @property {string} path With its query.
 * @property {string} body The first 4000 characters.
 */

/**
 * @typedef {object} ProviderCounts
 * @property {number} requests Requests received, of any protocol.
 * @property {number} socketsOpened Connections ever accepted.
 * @property {number} socketsOpen Connections open now.
 */

/**
 * @typedef {object} Provider
 * @property {string} url `http://127.0.0.1:<port>`: HTTP/1.1 and WebSocket.
 * @property {string} h2Url The same endpoints over HTTP/2 without TLS.
 * @property {number} seed Repeats this provider's ids, words and waits.
 * @property {readonly SeenRequest[]} requests What arrived, the last 10,000.
 * @property {() => ProviderCounts} counts
 * @property {() => Promise<void>} close Cuts every connection and stops.
 */

/** Endpoints that speak as a model provider. */
const models = [
  { ends: '/chat/completions', answer: answerChat },
  { ends: '/responses', answer: answerResponses },
  { ends: '/messages', answer: answerMessages },
]

const requestsKept = 10_000

/**
 * Starts a stand-in for the outside world on the loopback: OpenAI chat
 * completions and responses (`/v1/…`), Anthropic messages (`/v1/messages`),
 * the plain endpoints, a WebSocket at `/ws`, and all of it over HTTP/2. Waits,
 * ids, words, chunk borders and the number of tool rounds are random.
 *
 * @param {object} [options]
 * @param {number} [options.seed] Draws the same sequence again.
 * @param {number} [options.maxLatencyMs] Longest wait before an answer; 0 for benches.
 * @returns {Promise<Provider>}
 */
export async function startProvider({ seed, maxLatencyMs = 20 } = {}) {
  const dice = new Dice(seed)
  const flaky = new Flaky()
  /** @type {SeenRequest[]} */
  const seen = []
  let requests = 0
  let socketsOpened = 0
  const open = new Set()

  const note = (protocol, method, path, body) => {
    requests += 1
    if (seen.length === requestsKept) seen.shift()
    seen.push({ number: requests, protocol, method, path, body: body.slice(0, 4000) })
    return requests
  }

  const handle = async (request, response) => {
    const body = await readBody(request)
    const protocol = request.httpVersionMajor === 2 ? 'http2' : 'http1'
    const number = note(protocol, request.method, request.url, body.toString())
    const url = new URL(request.url, 'http://loopback')
    if (maxLatencyMs > 0) await dice.pause(maxLatencyMs)
    if (response.destroyed) return
    const exchange = { request, response, url, body, number, dice }
    const model = models.find(({ ends }) => url.pathname.endsWith(ends))
    const json = parseJson(body)
    if (flaky.answer(exchange, json)) return
    if (model !== undefined && request.method === 'POST') {
      await answerAsModel(exchange, model.answer, json)
      return
    }
    const endpoint = plainEndpoints[url.pathname]
    if (endpoint !== undefined) await endpoint(exchange)
    else sendJson(exchange, { error: { message: `no endpoint ${url.pathname}` } }, 404)
  }
  const listener = (request, response) => {
    // A client that goes away mid-answer is part of the exercise.
    response.on('error', () => {})
    handle(request, response).catch((error) => {
      if (response.headersSent) response.destroy()
      else sendJson({ response, dice }, { error: { message: String(error) } }, 500)
    })
  }

  const server = createServer({ keepAliveTimeout: 60_000 }, listener)
  const h2Server = createHttp2Server(listener)
  for (const each of [server, h2Server]) {
    each.on('connection', (socket) => {
      socketsOpened += 1
      open.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => open.delete(socket))
    })
    each.on('clientError', (_error, socket) => socket.destroy())
    each.listen(0, '127.0.0.1')
    await once(each, 'listening')
  }
  h2Server.on('sessionError', () => {})
  const webSockets = serveWebSocket({
    server,
    dice,
    maxLatencyMs,
    onConnection: (path) => note('websocket', 'GET', path, ''),
  })

  const closeAll = async () => {
    const closed = [server, h2Server].map((each) => once(each, 'close'))
    webSockets.close()
    server.close()
    h2Server.close()
    for (const socket of open) socket.destroy()
    await Promise.all(closed)
  }
  let closing

  return {
    url: addressOf(server),
    h2Url: addressOf(h2Server),
    seed: dice.seed,
    requests: seen,
    counts: () => ({ requests, socketsOpened, socketsOpen: open.size }),
    close: () => {
      closing ??= closeAll()
      return closing
    },
  }
}

/** @param {import('./provider/plain-endpoints.mjs').Exchange} exchange */
async function answerAsModel(exchange, answer, json) {
  const { response, dice } = exchange
  if (json === undefined) {
    sendJson(exchange, { error: { message: 'the body is not JSON', type: 'invalid_request' } }, 400)
    return
  }
  const reply = answer(json, dice)
  if ('json' in reply) {
    sendJson(exchange, reply.json)
    return
  }
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    'x-request-id': dice.id('req_'),
  })
  await writeOddly(response, reply.events, dice)
}

async function readBody(request) {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}

function parseJson(body) {
  try {
    return JSON.parse(body.toString())
  } catch {
    return undefined
  }
}

function addressOf(server) {
  return `http://127.0.0.1:${server.address().port}`
}
