import { callTool, refuse, toolTexts, userText } from '../animal.mjs'
import { js, json } from '../unseen/source.mjs'

/** Tools: their arguments, names, answers, schemas and lists. */

const RATES = { EUR: 1, USD: 1.25, GBP: 0.8, CHF: 0.9, JPY: 160 }
const TICKETS = { acme: 3, bolt: 7, cog: 12, dune: 5, fox: 23, gnu: 10, hen: 1 }

/** @type {import('../unseen.mjs').UnseenAnimal[]} */
export const TOOLS = [
  {
    name: 'one-more-chair',
    what: 'the model sends the number of guests as a text, to which 1 is appended',
    promised: 'tool: argument types',
    agent: js`import Groq from 'groq-sdk'
import { bookTable, bookTableSchema } from './src/restaurant.mjs'

const request = process.argv[2]
console.log('guest: ' + request)

const groq = new Groq()
const messages = [
  { role: 'system', content: 'You take reservations.' },
  { role: 'user', content: request },
]
const ask = () =>
  groq.chat.completions.create({
    model: 'llama-3.3-70b-versatile',
    messages,
    tools: [{ type: 'function', function: bookTableSchema }],
  })

const first = (await ask()).choices[0].message
messages.push(first)
for (const { id, function: fn } of first.tool_calls ?? []) {
  const booking = bookTable(JSON.parse(fn.arguments))
  console.log('chairs: ' + booking.chairs + ', table: ' + booking.table + '.')
  messages.push({ role: 'tool', tool_call_id: id, content: JSON.stringify(booking) })
}
const { content } = (await ask()).choices[0].message
console.log(content)
`,
    files: {
      'src/restaurant.mjs': js`const TABLES = { window: 4, corner: 8, hall: 40 }

export const bookTableSchema = {
  name: 'book_table',
  description: 'Books a table for guests and their host.',
  parameters: {
    type: 'object',
    properties: { guests: { type: 'integer' }, name: { type: 'string' } },
    required: ['guests', 'name'],
  },
}

export function bookTable({ guests, name }) {
  const chairs = guests + 1
  const [table = 'none'] = Object.entries(TABLES).find(([, seats]) => seats >= chairs) ?? []
  return { name, chairs, table }
}
`,
    },
    model: (request) => {
      const [result] = toolTexts(request)
      if (result !== undefined) return `${JSON.parse(result).name}, see you soon!`
      const [, name, number] = /^(\w+),.*?(\d+)/.exec(userText(request))
      const guests = userText(request).includes('people') ? number : Number(number)
      return callTool('book_table', { guests, name })
    },
    failing: ['Ann, 3 people', 'chairs: 4, table: window.|Ann, see you soon!'],
    sibling: ['Bob, 5 people', 'chairs: 6, table: corner.|Bob, see you soon!'],
    passing: [
      ['Cy, party of 2', 'chairs: 3, table: window.|Cy, see you soon!'],
      ['Dan, party of 7', 'chairs: 8, table: corner.|Dan, see you soon!'],
    ],
    hidden: [
      ['Eve, 12 people', 'chairs: 13, table: hall.|Eve, see you soon!'],
      ['Flo, 0 people', 'chairs: 1, table: window.|Flo, see you soon!'],
      ['Gus, 99 people', 'chairs: 100, table: none.|Gus, see you soon!'],
      ['Hal, party of 39', 'chairs: 40, table: hall.|Hal, see you soon!'],
    ],
    fix: [['guests + 1', 'Number(guests) + 1', 'src/restaurant.mjs']],
    partial: [['guests + 1', 'Number(guests.trim()) + 1', 'src/restaurant.mjs']],
  },
  {
    name: 'forecast-in-camel-case',
    what: 'the model calls a tool by a name that does not exist',
    promised: 'tool: unknown tools',
    agent: js`import { Ollama } from 'ollama'

const ollama = new Ollama({ host: process.env.OLLAMA_HOST })

const tools = {
  get_weather: async ({ city }) => city + ': rain, 9 degrees',
  get_forecast: async ({ city }) => city + ': sun tomorrow, 14 degrees',
}

const describe = (name) => ({
  type: 'function',
  function: {
    name,
    description: name.replace('_', ' '),
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
})

async function converse(question) {
  const messages = [{ role: 'user', content: question }]
  for (let turn = 0; turn < 5; turn++) {
    const { message } = await ollama.chat({
      model: 'llama3.2',
      messages,
      tools: Object.keys(tools).map(describe),
    })
    messages.push(message)
    if (!message.tool_calls?.length) return message.content
    for (const call of message.tool_calls) {
      const content = await tools[call.function.name](call.function.arguments)
      messages.push({ role: 'tool', content, tool_name: call.function.name })
    }
  }
  return 'I give up.'
}

const question = process.argv[2]
console.log('? ' + question)
console.log(await converse(question))
`,
    model: (request) => {
      const [city, when] = userText(request).split(' ')
      const results = toolTexts(request)
      const last = results.at(-1)
      if (last === undefined)
        return callTool({ now: 'get_weather', tomorrow: 'getForecast' }[when] ?? 'get_sunset', {
          city,
        })
      if (last.startsWith(`${city}: `)) return `In ${last}.`
      if (results.length > 2) return 'I do not know.'
      if (when === 'tomorrow' && last.includes('get_forecast'))
        return callTool('get_forecast', { city })
      return `I cannot look up the ${when} of ${city}.`
    },
    failing: ['Oslo tomorrow', 'In Oslo: sun tomorrow, 14 degrees.'],
    sibling: ['Rome tomorrow', 'In Rome: sun tomorrow, 14 degrees.'],
    passing: [
      ['Oslo now', 'In Oslo: rain, 9 degrees.'],
      ['Bergen now', 'In Bergen: rain, 9 degrees.'],
    ],
    hidden: [
      ['Oslo sunset', 'I cannot look up the sunset of Oslo.'],
      ['Ys tomorrow', 'In Ys: sun tomorrow, 14 degrees.'],
      ['Wollongong tomorrow', 'In Wollongong: sun tomorrow, 14 degrees.'],
    ],
    fix: [
      [
        'await tools[call.function.name](call.function.arguments)',
        "(await tools[call.function.name]?.(call.function.arguments)) ?? 'Unknown tool. Tools: ' + Object.keys(tools).join(', ')",
      ],
    ],
    partial: [['const describe =', 'tools.getForecast = tools.get_forecast\n\nconst describe =']],
    silence: [
      [
        'await tools[call.function.name](call.function.arguments)',
        "(await tools[call.function.name]?.(call.function.arguments)) ?? ''",
      ],
    ],
  },
  {
    name: 'only-the-first-rate',
    what: 'of several tool calls in one answer, only the first is answered',
    promised: 'tool: calls without an answer',
    agent: js`import OpenAI from 'openai'
import rates from './data/rates.json' with { type: 'json' }

const llm = new OpenAI({ maxRetries: 0 })

function lookUp(rawArguments) {
  const { currency } = JSON.parse(rawArguments)
  return currency in rates ? String(rates[currency]) : 'no such currency'
}

const currencies = process.argv[2]
console.log('rates of ' + currencies)

const messages = [
  { role: 'developer', content: 'Use get_rate for every currency.' },
  { role: 'user', content: currencies },
]
const parameters = {
  type: 'object',
  properties: { currency: { type: 'string' } },
  required: ['currency'],
}
const options = {
  model: 'gpt-4.1-mini',
  tools: [{ type: 'function', function: { name: 'get_rate', parameters } }],
}

let { message } = (await llm.chat.completions.create({ ...options, messages })).choices[0]
while (message.tool_calls) {
  messages.push(message)
  const [call] = message.tool_calls
  messages.push({ role: 'tool', tool_call_id: call.id, content: lookUp(call.function.arguments) })
  ;({ message } = (await llm.chat.completions.create({ ...options, messages })).choices[0])
}
console.log(message.content)
`,
    files: { 'data/rates.json': `${json(RATES)}\n` },
    model: (request) => {
      const { messages } = request.body
      for (const { tool_calls: calls = [] } of messages)
        for (const { id } of calls)
          if (!messages.some((each) => each.tool_call_id === id))
            return refuse(
              400,
              `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${id}`,
            )
      const currencies = userText(request).split(' ')
      const results = toolTexts(request)
      if (results.length === 0)
        return {
          toolCalls: currencies.map((currency) => ({ name: 'get_rate', args: { currency } })),
        }
      return currencies.map((currency, index) => `${currency}: ${results[index]};`).join(' ')
    },
    failing: ['USD GBP', 'USD: 1.25; GBP: 0.8;'],
    sibling: ['CHF JPY', 'CHF: 0.9; JPY: 160;'],
    passing: [
      ['USD', 'USD: 1.25;'],
      ['XYZ', 'XYZ: no such currency;'],
    ],
    hidden: [
      ['EUR USD GBP CHF JPY', 'EUR: 1; USD: 1.25; GBP: 0.8; CHF: 0.9; JPY: 160;'],
      ['USD XYZ GBP', 'USD: 1.25; XYZ: no such currency; GBP: 0.8;'],
      ['JPY JPY', 'JPY: 160; JPY: 160;'],
    ],
    fix: [
      [
        `  const [call] = message.tool_calls
  messages.push({ role: 'tool', tool_call_id: call.id, content: lookUp(call.function.arguments) })
`,
        `  for (const call of message.tool_calls)
    messages.push({ role: 'tool', tool_call_id: call.id, content: lookUp(call.function.arguments) })
`,
      ],
    ],
    partial: [
      [
        `  messages.push({ role: 'tool', tool_call_id: call.id, content: lookUp(call.function.arguments) })
`,
        `  messages.push({ role: 'tool', tool_call_id: call.id, content: lookUp(call.function.arguments) })
  const second = message.tool_calls[1]
  if (second)
    messages.push({
      role: 'tool',
      tool_call_id: second.id,
      content: lookUp(second.function.arguments),
    })
`,
      ],
    ],
  },
  {
    name: 'schema-that-allows-more',
    what: 'a strict function has a nested object without additionalProperties: false',
    promised: 'tool: strict schemas',
    agent: js`import OpenAI from 'openai'
import { toolsFor } from './src/tools.mjs'

const [kind, ...rest] = process.argv[2].split(' ')
console.log(kind + ' ' + rest.join(' '))

const openai = new OpenAI({ maxRetries: 0 })
const response = await openai.responses.create({
  model: 'gpt-4.1',
  input: rest.join(' '),
  ...(kind === 'file' && { tools: toolsFor('add_contact') }),
})
for (const item of response.output) {
  if (item.type === 'function_call') {
    const { name, address } = JSON.parse(item.arguments)
    console.log(\`filed \${name}, \${address.street}, \${address.city}.\`)
  } else if (item.type === 'message') {
    console.log('note: ' + item.content[0].text)
  }
}
`,
    files: {
      'src/tools.mjs': js`const text = { type: 'string' }

const object = (properties) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
})

const SCHEMAS = {
  add_contact: { ...object({ name: text, address: object({ street: text, city: text }) }) },
}

export const toolsFor = (...names) =>
  names.map((name) => ({
    type: 'function',
    name,
    description: name.replaceAll('_', ' '),
    strict: true,
    parameters: SCHEMAS[name],
  }))
`,
    },
    model: (request) => {
      const problem = (schema, context) => {
        if (schema.type !== 'object') return undefined
        if (schema.additionalProperties !== false)
          return `In context=(${context.map((key) => `'${key}'`).join(', ')}), 'additionalProperties' is required to be supplied and to be false.`
        return Object.entries(schema.properties)
          .map(([key, value]) => problem(value, [...context, 'properties', key]))
          .find((each) => each !== undefined)
      }
      for (const { name, strict, parameters } of request.body.tools ?? []) {
        const found = strict ? problem(parameters, []) : undefined
        if (found !== undefined)
          return refuse(400, `Invalid schema for function '${name}': ${found}`, {
            code: 'invalid_function_parameters',
          })
      }
      const [name, ...words] = userText(request).split(' ')
      if (request.body.tools === undefined) return `${name} and ${words.length} more.`
      return callTool('add_contact', {
        name,
        address: { street: words.slice(0, -1).join(' '), city: words.at(-1) ?? '' },
      })
    },
    failing: ['file Ann Mill Lane York', 'filed Ann, Mill Lane, York.'],
    sibling: ['file Bob High Street Leeds', 'filed Bob, High Street, Leeds.'],
    passing: [
      ['note milk bread', 'note: milk and 1 more.'],
      ['note eggs', 'note: eggs and 0 more.'],
    ],
    hidden: [
      ['file Cy Hull', 'filed Cy, , Hull.'],
      ['file Dan 221 B Long Old Road Ripon', 'filed Dan, 221 B Long Old Road, Ripon.'],
      ['note a b c d', 'note: a and 3 more.'],
    ],
    fix: [
      [
        'required: Object.keys(properties),',
        'required: Object.keys(properties),\n  additionalProperties: false,',
        'src/tools.mjs',
      ],
    ],
  },
  {
    name: 'tickets-after-the-fifth',
    what: 'counts the first page of a list that a function of the project returns in pages',
    promised: 'tool: further pages of a list that a function of the project returns',
    agent: js`import { GoogleGenAI } from '@google/genai'
import { listTickets } from './src/tickets.mjs'

const customer = process.argv[2]
console.log('tickets of ' + customer)

const { tickets } = await listTickets({ customer })
const open = tickets.filter(({ state }) => state === 'open')
console.log(\`\${tickets.length} tickets, \${open.length} open.\`)

const ai = new GoogleGenAI({
  apiKey: process.env.GEMINI_API_KEY,
  httpOptions: { baseUrl: process.env.GOOGLE_GEMINI_BASE_URL },
})
const { text } = await ai.models.generateContent({
  model: 'gemini-2.5-flash',
  contents: 'Write a status line: ' + tickets.map(({ id }) => id).join(' '),
})
console.log(text)
`,
    files: {
      'src/tickets.mjs': js`import { readFile } from 'node:fs/promises'

const PAGE_SIZE = 5

/** Tickets of a customer, from the export of the help desk. */
export async function listTickets({ customer, cursor = 0 }) {
  const all = JSON.parse(await readFile('data/tickets.json', 'utf8'))
  const mine = all.filter((ticket) => ticket.customer === customer)
  const end = cursor + PAGE_SIZE
  return {
    tickets: mine.slice(cursor, end),
    nextCursor: end < mine.length ? end : null,
  }
}
`,
      'data/tickets.json': `${json(
        Object.entries(TICKETS).flatMap(([customer, count]) =>
          Array.from({ length: count }, (_, index) => ({
            id: `${customer}-${index + 1}`,
            customer,
            state: index % 2 === 0 ? 'open' : 'solved',
          })),
        ),
      )}\n`,
    },
    model: (request) => {
      const ids = userText(request).replace('Write a status line: ', '').split(' ')
      return ids[0] === '' ? 'All quiet.' : `Latest: ${ids.at(-1)}.`
    },
    failing: ['bolt', '7 tickets, 4 open.|Latest: bolt-7.'],
    sibling: ['gnu', '10 tickets, 5 open.|Latest: gnu-10.'],
    passing: [
      ['acme', '3 tickets, 2 open.|Latest: acme-3.'],
      ['dune', '5 tickets, 3 open.|Latest: dune-5.'],
    ],
    hidden: [
      ['cog', '12 tickets, 6 open.|Latest: cog-12.'],
      ['fox', '23 tickets, 12 open.|Latest: fox-23.'],
      ['nobody', '0 tickets, 0 open.|All quiet.'],
      ['hen', '1 tickets, 1 open.|Latest: hen-1.'],
    ],
    fix: [
      [
        'const { tickets } = await listTickets({ customer })\n',
        `const tickets = []
let cursor = 0
while (cursor !== null) {
  const page = await listTickets({ customer, cursor })
  tickets.push(...page.tickets)
  cursor = page.nextCursor
}
`,
      ],
    ],
    partial: [
      [
        'const { tickets } = await listTickets({ customer })\n',
        `const { tickets, nextCursor } = await listTickets({ customer })
if (nextCursor) tickets.push(...(await listTickets({ customer, cursor: nextCursor })).tickets)
`,
      ],
    ],
  },
]
