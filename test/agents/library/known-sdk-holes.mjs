// The agents of known-holes.mjs that need a provider's own client.
import http from 'node:http'
import { inspect } from 'node:util'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { tool } from '@retake/engine'

const openAi = (base, options) => new OpenAI({ apiKey: 'none', baseURL: `${base}/v1`, ...options })
const messages = (content) => ({ model: 'gpt-example', messages: [{ role: 'user', content }] })

export async function asks(base, content = 'hello') {
  const client = openAi(base, { maxRetries: 3 })
  const completion = await client.chat.completions.create(messages(content))
  return completion.choices[0].message.content
}

/** Another prompt than recorded, from a client that tries again when it fails. */
export const asksSomethingElse = (base) => asks(base, 'goodbye')

class OrderNotFound extends RangeError {
  name = 'OrderNotFound'
  constructor(order, options) {
    super(`no order ${order}`, options)
    this.order = order
  }
}
const failing = (name, make) =>
  tool(
    name,
    () => {
      throw make()
    },
    { errors: { OrderNotFound } },
  )
const failures = {
  own: failing('own', () => new OrderNotFound(1182, { cause: new TypeError('inner') })),
  system: failing('system', () =>
    Object.assign(new Error('no such file'), { code: 'ENOENT', errno: -2, path: '/orders' }),
  ),
  many: failing('many', () => new AggregateError([new SyntaxError('a'), 'b'], 'several')),
  dom: failing('dom', () => new DOMException('too large', 'QuotaExceededError')),
  text: failing('text', () => 'just text'),
}

const get = (url) => new Promise((resolve, reject) => http.get(url, resolve).on('error', reject))

export async function errors(base) {
  const seen = {}
  const attempt = async (name, run, ...classes) => {
    try {
      await run()
      seen[name] = 'succeeded'
    } catch (error) {
      seen[name] = {
        inspected: inspect(error),
        class: error?.constructor?.name,
        tag: Object.prototype.toString.call(error),
        instanceOf: classes.filter((each) => error instanceof each).map((each) => each.name),
        fields: { ...error },
        code: error?.code,
        causeCode: error?.cause?.code,
        stack: error?.stack,
      }
    }
  }
  const hang = (signal) => fetch(`${base}/hang`, { signal })
  await attempt('refused', () => fetch('http://127.0.0.1:2/'), TypeError)
  await attempt('reset', () => fetch(`${base}/reset`), TypeError)
  await attempt('cut', async () => (await fetch(`${base}/reset-mid-body`)).text(), TypeError)
  await attempt('timeout', () => hang(AbortSignal.timeout(5)), DOMException)
  await attempt(
    'abort',
    () => {
      const controller = new AbortController()
      setTimeout(() => controller.abort(), 5)
      return hang(controller.signal)
    },
    DOMException,
  )
  await attempt('http refused', () => get('http://127.0.0.1:2/'), Error)
  const rateLimited = { ...messages('x'), user: `flaky:${crypto.randomUUID()}:9:429` }
  await attempt(
    'rate limit',
    () => openAi(base, { maxRetries: 0 }).chat.completions.create(rateLimited),
    OpenAI.RateLimitError,
    OpenAI.APIError,
  )
  await attempt(
    'no connection',
    () => openAi('http://127.0.0.1:2', { maxRetries: 0 }).models.list(),
    OpenAI.APIConnectionError,
  )
  await attempt('own', failures.own, OrderNotFound, RangeError)
  await attempt('system', failures.system, Error)
  await attempt('many', failures.many, AggregateError)
  await attempt('dom', failures.dom, DOMException, Error)
  await attempt('text', failures.text)
  return seen
}

const tools = [
  {
    type: 'function',
    function: { name: 'weather', parameters: { type: 'object', properties: {} } },
  },
]

/** A tool loop that sends each tool call id back, as providers demand. */
export async function toolCallIds(base) {
  const history = [{ role: 'user', content: 'weather?' }]
  const ids = []
  const completions = []
  for (let round = 0; round < 5; round++) {
    const request = { model: 'gpt-example', messages: history, tools }
    const completion = await openAi(base).chat.completions.create(request)
    completions.push([completion._request_id, completion])
    const { message } = completion.choices[0]
    history.push(message)
    if (!message.tool_calls) break
    for (const call of message.tool_calls) {
      ids.push(call.id)
      history.push({ role: 'tool', tool_call_id: call.id, content: 'mild' })
    }
  }
  return { ids, completions, claude: await claudeToolIds(base) }
}

async function claudeToolIds(base) {
  const client = new Anthropic({ apiKey: 'none', baseURL: base })
  const request = {
    model: 'claude-example',
    max_tokens: 100,
    tools: [{ name: 'weather', input_schema: { type: 'object' } }],
  }
  const question = { role: 'user', content: 'weather?' }
  const first = await client.messages.create({ ...request, messages: [question] })
  const uses = first.content.filter((block) => block.type === 'tool_use')
  const results = uses.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'mild' }))
  const second = await client.messages.create({
    ...request,
    messages: [
      question,
      { role: 'assistant', content: first.content },
      { role: 'user', content: results },
    ],
  })
  return { ids: uses.map(({ id }) => id), first, second }
}
