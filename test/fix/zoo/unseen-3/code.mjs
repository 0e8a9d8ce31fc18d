import { callTool, toolTexts, userText } from '../animal.mjs'
import { js } from '../unseen/source.mjs'

/** Code around models: awaits, labels, months, cents, maps, caches and chunks. */

const MOODS = {
  m1: 'positive',
  m2: 'Negative.',
  m3: '**negative**',
  m4: 'negative',
  m5: 'NEGATIVE',
  m6: 'Neutral.',
}
const INBOX = {
  monday: ['server down', 'lunch menu', 'invoice overdue'],
  tuesday: ['database down', 'disk down'],
  wednesday: ['birthday cake'],
  thursday: ['mail down', 'new logo', 'holiday plan', 'printer down'],
  friday: ['network down'],
}
const FORECASTS = {
  'Oslo today': 'snow',
  'Oslo tomorrow': 'sun',
  'Rome today': 'sun',
  'Rome tomorrow': 'sun',
  'Bern today': 'fog',
  'Bern tomorrow': 'rain',
  'Lima today': 'rain',
  'Lima tomorrow': 'fog',
}

/** @type {import('../unseen.mjs').UnseenAnimal[]} */
export const CODE = [
  {
    name: 'every-mail-is-urgent',
    what: 'filter gets a function that returns a promise, which is always true',
    promised: 'code: missing await in filter',
    agent: js`import { readFile } from 'node:fs/promises'
import { isUrgent } from './urgency.mjs'

const day = process.argv[2]
console.log('day: ' + day)

const inbox = JSON.parse(await readFile(new URL('inbox.json', import.meta.url), 'utf8'))
const urgent = inbox[day].filter(async (subject) => await isUrgent(subject))
console.log(urgent.length + ' urgent: ' + urgent.join(', ') + '.')
`,
    files: {
      'urgency.mjs': js`import { Ollama } from 'ollama'

const ollama = new Ollama({ host: process.env.OLLAMA_HOST })

/** @param {string} subject */
export async function isUrgent(subject) {
  const { message } = await ollama.chat({
    model: 'llama3.2',
    messages: [
      { role: 'system', content: 'Is this mail urgent? Answer yes or no.' },
      { role: 'user', content: 'Subject: ' + subject },
    ],
  })
  return message.content.trim().toLowerCase().startsWith('yes')
}
`,
      'inbox.json': `${JSON.stringify(INBOX, undefined, 2)}\n`,
    },
    model: (request) => (/down|overdue/.test(userText(request)) ? 'Yes' : 'No'),
    failing: ['monday', '2 urgent: server down, invoice overdue.'],
    sibling: ['wednesday', '0 urgent: .'],
    passing: [
      ['tuesday', '2 urgent: database down, disk down.'],
      ['friday', '1 urgent: network down.'],
    ],
    hidden: [['thursday', '2 urgent: mail down, printer down.']],
    fix: [
      [
        'const urgent = inbox[day].filter(async (subject) => await isUrgent(subject))',
        `const urgent = []
for (const subject of inbox[day]) if (await isUrgent(subject)) urgent.push(subject)`,
      ],
    ],
    partial: [
      [
        'filter(async (subject) => await isUrgent(subject))',
        "filter((subject) => !subject.startsWith('lunch'))",
      ],
    ],
  },
  {
    name: 'mood-with-a-full-stop',
    what: 'the model writes its label with a capital, a full stop or asterisks',
    promised: 'code: labels as models write them',
    agent: js`import OpenAI from 'openai'
import { route } from './src/route.mjs'

const client = new OpenAI()
const mail = process.argv[2]
console.log('mail ' + mail)

const response = await client.responses.create({
  model: 'gpt-4.1-mini',
  instructions: 'Is the mood of the mail positive, negative or neutral? Answer with one word.',
  input: 'mail ' + mail,
})
console.log('goes to ' + route(response.output_text))
`,
    files: {
      'src/route.mjs': js`/**
 * The team that gets a mail of this mood.
 *
 * @param {string} mood
 */
export function route(mood) {
  switch (mood) {
    case 'positive':
      return 'marketing'
    case 'negative':
      return 'complaints'
    default:
      return 'the archive'
  }
}
`,
    },
    model: (request) => MOODS[/m\d/.exec(userText(request))[0]],
    failing: ['m2', 'goes to complaints'],
    sibling: ['m3', 'goes to complaints'],
    passing: [
      ['m1', 'goes to marketing'],
      ['m4', 'goes to complaints'],
    ],
    hidden: [
      ['m5', 'goes to complaints'],
      ['m6', 'goes to the archive'],
    ],
    fix: [
      ['switch (mood) {', "switch (mood.toLowerCase().replace(/[^a-z]/g, '')) {", 'src/route.mjs'],
    ],
    partial: [["case 'negative':", "case 'Negative.':\n    case 'negative':", 'src/route.mjs']],
    silence: [["return 'the archive'", "return 'complaints'", 'src/route.mjs']],
  },
  {
    name: 'renewal-in-march',
    what: 'a month is added to the 31st, which skips the short month',
    promised: 'code: the last day of a month',
    agent: js`import Anthropic from '@anthropic-ai/sdk'
import { Subscription } from './src/subscription.mjs'

const request = process.argv[2]
console.log('request: ' + request)

const anthropic = new Anthropic()
const { content } = await anthropic.messages.create({
  model: 'claude-haiku-4-5',
  max_tokens: 100,
  system: 'Extract the start of the subscription as {"start": "YYYY-MM-DD"}. Answer with JSON only.',
  messages: [{ role: 'user', content: request }],
})
const { start } = JSON.parse(content[0].text)
const subscription = new Subscription(start)
console.log('renews on ' + subscription.renewal() + '.')
`,
    files: {
      'src/subscription.mjs': js`/** A subscription that is renewed every month, on the day it started or the last of the month. */
export class Subscription {
  #start

  /** @param {string} start For example 2026-05-14. */
  constructor(start) {
    this.#start = new Date(start + 'T00:00:00Z')
  }

  renewal() {
    const date = new Date(this.#start)
    date.setUTCMonth(date.getUTCMonth() + 1)
    return date.toISOString().slice(0, 10)
  }
}
`,
    },
    model: (request) => JSON.stringify({ start: /\d{4}-\d\d-\d\d/.exec(userText(request))[0] }),
    failing: ['started on 2026-01-31', 'renews on 2026-02-28.'],
    sibling: ['started on 2026-03-31', 'renews on 2026-04-30.'],
    passing: [
      ['started on 2026-05-14', 'renews on 2026-06-14.'],
      ['started on 2026-12-31', 'renews on 2027-01-31.'],
    ],
    hidden: [
      ['started on 2028-01-30', 'renews on 2028-02-29.'],
      ['started on 2026-01-29', 'renews on 2026-02-28.'],
      ['started on 2026-08-31', 'renews on 2026-09-30.'],
      ['started on 2026-11-30', 'renews on 2026-12-30.'],
      ['started on 2026-12-01', 'renews on 2027-01-01.'],
    ],
    fix: [
      [
        '    date.setUTCMonth(date.getUTCMonth() + 1)\n',
        `    const day = date.getUTCDate()
    date.setUTCMonth(date.getUTCMonth() + 1)
    if (date.getUTCDate() !== day) date.setUTCDate(0)
`,
        'src/subscription.mjs',
      ],
    ],
    partial: [
      [
        '    date.setUTCMonth(date.getUTCMonth() + 1)\n',
        `    const day = Math.min(date.getUTCDate(), 28)
    date.setUTCMonth(date.getUTCMonth() + 1, day)
`,
        'src/subscription.mjs',
      ],
    ],
  },
  {
    name: 'a-cent-is-missing',
    what: 'equal shares of a bill do not add up to the bill',
    promised: 'code: shares that do not add up',
    agent: js`import { GoogleGenAI } from '@google/genai'
import { splitBill } from './bill.mjs'

const story = process.argv[2]
console.log('story: ' + story)

const ai = new GoogleGenAI({})
const { text } = await ai.models.generateContent({
  model: 'gemini-2.5-flash',
  contents: 'As JSON {"amount": number, "people": number}, nothing else: ' + story,
})
const { amount, people } = JSON.parse(text)
const shares = splitBill(amount, people)
const paid = shares.reduce((sum, share) => sum + Math.round(share * 100), 0) / 100
console.log('shares: ' + shares.map((share) => share.toFixed(2)).join(' + '))
console.log('paid: ' + paid.toFixed(2) + ' euros')
`,
    files: {
      'bill.mjs': js`/**
 * What each person pays, to the cent.
 *
 * @param {number} amount
 * @param {number} people
 * @returns {number[]}
 */
export function splitBill(amount, people) {
  const share = Math.round((amount / people) * 100) / 100
  return Array.from({ length: people }, () => share)
}
`,
    },
    model: (request) => {
      const [, people, amount] = /(\d+) of us paid (\d+)/.exec(userText(request))
      return JSON.stringify({ amount: Number(amount), people: Number(people) })
    },
    failing: ['3 of us paid 100', 'paid: 100.00 euros'],
    sibling: ['7 of us paid 50', 'paid: 50.00 euros'],
    passing: [
      ['4 of us paid 90', 'paid: 90.00 euros'],
      ['2 of us paid 33', 'paid: 33.00 euros'],
    ],
    hidden: [
      ['6 of us paid 100', 'paid: 100.00 euros|16.6|!16.69|!16.6 |!16.70|!16.64'],
      ['3 of us paid 20', 'paid: 20.00 euros|6.67|6.66'],
      ['1 of us paid 8', 'shares: 8.00\n|paid: 8.00 euros'],
      ['9 of us paid 10', 'paid: 10.00 euros|1.11|1.12|!1.10|!1.13'],
    ],
    fix: [
      [
        `  const share = Math.round((amount / people) * 100) / 100
  return Array.from({ length: people }, () => share)`,
        `  const cents = Math.round(amount * 100)
  const share = Math.floor(cents / people)
  const rest = cents - share * people
  return Array.from({ length: people }, (_, index) => (share + (index < rest ? 1 : 0)) / 100)`,
        'bill.mjs',
      ],
    ],
    partial: [
      [
        'return Array.from({ length: people }, () => share)',
        'return Array.from({ length: people }, (_, index) => (index === 0 ? share + 0.01 : share))',
        'bill.mjs',
      ],
    ],
    silence: [
      [
        'const paid = shares.reduce((sum, share) => sum + Math.round(share * 100), 0) / 100',
        'const paid = amount',
      ],
    ],
  },
  {
    name: 'empty-warehouse',
    what: 'the result of a tool is a Map, which is {} in JSON',
    promised: 'code: Map as objects or in JSON',
    agent: js`import OpenAI from 'openai'
import { Warehouse } from './src/warehouse.mjs'

const question = process.argv[2]
console.log('question: ' + question)

const warehouse = new Warehouse()
const openai = new OpenAI()
const messages = [{ role: 'user', content: question }]
const tools = [
  {
    type: 'function',
    function: {
      name: 'stock',
      description: 'What is in stock, by kind of goods.',
      parameters: { type: 'object', properties: { kind: { type: 'string' } }, required: ['kind'] },
    },
  },
]

for (;;) {
  const { choices } = await openai.chat.completions.create({ model: 'gpt-4o-mini', messages, tools })
  const [{ message }] = choices
  messages.push(message)
  if (!message.tool_calls) {
    console.log(message.content)
    break
  }
  for (const call of message.tool_calls) {
    const { kind } = JSON.parse(call.function.arguments)
    const content = JSON.stringify(warehouse.stock(kind))
    messages.push({ role: 'tool', tool_call_id: call.id, content })
  }
}
`,
    files: {
      'src/warehouse.mjs': js`const DELIVERIES = [
  ['fruit', 'apples', 30],
  ['fruit', 'pears', 12],
  ['fruit', 'apples', 5],
  ['bread', 'rolls', 80],
  ['cheese', 'gouda', 6],
  ['cheese', 'feta', 9],
]

export class Warehouse {
  /** @param {string} kind @returns {Map<string, number>} */
  stock(kind) {
    const counts = new Map()
    for (const [of, name, count] of DELIVERIES)
      if (of === kind) counts.set(name, (counts.get(name) ?? 0) + count)
    return counts
  }
}
`,
    },
    model: (request) => {
      const [, kind] = /which (\w+)/.exec(userText(request))
      const [result] = toolTexts(request)
      if (result === undefined) return callTool('stock', { kind })
      const entries = [...result.matchAll(/"(\w+)"[:,]\s*(\d+)/g)]
      if (entries.length === 0) return `We have no ${kind}.`
      return `We have ${entries.map(([, name, count]) => `${count} ${name}`).join(' and ')}.`
    },
    failing: ['which fruit do you have?', 'We have 35 apples and 12 pears.'],
    sibling: ['which bread do you have?', 'We have 80 rolls.'],
    passing: [
      ['which meat do you have?', 'We have no meat.'],
      ['which wine do you have?', 'We have no wine.'],
    ],
    hidden: [
      ['which cheese do you have?', 'We have 6 gouda and 9 feta.'],
      ['which salad do you have?', 'We have no salad.'],
    ],
    fix: [
      [
        'JSON.stringify(warehouse.stock(kind))',
        'JSON.stringify(Object.fromEntries(warehouse.stock(kind)))',
      ],
    ],
    partial: [
      [
        'JSON.stringify(warehouse.stock(kind))',
        "JSON.stringify({ apples: warehouse.stock(kind).get('apples'), pears: warehouse.stock(kind).get('pears') })",
      ],
    ],
  },
  {
    name: 'weather-of-yesterday',
    what: 'a cache of forecasts has the city as its key, but not the day',
    promised: 'code: cache keys',
    agent: js`import { ForecastService } from './src/forecast-service.mjs'

const wanted = process.argv[2]
console.log('wanted: ' + wanted)

const service = new ForecastService()
const lines = []
for (const entry of wanted.split(', ')) {
  const [city, day] = entry.split(' ')
  lines.push(\`\${city} \${day}: \${await service.forecast(city, day)}\`)
}
console.log(lines.join('; ') + '.')
`,
    files: {
      'src/forecast-service.mjs': js`import Anthropic from '@anthropic-ai/sdk'

export class ForecastService {
  /** @type {Map<string, Promise<string>>} */
  #cache = new Map()
  #anthropic = new Anthropic()

  forecast(city, day) {
    let forecast = this.#cache.get(city)
    if (forecast === undefined) {
      forecast = this.#ask(city, day)
      this.#cache.set(city, forecast)
    }
    return forecast
  }

  async #ask(city, day) {
    const { content } = await this.#anthropic.messages.create({
      model: 'claude-haiku-4-5',
      max_tokens: 20,
      messages: [{ role: 'user', content: 'The weather in ' + city + ' ' + day + ', in a word?' }],
    })
    return content[0].text
  }
}
`,
    },
    model: (request) => FORECASTS[/in (\w+ \w+),/.exec(userText(request))[1]],
    failing: ['Oslo today, Oslo tomorrow', 'Oslo today: snow; Oslo tomorrow: sun.'],
    sibling: ['Bern today, Bern tomorrow', 'Bern today: fog; Bern tomorrow: rain.'],
    passing: [
      ['Oslo today, Rome today', 'Oslo today: snow; Rome today: sun.'],
      ['Rome today, Rome tomorrow', 'Rome today: sun; Rome tomorrow: sun.'],
    ],
    hidden: [
      [
        'Lima tomorrow, Bern today, Lima today',
        'Lima tomorrow: fog; Bern today: fog; Lima today: rain.',
      ],
      ['Bern tomorrow', 'Bern tomorrow: rain.'],
    ],
    fix: [
      ['this.#cache.get(city)', "this.#cache.get(city + ' ' + day)", 'src/forecast-service.mjs'],
      [
        'this.#cache.set(city, forecast)',
        "this.#cache.set(city + ' ' + day, forecast)",
        'src/forecast-service.mjs',
      ],
    ],
    partial: [
      ['this.#cache.get(city)', 'this.#cache.get(day)', 'src/forecast-service.mjs'],
      [
        'this.#cache.set(city, forecast)',
        'this.#cache.set(day, forecast)',
        'src/forecast-service.mjs',
      ],
    ],
  },
  {
    name: 'the-rest-of-the-batch',
    what: 'texts are sent in batches of three, and an incomplete last batch is never sent',
    promised: 'code: a lost last chunk',
    agent: js`import { Translator } from './src/translator.mjs'

const words = process.argv[2]
console.log('words: ' + words)

const translator = new Translator()
for (const word of words.split(' ')) {
  await translator.add(word)
}
console.log(translator.translated.join(' ') + '.')
`,
    files: {
      'src/translator.mjs': js`import Groq from 'groq-sdk'

const BATCH_SIZE = 3

/** Sends words in batches, which is cheaper. */
export class Translator {
  /** @type {string[]} */
  translated = []
  #batch = []
  #groq = new Groq()

  async add(word) {
    this.#batch.push(word)
    if (this.#batch.length === BATCH_SIZE) await this.flush()
  }

  async flush() {
    const { choices } = await this.#groq.chat.completions.create({
      model: 'llama-3.3-70b-versatile',
      messages: [
        { role: 'system', content: 'Translate to Latin, word by word, with commas.' },
        { role: 'user', content: this.#batch.join(', ') },
      ],
    })
    this.#batch = []
    this.translated.push(...choices[0].message.content.split(', '))
  }
}
`,
    },
    model: (request) =>
      userText(request)
        .split(', ')
        .map((word) => `${word}us`)
        .join(', '),
    failing: ['lup mur leon aster', 'lupus murus leonus asterus.'],
    sibling: ['equ taur vent mund loc', 'equus taurus ventus mundus locus.'],
    passing: [
      ['serv fil de', 'servus filus deus.'],
      ['cib hort anim ocul digit nas', 'cibus hortus animus oculus digitus nasus.'],
    ],
    hidden: [
      ['camp ludus', 'campus ludusus.'],
      ['pil', 'pilus.'],
      ['cam vic rad', 'camus vicus radus.'],
      ['a b c d e f g', 'aus bus cus dus eus fus gus.'],
    ],
    fix: [
      [
        "console.log(translator.translated.join(' ') + '.')",
        `await translator.finish()
console.log(translator.translated.join(' ') + '.')`,
      ],
      [
        '  async flush() {',
        `  async finish() {
    if (this.#batch.length > 0) await this.flush()
  }

  async flush() {`,
        'src/translator.mjs',
      ],
    ],
    partial: [
      [
        "console.log(translator.translated.join(' ') + '.')",
        `await translator.flush()
console.log(translator.translated.join(' ') + '.')`,
      ],
    ],
  },
  {
    name: 'release-nine-wins',
    what: 'versions are sorted as text, so that 1.9 is the newest',
    promised: 'code: sorting versions as text',
    agent: js`import OpenAI from 'openai'
import { newest } from './lib/versions.mjs'

const library = process.argv[2]
console.log('library: ' + library)

const openai = new OpenAI()
const stream = await openai.chat.completions.create({
  model: 'gpt-4o-mini',
  messages: [{ role: 'user', content: 'List all versions of ' + library + ', one per line.' }],
  stream: true,
})
let answer = ''
for await (const chunk of stream) answer += chunk.choices[0]?.delta?.content ?? ''

const versions = answer.split('\n').map((line) => line.trim()).filter(Boolean)
console.log('newest of ' + versions.length + ': ' + newest(versions) + '!')
`,
    files: {
      'lib/versions.mjs': js`/** @param {string[]} versions */
export const newest = (versions) => versions.toSorted().at(-1)
`,
    },
    model: (request) =>
      ({
        ink: '1.9.0\n1.10.0\n1.2.0',
        oak: '2.0.4\n2.0.11\n2.0.9',
        elm: '1.0.0\n1.1.0\n1.2.0',
        fir: '3.4.1\n3.4.0',
        ash: '9.1.0\n10.0.0\n10.0.2\n8.8.8',
        yew: '0.1.0',
      })[/of (\w+),/.exec(userText(request))[1]],
    failing: ['ink', 'newest of 3: 1.10.0!'],
    sibling: ['oak', 'newest of 3: 2.0.11!'],
    passing: [
      ['elm', 'newest of 3: 1.2.0!'],
      ['fir', 'newest of 2: 3.4.1!'],
    ],
    hidden: [
      ['ash', 'newest of 4: 10.0.2!'],
      ['yew', 'newest of 1: 0.1.0!'],
    ],
    fix: [
      [
        'versions.toSorted()',
        'versions.toSorted((a, b) => a.localeCompare(b, undefined, { numeric: true }))',
        'lib/versions.mjs',
      ],
    ],
    partial: [
      [
        'versions.toSorted()',
        "versions.toSorted((a, b) => a.split('.')[1] - b.split('.')[1])",
        'lib/versions.mjs',
      ],
    ],
  },
]
