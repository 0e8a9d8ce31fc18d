import { callTool, refuse, systemText, toolTexts, userText } from './animal.mjs'

const js = String.raw

/** Tools: names, arguments, results, errors and effects. */

/** @type {import('./animal.mjs').Animal[]} */
export const TOOLS = [
  {
    name: 'number-as-text',
    what: 'the model passes a number as text, and + joins it',
    byRules: true,
    agent: js`import OpenAI from 'openai'

const client = new OpenAI()
const order = process.argv[2]
console.log('> ' + order)

const FEE = 5
const STOCK = 100
const tools = [
  {
    type: 'function',
    function: {
      name: 'quote',
      description: 'Price of an order.',
      parameters: {
        type: 'object',
        properties: { quantity: { type: 'number' } },
        required: ['quantity'],
      },
    },
  },
]

function quote({ quantity }) {
  const boxes = quantity + 1
  if (boxes > STOCK) return { error: 'not enough stock' }
  return { boxes, price: boxes * 10 + FEE }
}

const messages = [
  { role: 'system', content: 'You quote orders. One box more than ordered is always sent as a gift.' },
  { role: 'user', content: order },
]
for (let turn = 0; turn < 5; turn++) {
  const completion = await client.chat.completions.create({ model: 'gpt-4o-mini', messages, tools })
  const { message } = completion.choices[0]
  messages.push(message)
  if (!message.tool_calls) {
    console.log(message.content)
    break
  }
  for (const call of message.tool_calls) {
    const result = quote(JSON.parse(call.function.arguments))
    messages.push({ role: 'tool', tool_call_id: call.id, content: JSON.stringify(result) })
  }
}
`,
    model: (request) => {
      const [result] = toolTexts(request)
      if (result !== undefined) {
        const { price, error } = JSON.parse(result)
        return error === undefined ? `That is ${price} euro.` : 'We do not have so many.'
      }
      const text = userText(request)
      const quantity = /\d+/.exec(text)?.[0] ?? '0'
      return callTool('quote', { quantity: /about/.test(text) ? quantity : Number(quantity) })
    },
    failing: ['about 3 boxes', 'That is 45 euro.'],
    siblings: [
      ['about 7 boxes', 'That is 85 euro.'],
      ['about 20 boxes', 'That is 215 euro.'],
    ],
    twins: [
      ['5000 boxes', 'We do not have so many.'],
      ['900 boxes', 'We do not have so many.'],
    ],
    corpus: [
      ['3 boxes', 'That is 45 euro.'],
      ['1 box', 'That is 25 euro.'],
      ['10 boxes', 'That is 115 euro.'],
    ],
    fix: [['const boxes = quantity + 1', 'const boxes = Number(quantity) + 1']],
  },
  {
    name: 'unknown-tool',
    what: 'the model calls a tool that does not exist',
    byRules: true,
    agent: js`import OpenAI from 'openai'

const openai = new OpenAI()
const orders = { 1182: 'on its way', 1183: 'delivered', 1190: 'packed' }

const handlers = {
  lookup_order: ({ id }) => orders[id] ?? 'no such order',
}
const tools = [
  {
    type: 'function',
    function: {
      name: 'lookup_order',
      description: 'The state of an order.',
      parameters: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
    },
  },
]

const question = process.argv[2]
console.log('> ' + question)
const messages = [
  { role: 'system', content: 'You help customers of a bookshop.' },
  { role: 'user', content: question },
]

for (let turn = 0; turn < 6; turn++) {
  const completion = await openai.chat.completions.create({ model: 'gpt-4o-mini', messages, tools })
  const reply = completion.choices[0].message
  messages.push(reply)
  if (!reply.tool_calls?.length) {
    console.log(reply.content)
    break
  }
  for (const call of reply.tool_calls) {
    const args = JSON.parse(call.function.arguments)
    const result = handlers[call.function.name](args)
    messages.push({ role: 'tool', tool_call_id: call.id, content: result })
  }
}
`,
    model: (request) => {
      const id = /\d{4}/.exec(userText(request))?.[0] ?? ''
      const results = toolTexts(request)
      const found = results.find((text) => /way|delivered|packed|no such order/.test(text))
      if (found !== undefined)
        return found === 'no such order' ? 'There is no such order.' : `It is ${found}.`
      if (results.length > 2) return 'I give up.'
      const isConfused = /parcel/.test(userText(request)) && results.length === 0
      return callTool(isConfused ? 'track_parcel' : 'lookup_order', { id })
    },
    failing: ['Where is my parcel 1182?', 'It is on its way.'],
    siblings: [
      ['Where is the parcel 1183?', 'It is delivered.'],
      ['Has the parcel 1190 left?', 'It is packed.'],
    ],
    twins: [
      ['Where is order 4444?', 'There is no such order.'],
      ['Where is order 5555?', 'There is no such order.'],
    ],
    corpus: [
      ['Where is order 1182?', 'It is on its way.'],
      ['Where is order 1183?', 'It is delivered.'],
      ['Where is order 1190?', 'It is packed.'],
    ],
    fix: [
      [
        'const result = handlers[call.function.name](args)',
        js`const handler = handlers[call.function.name]
    const result = handler
      ? handler(args)
      : 'Unknown tool ' + call.function.name + '. Use one of: ' + Object.keys(handlers).join(', ')`,
      ],
    ],
  },
  {
    name: 'tool-error-ends-run',
    what: 'an error of a tool ends the run, although the model could correct itself',
    byRules: true,
    agent: js`import Anthropic from '@anthropic-ai/sdk'

const client = new Anthropic()
const seats = { 12: 'window', 14: 'aisle', 15: 'middle', 20: 'window', 21: 'aisle' }

function seatKind({ seat }) {
  if (!/^\d+$/.test(seat)) throw new Error('seat must be a number, such as 12')
  return seats[seat] ?? 'no such seat'
}

const question = process.argv[2]
console.log('> ' + question)
const messages = [{ role: 'user', content: question }]

while (true) {
  const message = await client.messages.create({
    model: 'claude-sonnet-4-5',
    max_tokens: 500,
    messages,
    tools: [
      {
        name: 'seat_kind',
        description: 'Is a seat at the window, in the middle or at the aisle?',
        input_schema: { type: 'object', properties: { seat: { type: 'string' } }, required: ['seat'] },
      },
    ],
  })
  messages.push({ role: 'assistant', content: message.content })
  const uses = message.content.filter((block) => block.type === 'tool_use')
  if (uses.length === 0) {
    console.log(message.content[0].text)
    break
  }
  const results = uses.map((use) => ({
    type: 'tool_result',
    tool_use_id: use.id,
    content: seatKind(use.input),
  }))
  messages.push({ role: 'user', content: results })
}
`,
    model: (request) => {
      const text = request.messages.find(({ role }) => role === 'user')?.text ?? ''
      const seat = /\d+/.exec(text)?.[0] ?? ''
      const last = toolTexts(request).at(-1)
      if (last?.includes('no such seat')) return 'That seat does not exist.'
      const kind = /window|aisle|middle/.exec(last ?? '')?.[0]
      if (kind !== undefined && !last.includes('must be')) return `Seat ${seat}: ${kind}.`
      if (toolTexts(request).length > 2) return 'I cannot find out.'
      return callTool('seat_kind', {
        seat: last === undefined && /row/.test(text) ? `seat ${seat}` : seat,
      })
    },
    failing: ['Which row is 12?', 'Seat 12: window.'],
    siblings: [
      ['Which row is 14?', 'Seat 14: aisle.'],
      ['The row of 15?', 'Seat 15: middle.'],
    ],
    twins: [
      ['Where is 99?', 'That seat does not exist.'],
      ['Where is 98?', 'That seat does not exist.'],
    ],
    corpus: [
      ['Where is 12?', 'Seat 12: window.'],
      ['Where is 20?', 'Seat 20: window.'],
      ['Where is 21?', 'Seat 21: aisle.'],
    ],
    fix: [
      [
        'const results = uses.map((use) => ({',
        'const results = uses.map((use) => {\n    let content\n    try {\n      content = seatKind(use.input)\n    } catch (error) {\n      content = error.message\n    }\n    return {',
      ],
      ['    content: seatKind(use.input),\n  }))', '    content,\n  }})'],
    ],
  },
  {
    name: 'schema-without-enum',
    what: 'the schema of a tool does not name the values that it takes',
    agent: js`import { createOpenAI } from '@ai-sdk/openai'
import { generateText, stepCountIs, tool } from 'ai'
import { z } from 'zod'

const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL })
const RATES = { USD: 1.1, CHF: 0.9, GBP: 0.8 }

const convert = tool({
  description: 'Converts an amount of euro.',
  inputSchema: z.object({
    amount: z.number(),
    currency: z.string(),
  }),
  execute: ({ amount, currency }) => {
    const rate = RATES[currency]
    return rate === undefined ? 'no rate' : (amount * rate).toFixed(2) + ' ' + currency
  },
})

const question = process.argv[2]
console.log('> ' + question)

const { text } = await generateText({
  model: openai.chat('gpt-4o-mini'),
  system: 'You convert money with the tool.',
  prompt: question,
  tools: { convert },
  stopWhen: stepCountIs(4),
})
console.log(text)
`,
    model: (request) => {
      const [result] = toolTexts(request)
      if (result !== undefined)
        return result.includes('no rate')
          ? 'I have no rate for it.'
          : `It is ${result.replaceAll('"', '')}.`
      const text = userText(request)
      const amount = Number(/\d+/.exec(text)?.[0])
      const codes = { dollars: 'USD', francs: 'CHF', pounds: 'GBP' }
      const word = /dollars|francs|pounds|yen|USD|CHF|GBP/.exec(text)?.[0]
      const knows = /USD/.test(JSON.stringify(request.body.tools))
      return callTool('convert', { amount, currency: knows ? (codes[word] ?? word) : word })
    },
    oracle: 'not:stdout:no rate',
    failing: ['100 in dollars', 'It is 110.00 USD.'],
    siblings: [
      ['100 in francs', 'It is 90.00 CHF.'],
      ['10 in pounds', 'It is 8.00 GBP.'],
    ],
    twins: [
      ['100 in yen', 'no rate'],
      ['7 in yen', 'no rate'],
    ],
    corpus: [
      ['100 in USD', 'It is 110.00 USD.'],
      ['100 in CHF', 'It is 90.00 CHF.'],
      ['100 in GBP', 'It is 80.00 GBP.'],
    ],
    fix: [['currency: z.string()', "currency: z.string().describe('ISO code: USD, CHF or GBP')"]],
  },
  {
    name: 'ticket-twice',
    what: 'two identical calls in one answer open two tickets',
    byRules: true,
    agent: js`import OpenAI from 'openai'

const client = new OpenAI()
const report = process.argv[2]
console.log('> ' + report)

const tickets = []
function createTicket({ title, severity }) {
  tickets.push({ title, severity })
  return 'ticket ' + tickets.length
}

const tools = [
  {
    type: 'function',
    function: {
      name: 'create_ticket',
      description: 'Opens a ticket.',
      parameters: {
        type: 'object',
        properties: { title: { type: 'string' }, severity: { type: 'string' } },
        required: ['title', 'severity'],
      },
    },
  },
]
const messages = [
  { role: 'system', content: 'Open a ticket for every defect that is reported.' },
  { role: 'user', content: report },
]
for (let turn = 0; turn < 4; turn++) {
  const { choices } = await client.chat.completions.create({ model: 'gpt-4o', messages, tools })
  messages.push(choices[0].message)
  const calls = choices[0].message.tool_calls ?? []
  if (calls.length === 0) break
  for (const call of calls) {
    const content = createTicket(JSON.parse(call.function.arguments))
    messages.push({ role: 'tool', tool_call_id: call.id, content })
  }
}
for (const { title } of tickets) console.log('* ' + title)
console.log(tickets.length + ' open')
`,
    model: (request) => {
      if (toolTexts(request).length > 0) return 'Done.'
      const defects = userText(request).split(' and ')
      const calls = defects.map((title) => ({
        name: 'create_ticket',
        args: { title: title.replace(/^urgent /, ''), severity: 'high' },
      }))
      return { toolCalls: /urgent/.test(userText(request)) ? [...calls, ...calls] : calls }
    },
    failing: ['urgent crash on start', '1 open'],
    siblings: [
      ['urgent leak', '1 open'],
      ['urgent freeze', '1 open'],
    ],
    twins: [
      ['slow start and wrong colour', '2 open'],
      ['typo and dead link', '2 open'],
    ],
    corpus: [
      ['slow start', '1 open'],
      ['wrong colour', '1 open'],
      ['typo', '1 open'],
    ],
    fix: [
      [
        'function createTicket({ title, severity }) {\n',
        js`function createTicket({ title, severity }) {
  const known = tickets.findIndex((each) => each.title === title && each.severity === severity)
  if (known >= 0) return 'ticket ' + (known + 1)
`,
      ],
    ],
  },
  {
    name: 'search-loop',
    what: 'the model repeats the same search until the agent gives up',
    byRules: true,
    agent: js`import OpenAI from 'openai'

const openai = new OpenAI()
const question = process.argv[2]
console.log('> ' + question)

const pages = {
  opening: 'The museum opens at nine.',
  tickets: 'A ticket is 12 euro.',
  parking: 'There is no parking.',
}
const search = ({ query }) => pages[query] ?? 'No page found.'

const MAX_TURNS = 8
const messages = [
  { role: 'system', content: 'Answer from the pages of the museum. Search first.' },
  { role: 'user', content: question },
]
const tools = [
  {
    type: 'function',
    function: {
      name: 'search',
      description: 'Searches the pages.',
      parameters: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
    },
  },
]

let answer
for (let turn = 0; turn < MAX_TURNS && answer === undefined; turn++) {
  const { choices } = await openai.chat.completions.create({ model: 'gpt-4o-mini', messages, tools })
  const { message } = choices[0]
  messages.push(message)
  if (!message.tool_calls) answer = message.content
  for (const call of message.tool_calls ?? []) {
    const args = JSON.parse(call.function.arguments)
    messages.push({ role: 'tool', tool_call_id: call.id, content: search(args) })
  }
}
if (answer === undefined) throw new Error('no answer after ' + MAX_TURNS + ' turns')
console.log(answer)
`,
    model: (request) => {
      const results = toolTexts(request)
      const word = /opening|tickets|parking|dinosaurs|food|toilets|wifi/.exec(
        userText(request),
      )?.[0]
      const last = results.at(-1)
      if (last === undefined) return callTool('search', { query: word ?? 'museum' })
      if (/opens|euro|no parking/.test(last)) return last
      if (word === 'dinosaurs' || word === undefined) return 'The pages do not say.'
      const isStopped = /already|again|repeat|loop|same/i.test(last)
      if (isStopped || request.body.tools === undefined || request.body.tool_choice === 'none')
        return 'The pages do not mention it.'
      return callTool('search', { query: word })
    },
    failing: ['Is there food?', 'The pages do not mention it.'],
    siblings: [
      ['Are there toilets?', 'The pages do not mention it.'],
      ['Is there wifi?', 'The pages do not mention it.'],
    ],
    twins: [
      ['What are the tickets?', 'A ticket is 12 euro.'],
      ['Is there parking?', 'There is no parking.'],
    ],
    corpus: [
      ['When is the opening?', 'The museum opens at nine.'],
      ['Are there dinosaurs?', 'The pages do not say.'],
      ['What about parking?', 'There is no parking.'],
    ],
    fix: [
      ['let answer\n', 'const seen = new Set()\nlet answer\n'],
      [
        'const args = JSON.parse(call.function.arguments)\n',
        js`const args = JSON.parse(call.function.arguments)
    const key = call.function.name + call.function.arguments
    if (seen.has(key)) {
      const content = 'You already made this call, with the same result. Answer now.'
      messages.push({ role: 'tool', tool_call_id: call.id, content })
      continue
    }
    seen.add(key)
`,
      ],
    ],
  },
  {
    name: 'first-call-only',
    what: 'only the first of several tool calls is answered',
    agent: js`import OpenAI from 'openai'

const client = new OpenAI()
const weather = { Oslo: 'snow', Rome: 'sun', Cork: 'rain', Bern: 'fog' }
const question = process.argv[2]
console.log('> ' + question)

const messages = [{ role: 'user', content: question }]
const tools = [
  {
    type: 'function',
    function: {
      name: 'weather',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  },
]

async function step() {
  const completion = await client.chat.completions.create({ model: 'gpt-4o', messages, tools })
  const message = completion.choices[0].message
  messages.push(message)
  return message
}

let message = await step()
while (message.tool_calls) {
  const [call] = message.tool_calls
  const { city } = JSON.parse(call.function.arguments)
  messages.push({
    role: 'tool',
    tool_call_id: call.id,
    content: weather[city] ?? 'unknown city',
  })
  message = await step()
}
console.log(message.content)
`,
    model: (request) => {
      const cities = [...userText(request).matchAll(/\b(Oslo|Rome|Cork|Bern|Xanadu|Avalon)\b/g)]
      const results = toolTexts(request)
      if (results.length === 0)
        return { toolCalls: cities.map(([city]) => ({ name: 'weather', args: { city } })) }
      if (results.length < cities.length)
        return refuse(
          400,
          "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
        )
      return results.map((text, index) => `${cities[index][0]}: ${text}`).join(', ')
    },
    failing: ['Oslo or Rome?', 'Oslo: snow, Rome: sun'],
    siblings: [
      ['Cork and Bern?', 'Cork: rain, Bern: fog'],
      ['Bern, Oslo, Cork', 'Bern: fog, Oslo: snow, Cork: rain'],
    ],
    twins: [
      ['And Xanadu?', 'Xanadu: unknown city'],
      ['And Avalon?', 'Avalon: unknown city'],
    ],
    corpus: [
      ['Oslo?', 'Oslo: snow'],
      ['Rome?', 'Rome: sun'],
      ['Cork?', 'Cork: rain'],
    ],
    fix: [
      ['  const [call] = message.tool_calls\n', '  for (const call of message.tool_calls) {\n'],
      ["?? 'unknown city',\n  })\n", "?? 'unknown city',\n  })\n  }\n"],
    ],
  },
  {
    name: 'object-as-text',
    what: 'a result reaches the model as [object Object]',
    agent: js`import { ChatOpenAI } from '@langchain/openai'
import { createAgent, tool } from 'langchain'
import { z } from 'zod'

const flights = {
  LX14: { to: 'New York', gate: 'E43', late: 20 },
  LX16: { to: 'Boston', gate: 'E27', late: 0 },
  LX18: { to: 'Miami', gate: 'E19', late: 45 },
}

const flight = tool(
  ({ number }) => {
    const found = flights[number]
    if (found === undefined) return 'no such flight'
    return 'Flight ' + number + ': ' + found
  },
  {
    name: 'flight',
    description: 'Gate and delay of a flight.',
    schema: z.object({ number: z.string() }),
  },
)

const model = new ChatOpenAI({
  model: 'gpt-4o-mini',
  configuration: { baseURL: process.env.OPENAI_BASE_URL },
})
const agent = createAgent({ model, tools: [flight] })

const question = process.argv[2]
console.log('> ' + question)
const { messages } = await agent.invoke({ messages: [{ role: 'user', content: question }] })
console.log(messages.at(-1).text)
`,
    model: (request) => {
      const number = /LX\d+/.exec(userText(request))?.[0]
      if (number === undefined) return 'Which flight?'
      const [result] = toolTexts(request)
      if (result === undefined) return callTool('flight', { number })
      if (result.includes('no such flight')) return 'There is no such flight.'
      const gate = /E\d\d/.exec(result)?.[0]
      return gate === undefined ? 'I could not read the answer.' : `Gate ${gate}.`
    },
    failing: ['Gate of LX14?', 'Gate E43.'],
    siblings: [
      ['Gate of LX16?', 'Gate E27.'],
      ['Gate of LX18?', 'Gate E19.'],
    ],
    twins: [
      ['Gate of LX99?', 'There is no such flight.'],
      ['Gate of LX98?', 'There is no such flight.'],
    ],
    corpus: [
      ['Hello', 'Which flight?'],
      ['My gate?', 'Which flight?'],
      ['Is it late?', 'Which flight?'],
    ],
    fix: [["': ' + found", "': ' + JSON.stringify(found)"]],
  },
  {
    name: 'backend-gone',
    what: 'the service behind a tool answers 500 for good',
    expect: 'not-fixed',
    agent: js`import OpenAI from 'openai'

const client = new OpenAI()
const question = process.argv[2]
console.log('> ' + question)

async function parcel({ id }) {
  const response = await fetch(process.env.GATEWAY_URL + '/parcels/' + id)
  if (!response.ok) return { error: 'tracking failed with ' + response.status }
  return response.json()
}

const messages = [{ role: 'user', content: question }]
const tools = [
  {
    type: 'function',
    function: {
      name: 'parcel',
      parameters: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
    },
  },
]
while (true) {
  const { choices } = await client.chat.completions.create({ model: 'gpt-4o-mini', messages, tools })
  const { message } = choices[0]
  messages.push(message)
  if (!message.tool_calls) {
    console.log(message.content)
    break
  }
  for (const call of message.tool_calls) {
    const result = await parcel(JSON.parse(call.function.arguments))
    messages.push({ role: 'tool', tool_call_id: call.id, content: JSON.stringify(result) })
  }
}
`,
    gateway: (path) => {
      const id = path.split('/').at(-1)
      if (id.startsWith('9')) return { status: 500, json: { error: 'database is gone' } }
      return { json: { town: id === '100' ? undefined : 'Ulm', lost: id.startsWith('1') } }
    },
    model: (request) => {
      const [result] = toolTexts(request)
      if (result === undefined)
        return callTool('parcel', { id: /\d+/.exec(userText(request))?.[0] ?? '' })
      if (result.includes('error')) return 'Tracking does not work.'
      return result.includes('true') ? 'It is lost.' : 'It is in Ulm.'
    },
    failing: ['parcel 901', 'It is in Graz.'],
    siblings: [
      ['parcel 902', 'It is in Linz.'],
      ['parcel 903', 'It is in Wels.'],
    ],
    twins: [
      ['parcel 101', 'It is lost.'],
      ['parcel 102', 'It is lost.'],
    ],
    corpus: [
      ['parcel 201', 'It is in Ulm.'],
      ['parcel 202', 'It is in Ulm.'],
      ['parcel 203', 'It is in Ulm.'],
    ],
  },
  {
    name: 'order-not-in-data',
    what: 'the order that the oracle wants does not exist',
    expect: 'not-fixed',
    agent: js`import Anthropic from '@anthropic-ai/sdk'

const client = new Anthropic()
const orders = { 1182: 'NP-77', 1183: 'NP-78', 1184: 'NP-79' }
const question = process.argv[2]
console.log('> ' + question)

const id = /\d+/.exec(question)?.[0]
const tracking = orders[id] ?? 'not found'
const message = await client.messages.create({
  model: 'claude-haiku-4-5',
  max_tokens: 200,
  system: 'Give the tracking number. Tracking number of order ' + id + ': ' + tracking,
  messages: [{ role: 'user', content: question }],
})
console.log(message.content[0].text)
`,
    model: (request) => {
      const number = /NP-\d+/.exec(systemText(request))?.[0]
      if (/cancel/.test(userText(request))) return 'It cannot be cancelled.'
      return number === undefined ? 'I do not find it.' : `Tracking number ${number}.`
    },
    failing: ['track 2001', 'Tracking number NP-91.'],
    siblings: [
      ['track 2002', 'Tracking number NP-92.'],
      ['track 2003', 'Tracking number NP-93.'],
    ],
    twins: [
      ['cancel 1182', 'It cannot be cancelled.'],
      ['cancel 1183', 'It cannot be cancelled.'],
    ],
    corpus: [
      ['track 1182', 'Tracking number NP-77.'],
      ['track 1183', 'Tracking number NP-78.'],
      ['track 1184', 'Tracking number NP-79.'],
    ],
  },
  {
    name: 'wrong-arguments-by-chance',
    what: 'the model mixes up two arguments in half of the cases',
    expect: 'flaky',
    agent: js`import { createOpenAI } from '@ai-sdk/openai'
import { generateText, stepCountIs, tool } from 'ai'
import { z } from 'zod'

const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL })
const trains = { 'Ulm-Bonn': '8:05', 'Bonn-Ulm': '9:10', 'Ulm-Kiel': '7:00', 'Kiel-Ulm': '6:30' }

const nextTrain = tool({
  description: 'The next train between two towns.',
  inputSchema: z.object({ from: z.string(), to: z.string() }),
  execute: ({ from, to }) => trains[from + '-' + to] ?? 'no train',
})

const question = process.argv[2]
console.log('> ' + question)
const { text } = await generateText({
  model: openai.chat('gpt-4o-mini'),
  prompt: question,
  tools: { nextTrain },
  stopWhen: stepCountIs(4),
})
console.log(text)
`,
    model: (request, world) => {
      const [result] = toolTexts(request)
      if (result !== undefined)
        return result.includes('no train')
          ? 'There is no train.'
          : `At ${result.replaceAll('"', '')}.`
      const [, from, to] = /from (\w+) to (\w+)/.exec(userText(request)) ?? []
      const isMixedUp = from === 'Ulm' && to === 'Bonn' && world.chance() < 0.5
      return callTool('nextTrain', isMixedUp ? { from: to, to: from } : { from, to })
    },
    failing: ['Next train from Ulm to Bonn?', 'At 8:05.'],
    siblings: [
      ['A train from Ulm to Bonn, please', 'At 8:05.'],
      ['from Ulm to Bonn', 'At 8:05.'],
    ],
    twins: [
      ['from Ulm to Mars', 'There is no train.'],
      ['from Kiel to Mars', 'There is no train.'],
    ],
    corpus: [
      ['from Bonn to Ulm', 'At 9:10.'],
      ['from Ulm to Kiel', 'At 7:00.'],
      ['from Kiel to Ulm', 'At 6:30.'],
    ],
  },
]
