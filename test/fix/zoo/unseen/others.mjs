import { callTool, refuse, systemText, toolTexts, userText } from '../animal.mjs'
import { js, json } from './source.mjs'

/** Agents that no edit can fix, that are fine, that fail by chance, and bugs that no rule is promised for. */

/** @type {import('../unseen.mjs').UnseenAnimal[]} */
export const OTHERS = [
  {
    name: 'port-not-in-the-list',
    what: 'the list of fees has no row for the port',
    expect: 'not-fixed',
    agent: js`import OpenAI from 'openai'
import { readFile } from 'node:fs/promises'

const port = process.argv[2]
console.log('port ' + port)
const fees = JSON.parse(await readFile('data/fees.json', 'utf8'))
const fee = fees.find((each) => each.port === port)
const client = new OpenAI()
const { choices } = await client.chat.completions.create({
  model: 'gpt-4o-mini',
  messages: [
    { role: 'system', content: 'State the fee of a port, or say that it is unknown.' },
    { role: 'user', content: JSON.stringify({ port, fee: fee?.euros ?? null }) },
  ],
})
console.log(choices[0].message.content)
`,
    files: {
      'data/fees.json': json([
        { port: 'Kiel', euros: 120 },
        { port: 'Emden', euros: 95 },
      ]),
    },
    model: (request) => {
      const { port, fee } = JSON.parse(userText(request))
      return fee === null ? 'The fee is unknown.' : `${port} takes ${fee} euros.`
    },
    oracle: 'stdout:/takes 140 euros/',
    failing: ['Husum', 'takes 140 euros'],
    sibling: ['Wismar', 'takes 77 euros'],
    passing: [
      ['Kiel', 'takes 120 euros'],
      ['Emden', 'takes 95 euros'],
    ],
    hidden: [],
  },
  {
    name: 'translation-service-down',
    what: 'a service answers 503, with every try',
    expect: 'not-fixed',
    agent: js`import OpenAI from 'openai'

const [language, text] = process.argv[2].split('|')
console.log('translate ' + process.argv[2])
const response = await fetch(process.env.GATEWAY_URL + '/glossary/' + language)
if (!response.ok) throw new Error('glossary of ' + language + ': HTTP ' + response.status)
const { words } = await response.json()
const client = new OpenAI()
const completion = await client.chat.completions.create({
  model: 'gpt-4o-mini',
  messages: [
    { role: 'system', content: 'Translate. Glossary: ' + words.join(', ') },
    { role: 'user', content: text },
  ],
})
console.log(completion.choices[0].message.content)
`,
    gateway: (path) =>
      path.endsWith('/fi')
        ? { status: 503, json: { error: 'maintenance' } }
        : { json: { words: [path.slice(-2)] } },
    model: (request) =>
      `${/Glossary: (\w+)/.exec(systemText(request))?.[1] ?? 'roughly'} <${userText(request)}>`,
    failing: ['fi|hello', 'fi <hello>'],
    sibling: ['fi|good night', 'fi <good night>'],
    passing: [
      ['sv|hello', 'sv <hello>'],
      ['da|hello', 'da <hello>'],
    ],
    hidden: [],
    silence: [
      [
        "if (!response.ok) throw new Error('glossary of ' + language + ': HTTP ' + response.status)\nconst { words } = await response.json()",
        'const words = response.ok ? (await response.json()).words : []',
      ],
    ],
  },
  {
    name: 'key-of-the-second-account',
    what: 'the second account has a key that the provider refuses',
    expect: 'not-fixed',
    agent: js`import OpenAI from 'openai'

const [account, text] = process.argv[2].split(': ')
console.log('account and text are ' + process.argv[2])
const keys = { main: process.env.OPENAI_API_KEY, second: process.env.SECOND_KEY ?? 'not-set' }
const client = new OpenAI({ apiKey: keys[account] })
const { output_text: said } = await client.responses.create({ model: 'gpt-4.1', input: text })
console.log('said: ' + said)
`,
    model: (request) =>
      request.headers.authorization === 'Bearer not-set'
        ? refuse(401, 'Incorrect API key provided: not-set.', { code: 'invalid_api_key' })
        : userText(request).toUpperCase(),
    failing: ['second: hello', 'said: HELLO'],
    sibling: ['second: bye', 'said: BYE'],
    passing: [
      ['main: hello', 'said: HELLO'],
      ['main: bye', 'said: BYE'],
    ],
    hidden: [],
  },
  {
    name: 'two-sources-disagree',
    what: 'the register and the deed name different owners, and nothing says which is right',
    expect: 'not-fixed',
    agent: js`import Anthropic from '@anthropic-ai/sdk'
import { readFileSync } from 'node:fs'

const plot = process.argv[2]
console.log('Plot ' + plot)
const read = (name) => JSON.parse(readFileSync('data/' + name + '.json', 'utf8'))[plot]
const { content } = await new Anthropic().messages.create({
  model: 'claude-sonnet-4-5',
  max_tokens: 100,
  system: 'Who owns the plot?',
  messages: [{ role: 'user', content: 'register: ' + read('register') + ', deed: ' + read('deed') }],
})
console.log(content[0].text)
`,
    files: {
      'data/register.json': json({ 1: 'Ann', 2: 'Bob', 3: 'Cem', 4: 'Dee' }),
      'data/deed.json': json({ 1: 'Ann', 2: 'Eve', 3: 'Cem', 4: 'Flo' }),
    },
    model: (request) => {
      const [, register, deed] = /register: (\w+), deed: (\w+)/.exec(userText(request)) ?? []
      return register === deed ? `The owner is ${register}.` : 'The sources disagree.'
    },
    oracle: 'stdout:/owner is/',
    failing: ['2', 'The owner is Bea.'],
    sibling: ['4', 'The owner is Gus.'],
    passing: [
      ['1', 'The owner is Ann.'],
      ['3', 'The owner is Cem.'],
    ],
    hidden: [],
  },
  {
    name: 'quota-of-the-month',
    what: 'the quota of the month is used up',
    expect: 'not-fixed',
    agent: js`import { ChatOpenAI } from '@langchain/openai'

const model = new ChatOpenAI({ model: 'gpt-4o-mini', maxRetries: 1 })
const topic = process.argv[2]
console.log('topic: ' + topic)
const { content } = await model.invoke([['system', 'One fact, please.'], ['human', topic]])
console.log('fact: ' + content)
`,
    model: (request) =>
      userText(request).length > 12
        ? refuse(
            429,
            'You exceeded your current quota, please check your plan and billing details.',
            {
              code: 'insufficient_quota',
            },
          )
        : `${userText(request)} is old.`,
    failing: ['the cathedral of Reims', 'fact: the cathedral of Reims is old.'],
    sibling: ['the tower of London', 'fact: the tower of London is old.'],
    passing: [
      ['Rome', 'fact: Rome is old.'],
      ['Athens', 'fact: Athens is old.'],
    ],
    hidden: [],
  },
  {
    name: 'nothing-is-wrong',
    what: 'the run passed, although a request was repeated and a tool reported an error',
    expect: 'fine',
    agent: js`import OpenAI from 'openai'

const client = new OpenAI()
const city = process.argv[2]
console.log('weather in ' + city)
const messages = [{ role: 'user', content: city }]
const tools = [
  {
    type: 'function',
    function: {
      name: 'weather',
      parameters: { type: 'object', properties: { city: { type: 'string' } } },
    },
  },
]
let tries = 0
for (;;) {
  const { choices } = await client.chat.completions.create({ model: 'gpt-4o', messages, tools })
  const { message } = choices[0]
  messages.push(message)
  if (!message.tool_calls) {
    console.log(message.content)
    break
  }
  for (const call of message.tool_calls) {
    tries += 1
    const content = tries === 1 ? 'error: busy' : 'rain'
    if (tries === 1) console.error('warning: the station was busy')
    messages.push({ role: 'tool', tool_call_id: call.id, content })
  }
}
`,
    model: (request) =>
      toolTexts(request).includes('rain')
        ? 'Take an umbrella.'
        : callTool('weather', { city: userText(request) }),
    failing: ['Bergen', 'Take an umbrella.'],
    sibling: ['Galway', 'Take an umbrella.'],
    passing: [
      ['Hilo', 'Take an umbrella.'],
      ['Cork', 'Take an umbrella.'],
    ],
    hidden: [],
  },
  {
    name: 'says-no-and-is-right',
    what: 'the run passes: the agent refuses what it should refuse',
    expect: 'fine',
    agent: js`import Anthropic from '@anthropic-ai/sdk'

const request = process.argv[2]
console.log('request: ' + request)
const { content, stop_reason } = await new Anthropic().messages.create({
  model: 'claude-haiku-4-5',
  max_tokens: 60,
  messages: [{ role: 'user', content: request }],
})
console.log(stop_reason + ': ' + (content[0]?.text ?? 'nothing'))
`,
    model: () => 'I cannot help with that: the account belongs to somebody else.',
    failing: ['close the account of Kim', 'belongs to somebody else'],
    sibling: ['close the account of Lee', 'belongs to somebody else'],
    passing: [
      ['close the account of Ali', 'belongs to somebody else'],
      ['close the account of Eva', 'belongs to somebody else'],
    ],
    hidden: [],
  },
  {
    name: 'coin-of-a-judge',
    what: 'the model decides by chance',
    expect: 'flaky',
    agent: js`import OpenAI from 'openai'

const essay = process.argv[2]
console.log('essay on ' + essay)
const { output_text } = await new OpenAI().responses.create({
  model: 'gpt-4.1-nano',
  instructions: 'Grade the essay: PASS or FAIL.',
  input: essay,
})
if (output_text !== 'PASS') {
  console.log('grade: ' + output_text)
  process.exitCode = 1
} else {
  console.log('grade: PASS')
}
`,
    model: (request, world) =>
      userText(request).length > 6 && world.chance() < 0.5 ? 'FAIL' : 'PASS',
    failing: ['glaciers', 'grade: PASS'],
    sibling: ['volcanoes', 'grade: PASS'],
    passing: [
      ['bees', 'grade: PASS'],
      ['ants', 'grade: PASS'],
    ],
    hidden: [],
  },
  {
    name: 'sometimes-overloaded',
    what: 'a slow model sometimes misses a deadline that is met otherwise',
    expect: 'flaky',
    agent: js`import { createOpenAI } from '@ai-sdk/openai'
import { generateText } from 'ai'

const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL })
const title = process.argv[2]
console.log('title ' + title)
const { text } = await generateText({
  model: openai.chat('gpt-4o-mini'),
  system: 'Rate a title from 1 to 5. Digits only.',
  prompt: title,
})
const rating = Number(text)
if (!(rating >= 1 && rating <= 5)) throw new RangeError('no rating: ' + text)
console.log('rating ' + rating)
`,
    model: (request, world) =>
      userText(request).includes('?') && world.chance() < 0.55
        ? 'Hard to say without the text.'
        : String((userText(request).length % 5) + 1),
    failing: ['Is it over?', 'rating 2'],
    sibling: ['Who won?', 'rating 4'],
    passing: [
      ['Rain', 'rating 5'],
      ['Sun', 'rating 4'],
    ],
    hidden: [],
  },
  {
    name: 'wrong-side-of-the-limit',
    what: '> where the rules of the shop say "from 100 on"',
    agent: js`import OpenAI from 'openai'

/** Orders from 100 euros on ship for free. */
const shipping = (total) => (total > 100 ? 0 : 6)

const order = process.argv[2]
console.log('order ' + order)
const completion = await new OpenAI().chat.completions.create({
  model: 'gpt-4o-mini',
  response_format: { type: 'json_object' },
  messages: [
    { role: 'system', content: 'Read the total of the order. JSON: total.' },
    { role: 'user', content: order },
  ],
})
const { total } = JSON.parse(completion.choices[0].message.content)
console.log('to pay: ' + (total + shipping(total)))
`,
    model: (request) => JSON.stringify({ total: Number(/\d+/.exec(userText(request))?.[0]) }),
    failing: ['desk for 100', 'to pay: 100'],
    sibling: ['100 for two chairs', 'to pay: 100'],
    passing: [
      ['lamp for 99', 'to pay: 105'],
      ['sofa for 640', 'to pay: 640'],
    ],
    hidden: [
      ['bed for 101', 'to pay: 101'],
      ['rug for 12', 'to pay: 18'],
      ['exactly 100', 'to pay: 100'],
    ],
    fix: [['total > 100', 'total >= 100']],
    partial: [['total > 100', "total > 100 || order.startsWith('desk')"]],
  },
  {
    name: 'prompts-swapped',
    what: 'two departments have the prompt of the other one',
    agent: js`import OpenAI from 'openai'
import { prompts } from './src/prompts.mjs'

const [department, question] = process.argv[2].split('/')
console.log('to ' + process.argv[2])
const { choices } = await new OpenAI().chat.completions.create({
  model: 'gpt-4o-mini',
  messages: [
    { role: 'system', content: prompts[department] },
    { role: 'user', content: question },
  ],
})
console.log(choices[0].message.content)
`,
    files: {
      'src/prompts.mjs': js`export const prompts = {
  sales: 'You answer questions about invoices.',
  billing: 'You answer questions about products.',
  press: 'You answer questions of journalists.',
}
`,
    },
    model: (request) => {
      const topic = /about (\w+)|of (\w+)/.exec(systemText(request))?.slice(1).find(Boolean)
      const isInvoice = /invoice/.test(userText(request))
      if (topic === 'invoices') return isInvoice ? 'Paid on 3 May.' : 'I only know invoices.'
      if (topic === 'products') return isInvoice ? 'I only know products.' : 'In stock.'
      return 'No comment.'
    },
    oracle: 'not:stdout:/I only know/',
    failing: ['billing/invoice 7', 'Paid on 3 May.'],
    sibling: ['sales/any red lamps', 'In stock.'],
    passing: [
      ['press/invoice scandal', 'No comment.'],
      ['press/any red lamps', 'No comment.'],
    ],
    hidden: [
      ['billing/my invoice', 'Paid on 3 May.'],
      ['sales/blue chairs', 'In stock.'],
    ],
    fix: [
      [
        "sales: 'You answer questions about invoices.'",
        "sales: 'You answer questions about products.'",
        'src/prompts.mjs',
      ],
      [
        "billing: 'You answer questions about products.'",
        "billing: 'You answer questions about invoices.'",
        'src/prompts.mjs',
      ],
    ],
    partial: [
      [
        "billing: 'You answer questions about products.'",
        "billing: 'You answer questions about invoices.'",
        'src/prompts.mjs',
      ],
    ],
  },
  {
    name: 'old-rate-of-tax',
    what: 'the reduced rate of tax is taken for books only, not for food',
    agent: js`import { ChatOpenAI } from '@langchain/openai'

const RATES = { book: 7, food: 19, other: 19 }

const item = process.argv[2]
console.log('item: ' + item)
const model = new ChatOpenAI({ model: 'gpt-4o-mini', temperature: 0 })
const { content } = await model.invoke([
  ['system', 'Classify: book, food or other. Then a space and the price in cents.'],
  ['human', item],
])
const [kind, cents] = content.split(' ')
const gross = Math.round((Number(cents) * (100 + RATES[kind])) / 100)
console.log(kind + ' costs ' + gross + ' cents')
`,
    model: (request) => {
      const text = userText(request)
      const kind = /bread|milk|rice/.test(text)
        ? 'food'
        : /novel|atlas/.test(text)
          ? 'book'
          : 'other'
      return `${kind} ${/\d+/.exec(text)?.[0]}`
    },
    failing: ['bread for 200', 'food costs 214 cents'],
    sibling: ['milk for 100', 'food costs 107 cents'],
    passing: [
      ['novel for 1000', 'book costs 1070 cents'],
      ['lamp for 1000', 'other costs 1190 cents'],
    ],
    hidden: [
      ['rice for 300', 'food costs 321 cents'],
      ['atlas for 2000', 'book costs 2140 cents'],
      ['chair for 100', 'other costs 119 cents'],
    ],
    fix: [['food: 19', 'food: 7']],
    partial: [['food: 19', 'food: process.argv[2].length > 12 ? 7 : 19']],
  },
]
