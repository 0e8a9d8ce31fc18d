import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { writeOddly } from './odd-chunks.mjs'

/**
 * What an endpoint gets to work with.
 *
 * @typedef {object} Exchange
 * @property {any} request The `IncomingMessage` or `Http2ServerRequest`.
 * @property {any} response The `ServerResponse` or `Http2ServerResponse`.
 * @property {URL} url
 * @property {Buffer} body
 * @property {number} number The number of this request, from 1.
 * @property {import('./dice.mjs').Dice} dice
 */

/** Sends JSON, with a request id as every provider does. @param {Exchange} exchange @param {unknown} value @param {number} [status] @param {Record<string, string | string[]>} [headers] */
export function sendJson({ response, dice }, value, status = 200, headers = {}) {
  response.writeHead(status, {
    'content-type': 'application/json',
    'x-request-id': dice.id('req_'),
    ...headers,
  })
  response.end(JSON.stringify(value))
}

const encoders = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync }

/**
 * Endpoints that are not a model: each shows one thing HTTP can do to a client.
 *
 * @type {Record<string, (exchange: Exchange) => void | Promise<void>>}
 */
export const plainEndpoints = {
  /** What was sent, the number of the request, and a random number. */
  '/echo': (exchange) => {
    const { request, url, body, number, dice } = exchange
    sendJson(exchange, {
      number,
      method: request.method,
      query: url.search,
      length: body.length,
      body: body.toString().slice(0, 200),
      random: dice.roll(),
    })
  },

  /** A body in `count` pieces, `gapMs` apart. */
  '/chunks': async ({ response, url }) => {
    const count = Number(url.searchParams.get('count') ?? 8)
    const gapMs = Number(url.searchParams.get('gapMs') ?? 8)
    response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' })
    for (let index = 0; index < count && !response.destroyed; index++) {
      response.write(`chunk ${index};`)
      await sleep(gapMs)
    }
    response.end()
  },

  /** A random event stream with odd chunk borders. */
  '/events': async ({ response, url, dice }) => {
    const count = Number(url.searchParams.get('count') ?? 6)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const events = Array.from(
      { length: count },
      (_, index) =>
        `id: ${index}\ndata: {"n":${index},"random":${dice.roll()},"text":"☃ ü 🚀"}\n\n`,
    )
    await writeOddly(response, events.join(''), dice)
  },

  /** A body of `bytes` bytes, for slow readers. */
  '/large': ({ response, url }) => {
    const bytes = Math.min(Number(url.searchParams.get('bytes') ?? 500_000), 20_000_000)
    response.writeHead(200, { 'content-type': 'application/octet-stream' })
    response.end(Buffer.alloc(bytes, 'retake '))
  },

  /** Never answers. */
  '/hang': () => {},

  /** Sends the head and one piece, then nothing more. */
  '/hang-mid-body': ({ response }) => {
    response.writeHead(200, { 'content-type': 'text/plain' })
    response.write('first')
  },

  /** Resets the connection instead of answering. */
  '/reset': ({ request }) => resetConnection(request),

  /** Resets the connection after half of the promised body. */
  '/reset-mid-body': async ({ request, response, dice }) => {
    response.writeHead(200, { 'content-type': 'text/plain', 'content-length': '1000' })
    response.write('half of it')
    await dice.pause(8)
    resetConnection(request)
  },

  /** Redirects `hops` times, then to /echo. */
  '/redirect': ({ response, url }) => {
    const hops = Number(url.searchParams.get('hops') ?? 1)
    const location = hops > 1 ? `/redirect?hops=${hops - 1}` : '/echo?redirected=1'
    response.writeHead(302, { location })
    response.end()
  },

  /** JSON, compressed: `?encoding=gzip`, `deflate` or `br`. */
  '/gzip': ({ response, url, dice }) => {
    const encoding = url.searchParams.get('encoding') ?? 'gzip'
    const encode = encoders[encoding] ?? gzipSync
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': encoding })
    response.end(encode(JSON.stringify({ random: dice.roll(), filler: 'x'.repeat(2000) })))
  },

  /** Two cookies, which must stay two headers. */
  '/set-cookie': (exchange) =>
    sendJson(exchange, { ok: true }, 200, {
      'set-cookie': [`visit=${exchange.dice.id('')}; Path=/`, 'theme=dark; Path=/'],
    }),

  /** Any status: `?code=404`. */
  '/status': (exchange) => {
    const code = Number(exchange.url.searchParams.get('code') ?? 404)
    sendJson(exchange, { error: { message: `status ${code}`, type: 'example' } }, code)
  },

  /** Succeeds once `times` requests with this `key` have failed (see flaky.mjs). */
  '/flaky': (exchange) => sendJson(exchange, { ok: true, number: exchange.number }),

  /** Says what was uploaded. */
  '/upload': (exchange) => {
    const { request, body } = exchange
    sendJson(exchange, {
      method: request.method,
      // The boundary of a form is random; the rest is not.
      contentType: String(request.headers['content-type']).split(';')[0],
      length: body.length,
      sha256: createHash('sha256').update(body).digest('hex'),
    })
  },
}

/** @param {any} request */
function resetConnection(request) {
  if (request.httpVersionMajor === 2) request.stream.close(2 /* INTERNAL_ERROR */)
  else request.socket.resetAndDestroy()
}
