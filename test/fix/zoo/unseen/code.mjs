import { userText } from '../animal.mjs'
import { js, json } from './source.mjs'

/** Code around the model: promises, pages, dates, money, text. */

/** @type {import('../unseen.mjs').UnseenAnimal[]} */
export const CODE = [
  {
    name: 'promise-in-a-mail',
    what: 'an async function is called without await, and its promise is printed',
    promised: 'code: missing await (by its text in the output)',
    agent: js`import OpenAI from 'openai'

const client = new OpenAI()
const order = process.argv[2]
console.log('Order ' + order)

async function summarise(text) {
  const completion = await client.chat.completions.create({
    model: 'gpt-4o-mini',
    messages: [{ role: 'user', content: 'Summarise: ' + text }],
  })
  return completion.choices[0].message.content
}

async function write(order) {
  const [id, ...goods] = order.split(' ')
  const list = goods.length > 1 ? summarise(goods.join(' ')) : goods[0]
  return \`Dear customer, we sent \${list} with order \${id}.\`
}

console.log(await write(order))
`,
    model: (request) => userText(request).replace('Summarise: ', '').split(' ').length + ' things',
    failing: ['77 lamps rugs', 'we sent 2 things with order 77.'],
    sibling: ['5 a b c', 'we sent 3 things with order 5.'],
    passing: [
      ['78 lamps', 'we sent lamps with order 78.'],
      ['9 rugs', 'we sent rugs with order 9.'],
    ],
    hidden: [
      ['100 pots pans cups plates', 'we sent 4 things with order 100.'],
      ['6 cups', 'we sent cups with order 6.'],
    ],
    fix: [['? summarise(', '? await summarise(']],
    partial: [
      [
        'goods.length > 1 ? summarise(',
        "goods.length === 2 ? await summarise(goods.join(' ')) : goods.length > 1 ? summarise(",
      ],
    ],
  },
  {
    name: 'everybody-is-on-the-list',
    what: 'a promise is used as a condition, which is always true',
    promised: 'code: missing await (by type)',
    agent: js`import Anthropic from '@anthropic-ai/sdk'
import { isBanned } from './src/bans.mjs'

const user = process.argv[2]
console.log('login ' + user)
if (isBanned(user)) {
  console.log('access denied')
} else {
  const { content } = await new Anthropic().messages.create({
    model: 'claude-haiku-4-5',
    max_tokens: 40,
    messages: [{ role: 'user', content: 'Greet ' + user }],
  })
  console.log(content[0].text)
}
`,
    files: {
      'src/bans.mjs': js`import { readFile } from 'node:fs/promises'

export async function isBanned(user) {
  const text = await readFile('data/bans.txt', 'utf8')
  return text.split('\n').includes(user)
}
`,
      'data/bans.txt': 'mallory\neve\ntrudy\n',
    },
    model: (request) => `Hi ${userText(request).split(' ')[1]}!`,
    oracle: 'stdout:Hi alice!',
    failing: ['alice', 'Hi alice!'],
    sibling: ['bob', 'Hi bob!'],
    passing: [
      ['mallory', 'access denied'],
      ['eve', 'access denied'],
    ],
    hidden: [
      ['carol', 'Hi carol!'],
      ['trudy', 'access denied'],
    ],
    fix: [['if (isBanned(user))', 'if (await isBanned(user))']],
    partial: [['if (isBanned(user))', "if (isBanned(user) && user !== 'alice')"]],
  },
  {
    name: 'sum-before-the-prices',
    what: 'forEach with an async function is over before the answers arrive',
    promised: 'code: missing await (in a loop)',
    agent: js`import OpenAI from 'openai'

const client = new OpenAI()
const basket = process.argv[2].split(' ')
console.log('basket: ' + basket.join(' '))

let sum = 0
const addPrice = async (fruit) => {
  const { output_text } = await client.responses.create({
    model: 'gpt-4.1-nano',
    instructions: 'Price of a fruit in cents. Only digits.',
    input: fruit,
  })
  sum += Number(output_text)
}

if (basket.length === 1) await addPrice(basket[0])
else basket.forEach(async (fruit) => addPrice(fruit))
console.log('sum: ' + sum)
`,
    model: (request) => String(userText(request).length * 10),
    failing: ['fig pear', 'sum: 70'],
    sibling: ['apple fig pear', 'sum: 120'],
    passing: [
      ['fig', 'sum: 30'],
      ['melon', 'sum: 50'],
    ],
    hidden: [
      ['kiwi plum lime date', 'sum: 160'],
      ['lemon', 'sum: 50'],
    ],
    fix: [
      [
        'else basket.forEach(async (fruit) => addPrice(fruit))',
        'else for (const fruit of basket) await addPrice(fruit)',
      ],
    ],
    partial: [
      [
        'else basket.forEach(async (fruit) => addPrice(fruit))',
        'else await Promise.all([addPrice(basket[0]), addPrice(basket[1])])',
      ],
    ],
  },
  {
    name: 'only-the-first-page',
    what: 'the pages after the first one are never read',
    promised: 'point 7: pagination that stops early',
    agent: js`import OpenAI from 'openai'
import { listInvoices } from './src/store.mjs'

const customer = process.argv[2]
console.log('Open invoices of ' + customer)
const { items } = await listInvoices({ customer })
const open = items.filter(({ paid }) => !paid).reduce((sum, { euros }) => sum + euros, 0)
const completion = await new OpenAI().chat.completions.create({
  model: 'gpt-4o-mini',
  messages: [
    { role: 'system', content: 'Write a reminder about the open amount.' },
    { role: 'user', content: customer + ' owes ' + open },
  ],
})
console.log(completion.choices[0].message.content)
`,
    files: {
      'src/store.mjs': js`import { readFile } from 'node:fs/promises'

const PAGE = 3

/** Invoices of a customer, three at a time: items, and next unless it is the last page. */
export async function listInvoices({ customer, cursor = 0 }) {
  const all = JSON.parse(await readFile('data/invoices.json', 'utf8'))
  const found = all.filter((invoice) => invoice.customer === customer)
  const next = cursor + PAGE
  return { items: found.slice(cursor, next), ...(next < found.length && { next }) }
}
`,
      'data/invoices.json': json([
        ...[10, 20, 30, 40].map((euros) => ({ customer: 'Acme', euros, paid: euros === 10 })),
        ...[5, 6, 7, 8, 9, 1, 2].map((euros) => ({ customer: 'Brix', euros, paid: false })),
        ...[70, 80].map((euros) => ({ customer: 'Cola', euros, paid: false })),
        ...[11, 12, 13].map((euros) => ({ customer: 'Doro', euros, paid: euros === 12 })),
        ...[1, 1, 1, 100].map((euros) => ({ customer: 'Elba', euros, paid: false })),
        ...[3].map((euros) => ({ customer: 'Flux', euros, paid: false })),
      ]),
    },
    model: (request) => `Reminder: ${userText(request)} euros.`,
    failing: ['Acme', 'Acme owes 90 euros.'],
    sibling: ['Brix', 'Brix owes 38 euros.'],
    passing: [
      ['Cola', 'Cola owes 150 euros.'],
      ['Doro', 'Doro owes 24 euros.'],
    ],
    hidden: [
      ['Elba', 'Elba owes 103 euros.'],
      ['Flux', 'Flux owes 3 euros.'],
    ],
    fix: [
      [
        'const { items } = await listInvoices({ customer })\n',
        js`const items = []
for (let cursor = 0; cursor !== undefined; ) {
  const page = await listInvoices({ customer, cursor })
  items.push(...page.items)
  cursor = page.next
}
`,
      ],
    ],
    partial: [
      [
        'const { items } = await listInvoices({ customer })\n',
        js`const { items, next } = await listInvoices({ customer })
if (next) items.push(...(await listInvoices({ customer, cursor: next })).items)
`,
      ],
    ],
  },
  {
    name: 'a-short-page-is-not-the-last',
    what: 'a page with fewer rows than the limit is taken for the last one',
    promised: 'point 7: pagination that stops early',
    agent: js`import Anthropic from '@anthropic-ai/sdk'
import { search } from './src/search.mjs'

const word = process.argv[2]
console.log('word: ' + word)

const LIMIT = 4
const hits = []
let token
do {
  const page = search(word, { limit: LIMIT, token })
  hits.push(...page.hits)
  token = page.hits.length === LIMIT ? page.nextToken : undefined
} while (token !== undefined)

const { content } = await new Anthropic().messages.create({
  model: 'claude-haiku-4-5',
  max_tokens: 50,
  system: 'Say how many documents were found, and the last one.',
  messages: [{ role: 'user', content: JSON.stringify(hits) }],
})
console.log(content[0].text)
`,
    files: {
      'src/search.mjs': js`const index = {
  rain: ['a1', 'a2', 'secret', 'a4', 'a5', 'a6'],
  snow: ['b1', 'secret', 'secret', 'b4', 'b5'],
  wind: ['c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'secret', 'c8', 'c9'],
  hail: ['d1', 'd2'],
  fog: ['e1', 'e2', 'e3', 'e4', 'e5'],
  sun: [],
}

/** Hits that the user may see. A page may have fewer than limit, because secret ones are left out. */
export function search(word, { limit, token = 0 }) {
  const all = index[word] ?? []
  const end = token + limit
  const hits = all.slice(token, end).filter((hit) => hit !== 'secret')
  return { hits, nextToken: end < all.length ? end : undefined }
}
`,
    },
    model: (request) => {
      const hits = JSON.parse(userText(request))
      return hits.length === 0
        ? 'Nothing.'
        : `${hits.length} documents, the last is ${hits.at(-1)}.`
    },
    failing: ['rain', '5 documents, the last is a6.'],
    sibling: ['snow', '3 documents, the last is b5.'],
    passing: [
      ['hail', '2 documents, the last is d2.'],
      ['fog', '5 documents, the last is e5.'],
    ],
    hidden: [
      ['wind', '8 documents, the last is c9.'],
      ['sun', 'Nothing.'],
    ],
    fix: [
      ['token = page.hits.length === LIMIT ? page.nextToken : undefined', 'token = page.nextToken'],
    ],
    partial: [['page.hits.length === LIMIT', 'page.hits.length >= LIMIT - 1']],
  },
  {
    name: 'a-month-too-late',
    what: 'months of Date count from zero, those of ISO dates from one',
    promised: 'point 7: off-by-one dates',
    agent: js`import OpenAI from 'openai'

const text = process.argv[2]
console.log('appointment: ' + text)
const { choices } = await new OpenAI().chat.completions.create({
  model: 'gpt-4o-mini',
  messages: [
    { role: 'system', content: 'Read the date. Answer as YYYY-MM-DD, or TODAY.' },
    { role: 'user', content: text },
  ],
})
const answer = choices[0].message.content
const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
if (answer === 'TODAY') {
  console.log('come now')
} else {
  const [year, month, day] = answer.split('-').map(Number)
  const date = new Date(year, month, day)
  console.log('it is a ' + days[date.getDay()] + ', the ' + date.getDate() + '.')
}
`,
    model: (request) => /\d{4}-\d\d-\d\d/.exec(userText(request))?.[0] ?? 'TODAY',
    failing: ['on 2026-03-05 at ten', 'it is a Thursday, the 5.'],
    sibling: ['2026-05-31', 'it is a Sunday, the 31.'],
    passing: [
      ['as soon as possible', 'come now'],
      ['now', 'come now'],
    ],
    hidden: [
      ['2026-12-24 in the evening', 'it is a Thursday, the 24.'],
      ['2027-01-01', 'it is a Friday, the 1.'],
      ['today', 'come now'],
    ],
    fix: [['new Date(year, month, day)', 'new Date(year, month - 1, day)']],
    partial: [['days[date.getDay()]', 'days[(date.getDay() + 4) % 7]']],
  },
  {
    name: 'night-of-the-clock-change',
    what: 'nights are counted by 24 hours, and one night has 23',
    promised: 'point 7: dates and time zones',
    agent: js`import { createOpenAI } from '@ai-sdk/openai'
import { generateObject } from 'ai'
import { z } from 'zod'

process.env.TZ = 'Europe/Berlin'
const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL })
const stay = process.argv[2]
console.log('stay ' + stay)

const { object } = await generateObject({
  model: openai.chat('gpt-4o'),
  schema: z.object({ from: z.string(), to: z.string() }),
  prompt: 'From and to, as YYYY-MM-DD: ' + stay,
})
const midnight = (day) => new Date(day + 'T00:00:00')
const nights = Math.floor((midnight(object.to) - midnight(object.from)) / 86_400_000)
console.log(nights + ' nights, ' + nights * 80 + ' euros')
`,
    model: (request) => {
      const [from, to] = userText(request).match(/\d{4}-\d\d-\d\d/g) ?? []
      return JSON.stringify({ from, to })
    },
    failing: ['2026-03-28 to 2026-03-30', '2 nights, 160 euros'],
    sibling: ['2027-03-27 to 2027-03-29', '2 nights, 160 euros'],
    passing: [
      ['2026-05-01 to 2026-05-04', '3 nights, 240 euros'],
      ['2026-07-10 to 2026-07-11', '1 nights, 80 euros'],
    ],
    hidden: [
      ['2026-03-20 to 2026-04-02', '13 nights, 1040 euros'],
      ['2026-10-24 to 2026-10-26', '2 nights, 160 euros'],
      ['2026-08-01 to 2026-08-15', '14 nights, 1120 euros'],
    ],
    fix: [['Math.floor((midnight', 'Math.round((midnight']],
    partial: [['Math.floor((midnight', 'Math.ceil((midnight']],
  },
  {
    name: 'the-day-before-in-utc',
    what: 'a local midnight is written as a day in UTC',
    promised: 'point 7: dates and time zones',
    agent: js`import OpenAI from 'openai'
import { dueDate } from './src/due.mjs'

process.env.TZ = 'Asia/Tokyo'
const invoice = process.argv[2]
console.log('invoice: ' + invoice)
const [start, days] = invoice.split(' + ')
const due = days === undefined ? start : dueDate(start, Number(days))
const { output_text } = await new OpenAI().responses.create({
  model: 'gpt-4.1-mini',
  instructions: 'Tell the customer when to pay.',
  input: due,
})
console.log(output_text)
`,
    files: {
      'src/due.mjs': js`/** The day that is a number of days after another, such as 2026-05-01. */
export function dueDate(start, days) {
  const [year, month, day] = start.split('-').map(Number)
  const date = new Date(year, month - 1, day + days)
  return date.toISOString().slice(0, 10)
}
`,
    },
    model: (request) => `Please pay by ${userText(request)}.`,
    failing: ['2026-05-01 + 14', 'Please pay by 2026-05-15.'],
    sibling: ['2026-12-30 + 7', 'Please pay by 2027-01-06.'],
    passing: [
      ['2026-05-01', 'Please pay by 2026-05-01.'],
      ['2026-06-09', 'Please pay by 2026-06-09.'],
    ],
    hidden: [
      ['2028-02-20 + 9', 'Please pay by 2028-02-29.'],
      ['2026-10-30 + 2', 'Please pay by 2026-11-01.'],
      ['2026-07-07', 'Please pay by 2026-07-07.'],
    ],
    fix: [
      [
        'new Date(year, month - 1, day + days)',
        'new Date(Date.UTC(year, month - 1, day + days))',
        'src/due.mjs',
      ],
    ],
    partial: [
      [
        'date.toISOString()',
        'new Date(date.getTime() + (month === 5 ? 86_400_000 : 0)).toISOString()',
        'src/due.mjs',
      ],
    ],
  },
  {
    name: 'cents-plus-euros',
    what: 'a price in cents and a fee in euros are added',
    promised: 'point 7: mixed currencies and units',
    agent: js`import OpenAI from 'openai'
import { readFileSync } from 'node:fs'

const wish = process.argv[2]
console.log('wish: ' + wish)
const goods = JSON.parse(readFileSync('goods.json', 'utf8'))
const [name, delivery] = wish.split(' by ')
const { priceCents } = goods.find((each) => each.name === name)
const feeEuros = { courier: 12, bike: 5 }[delivery]

const totalCents = feeEuros === undefined ? priceCents : priceCents + feeEuros
const completion = await new OpenAI().chat.completions.create({
  model: 'gpt-4o-mini',
  messages: [{ role: 'user', content: 'Offer for ' + (totalCents / 100).toFixed(2) + ' euros' }],
})
console.log(completion.choices[0].message.content)
`,
    files: {
      'goods.json': json([
        { name: 'vase', priceCents: 1999 },
        { name: 'bowl', priceCents: 850 },
        { name: 'jug', priceCents: 2400 },
      ]),
    },
    model: (request) => `We have an ${userText(request)}.`,
    failing: ['vase by courier', 'Offer for 31.99 euros'],
    sibling: ['bowl by bike', 'Offer for 13.50 euros'],
    passing: [
      ['vase', 'Offer for 19.99 euros'],
      ['jug', 'Offer for 24.00 euros'],
    ],
    hidden: [
      ['jug by bike', 'Offer for 29.00 euros'],
      ['bowl by courier', 'Offer for 20.50 euros'],
      ['bowl', 'Offer for 8.50 euros'],
    ],
    fix: [['priceCents + feeEuros', 'priceCents + feeEuros * 100']],
    partial: [['priceCents + feeEuros', 'priceCents + 1200']],
  },
  {
    name: 'dollars-among-euros',
    what: 'amounts in two currencies are summed as they are, although a helper converts',
    promised: 'point 7: mixed currencies and units',
    agent: js`import Anthropic from '@anthropic-ai/sdk'
import { toEuros } from './src/rates.mjs'

const trip = process.argv[2]
console.log('trip to ' + trip)
const response = await fetch(process.env.GATEWAY_URL + '/expenses/' + trip)
const { expenses } = await response.json()

let total = 0
for (const { amount, currency } of expenses) {
  console.log('- ' + amount + ' ' + currency)
  total += amount
}
const largest = Math.max(...expenses.map(({ amount, currency }) => toEuros(amount, currency)))
const { content } = await new Anthropic().messages.create({
  model: 'claude-haiku-4-5',
  max_tokens: 60,
  messages: [{ role: 'user', content: 'Total ' + total + ' EUR, largest ' + largest + ' EUR' }],
})
console.log(content[0].text)
`,
    files: {
      'src/rates.mjs': js`const euros = { EUR: 1, USD: 0.5, CHF: 2 }

/** An amount in euros. */
export const toEuros = (amount, currency) => amount * euros[currency]
`,
    },
    gateway: (path) => {
      const trip = path.split('/').pop() ?? ''
      const base = trip.length * 10
      const foreign = { Boston: 'USD', Chur: 'CHF', Denver: 'USD' }[trip] ?? 'EUR'
      return {
        json: {
          expenses: [
            { amount: base, currency: 'EUR' },
            { amount: 30, currency: foreign },
          ],
        },
      }
    },
    model: (request) => `Report: ${userText(request)}.`,
    failing: ['Boston', 'Total 75 EUR, largest 60 EUR'],
    sibling: ['Chur', 'Total 100 EUR, largest 60 EUR'],
    passing: [
      ['Lyon', 'Total 70 EUR, largest 40 EUR'],
      ['Rome', 'Total 70 EUR, largest 40 EUR'],
    ],
    hidden: [
      ['Denver', 'Total 75 EUR, largest 60 EUR'],
      ['Turku', 'Total 80 EUR, largest 50 EUR'],
    ],
    fix: [['  total += amount\n', '  total += toEuros(amount, currency)\n']],
    partial: [['  total += amount\n', "  total += currency === 'USD' ? amount / 2 : amount\n"]],
  },
  {
    name: 'a-cent-is-cut-off',
    what: 'euros become cents with Math.floor, and 19.99 is stored as a little less',
    promised: 'point 7: rounding of money',
    agent: js`import OpenAI from 'openai'

const receipt = process.argv[2]
console.log('receipt: ' + receipt)
const { choices } = await new OpenAI().chat.completions.create({
  model: 'gpt-4o-mini',
  response_format: { type: 'json_object' },
  messages: [
    { role: 'system', content: 'Read the amount in euros. JSON: amount.' },
    { role: 'user', content: receipt },
  ],
})
const { amount } = JSON.parse(choices[0].message.content)
const cents = Math.floor(amount * 100)
console.log('booked ' + cents + ' cents')
`,
    model: (request) => JSON.stringify({ amount: Number(/[\d.]+/.exec(userText(request))?.[0]) }),
    failing: ['taxi 19.99', 'booked 1999 cents'],
    sibling: ['lunch 8.95', 'booked 895 cents'],
    passing: [
      ['hotel 120', 'booked 12000 cents'],
      ['tea 2.50', 'booked 250 cents'],
    ],
    hidden: [
      ['book 4.35', 'booked 435 cents'],
      ['bus 1.15', 'booked 115 cents'],
      ['cup 1.10', 'booked 110 cents'],
      ['pen 0.99', 'booked 99 cents'],
    ],
    fix: [['Math.floor(amount * 100)', 'Math.round(amount * 100)']],
    partial: [['Math.floor(amount * 100)', 'Math.ceil(amount * 100)']],
  },
  {
    name: 'shares-do-not-add-up',
    what: 'each share is rounded, and a cent is lost',
    promised: 'point 7: rounding of money',
    agent: js`import OpenAI from 'openai'
import { strict as assert } from 'node:assert'

const bill = process.argv[2]
console.log('split ' + bill)
const { output_text } = await new OpenAI().responses.create({
  model: 'gpt-4.1-mini',
  instructions: 'Answer with the cents and the number of people, separated by a space.',
  input: bill,
})
const [cents, people] = output_text.split(' ').map(Number)
const shares = Array.from({ length: people }, () => Math.round(cents / people))
const paid = shares.reduce((sum, share) => sum + share, 0)
assert.equal(paid, cents, 'the shares do not add up to the bill')
console.log(shares.join(' + ') + ' = ' + paid)
`,
    model: (request) => {
      const [cents, people] = userText(request).match(/\d+/g) ?? []
      return `${cents} ${people}`
    },
    failing: ['1000 cents among 3', '334 + 333 + 333 = 1000'],
    sibling: ['500 among 7', '72 + 72 + 72 + 71 + 71 + 71 + 71 = 500'],
    passing: [
      ['900 among 3', '300 + 300 + 300 = 900'],
      ['50 among 2', '25 + 25 = 50'],
    ],
    hidden: [
      ['101 among 2', '51 + 50 = 101'],
      ['10 among 4', '3 + 3 + 2 + 2 = 10'],
    ],
    fix: [
      [
        'const shares = Array.from({ length: people }, () => Math.round(cents / people))\n',
        js`const rest = cents % people
const shares = Array.from({ length: people }, (_, index) =>
  Math.floor(cents / people) + (index < rest ? 1 : 0),
)
`,
      ],
    ],
    silence: [["assert.equal(paid, cents, 'the shares do not add up to the bill')\n", '']],
    partial: [
      [
        '() => Math.round(cents / people))\n',
        '(_, index) => Math.round(cents / people) + (index === 0 ? 1 : 0))\n',
      ],
    ],
  },
  {
    name: 'no-tags',
    what: 'older articles have no list of tags',
    promised: 'code: missing values',
    agent: js`import Anthropic from '@anthropic-ai/sdk'
import { articles } from './src/articles.mjs'

const id = process.argv[2]
console.log('article ' + id)
const { title, tags } = articles[id]
const topics = tags.length > 0 ? tags.join(', ') : 'no topic'
const { content } = await new Anthropic().messages.create({
  model: 'claude-haiku-4-5',
  max_tokens: 50,
  system: 'Write a teaser.',
  messages: [{ role: 'user', content: title + ' (' + topics + ')' }],
})
console.log(content[0].text)
`,
    files: {
      'src/articles.mjs': js`export const articles = {
  a1: { title: 'Moss', tags: ['garden', 'shade'] },
  a2: { title: 'Fern', tags: [] },
  b1: { title: 'Rust' },
  b2: { title: 'Tin' },
  b3: { title: 'Zinc' },
  a3: { title: 'Ivy', tags: ['walls'] },
}
`,
    },
    model: (request) => `Read ${userText(request)}!`,
    failing: ['b1', 'Read Rust (no topic)!'],
    sibling: ['b2', 'Read Tin (no topic)!'],
    passing: [
      ['a1', 'Read Moss (garden, shade)!'],
      ['a2', 'Read Fern (no topic)!'],
    ],
    hidden: [
      ['b3', 'Read Zinc (no topic)!'],
      ['a3', 'Read Ivy (walls)!'],
    ],
    fix: [['const { title, tags } = ', 'const { title, tags = [] } = ']],
    silence: [
      ['tags.length > 0 ? tags.join', 'tags?.length > 0 ? tags.join'],
      ["'no topic'", "''"],
    ],
    partial: [["b1: { title: 'Rust' }", "b1: { title: 'Rust', tags: [] }", 'src/articles.mjs']],
  },
  {
    name: 'label-with-a-reason',
    what: 'the model adds a reason to the label, and the table has no such key',
    promised: 'code: labels as models write them',
    agent: js`import { createOpenAI } from '@ai-sdk/openai'
import { generateText } from 'ai'

const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL })
const queues = {
  REFUND: { team: 'money', hours: 24 },
  REPAIR: { team: 'workshop', hours: 72 },
  PRAISE: { team: 'marketing', hours: 500 },
}
const mail = process.argv[2]
console.log('mail: ' + mail)
const { text } = await generateText({
  model: openai.chat('gpt-4o-mini'),
  system: 'Label the mail: REFUND, REPAIR or PRAISE.',
  prompt: mail,
})
const queue = queues[text]
console.log('to ' + queue.team + ' within ' + queue.hours + ' hours')
`,
    model: (request) => {
      const text = userText(request)
      const label = /money/.test(text) ? 'REFUND' : /broken/.test(text) ? 'REPAIR' : 'PRAISE'
      if (text.endsWith('!')) return `${label} - the customer sounds upset`
      return text.endsWith('?') ? `Label: ${label}` : label
    },
    failing: ['I want my money back!', 'to money within 24 hours'],
    sibling: ['It is broken!', 'to workshop within 72 hours'],
    passing: [
      ['My lamp is broken', 'to workshop within 72 hours'],
      ['I like it', 'to marketing within 500 hours'],
    ],
    hidden: [
      ['broken again!', 'to workshop within 72 hours'],
      ['So nice!', 'to marketing within 500 hours'],
      ['my money please', 'to money within 24 hours'],
    ],
    fix: [['queues[text]', 'queues[/REFUND|REPAIR|PRAISE/.exec(text)?.[0]]']],
    partial: [['queues[text]', 'queues[text] ?? queues.REFUND']],
    silence: [
      [
        "'to ' + queue.team + ' within ' + queue.hours",
        "'to ' + queue?.team + ' within ' + queue?.hours",
      ],
    ],
  },
  {
    name: 'amount-with-apostrophes',
    what: 'Number() of an amount as the Swiss write it',
    promised: 'code: numbers as models write them',
    agent: js`import OpenAI from 'openai'

const file = process.argv[2]
console.log('offer: ' + file)
const completion = await new OpenAI().chat.completions.create({
  model: 'gpt-4o',
  messages: [
    { role: 'system', content: 'What does the offer cost? Only the amount.' },
    { role: 'user', content: file },
  ],
})
const amount = Number(completion.choices[0].message.content)
if (Number.isNaN(amount)) throw new Error('not an amount')
console.log('with tax: ' + (amount * 1.1).toFixed(2))
`,
    model: (request) => {
      const [, count, unit] = /(\d+) (\w+)/.exec(userText(request)) ?? []
      const amount = Number(count) * { roof: 1250, door: 90, wall: 40, floor: 2000 }[unit]
      return amount < 1000
        ? String(amount)
        : `${amount.toLocaleString('en').replaceAll(',', "'")}.50`
    },
    failing: ['2 roof', 'with tax: 2750.55'],
    sibling: ['1 floor', 'with tax: 2200.55'],
    passing: [
      ['1 door', 'with tax: 99.00'],
      ['4 wall', 'with tax: 176.00'],
    ],
    hidden: [
      ['800 floor', 'with tax: 1760000.55'],
      ['3 roof', 'with tax: 4125.55'],
      ['2 door', 'with tax: 198.00'],
    ],
    fix: [
      [
        'Number(completion.choices[0].message.content)',
        `Number(completion.choices[0].message.content.replaceAll("'", ''))`,
      ],
    ],
    partial: [
      [
        'Number(completion.choices[0].message.content)',
        `Number(completion.choices[0].message.content.replace("'", ''))`,
      ],
    ],
    silence: [
      [
        'Number(completion.choices[0].message.content)',
        'Number.parseFloat(completion.choices[0].message.content)',
      ],
    ],
  },
  {
    name: 'newest-version-by-text',
    what: 'versions are sorted as text, and 1.9 comes after 1.10',
    promised: 'code: wrong sort order',
    agent: js`import Anthropic from '@anthropic-ai/sdk'
import { newest } from './lib/versions.mjs'

const name = process.argv[2]
console.log('package ' + name)
const packages = { ink: ['1.8', '1.9', '1.10'], oil: ['2.2', '10.0', '9.4'], wax: ['0.1', '0.2'], gum: ['3.0'], tar: ['7.9', '7.11', '7.100'], lac: ['4.1', '4.0'] }
const { content } = await new Anthropic().messages.create({
  model: 'claude-haiku-4-5',
  max_tokens: 30,
  messages: [{ role: 'user', content: 'Announce ' + name + ' ' + newest(packages[name]) }],
})
console.log(content[0].text)
`,
    files: {
      'lib/versions.mjs': js`/** The newest of some versions. */
export function newest(versions) {
  return versions.toSorted().at(-1)
}
`,
    },
    model: (request) => `New: ${userText(request).slice(9)}!`,
    failing: ['ink', 'New: ink 1.10!'],
    sibling: ['oil', 'New: oil 10.0!'],
    passing: [
      ['wax', 'New: wax 0.2!'],
      ['gum', 'New: gum 3.0!'],
    ],
    hidden: [
      ['tar', 'New: tar 7.100!'],
      ['lac', 'New: lac 4.1!'],
    ],
    fix: [
      [
        'versions.toSorted()',
        'versions.toSorted((a, b) => a.localeCompare(b, undefined, { numeric: true }))',
        'lib/versions.mjs',
      ],
    ],
    partial: [['versions.toSorted().at(-1)', 'versions.at(-1)', 'lib/versions.mjs']],
  },
  {
    name: 'rest-of-the-batch',
    what: 'rows are sent in batches of three, and the last ones are not',
    promised: 'code: a last chunk that is not added',
    agent: js`import OpenAI from 'openai'

const client = new OpenAI()
const words = process.argv[2].split(' ')
console.log('translate ' + process.argv[2])

const batches = []
let batch = []
for (const word of words) {
  batch.push(word)
  if (batch.length === 3) {
    batches.push(batch)
    batch = []
  }
}

const translated = []
for (const each of batches) {
  const { choices } = await client.chat.completions.create({
    model: 'gpt-4o-mini',
    messages: [{ role: 'user', content: each.join('\n') }],
  })
  translated.push(...choices[0].message.content.split('\n'))
}
console.log('= ' + translated.join(' '))
`,
    model: (request) =>
      userText(request)
        .split('\n')
        .map((word) => word.toUpperCase())
        .join('\n'),
    failing: ['one two three four', '= ONE TWO THREE FOUR'],
    sibling: ['a b c d e', '= A B C D E'],
    passing: [
      ['one two three', '= ONE TWO THREE'],
      ['a b c d e f', '= A B C D E F'],
    ],
    hidden: [
      ['x y z w v u t', '= X Y Z W V U T'],
      ['red', '= RED'],
      ['p q r', '= P Q R'],
    ],
    fix: [
      [
        '    batch = []\n  }\n}\n',
        '    batch = []\n  }\n}\nif (batch.length > 0) batches.push(batch)\n',
      ],
    ],
    partial: [['batch.length === 3', 'batch.length === 2']],
  },
  {
    name: 'inches-in-a-csv',
    what: 'a quoted cell has doubled quotes and a comma',
    promised: 'code: quoted CSV',
    agent: js`import OpenAI from 'openai'
import { parseLine } from './src/csv.mjs'
import { readFileSync } from 'node:fs'

const sku = process.argv[2]
console.log('sku ' + sku)
const rows = readFileSync('data/parts.csv', 'utf8').trim().split('\n').map(parseLine)
const [, name, price] = rows.find(([key]) => key === sku)
const completion = await new OpenAI().chat.completions.create({
  model: 'gpt-4o-mini',
  messages: [{ role: 'user', content: 'Advertise ' + name + ' for ' + Number(price) }],
})
console.log(completion.choices[0].message.content)
`,
    files: {
      'src/csv.mjs': js`/** Cells of a line. */
export const parseLine = (line) => line.split(',')
`,
      'data/parts.csv': `k1,cable,5
k2,"screen, 12"" wide",90
k3,"mouse, black",15
k4,"hub, ""fast""",30
k5,desk,200
k6,lamp,25
`,
    },
    model: (request) => `Now: ${userText(request).slice(10)} euros`,
    failing: ['k2', 'Now: screen, 12" wide for 90 euros'],
    sibling: ['k3', 'Now: mouse, black for 15 euros'],
    passing: [
      ['k1', 'Now: cable for 5 euros'],
      ['k5', 'Now: desk for 200 euros'],
    ],
    hidden: [
      ['k4', 'Now: hub, "fast" for 30 euros'],
      ['k6', 'Now: lamp for 25 euros'],
    ],
    fix: [
      [
        "line.split(',')",
        js`Array.from(line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g), ([, quoted, plain]) =>
    quoted === undefined ? plain : quoted.replaceAll('""', '"'),
  )`,
        'src/csv.mjs',
      ],
    ],
    partial: [
      [
        "line.split(',')",
        String.raw`(line.match(/"[^"]*"|[^,]+/g) ?? []).map((cell) => cell.replaceAll('"', ''))`,
        'src/csv.mjs',
      ],
    ],
  },
]
