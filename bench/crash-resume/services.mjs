/**
 * A scripted model and a payment service on one port, which is printed. The model asks for a
 * refund of order 1 to 5, one at a time. At the refund of order 3 the payment service kills the
 * agent once: `before` or `after` it has paid.
 */
import { createServer } from 'node:http'

const [moment] = process.argv.slice(2)
const ORDERS = 5
const refunds = Array(ORDERS).fill(0)
let modelCalls = 0
let hasKilled = false

function refund({ order, pid }) {
  const kills = order === 3 && !hasKilled
  if (kills) hasKilled = true
  if (!kills || moment === 'after') refunds[order - 1] += 1
  if (kills) process.kill(pid, 'SIGKILL')
  return { refund: `r-${order}-${refunds[order - 1]}` }
}

function complete({ messages }) {
  modelCalls += 1
  const done = messages.filter(({ role }) => role === 'tool').length
  const call = { name: 'refund', arguments: JSON.stringify({ order: done + 1 }) }
  const isOver = done === ORDERS
  const message = isOver
    ? { role: 'assistant', content: 'All orders are refunded.' }
    : {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: `call_${done + 1}`, type: 'function', function: call }],
      }
  return {
    id: `answer-${modelCalls}`,
    object: 'chat.completion',
    created: 1,
    model: 'gpt-example',
    choices: [{ index: 0, message, finish_reason: isOver ? 'stop' : 'tool_calls' }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  }
}

const server = createServer(async (request, response) => {
  let body = ''
  for await (const chunk of request.setEncoding('utf8')) body += chunk
  const { pathname } = new URL(request.url, 'http://localhost')
  const [, order] = /^\/refunds\/(\d)$/.exec(pathname) ?? []
  const answer = pathname.endsWith('/chat/completions')
    ? complete(JSON.parse(body))
    : pathname === '/refund'
      ? refund(JSON.parse(body))
      : order
        ? { count: refunds[order - 1] }
        : { refunds, modelCalls }
  response.setHeader('content-type', 'application/json').end(JSON.stringify(answer))
})
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
process.stdin.resume().on('end', () => process.exit(0))
