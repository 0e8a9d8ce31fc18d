import { callTool, refuse, toolTexts, userText } from '../animal.mjs'
import { js } from '../unseen/source.mjs'

/** Agents that no code can repair, that are fine, and that fail by chance. */

const MENU = {
  soup: { price: 6, contains: ['celery'] },
  pasta: { price: 9, contains: ['wheat', 'egg'] },
  salad: { price: 7, contains: [] },
  goulash: { price: 11 },
  pudding: { price: 5 },
}
const SEATS = { Hamlet: 12, Tosca: 0, Carmen: 3, Medea: 0 }

/** @type {import('../unseen.mjs').UnseenAnimal[]} */
export const OTHERS = [
  {
    name: 'unlisted-allergens',
    what: 'the server does not know the allergens of some dishes, nobody does',
    agent: js`import OpenAI from 'openai'
import { dish } from './menu.mjs'

const name = process.argv[2]
console.log('dish: ' + name)

const { price, contains } = await dish(name)
const openai = new OpenAI()
const { choices } = await openai.chat.completions.create({
  model: 'gpt-4o-mini',
  messages: [
    { role: 'system', content: 'Write a line for the menu.' },
    { role: 'user', content: name + ', ' + price + ' euros, ' + (contains.join(' and ') || 'no allergens') },
  ],
})
console.log(choices[0].message.content)
`,
    files: {
      'menu.mjs': js`/** @returns {Promise<{ price: number, contains: string[] }>} */
export async function dish(name) {
  const response = await fetch(process.env.GATEWAY_URL + '/dishes/' + name)
  return response.json()
}
`,
    },
    model: (request) => `Tonight: ${userText(request)}.`,
    gateway: (path) => ({ json: MENU[path.slice(8)] ?? {} }),
    oracle: 'stdout:Tonight: goulash, 11 euros, milk and wheat.',
    failing: ['goulash', 'Tonight: goulash, 11 euros, milk and wheat.'],
    sibling: ['pudding', 'Tonight: pudding, 5 euros, milk and egg.'],
    passing: [
      ['soup', 'Tonight: soup, 6 euros, celery.'],
      ['salad', 'Tonight: salad, 7 euros, no allergens.'],
    ],
    hidden: [['pasta', 'Tonight: pasta, 9 euros, wheat and egg.']],
    silence: [["contains.join(' and ')", "(contains ?? []).join(' and ')"]],
    partial: [["contains.join(' and ')", "(contains ?? ['milk', 'wheat']).join(' and ')"]],
    expect: 'not-fixed',
  },
  {
    name: 'currency-nobody-quotes',
    what: 'the table of rates has no rate for some currencies',
    agent: js`import Anthropic from '@anthropic-ai/sdk'
import { toEuros } from './src/rates.mjs'

const expense = process.argv[2]
console.log('expense: ' + expense)

const anthropic = new Anthropic()
const { content } = await anthropic.messages.create({
  model: 'claude-haiku-4-5',
  max_tokens: 100,
  system: 'Extract {"amount": number, "currency": string} as JSON.',
  messages: [{ role: 'user', content: expense }],
})
const { amount, currency } = JSON.parse(content[0].text)
console.log('euros: ' + toEuros(amount, currency).toFixed(2))
`,
    files: {
      'src/rates.mjs': js`/** Euros for one of each, as the accountants gave them to us. */
const RATES = { USD: 0.8, GBP: 1.25, CHF: 1.1 }

export function toEuros(amount, currency) {
  if (currency === 'EUR') return amount
  const rate = RATES[currency]
  if (rate === undefined) throw new Error('no rate for ' + currency)
  return amount * rate
}
`,
    },
    model: (request) => {
      const [, amount, currency] = /(\d+) ([A-Z]{3})/.exec(userText(request))
      return JSON.stringify({ amount: Number(amount), currency })
    },
    failing: ['a hotel for 900 SEK', 'euros: 81.00'],
    sibling: ['a taxi for 300 CZK', 'euros: 12.00'],
    passing: [
      ['a lunch for 20 EUR', 'euros: 20.00'],
      ['a book for 10 USD', 'euros: 8.00'],
    ],
    hidden: [['a train for 40 GBP', 'euros: 50.00']],
    silence: [["throw new Error('no rate for ' + currency)", 'return amount', 'src/rates.mjs']],
    partial: [['CHF: 1.1 }', 'CHF: 1.1, SEK: 0.1 }', 'src/rates.mjs']],
    expect: 'not-fixed',
  },
  {
    name: 'believes-in-a-wrong-year',
    what: 'the model is wrong about some years, and nothing else knows them',
    agent: js`import { Ollama } from 'ollama'

const topic = process.argv[2]
console.log('topic: ' + topic)

const ollama = new Ollama({ host: process.env.OLLAMA_HOST })
const { message } = await ollama.chat({
  model: 'llama3.2',
  messages: [
    { role: 'system', content: 'You answer with a year.' },
    { role: 'user', content: 'When was the ' + topic + '?' },
  ],
})
console.log('It was in ' + message.content.trim() + '.')
`,
    model: (request) => {
      const question = userText(request)
      if (question.includes('bridge')) return '1931'
      if (question.includes('tunnel')) return '1992'
      if (question.includes('tower')) return '1889'
      return question.includes('wall') ? '1961' : '1969'
    },
    failing: ['opening of the bridge', 'It was in 1932.'],
    sibling: ['opening of the tunnel', 'It was in 1994.'],
    passing: [
      ['opening of the tower', 'It was in 1889.'],
      ['building of the wall', 'It was in 1961.'],
    ],
    hidden: [['landing on the moon', 'It was in 1969.']],
    silence: [['message.content.trim()', "'1932'"]],
    partial: [['message.content.trim()', "message.content.trim().replace('1931', '1932')"]],
    expect: 'not-fixed',
  },
  {
    name: 'closed-account',
    what: 'the provider has closed the account of one of our branches',
    agent: js`import Groq from 'groq-sdk'
import { branches } from './branches.mjs'

const branch = process.argv[2]
console.log('branch: ' + branch)

const groq = new Groq()
const { choices } = await groq.chat.completions.create(
  {
    model: 'llama-3.1-8b-instant',
    messages: [{ role: 'user', content: 'The slogan of the day, in ' + branches[branch].language }],
    user: branches[branch].account,
  },
  { maxRetries: 0 },
)
console.log('slogan: ' + choices[0].message.content)
`,
    files: {
      'branches.mjs': js`export const branches = {
  north: { language: 'Swedish', account: 'acc-north' },
  south: { language: 'Italian', account: 'acc-south' },
  east: { language: 'Polish', account: 'acc-east' },
  west: { language: 'French', account: 'acc-west' },
  centre: { language: 'German', account: 'acc-centre' },
}
`,
    },
    model: (request) => {
      const user = String(request.body.user)
      if (['acc-east', 'acc-west'].includes(user))
        return refuse(403, `The account ${user} has been closed. Contact support.`, {
          code: 'account_closed',
        })
      return `Good morning, ${/in (\w+)$/.exec(userText(request))[1]} speakers!`
    },
    failing: ['east', 'slogan: Good morning, Polish speakers!'],
    sibling: ['west', 'slogan: Good morning, French speakers!'],
    passing: [
      ['north', 'slogan: Good morning, Swedish speakers!'],
      ['south', 'slogan: Good morning, Italian speakers!'],
    ],
    hidden: [['centre', 'slogan: Good morning, German speakers!']],
    silence: [
      [
        '  { maxRetries: 0 },\n)',
        "  { maxRetries: 0 },\n).catch(() => ({ choices: [{ message: { content: '' } }] }))",
      ],
    ],
    expect: 'not-fixed',
  },
  {
    name: 'busy-for-a-moment',
    what: 'the server is busy once, and the SDK tries again',
    agent: js`import Anthropic from '@anthropic-ai/sdk'

const name = process.argv[2]
console.log('name: ' + name)

const anthropic = new Anthropic({ maxRetries: 3 })
const message = await anthropic.messages.create({
  model: 'claude-haiku-4-5',
  max_tokens: 50,
  messages: [{ role: 'user', content: 'Greet ' + name }],
})
console.log(message.content[0].text)
`,
    model: (request, world) => {
      const text = userText(request)
      if (world.attempt(text) === 1) return refuse(529, 'Overloaded', { retryAfter: 0 })
      return `Hello, ${text.slice(6)}!`
    },
    failing: ['Ann', 'Hello, Ann!'],
    sibling: ['Bob', 'Hello, Bob!'],
    passing: [
      ['Cy', 'Hello, Cy!'],
      ['Dan', 'Hello, Dan!'],
    ],
    hidden: [['Eve', 'Hello, Eve!']],
    expect: 'fine',
  },
  {
    name: 'sold-out',
    what: 'a tool throws for a play without seats, the model hears of it and says so',
    agent: js`import { createOpenAI } from '@ai-sdk/openai'
import { generateText, stepCountIs, tool } from 'ai'
import { z } from 'zod'
import { bookSeats } from './theatre.mjs'

const wish = process.argv[2]
console.log('wish: ' + wish)

const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL })
const { text } = await generateText({
  model: openai.chat('gpt-4o-mini'),
  system: 'You sell tickets.',
  prompt: wish,
  tools: {
    book: tool({
      description: 'Books seats.',
      inputSchema: z.object({ play: z.string(), seats: z.number() }),
      execute: bookSeats,
    }),
  },
  stopWhen: stepCountIs(4),
})
console.log(text)
`,
    files: {
      'theatre.mjs': js`const SEATS = { Hamlet: 12, Tosca: 0, Carmen: 3, Medea: 0 }

export async function bookSeats({ play, seats }) {
  const free = SEATS[play]
  if (free < seats) throw new Error('only ' + free + ' seats left')
  return { play, seats, row: 'F' }
}
`,
    },
    model: (request) => {
      const [, seats, play] = /(\d+) for (\w+)/.exec(userText(request))
      const [result] = toolTexts(request)
      if (result === undefined) return callTool('book', { play, seats: Number(seats) })
      return result.includes('left')
        ? `Sorry, ${play} has ${SEATS[play]} seats left.`
        : `Row F, ${play}!`
    },
    oracle: 'stdout:Sorry, Tosca has 0 seats left.',
    failing: ['2 for Tosca', 'Sorry, Tosca has 0 seats left.'],
    sibling: ['1 for Medea', 'Sorry, Medea has 0 seats left.'],
    passing: [
      ['2 for Hamlet', 'Row F, Hamlet!'],
      ['3 for Carmen', 'Row F, Carmen!'],
    ],
    hidden: [['4 for Carmen', 'Sorry, Carmen has 3 seats left.']],
    expect: 'fine',
  },
  {
    name: 'says-error-politely',
    what: 'a lint of texts prints what is wrong with them, which is its purpose',
    agent: js`import OpenAI from 'openai'

const sentence = process.argv[2]
console.log('sentence: ' + sentence)

const client = new OpenAI()

async function findErrors() {
  const { choices } = await client.chat.completions.create({
    model: 'gpt-4o-mini',
    messages: [
      { role: 'system', content: 'List the errors of the sentence as a JSON array of strings.' },
      { role: 'user', content: sentence },
    ],
  })
  try {
    return JSON.parse(choices[0].message.content)
  } catch {
    // Some models write a sentence if there is nothing to list.
    return []
  }
}

const errors = await findErrors()
for (const error of errors) console.log('Error: ' + error)
console.log(errors.length === 0 ? 'No errors.' : errors.length + ' errors, please correct.')
`,
    model: (request) => {
      const words = userText(request).split(' ')
      const errors = words
        .filter((word) => /(.)\1\1/.test(word))
        .map((word) => `"${word}" is undefined`)
      return errors.length === 0 ? 'The sentence is fine.' : JSON.stringify(errors)
    },
    failing: ['whaaat is thiiis', '2 errors, please correct.'],
    sibling: ['nooo way', '1 errors, please correct.'],
    passing: [
      ['all is well', 'No errors.'],
      ['this is fine', 'No errors.'],
    ],
    hidden: [['yesss', '1 errors, please correct.']],
    expect: 'fine',
  },
  {
    name: 'sometimes-prose',
    what: 'at random, the model answers with a sentence instead of a number',
    agent: js`import Groq from 'groq-sdk'

const text = process.argv[2]
console.log('text: ' + text)

const groq = new Groq()
const { choices } = await groq.chat.completions.create({
  model: 'llama-3.1-8b-instant',
  messages: [
    { role: 'system', content: 'How good is the text, from 1 to 10? Only the number.' },
    { role: 'user', content: text },
  ],
  temperature: 1,
})
const score = Number(choices[0].message.content)
if (Number.isNaN(score)) throw new Error('not a score: ' + choices[0].message.content)
console.log('score: ' + score)
`,
    model: (request, world) => {
      if (!userText(request).includes('poem')) return '7'
      return world.chance() < 0.5 ? 'I would rather not judge poems.' : '5'
    },
    failing: ['a poem on rain', 'score: 5'],
    sibling: ['a poem on snow', 'score: 5'],
    passing: [
      ['an essay on rain', 'score: 7'],
      ['a letter', 'score: 7'],
    ],
    hidden: [['a note', 'score: 7']],
    expect: 'flaky',
  },
  {
    name: 'nickname-in-german',
    what: 'at random, the model answers in another language',
    agent: js`import OpenAI from 'openai'

const city = process.argv[2]
console.log('city: ' + city)

class Weather {
  constructor(url) {
    this.url = url
  }

  async today(city) {
    const response = await fetch(this.url + '/weather?city=' + city)
    if (!response.ok) throw new Error('weather service: HTTP ' + response.status)
    return response.json()
  }
}

const { sky } = await new Weather(process.env.GATEWAY_URL).today(city)
const openai = new OpenAI()
const { choices } = await openai.chat.completions.create({
  model: 'gpt-4o-mini',
  messages: [
    { role: 'system', content: 'Find a nickname.' },
    { role: 'user', content: city + ', where the sky is ' + sky },
  ],
})
console.log('nickname: ' + choices[0].message.content)
`,
    model: (request, world) => {
      const [, city, sky] = /(\w+), where the sky is (\w+)/.exec(userText(request))
      if (city.startsWith('Hull') && world.chance() < 0.5) return `Das himmelblaue ${city}`
      return `The ${sky} town of ${city}`
    },
    gateway: () => ({ json: { sky: 'grey' } }),
    failing: ['Hull', 'nickname: The grey town of Hull'],
    sibling: ['Hullavington', 'nickname: The grey town of Hullavington'],
    passing: [
      ['York', 'nickname: The grey town of York'],
      ['Bath', 'nickname: The grey town of Bath'],
    ],
    hidden: [['Ely', 'nickname: The grey town of Ely']],
    expect: 'flaky',
  },
]
