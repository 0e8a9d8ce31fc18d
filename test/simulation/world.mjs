import { hashOf, Seeded } from './seeded.mjs'

export const MODEL_URL = 'https://api.openai.com/v1/chat/completions'

/**
 * Everything outside the agent: a model and tools. Their answers, faults and delays follow
 * from the seed and from what they are sent, so two runs that send the same get the same,
 * whenever and however often they ask.
 */
export class World {
  /** What arrived, in order, as keys. */
  contacts = []
  /** Called for each contact, before it is answered. */
  onContact = () => {}
  #seed
  #loop
  #faults
  /** Answers in place of those that follow from the seed, by key. */
  #overrides

  constructor(seed, { loop, faults = 0.12, overrides = new Map() }) {
    this.#seed = seed
    this.#loop = loop
    this.#faults = faults
    this.#overrides = overrides
  }

  fetch = (url, init) => {
    const body = Buffer.from(init.body).toString()
    const key = modelKey(body)
    const random = this.#contact(key)
    const { promise, resolve, reject } = withResolvers()
    const fault = random.chance(this.#faults) ? random.pick(FAULTS) : undefined
    const latencyMs = random.between(1, 400)
    const abort = () => reject(init.signal.reason)
    init.signal?.addEventListener('abort', abort)
    this.#loop.setTimeout(() => {
      if (init.signal?.aborted) return
      if (fault === 'refused') reject(connectionError('ECONNREFUSED'))
      else if (fault === 'overloaded')
        resolve(jsonResponse(503, { error: { message: 'overloaded' } }))
      else resolve(this.#answer(key, JSON.parse(body), { random, fault, signal: init.signal }))
    }, latencyMs)
    return promise
  }

  /** A tool with an effect: it is executed here, and answers later. */
  callTool(name, args) {
    const key = toolKey(name, args)
    const random = this.#contact(key)
    const { promise, resolve, reject } = withResolvers()
    const isBroken = random.chance(this.#faults)
    const override = this.#overrides.get(key)
    this.#loop.setTimeout(
      () => {
        if (override !== undefined) resolve(override)
        else if (isBroken) reject(withoutStack(new Error(`${name} is broken`)))
        else resolve({ name, value: this.#text(key) })
      },
      random.between(1, 200),
    )
    return promise
  }

  /** A fact that a program looks up without waiting. */
  lookUp(name) {
    return `${name} is ${hashOf(`${this.#seed} ${name}`) % 1000}`
  }

  #contact(key) {
    this.onContact(key)
    this.contacts.push(key)
    return new Seeded(`${this.#seed} ${key}`)
  }

  #text(key) {
    return this.#overrides.get(key) ?? `answer ${hashOf(`${this.#seed} ${key}`).toString(36)}`
  }

  #answer(key, { stream }, { random, fault, signal }) {
    const text = this.#text(key)
    const id = `chat-${hashOf(key).toString(36)}`
    if (stream !== true) return jsonResponse(200, completion(id, text))
    const frames = [
      ...pieces(text, random).map((piece) => frame(id, { content: piece })),
      frame(id, {}, 'stop'),
    ]
    const parts = [...frames.map((each) => `data: ${JSON.stringify(each)}\n\n`), 'data: [DONE]\n\n']
    const cut = fault === 'cut' ? random.between(0, parts.length - 1) : undefined
    return new Response(this.#stream(parts, { random, cut, signal }), {
      status: 200,
      headers: { 'content-type': 'text/event-stream' },
    })
  }

  #stream(parts, { random, cut, signal }) {
    const loop = this.#loop
    return new ReadableStream({
      start(controller) {
        let isOpen = true
        const next = (at) => {
          if (!isOpen) return
          if (at === cut) return controller.error(connectionError('ECONNRESET'))
          if (at === parts.length) return controller.close()
          controller.enqueue(Buffer.from(parts[at]))
          loop.setTimeout(() => next(at + 1), random.between(1, 60))
        }
        signal?.addEventListener('abort', () => {
          isOpen = false
          controller.error(signal.reason)
        })
        next(0)
      },
    })
  }
}

const FAULTS = ['refused', 'overloaded', 'cut']

/** A request without what is drawn anew for each one. */
export function modelKey(body) {
  const { request_id: _, ...asked } = JSON.parse(body)
  return `model ${JSON.stringify(asked)}`
}

export const toolKey = (name, args) => `tool ${name} ${JSON.stringify(args)}`

const completion = (id, content) => ({
  id,
  object: 'chat.completion',
  model: 'simulated',
  choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
})

const frame = (id, delta, finish_reason = null) => ({
  id,
  object: 'chat.completion.chunk',
  model: 'simulated',
  choices: [{ index: 0, delta, finish_reason }],
})

const jsonResponse = (status, value) =>
  new Response(JSON.stringify(value), { status, headers: { 'content-type': 'application/json' } })

function pieces(text, random) {
  const at = random.between(1, text.length - 1)
  return [text.slice(0, at), text.slice(at)]
}

function connectionError(code) {
  const cause = withoutStack(Object.assign(new Error(code), { code }))
  return withoutStack(new TypeError('fetch failed', { cause }))
}

/** The stack of the simulation itself would go on the tape. */
function withoutStack(error) {
  error.stack = `${error.name}: ${error.message}`
  return error
}

function withResolvers() {
  let resolve
  let reject
  const promise = new Promise((...both) => ([resolve, reject] = both))
  return { promise, resolve, reject }
}
