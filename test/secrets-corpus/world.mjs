/**
 * The outside world of the recorded programs, on the loopback: an HTTP server that compares each
 * request with what the corpus planted in it, model providers, a WebSocket, and servers that speak
 * enough of the protocols of PostgreSQL and Redis for their clients to log in.
 */
import { EventEmitter, once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocketServer } from 'ws'
import { answerOf, requestOf, responseOf, streamedParts, textEvents } from './carriers.mjs'
import { cases, casesAt } from './cases.mjs'
import { lookAlikes } from './look-alikes.mjs'

const JSON_TYPE = { 'content-type': 'application/json' }

/** @param {import('node:http').IncomingMessage} request @param {Buffer} body */
function isAsPlanted(request, body) {
  const planted = cases[Number(request.url.split(/[/?]/)[2])]
  const { method, headers, body: wanted = '', path, auth } = requestOf(planted)
  const expected = {
    ...headers,
    ...(auth !== undefined && { authorization: `Basic ${Buffer.from(auth).toString('base64')}` }),
  }
  return (
    request.method === method &&
    request.url === path &&
    Object.entries(expected).every(([name, value]) => request.headers[name] === value) &&
    body.equals(Buffer.from(wanted))
  )
}

const chat = (message) => ({
  id: 'chatcmpl-corpus',
  object: 'chat.completion',
  created: 1_763_424_000,
  model: 'gpt-5.2',
  choices: [{ index: 0, finish_reason: message.tool_calls ? 'tool_calls' : 'stop', message }],
  usage: { prompt_tokens: 12, completion_tokens: 6, total_tokens: 18 },
})

const message = {
  id: 'msg_corpus',
  type: 'message',
  role: 'assistant',
  model: 'claude-sonnet-4-5',
  content: [{ type: 'text', text: 'Done.' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 12, output_tokens: 3 },
}

/** A reader that waits for more than it got, instead of confirming it, gets more after this. */
const CONFIRM_MS = 1000

/** Writes each part when the reader has confirmed the one before, so that none arrive together. */
async function writeParts(response, parts, confirmed) {
  for (const [index, part] of parts.entries()) {
    if (index > 0) await Promise.race([confirmed(), sleep(CONFIRM_MS)])
    response.write(part)
  }
  response.end()
}

function startPostgres(received) {
  const part = (type, ...bodies) => {
    const body = Buffer.concat(bodies.map((each) => Buffer.from(each)))
    const head = Buffer.alloc(5)
    head.write(type, 'latin1')
    head.writeInt32BE(body.length + 4, 1)
    return Buffer.concat([head, body])
  }
  const int = (value, size = 4) => {
    const bytes = Buffer.alloc(size)
    bytes.writeIntBE(value, 0, size)
    return bytes
  }
  const ready = part('Z', 'I')
  const rowOf = ({ field, text }) => {
    const column = [`${field}\0`, int(0), int(0, 2), int(25), int(-1, 2), int(-1), int(0, 2)]
    return [
      part('T', int(1, 2), ...column),
      part('D', int(1, 2), int(Buffer.byteLength(text)), text),
    ]
  }
  const answer = (query) => {
    const selected = casesAt('sql-result').find(({ number }) => query.includes(`shop_${number} `))
    const rows = selected === undefined ? [part('n')] : rowOf(selected)
    return [...rows, part('C', 'SELECT 1\0')]
  }
  return createServer((socket) => {
    let buffered = Buffer.alloc(0)
    let isStarted = false
    let query = ''
    socket.on('error', () => {})
    socket.on('data', (bytes) => {
      received.push(bytes.toString())
      buffered = Buffer.concat([buffered, bytes])
      for (;;) {
        const skipped = isStarted ? 1 : 0
        if (buffered.length < skipped + 4) return
        const size = buffered.readInt32BE(skipped) + skipped
        if (buffered.length < size) return
        const type = isStarted ? String.fromCharCode(buffered[0]) : 'start'
        const body = buffered.subarray(skipped + 4, size).toString()
        buffered = buffered.subarray(size)
        if (type === 'start') socket.write(part('R', int(3)))
        if (type === 'p') {
          const isRight = casesAt('sql-login').some(({ text }) => body === `${text}\0`)
          socket.write(
            isRight ? Buffer.concat([part('R', int(0)), ready]) : part('E', 'SFATAL\0Mdenied\0\0'),
          )
        }
        if (type === 'P') query = body
        if (type === 'Q') socket.write(Buffer.concat([part('C', 'OK\0'), ready]))
        if (type === 'S')
          socket.write(Buffer.concat([part('1'), part('2'), ...answer(query), ready]))
        if (type === 'X') socket.end()
        isStarted = true
      }
    })
  })
}

function startRedis(received) {
  return createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (bytes) => {
      const text = bytes.toString()
      received.push(text)
      // Clients send whole commands, and these are short.
      for (const command of text.split(/^\*\d+\r\n/m).slice(1)) {
        const [name, key] = command.split('\r\n').filter((_, index) => index % 2 === 1)
        const stored = casesAt('redis-get').find(({ number }) => key === `shop:${number}`)
        const isGet = name?.toLowerCase() === 'get' && stored !== undefined
        socket.write(isGet ? `$${Buffer.byteLength(stored.text)}\r\n${stored.text}\r\n` : '+OK\r\n')
      }
    })
  })
}

/** Starts everything. */
export async function startWorld() {
  /** @type {string[]} */
  const received = []
  const confirmations = new EventEmitter()
  const confirmed = (number) => () => once(confirmations, `${number}`)
  const http = createHttpServer(async (request, response) => {
    const parts = []
    for await (const part of request) parts.push(part)
    const body = Buffer.concat(parts)
    const [, kind, rest] = request.url.split(/[/?]/)
    const planted = cases[Number(request.headers['x-case'])]
    if (kind === 'request')
      return response
        .writeHead(200, JSON_TYPE)
        .end(JSON.stringify({ ok: isAsPlanted(request, body) }))
    if (kind === 'response') {
      const { status, headers, chunks } = responseOf(cases[Number(rest)])
      response.writeHead(status, headers)
      return writeParts(response, chunks, confirmed(rest))
    }
    if (kind === 'next') {
      confirmations.emit(rest)
      return response.end()
    }
    if (kind === 'look-alike') {
      const { text } = lookAlikes[Number(rest)]
      return response.writeHead(200, JSON_TYPE).end(request.method === 'GET' ? text : '{"ok":true}')
    }
    if (request.url.endsWith('/messages'))
      return response.writeHead(200, JSON_TYPE).end(JSON.stringify(message))
    if (planted?.place === 'model-answer-stream') {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      return writeParts(response, textEvents(streamedParts(planted)), confirmed(planted.number))
    }
    if (request.url.endsWith('/chat/completions'))
      return response.writeHead(200, JSON_TYPE).end(JSON.stringify(chat(answerOf(planted))))
    received.push(`${request.url}\n${JSON.stringify(request.headers)}\n${body.toString()}`)
    return response.writeHead(200, JSON_TYPE).end('{"ok":true}')
  })
  const webSockets = new WebSocketServer({ server: http })
  webSockets.on('connection', (socket) => {
    for (const { field, text } of casesAt('websocket-received'))
      socket.send(JSON.stringify({ type: 'welcome', [field]: text }))
    socket.on('message', (/** @type {Buffer} */ data) => received.push(data.toString()))
  })
  const servers = [http, startPostgres(received), startRedis(received)]
  for (const server of servers) {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  }
  const [web, postgres, redis] = servers.map((server) => server.address().port)
  return {
    url: `http://127.0.0.1:${web}`,
    env: {
      CORPUS_URL: `http://127.0.0.1:${web}`,
      CORPUS_POSTGRES: `${postgres}`,
      CORPUS_REDIS: `${redis}`,
    },
    /** Everything that came over sockets that do not answer right or wrong. */
    received: () => received.join('\n'),
    stop() {
      for (const socket of webSockets.clients) socket.terminate()
      http.closeAllConnections()
      for (const server of servers) server.close()
    },
  }
}
