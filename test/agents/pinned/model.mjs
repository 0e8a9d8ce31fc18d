// A model on the loopback that never says the same twice, and clients that ask it.
import http from 'node:http'
import http2 from 'node:http2'

/** Everything it is asked is in `requests`, parsed. */
export async function startModel() {
  const requests = []
  const answerOf = (text) => ({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'small',
    choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  })
  const onRequest = (request, response) => {
    const chunks = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks))
      requests.push(body)
      const text = `answer ${requests.length}`
      setTimeout(() => {
        if (body.stream) return stream(response, text)
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(JSON.stringify(answerOf(text)))
      }, Math.random() * 5)
    })
  }
  const server = http.createServer(onRequest)
  const second = http2.createServer(onRequest)
  const sessions = new Set()
  second.on('session', (session) => sessions.add(session))
  await new Promise((done) => server.listen(0, '127.0.0.1', done))
  await new Promise((done) => second.listen(0, '127.0.0.1', done))
  const url = `http://127.0.0.1:${server.address().port}`
  const h2 = `http://127.0.0.1:${second.address().port}`
  const close = () => {
    server.close()
    server.closeAllConnections()
    for (const session of sessions) session.destroy()
    second.close()
  }
  return { url, h2, requests, answerOf, close }
}

function stream(response, text) {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const send = (delta, finish = null) =>
    response.write(
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'small', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`,
    )
  send({ role: 'assistant', content: '' })
  for (const part of text.split(/(?<= )/)) send({ content: part })
  send({}, 'stop')
  response.end('data: [DONE]\n\n')
}

const PATH = '/v1/chat/completions'

/** Asks the model with a conversation; gives the text it says. */
export function clientFor(seam, { url, h2 }) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 2 })
  let session
  const bodyOf = (messages, more = {}) => JSON.stringify({ model: 'small', messages, ...more })
  const textOf = (json) => json.choices[0].message.content
  const clients = {
    fetch: async (messages) => {
      const headers = { 'content-type': 'application/json' }
      const body = bodyOf(messages)
      const response = await fetch(url + PATH, { method: 'POST', headers, body })
      return textOf(await response.json())
    },
    stream: async (messages) => {
      const headers = { 'content-type': 'application/json' }
      const body = bodyOf(messages, { stream: true })
      const response = await fetch(url + PATH, { method: 'POST', headers, body })
      const events = (await response.text()).split('\n\n').map((line) => line.slice(6))
      return events
        .filter((data) => data.startsWith('{'))
        .map((data) => JSON.parse(data).choices[0]?.delta?.content ?? '')
        .join('')
    },
    http: (messages) =>
      new Promise((resolve, reject) => {
        const body = bodyOf(messages)
        const headers = {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        }
        const request = http.request(url + PATH, { method: 'POST', agent, headers }, (response) => {
          const chunks = []
          response.on('data', (chunk) => chunks.push(chunk))
          response.on('end', () => resolve(textOf(JSON.parse(Buffer.concat(chunks)))))
          response.on('error', reject)
        })
        request.on('error', reject)
        request.end(body)
      }),
    http2: (messages) =>
      new Promise((resolve, reject) => {
        if (session === undefined || session.destroyed || session.closed)
          session = http2.connect(h2)
        session.unref()
        const request = session.request({
          ':method': 'POST',
          ':path': PATH,
          'content-type': 'application/json',
        })
        const chunks = []
        request.on('data', (chunk) => chunks.push(chunk))
        request.on('end', () => resolve(textOf(JSON.parse(Buffer.concat(chunks)))))
        request.on('error', reject)
        request.end(bodyOf(messages))
      }),
  }
  return clients[seam]
}
