import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout } from 'node:timers/promises'

const digest = (text) => createHash('sha256').update(text).digest('hex').slice(0, 8)

/**
 * A provider whose answers depend only on what it is asked, and which counts how
 * often it was asked each thing: `POST /effect`, also with the body after the head
 * (`/effect?late`), and OpenAI chat completions,
 * streamed or not.
 *
 * @returns {Promise<{ url: string, counts: Map<string, number>,
 *   failNext: (body: string) => void,
 *   onRequest: (listener: ((key: string) => void) | undefined) => void, close: () => Promise<void> }>}
 */
export async function startEffectProvider() {
  const counts = new Map()
  const failing = new Set()
  let listener
  const answer = async (request, response) => {
    const chunks = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString()
    const key = `${request.url} ${body}`
    counts.set(key, (counts.get(key) ?? 0) + 1)
    listener?.(key)
    await setTimeout(2)
    if (failing.delete(body)) {
      response.writeHead(500).end('{}')
      return
    }
    if (request.url === '/effect' || request.url === '/effect?late') {
      response.setHeader('content-type', 'application/json')
      if (request.url.endsWith('late')) {
        response.flushHeaders()
        await setTimeout(100)
      }
      response.end(JSON.stringify({ seen: `${body}-${digest(body)}` }))
      return
    }
    const { stream } = JSON.parse(body)
    const words = Array.from({ length: 6 }, (_, index) => digest(`${body} ${index}`))
    const base = { id: `chatcmpl-${digest(body)}`, created: 1, model: 'm' }
    if (stream !== true) {
      response.setHeader('content-type', 'application/json')
      const message = { role: 'assistant', content: words.join(' ') }
      const choices = [{ index: 0, message, finish_reason: 'stop' }]
      response.end(JSON.stringify({ ...base, object: 'chat.completion', choices }))
      return
    }
    response.setHeader('content-type', 'text/event-stream')
    const send = (delta, finish_reason = null) =>
      response.write(
        `data: ${JSON.stringify({ ...base, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })}\n\n`,
      )
    send({ role: 'assistant', content: '' })
    for (const word of words) {
      send({ content: `${word} ` })
      await setTimeout(1)
    }
    send({}, 'stop')
    response.end('data: [DONE]\n\n')
  }
  const server = createServer((request, response) => {
    // Whoever asks may be killed in the middle of a question: nothing was asked then.
    answer(request, response).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    counts,
    /** The next request with this body gets status 500. */
    failNext: (body) => failing.add(body),
    onRequest: (next) => (listener = next),
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
