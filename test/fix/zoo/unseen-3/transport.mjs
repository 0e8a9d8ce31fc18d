import { refuse, userText } from '../animal.mjs'
import { js } from '../unseen/source.mjs'

/** Transport: waiting, timeouts, shapes of answers. */

const WAIT_SECONDS = { pool: 2, spa: 1.5, sauna: 3 }
const PRODUCTS = {
  lamp: { unitPrice: 30, inStock: true },
  desk: { unitPrice: 120, inStock: true },
  stool: { unit_price: 45, in_stock: true },
  shelf: { unit_price: 80, in_stock: true },
  rug: { unit_price: 15, in_stock: true },
  vase: { unitPrice: 12, inStock: true },
}
const CASES = {
  refund: { queue: 'billing', urgent: false },
  outage: { queue: 'operations', urgent: true },
  spam: { queue: 'abuse', urgent: false },
  praise: { queue: 'marketing', urgent: false },
  leak: { queue: 'security', urgent: true },
}

/** @type {import('../unseen.mjs').UnseenAnimal[]} */
export const TRANSPORT = [
  {
    name: 'impatient-concierge',
    what: 'a class pauses 150 ms after a 429 that asks for seconds',
    promised: 'transport: waiting as long as a server asks',
    agent: js`import { Concierge } from './src/concierge.mjs'

const question = process.argv[2]
console.log(\`Question: \${question}\`)

const concierge = new Concierge({ model: 'claude-sonnet-4-5' })
console.log(await concierge.answer(question))
`,
    files: {
      'src/concierge.mjs': js`import Anthropic, { APIError } from '@anthropic-ai/sdk'
import { sleep } from './sleep.mjs'

const ATTEMPTS = 3
const PAUSE_MS = 150

export class Concierge {
  /** @type {Anthropic} */
  #client
  #model

  constructor({ model }) {
    // We log every attempt, so the SDK must not make its own.
    this.#client = new Anthropic({ maxRetries: 0 })
    this.#model = model
  }

  async answer(question) {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#ask(question)
      } catch (error) {
        const isBusy = error instanceof APIError && error.status === 429
        if (!isBusy || attempt === ATTEMPTS) throw error
        console.error(\`attempt \${attempt} was refused\`)
        await sleep(PAUSE_MS)
      }
    }
  }

  async #ask(question) {
    const message = await this.#client.messages.create({
      model: this.#model,
      max_tokens: 300,
      system: 'You are the concierge of a hotel.',
      messages: [{ role: 'user', content: question }],
    })
    return message.content.map((block) => (block.type === 'text' ? block.text : '')).join('')
  }
}
`,
      'src/sleep.mjs': js`export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
`,
    },
    model: (request, world) => {
      const question = userText(request)
      const [, topic] = /the (\w+)/.exec(question)
      const seconds = WAIT_SECONDS[topic] ?? 0
      if (world.since(topic) < seconds * 1000 - 20)
        return refuse(429, 'Too many requests.', { retryAfter: Math.ceil(seconds) })
      return `The ${topic} opens at nine.`
    },
    failing: ['When does the pool open?', 'The pool opens at nine.'],
    sibling: ['When does the spa open?', 'The spa opens at nine.'],
    passing: [
      ['When does the bar open?', 'The bar opens at nine.'],
      ['When does the kitchen open?', 'The kitchen opens at nine.'],
    ],
    hidden: [
      ['When does the sauna open?', 'The sauna opens at nine.'],
      ['When does the garden open?', 'The garden opens at nine.'],
    ],
    fix: [
      [
        'await sleep(PAUSE_MS)',
        "await sleep(Number(error.headers?.get('retry-after') ?? 0) * 1000 || PAUSE_MS)",
        'src/concierge.mjs',
      ],
    ],
    partial: [['PAUSE_MS = 150', 'PAUSE_MS = 1_100', 'src/concierge.mjs']],
  },
  {
    name: 'novel-in-a-hurry',
    what: 'long summaries take longer than the configured timeout',
    promised: 'transport: longer timeouts',
    agent: js`import { createOpenAI } from '@ai-sdk/openai'
import { generateText } from 'ai'
import { settings } from './settings.mjs'

const order = process.argv[2]
console.log('order: ' + order)

const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL })

const { text } = await generateText({
  model: openai.chat(settings.model),
  system: 'You summarise books for a library.',
  prompt: order,
  maxRetries: 0,
  abortSignal: AbortSignal.timeout(settings.answerWithinMs),
})
console.log(text)
`,
    files: {
      'settings.mjs': js`export const settings = {
  model: 'gpt-4o-mini',
  answerWithinMs: 900,
}
`,
    },
    model: (request) => {
      const [, pages, title] = /(\d+) pages about (\w+)/.exec(userText(request))
      const text = `${title}: a summary on ${pages} pages.`
      return Number(pages) > 5 ? { text, delayMs: Number(pages) * 100 } : text
    },
    failing: ['16 pages about Emma', 'Emma: a summary on 16 pages.'],
    sibling: ['19 pages about Persuasion', 'Persuasion: a summary on 19 pages.'],
    passing: [
      ['2 pages about Dubliners', 'Dubliners: a summary on 2 pages.'],
      ['4 pages about Ulysses', 'Ulysses: a summary on 4 pages.'],
    ],
    hidden: [
      ['27 pages about Middlemarch', 'Middlemarch: a summary on 27 pages.'],
      ['1 pages about Walden', 'Walden: a summary on 1 pages.'],
    ],
    fix: [['answerWithinMs: 900', 'answerWithinMs: 30_000', 'settings.mjs']],
    partial: [['answerWithinMs: 900', 'answerWithinMs: 2_200', 'settings.mjs']],
  },
  {
    name: 'triage-in-a-fence',
    what: 'the model puts its JSON into a code fence for some mails',
    promised: 'transport: JSON in code fences',
    agent: js`import { BedrockRuntimeClient } from '@aws-sdk/client-bedrock-runtime'
import { classify } from './lib/classify.mjs'

const subject = process.argv[2]
console.log('Subject: ' + subject)

const client = new BedrockRuntimeClient({})
try {
  const { queue, urgent } = await classify(client, subject)
  console.log(\`-> \${queue}\${urgent ? ' (urgent)' : ''}.\`)
} finally {
  client.destroy()
}
`,
    files: {
      'lib/classify.mjs': js`import { ConverseCommand } from '@aws-sdk/client-bedrock-runtime'

const SYSTEM = 'Classify the mail. Answer with JSON: {"queue": string, "urgent": boolean}.'

/**
 * @param {import('@aws-sdk/client-bedrock-runtime').BedrockRuntimeClient} client
 * @param {string} subject
 * @returns {Promise<{ queue: string, urgent: boolean }>}
 */
export async function classify(client, subject) {
  const { output } = await client.send(
    new ConverseCommand({
      modelId: 'amazon.nova-lite-v1:0',
      system: [{ text: SYSTEM }],
      messages: [{ role: 'user', content: [{ text: subject }] }],
    }),
  )
  const text = output.message.content.map((block) => block.text ?? '').join('')
  return JSON.parse(text)
}
`,
    },
    model: (request) => {
      const [, topic] = /(\w+)$/.exec(userText(request))
      const text = JSON.stringify(CASES[topic])
      if (topic === 'outage') return `\`\`\`json\n${text}\n\`\`\``
      if (topic === 'leak') return `\`\`\`\n${text}\n\`\`\`\n`
      if (topic === 'spam') return `\`\`\`json\n${JSON.stringify(CASES.spam, undefined, 2)}\n\`\`\``
      return text
    },
    failing: ['about an outage', '-> operations (urgent).'],
    sibling: ['about a leak', '-> security (urgent).'],
    passing: [
      ['about a refund', '-> billing.'],
      ['about our praise', '-> marketing.'],
    ],
    hidden: [
      ['about some spam', '-> abuse.'],
      ['the second leak', '-> security (urgent).'],
      ['the second refund', '-> billing.'],
    ],
    fix: [
      [
        'return JSON.parse(text)',
        "return JSON.parse(text.replace(/^\\s*```\\w*/, '').replace(/```\\s*$/, ''))",
        'lib/classify.mjs',
      ],
    ],
    partial: [
      [
        'JSON.parse(text)',
        "JSON.parse(text.replace('```json', '').replace('```', ''))",
        'lib/classify.mjs',
      ],
    ],
  },
  {
    name: 'two-catalogues',
    what: 'newer products of the shop have unit_price instead of unitPrice',
    promised: 'transport: values that an answer has elsewhere',
    agent: js`import OpenAI from 'openai'
import { ShopClient } from './src/shop-client.mjs'
import { quote } from './src/quote.mjs'

const request = process.argv[2]
console.log(\`request: \${request}\`)

const openai = new OpenAI()
const { choices } = await openai.chat.completions.create({
  model: 'gpt-4o-mini',
  messages: [
    { role: 'system', content: 'Extract { "sku": string, "quantity": number } as JSON.' },
    { role: 'user', content: request },
  ],
})
const order = JSON.parse(choices[0].message.content)
const shop = new ShopClient(process.env.GATEWAY_URL)
console.log(quote(await shop.product(order.sku), order.quantity))
`,
    files: {
      'src/shop-client.mjs': js`export class ShopClient {
  constructor(baseUrl) {
    this.baseUrl = baseUrl
  }

  /** @returns {Promise<{ unitPrice: number }>} */
  async product(sku) {
    const response = await fetch(this.baseUrl + '/products/' + encodeURIComponent(sku))
    if (!response.ok) throw new Error('shop: ' + response.status)
    return response.json()
  }
}
`,
      'src/quote.mjs': js`const SHIPPING = 5

/** The price of an order, shipping included. */
export function quote(product, quantity) {
  const total = product.unitPrice * quantity + SHIPPING
  return 'total: ' + total.toFixed(2) + ' euros'
}
`,
    },
    model: (request) => {
      const [, quantity, sku] = /(\d+) (\w+)/.exec(userText(request))
      return JSON.stringify({ sku, quantity: Number(quantity) })
    },
    gateway: (path) => ({ json: { sku: path.slice(10), ...PRODUCTS[path.slice(10)] } }),
    failing: ['I need 4 stool please', 'total: 185.00 euros'],
    sibling: ['I need 2 shelf please', 'total: 165.00 euros'],
    passing: [
      ['I need 3 lamp please', 'total: 95.00 euros'],
      ['I need 1 desk please', 'total: 125.00 euros'],
    ],
    hidden: [
      ['I need 10 rug please', 'total: 155.00 euros'],
      ['I need 6 vase please', 'total: 77.00 euros'],
      ['I need 1 stool please', 'total: 50.00 euros'],
    ],
    fix: [
      [
        'product.unitPrice * quantity',
        '(product.unitPrice ?? product.unit_price) * quantity',
        'src/quote.mjs',
      ],
    ],
    partial: [
      ['product.unitPrice * quantity', '(product.unitPrice ?? 45) * quantity', 'src/quote.mjs'],
    ],
    silence: [
      ['product.unitPrice * quantity', '(product.unitPrice ?? 0) * quantity', 'src/quote.mjs'],
    ],
  },
  {
    name: 'thinks-before-it-speaks',
    what: 'the first part of an answer is the thinking of the model',
    promised: 'transport: texts in another part than the first',
    agent: js`import Anthropic from '@anthropic-ai/sdk'

const anthropic = new Anthropic()

async function complete(prompt) {
  const message = await anthropic.messages.create({
    model: 'claude-sonnet-4-5',
    max_tokens: 4000,
    thinking: { type: 'enabled', budget_tokens: 1024 },
    messages: [{ role: 'user', content: prompt }],
  })
  return message.content[0].text
}

const riddle = process.argv[2]
console.log('riddle: ' + riddle)
const answer = await complete(riddle + '\nAnswer with one word.')
console.log('answer: ' + answer.trim().toUpperCase() + '!')
`,
    model: (request) => {
      const riddle = userText(request)
      const [, wanted] = /with (?:the )?(\w+)\?/.exec(riddle)
      const word = { teeth: 'comb', hands: 'clock', neck: 'bottle', eye: 'needle', keys: 'piano' }[
        wanted
      ]
      return riddle.startsWith('Why') ? { reasoning: `It has ${wanted}.`, text: word } : word
    },
    failing: ['Why cannot it bite, with teeth?', 'answer: COMB!'],
    sibling: ['Why cannot it see, with the eye?', 'answer: NEEDLE!'],
    passing: [
      ['What is it, with hands?', 'answer: CLOCK!'],
      ['What is it, with a lock, with keys?', 'answer: PIANO!'],
    ],
    hidden: [
      ['Why does it need no scarf, with the neck?', 'answer: BOTTLE!'],
      ['What is it, with teeth?', 'answer: COMB!'],
    ],
    fix: [['message.content[0].text', "message.content.find(({ type }) => type === 'text').text"]],
    partial: [['message.content[0].text', 'message.content[1].text']],
    silence: [['answer.trim()', "(answer ?? 'comb').trim()"]],
  },
]
