import { once } from 'node:events'
import { createServer } from 'node:http'

/**
 * The model of the blame lab: a loopback server that answers each scenario as planned. While
 * a run is recorded it makes its mistake; afterwards only with the chance of the scenario.
 */
export class LabModel {
  /** While true, answers are those of the failing run. */
  isRecording = true
  requests = 0
  refunds = 0
  #server
  #seed
  #isOtherWay = false

  /** `chance`: how often a mistake happens again. */
  constructor(seed, { chance = 0 } = {}) {
    this.chance = chance
    this.#seed = seed >>> 0 || 1
    this.#server = createServer((request, response) => void this.#answer(request, response))
  }

  async start() {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    this.url = `http://127.0.0.1:${this.#server.address().port}`
    return this
  }

  close() {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  /** From 0 up to 1. */
  random() {
    this.#seed = (Math.imul(this.#seed, 1_664_525) + 1_013_904_223) >>> 0
    return this.#seed / 2 ** 32
  }

  /** One of two concurrent requests is slow; which one is chance once the run is recorded. */
  isSlow(isSlowThen) {
    if (!isSlowThen) this.#isOtherWay = !this.isRecording && this.random() < 0.5
    return isSlowThen !== this.#isOtherWay
  }

  async #answer(request, response) {
    let body = ''
    for await (const chunk of request) body += chunk
    const [, scenario, file] = request.url.split('/')
    const isEffect = request.method !== 'GET' && file !== 'v1'
    if (isEffect) this.refunds += 1
    if (scenario === 'bank' || scenario === 'mail') return void response.end('paid')
    this.requests += 1
    if (file !== 'v1') return void response.end(JSON.stringify(FILES[scenario](this)))
    const { messages } = JSON.parse(body)
    const said = MODELS[scenario]?.(messages.at(-1).content, this, messages) ?? 'Fine.'
    const { ms = 0, ...message } = typeof said === 'string' ? { content: said } : said
    const answer = {
      id: `chatcmpl-${this.requests}`,
      object: 'chat.completion',
      model: 'fake-1',
      choices: [
        {
          index: 0,
          finish_reason: 'stop',
          message: { role: 'assistant', content: null, ...message },
        },
      ],
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
    }
    setTimeout(() => {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(answer))
    }, ms)
  }
}

/** Numbers 3 and 5 are wrong in the recording, and later with some chance. */
const numbers = (wrong) => (prompt, model) => {
  const step = Number(/Number (\d)/.exec(prompt)?.[1])
  if (!wrong.includes(step)) return `${step * 10}`
  return model.isRecording || model.random() < model.chance ? `wrong ${step}` : `${step * 10}`
}

/** Answers of the shop and the bank. */
const FILES = {
  w1: () => ({ price: 10, shipping: '4.90', note: 'fresh' }),
  w2: () => ({ id: 'lamp', stock: { units: 0 } }),
  w3: ({ isRecording }) => ({ id: 'lamp', stock: { units: isRecording ? 0 : 5 } }),
  w4: () => ({ id: 'q-1', days: 30 }),
  w5: () => ({ price: 10 }),
  x2: () => ({ ok: true, id: 'tr-81' }),
}

const parcels = (prompt, { isRecording }) =>
  prompt.startsWith('What') ? (isRecording ? 'wrong' : '3 kg') : 'Fine.'

/** The right amount is 20; the letter is in other words each time. */
const letters = (prompt, model) => {
  if (prompt.startsWith('How much')) return model.isRecording ? '200' : '20'
  if (!prompt.startsWith('Write a letter')) return 'Fine.'
  return `${reworded(model)} we send you ${/\d+/.exec(prompt)?.[0]} euros for the lamp.`
}

const reworded = (model) =>
  ['Gladly', 'Dear friend,', 'Hello,', 'Good day,', 'As agreed,'][Math.floor(model.random() * 5)] +
  ' '.repeat(1) +
  ['today', 'now', 'this week', 'soon'][Math.floor(model.random() * 4)]

const isAvailable = (prompt) =>
  / (\d+) units/.exec(prompt)?.[1] !== '0' && !/no lamp|sold out/i.test(prompt)

const MODELS = {
  b1: (prompt) => (prompt.startsWith('What is') ? '1200' : 'Done.'),
  b2: (prompt) => (prompt.startsWith('What is') ? '1200' : 'Done.'),
  m: (prompt) => (prompt.includes(' 0 units') ? 'No, it is empty.' : 'Yes.'),
  and: numbers([3, 5]),
  or: numbers([3, 5]),
  one: numbers([3]),
  d: (prompt) => (isAvailable(prompt) ? 'Yes, it is available.' : 'No lamp is left.'),
  /** The same in other words each time. */
  p: (prompt, model) => {
    const word = ['Certainly', 'Well', 'Sure', 'Indeed', 'Right'][Math.floor(model.random() * 5)]
    const number = Math.floor(model.random() * 1e6)
    return isAvailable(prompt)
      ? `${word}, yes: lamp ${number} is available.`
      : `${word}: no lamp of series ${number} is left.`
  },
  l: (prompt, model) => {
    if (prompt.startsWith('Which id')) return model.isRecording ? '1128' : '1182'
    return /says (\d+)/.exec(prompt)?.[1] ?? 'Fine.'
  },
  n: (prompt, model) =>
    prompt.startsWith('How much') ? (model.isRecording ? '200' : '20') : 'Fine.',
  k1: () => 'denied',
  k2: () => 'approved',
  c1: (prompt, model) => {
    if (!prompt.startsWith('Price')) return 'Fine.'
    const isSlow = model.isSlow(prompt.includes('shop b'))
    return { content: prompt.includes('shop a') ? '10' : '99', ms: isSlow ? 150 : 30 }
  },
  c2: (prompt, model) => {
    if (!prompt.startsWith('Try')) return 'Fine.'
    const isSlow = model.isSlow(prompt.includes('big'))
    return { content: 'refused', ms: isSlow ? 150 : 30 }
  },
  q: (prompt, _model, messages) => {
    const result = messages.find(({ role }) => role === 'tool')
    if (result !== undefined) return `REFUND ${JSON.parse(result.content).paid}`
    const call = {
      id: 'call_1',
      type: 'function',
      function: { name: 'get_order', arguments: '{"id":"1182"}' },
    }
    return { tool_calls: [call] }
  },
  v1: parcels,
  v4: parcels,
  v5: parcels,
  x1: letters,
  x2: letters,
  x3: (prompt, model) =>
    prompt.startsWith('Is')
      ? model.isRecording
        ? 'OPEN'
        : 'CLOSED'
      : `${reworded(model)} the lamp is paid back.`,
  x4: (prompt, model) => {
    if (prompt.startsWith('Write'))
      return model.isRecording ? 'return?' : `${reworded(model)} return days`
    return prompt.includes(' 30 ') ? 'GRANTED' : 'DENIED'
  },
  y1: (_prompt, model) => `${reworded(model)} it is a list.`,
  r: (prompt, model) => {
    if (prompt.startsWith('Give')) return model.isRecording ? 'a wrong hint' : 'a hint'
    if (!prompt.startsWith('Solve')) return 'Fine.'
    return !prompt.includes('wrong') && model.random() < 0.3 ? 'solved' : 'no'
  },
}
