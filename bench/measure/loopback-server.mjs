/**
 * The least a server can do, as its own process, so that what is measured is
 * the client: `/json` answers with 1 KB, `/stream?count=50&gapMs=1` in chunks,
 * `/slow?ms=40` after a wait, and `/chat/completions` as a model does, below `/slow` after
 * 20 ms. Prints its address and ends with its stdin.
 */
import { createServer } from 'node:http'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'

const answer = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  model: 'gpt-example',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Thirty days. '.repeat(60) } }],
  usage: { prompt_tokens: 250, completion_tokens: 180, total_tokens: 430 },
})
const jsonHead = {
  'content-type': 'application/json',
  'content-length': Buffer.byteLength(answer),
  'x-request-id': 'req_1',
}

const endpoints = {
  '/json': (response) => response.writeHead(200, jsonHead).end(answer),
  '/slow': async (response, query) => {
    await sleep(Number(query.get('ms')))
    response.writeHead(200, jsonHead).end(answer)
  },
  '/chat/completions': (response) => response.writeHead(200, jsonHead).end(answer),
  '/slow/chat/completions': async (response) => {
    await sleep(20)
    response.writeHead(200, jsonHead).end(answer)
  },
  '/stream': async (response, query) => {
    const gapMs = Number(query.get('gapMs'))
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (let index = 0; index < Number(query.get('count')); index++) {
      response.write(`data: {"choices":[{"index":0,"delta":{"content":"word ${index} "}}]}\n\n`)
      await (gapMs > 0 ? sleep(gapMs) : nextTurn())
    }
    response.end()
  },
}

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  const url = new URL(request.url, 'http://loopback')
  request.resume().on('end', () => endpoints[url.pathname](response, url.searchParams))
})
server.on('connection', (socket) => socket.setNoDelay(true))
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`))
process.stdin.resume().on('end', () => process.exit(0))
