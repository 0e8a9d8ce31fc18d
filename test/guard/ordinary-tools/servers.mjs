/** Servers of the loopback that tools talk to, each started where a table needs it. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createServer as createConnectionServer } from 'node:net'
import { WebSocketServer } from 'ws'
import { startPostgres } from '../../support/postgres.mjs'
import { startRedis } from '../../support/redis.mjs'

const listen = async (server) => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server.address().port
}

const RSS = `<rss version="2.0"><channel><title>News</title><item><title>One</title></item></channel></rss>`

const pages = {
  '/json': ['application/json', JSON.stringify({ id: 7, tags: ['a', 'b'] })],
  '/html': ['text/html', '<html><body><h1>Title</h1><a href="/next">next</a></body></html>'],
  '/rss': ['application/rss+xml', RSS],
  '/robots.txt': ['text/plain', 'User-agent: *\nDisallow: /private'],
}

/** Chat completions as OpenAI and Anthropic send them, so that their SDKs can be tools. */
const models = {
  '/v1/chat/completions': {
    id: 'c1',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [
      { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'hello' } },
    ],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  },
  '/v1/messages': {
    id: 'm1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'text', text: 'hello' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 1, output_tokens: 1 },
  },
}

async function http() {
  const server = createServer(async (request, response) => {
    const body = (await request.setEncoding('utf8').toArray()).join('')
    const { pathname } = new URL(request.url, 'http://x')
    const json = { 'content-type': 'application/json' }
    const [type, text] = pages[pathname] ?? []
    if (type !== undefined) response.writeHead(200, { 'content-type': type }).end(text)
    else if (pathname in models) response.writeHead(200, json).end(JSON.stringify(models[pathname]))
    else if (pathname === '/moved') response.writeHead(302, { location: '/json' }).end()
    else if (pathname === '/lines') {
      for (const line of ['one', 'two', 'three']) response.write(`${line}\n`)
      response.end()
    } else if (pathname === '/echo')
      response.writeHead(200, json).end(JSON.stringify({ method: request.method, body }))
    else response.writeHead(404).end('not found')
  })
  const sockets = new WebSocketServer({ server, path: '/ws' })
  sockets.on('connection', (socket) => {
    socket.on('message', (/** @type {Buffer} */ message) =>
      socket.send(`echo ${message.toString()}`),
    )
  })
  const port = await listen(server)
  return {
    values: { origin: `http://127.0.0.1:${port}`, port, address: `127.0.0.1:${port}` },
    close: () => server.closeAllConnections(server.close()),
  }
}

/** As much of SMTP as a client needs to hand over a mail. */
async function smtp() {
  const server = createConnectionServer((socket) => {
    socket.write('220 mail\r\n')
    let isData = false
    let text = ''
    socket.setEncoding('utf8').on('data', (chunk) => {
      text += chunk
      for (let end = text.indexOf('\r\n'); end !== -1; end = text.indexOf('\r\n')) {
        const line = text.slice(0, end)
        text = text.slice(end + 2)
        if (isData) {
          if (line !== '.') continue
          isData = false
          socket.write('250 queued\r\n')
        } else if (/^data/i.test(line)) {
          isData = true
          socket.write('354 go on\r\n')
        } else if (/^quit/i.test(line)) socket.end('221 bye\r\n')
        else socket.write('250 ok\r\n')
      }
    })
    socket.on('error', () => {})
  })
  const port = await listen(server)
  return {
    values: { smtpPort: port, smtpAddress: `127.0.0.1:${port}` },
    close: () => server.close(),
  }
}

async function redis() {
  const { url, stop } = await startRedis()
  return { values: { redisUrl: url, redisAddress: new URL(url).host }, close: stop }
}

async function postgres() {
  const { url, stop } = await startPostgres({ password: 'test' })
  return { values: { postgresUrl: url, postgresAddress: new URL(url).host }, close: stop }
}

const kinds = { http, smtp, redis, postgres }

/** @param {Iterable<string>} names */
export async function startServers(names) {
  const started = []
  for (const name of names) started.push(await (kinds[name] ?? name)())
  return {
    values: Object.assign({}, ...started.map(({ values }) => values)),
    close: () => Promise.all(started.map(({ close }) => close())),
  }
}
