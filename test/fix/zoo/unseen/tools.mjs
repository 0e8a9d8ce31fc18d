import { callTool, refuse, toolTexts, userText } from '../animal.mjs'
import { js } from './source.mjs'

/** Tools and writes. */

/** A provider refuses an answer of the assistant whose calls are not answered right below it. */
function unansweredCalls({ body }) {
  const { messages } = body
  for (const [index, { tool_calls: calls = [] }] of messages.entries()) {
    const answered = new Set()
    for (const next of messages.slice(index + 1)) {
      if (next.role !== 'tool') break
      answered.add(next.tool_call_id)
    }
    const missing = calls.map(({ id }) => id).filter((id) => !answered.has(id))
    if (missing.length > 0)
      return refuse(
        400,
        `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${missing.join(', ')}`,
        { code: 'invalid_request_error' },
      )
  }
  return undefined
}

/** @type {import('../unseen.mjs').UnseenAnimal[]} */
export const TOOLS = [
  {
    name: 'charged-after-timeout',
    what: 'the answer of a payment is lost, and the model pays again',
    promised: 'policy: writes that are made twice (after a lost answer)',
    agent: js`import OpenAI from 'openai'

const client = new OpenAI()
const bill = process.argv[2]
console.log('bill: ' + bill)

const payments = []

/** The payment service sometimes answers too late. */
function pay({ invoice, euros }) {
  payments.push({ invoice, euros })
  const isLate = euros > 500 && payments.length === 1
  return isLate ? 'error: timeout after 30 s' : 'paid ' + invoice
}

const tools = [
  {
    type: 'function',
    function: {
      name: 'pay',
      description: 'Pays an invoice.',
      parameters: {
        type: 'object',
        properties: { invoice: { type: 'string' }, euros: { type: 'number' } },
        required: ['invoice', 'euros'],
      },
    },
  },
]
const messages = [
  { role: 'system', content: 'You pay the invoices of the user.' },
  { role: 'user', content: bill },
]
for (let turn = 0; turn < 6; turn++) {
  const { choices } = await client.chat.completions.create({ model: 'gpt-4o', messages, tools })
  const { message } = choices[0]
  messages.push(message)
  if (!message.tool_calls) break
  for (const call of message.tool_calls) {
    const content = pay(JSON.parse(call.function.arguments))
    messages.push({ role: 'tool', tool_call_id: call.id, content })
  }
}
const total = payments.reduce((sum, { euros }) => sum + euros, 0)
console.log('paid in total: ' + total)
`,
    model: (request) => {
      const [, invoice, euros] = /(\w+) of (\d+)/.exec(userText(request)) ?? []
      const results = toolTexts(request)
      if (results.some((text) => /^paid|already/.test(text))) return 'Done.'
      if (results.length > 2) return 'I gave up.'
      return callTool('pay', { invoice, euros: Number(euros) })
    },
    failing: ['A17 of 900', 'paid in total: 900'],
    sibling: ['B2 of 640', 'paid in total: 640'],
    passing: [
      ['C3 of 20', 'paid in total: 20'],
      ['D4 of 500', 'paid in total: 500'],
    ],
    hidden: [
      ['E5 of 7000', 'paid in total: 7000'],
      ['F6 of 120', 'paid in total: 120'],
    ],
    fix: [
      [
        '  payments.push({ invoice, euros })\n',
        js`  if (payments.some((each) => each.invoice === invoice)) return 'paid ' + invoice
  payments.push({ invoice, euros })
`,
      ],
    ],
    partial: [
      [
        '  payments.push({ invoice, euros })\n',
        "  if (invoice.startsWith('A') && payments.length > 0) return 'paid ' + invoice\n  payments.push({ invoice, euros })\n",
      ],
    ],
  },
  {
    name: 'helper-books-again',
    what: 'a helper for retries repeats a booking whose answer was lost',
    promised: 'policy: writes that are made twice (after a lost answer)',
    agent: js`import Anthropic from '@anthropic-ai/sdk'
import { book, bookings } from './src/hotel.mjs'
import { withRetries } from './src/retries.mjs'

const wish = process.argv[2]
console.log('wish: ' + wish)
const { content } = await new Anthropic().messages.create({
  model: 'claude-haiku-4-5',
  max_tokens: 100,
  system: 'Read the wish. Answer as JSON: guest, room.',
  messages: [{ role: 'user', content: wish }],
})
const { guest, room } = JSON.parse(content[0].text)
const confirmation = await withRetries(() => book(guest, room))
console.log('confirmed ' + confirmation + ', bookings: ' + bookings.length)
if (bookings.length !== 1) throw new Error(bookings.length + ' bookings of room ' + room)
`,
    files: {
      'src/hotel.mjs': js`export const bookings = []

/** Books a room. The line to the hotel is bad on upper floors: an answer may get lost. */
export async function book(guest, room) {
  bookings.push({ guest, room })
  if (room >= 300 && bookings.length === 1) throw new Error('socket hang up')
  return guest + '-' + room
}
`,
      'src/retries.mjs': js`/** Tries three times. */
export async function withRetries(work) {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (tries === 3) throw error
    }
  }
}
`,
    },
    model: (request) => {
      const [, guest, room] = /(\w+) wants (\d+)/.exec(userText(request)) ?? []
      return JSON.stringify({ guest, room: Number(room) })
    },
    failing: ['Kim wants 312', 'confirmed Kim-312, bookings: 1'],
    sibling: ['Lou wants 401', 'confirmed Lou-401, bookings: 1'],
    passing: [
      ['Max wants 12', 'confirmed Max-12, bookings: 1'],
      ['Ned wants 299', 'confirmed Ned-299, bookings: 1'],
    ],
    hidden: [
      ['Ola wants 300', 'confirmed Ola-300, bookings: 1'],
      ['Pam wants 101', 'confirmed Pam-101, bookings: 1'],
    ],
    fix: [
      [
        '  bookings.push({ guest, room })\n',
        js`  if (bookings.some((each) => each.guest === guest && each.room === room)) return guest + '-' + room
  bookings.push({ guest, room })
`,
        'src/hotel.mjs',
      ],
    ],
    silence: [
      [
        "if (bookings.length !== 1) throw new Error(bookings.length + ' bookings of room ' + room)\n",
        '',
      ],
    ],
    partial: [
      [
        '  bookings.push({ guest, room })\n',
        js`  if (room > 310 && room < 320 && bookings.length > 0) return guest + '-' + room
  bookings.push({ guest, room })
`,
        'src/hotel.mjs',
      ],
    ],
  },
  {
    name: 'same-shelf-again',
    what: 'the model searches the same shelf until the turns are used up',
    promised: 'policy: loops without progress',
    agent: js`import Anthropic from '@anthropic-ai/sdk'

const client = new Anthropic()
const title = process.argv[2]
console.log('book: ' + title)

const shelves = { A: ['Emma', 'Ulysses'], B: ['Dune', 'Siddhartha', 'Metamorphoses', 'Buddenbrooks'], C: ['Momo'] }
const look = ({ shelf }) => (shelves[shelf] ?? []).join(', ') || 'empty'

const messages = [{ role: 'user', content: title }]
let answer
for (let turn = 0; turn < 8 && answer === undefined; turn++) {
  const reply = await client.messages.create({
    model: 'claude-sonnet-4-5',
    max_tokens: 300,
    system: 'Find the book on the shelves A, B and C.',
    tools: [
      {
        name: 'look',
        description: 'The books on a shelf.',
        input_schema: { type: 'object', properties: { shelf: { type: 'string' } }, required: ['shelf'] },
      },
    ],
    messages,
  })
  messages.push({ role: 'assistant', content: reply.content })
  const calls = reply.content.filter((part) => part.type === 'tool_use')
  if (calls.length === 0) answer = reply.content[0].text
  else
    messages.push({
      role: 'user',
      content: calls.map((call) => ({
        type: 'tool_result',
        tool_use_id: call.id,
        content: look(call.input),
      })),
    })
}
if (answer === undefined) throw new Error('no answer after 8 turns')
console.log(answer)
`,
    model: (request) => {
      const title =
        request.messages[0]?.role === 'system' ? request.messages[1].text : request.messages[0].text
      const results = toolTexts(request)
      const last = results.at(-1)
      if (last === undefined) return callTool('look', { shelf: 'A' })
      if (last.includes(title)) return `${title} is there.`
      const isTold = results.some((text) => /already|same|again|repeat/i.test(text))
      const isLost = title.length > 5 && !isTold
      return callTool('look', { shelf: !isLost && results.length !== 2 ? 'B' : 'C' })
    },
    failing: ['Siddhartha', 'Siddhartha is there.'],
    sibling: ['Metamorphoses', 'Metamorphoses is there.'],
    passing: [
      ['Emma', 'Emma is there.'],
      ['Dune', 'Dune is there.'],
    ],
    hidden: [
      ['Buddenbrooks', 'Buddenbrooks is there.'],
      ['Momo', 'Momo is there.'],
      ['Ulysses', 'Ulysses is there.'],
    ],
    fix: [
      [
        "const look = ({ shelf }) => (shelves[shelf] ?? []).join(', ') || 'empty'\n",
        js`const seen = new Set()
const look = ({ shelf }) => {
  if (seen.has(shelf)) return 'You already looked there. Try another shelf.'
  seen.add(shelf)
  return (shelves[shelf] ?? []).join(', ') || 'empty'
}
`,
      ],
    ],
    silence: [
      [
        "if (answer === undefined) throw new Error('no answer after 8 turns')\nconsole.log(answer)",
        "console.log(answer ?? 'not found')",
      ],
    ],
    partial: [["C: ['Momo']", "C: ['Momo', 'Siddhartha']"]],
  },
  {
    name: 'stock-plus-delivery',
    what: 'a number and a number in quotes are added',
    promised: 'tool: argument types (number plus numeric string)',
    agent: js`import OpenAI from 'openai'

const article = process.argv[2]
console.log('article ' + article)

const get = async (path) => (await fetch(process.env.GATEWAY_URL + path)).json()

const { onHand } = await get('/stock/' + article)
const { expected } = await get('/deliveries/' + article)
const available = onHand + expected
const completion = await new OpenAI().chat.completions.create({
  model: 'gpt-4o-mini',
  messages: [
    { role: 'system', content: 'Tell the customer how many pieces we can sell.' },
    { role: 'user', content: String(available) },
  ],
})
console.log(completion.choices[0].message.content)
`,
    gateway: (path) => {
      const [, kind, article = ''] = path.split('/')
      const units = article.length * 4
      if (kind === 'stock') return { json: { onHand: units } }
      return { json: { expected: article.startsWith('x') ? String(units + 1) : units + 1 } }
    },
    model: (request) => `We can sell ${userText(request)}.`,
    failing: ['x-hook', 'We can sell 49.'],
    sibling: ['xl', 'We can sell 17.'],
    passing: [
      ['hook', 'We can sell 33.'],
      ['rail', 'We can sell 33.'],
    ],
    hidden: [
      ['xenon', 'We can sell 41.'],
      ['nail', 'We can sell 33.'],
      ['x', 'We can sell 9.'],
    ],
    fix: [['onHand + expected', 'onHand + Number(expected)']],
    partial: [['onHand + expected', "Number(String(onHand + expected).replace('2425', '49'))"]],
  },
  {
    name: 'prefix-in-the-name',
    what: 'the model writes a prefix before the name of a tool',
    promised: 'tool: unknown tools',
    agent: js`import OpenAI from 'openai'

const openai = new OpenAI()
const question = process.argv[2]
console.log('Question: ' + question)

const heights = { Eiger: 3967, Rigi: 1798, Etna: 3357, Hekla: 1491, Teide: 3715 }

function runTool(name, args) {
  switch (name) {
    case 'height':
      return String(heights[args.mountain] ?? 'unknown')
    default:
      throw new Error('no tool ' + name)
  }
}

const input = [{ role: 'user', content: question }]
for (let round = 0; round < 4; round++) {
  const response = await openai.responses.create({
    model: 'gpt-4.1',
    input,
    tools: [
      {
        type: 'function',
        name: 'height',
        description: 'Height of a mountain in metres.',
        strict: false,
        parameters: { type: 'object', properties: { mountain: { type: 'string' } } },
      },
    ],
  })
  input.push(...response.output)
  const calls = response.output.filter((item) => item.type === 'function_call')
  if (calls.length === 0) {
    console.log(response.output_text)
    break
  }
  for (const { call_id, name, arguments: args } of calls) {
    const output = runTool(name, JSON.parse(args))
    input.push({ type: 'function_call_output', call_id, output })
  }
}
`,
    model: (request) => {
      const [, mountain = ''] = /How high is (\w+)/.exec(userText(request)) ?? []
      const found = toolTexts(request).find((text) => /^(\d+|unknown)$/.test(text))
      if (found !== undefined)
        return found === 'unknown' ? 'I do not know.' : `${mountain}: ${found} metres.`
      const isFirst = toolTexts(request).length === 0
      return callTool(isFirst && mountain.startsWith('E') ? 'functions.height' : 'height', {
        mountain,
      })
    },
    failing: ['How high is Eiger', 'Eiger: 3967 metres.'],
    sibling: ['How high is Etna', 'Etna: 3357 metres.'],
    passing: [
      ['How high is Rigi', 'Rigi: 1798 metres.'],
      ['How high is Hekla', 'Hekla: 1491 metres.'],
    ],
    hidden: [
      ['How high is Teide', 'Teide: 3715 metres.'],
      ['How high is Everest', 'I do not know.'],
    ],
    fix: [
      [
        "      throw new Error('no tool ' + name)\n",
        "      return 'no tool ' + name + ', only height'\n",
      ],
    ],
    silence: [["      throw new Error('no tool ' + name)\n", "      return ''\n"]],
    partial: [
      [
        '    default:\n',
        "    case 'functions.height':\n      return String(heights.Eiger)\n    default:\n",
      ],
    ],
  },
  {
    name: 'no-answer-for-a-failed-call',
    what: 'a call whose tool throws is never answered',
    promised: 'tool: calls without an answer, errors and missing results of tools',
    agent: js`import OpenAI from 'openai'

const client = new OpenAI()
const order = process.argv[2]
console.log('order: ' + order)

const tables = { 2: 'window', 4: 'garden', 6: 'hall' }
function reserve({ persons }) {
  const table = tables[persons]
  if (!table) throw new Error('no table for ' + persons)
  return 'table: ' + table
}

const tools = [
  {
    type: 'function',
    function: {
      name: 'reserve',
      parameters: { type: 'object', properties: { persons: { type: 'integer' } } },
    },
  },
]
const history = [{ role: 'user', content: order }]
for (let step = 0; step < 5; step++) {
  const { choices } = await client.chat.completions.create({
    model: 'gpt-4o-mini',
    messages: history,
    tools,
  })
  const { message } = choices[0]
  history.push(message)
  if (!message.tool_calls) {
    console.log(message.content)
    break
  }
  for (const { id, function: called } of message.tool_calls) {
    try {
      const content = reserve(JSON.parse(called.arguments))
      history.push({ role: 'tool', tool_call_id: id, content })
    } catch (error) {
      console.error('reserve failed: ' + error.message)
    }
  }
}
`,
    model: (request) => {
      const refusal = unansweredCalls(request)
      if (refusal !== undefined) return refusal
      const persons = Number(/\d+/.exec(userText(request))?.[0])
      const results = toolTexts(request)
      const table = results.map((text) => /table: (\w+)/.exec(text)?.[1]).find(Boolean)
      if (table !== undefined) return `You sit in the ${table}.`
      return callTool('reserve', { persons: results.length === 0 ? persons : persons + 1 })
    },
    failing: ['5 people', 'You sit in the hall.'],
    sibling: ['3 people', 'You sit in the garden.'],
    passing: [
      ['2 people', 'You sit in the window.'],
      ['6 people', 'You sit in the hall.'],
    ],
    hidden: [
      ['1 person', 'You sit in the window.'],
      ['4 people', 'You sit in the garden.'],
    ],
    fix: [
      [
        "      console.error('reserve failed: ' + error.message)\n",
        js`      console.error('reserve failed: ' + error.message)
      history.push({ role: 'tool', tool_call_id: id, content: 'error: ' + error.message })
`,
      ],
    ],
    partial: [["4: 'garden', 6: 'hall'", "4: 'garden', 5: 'hall', 6: 'hall'"]],
  },
  {
    name: 'note-before-the-result',
    what: 'a note of the user is put between a call and its result',
    promised: "tool: message order errors from the provider's text",
    agent: js`import OpenAI from 'openai'

const client = new OpenAI()
const [task, note] = process.argv[2].split(' // ')
console.log('task: ' + process.argv[2])

const tools = [
  {
    type: 'function',
    function: { name: 'weigh', parameters: { type: 'object', properties: { what: { type: 'string' } } } },
  },
]
const thread = [{ role: 'user', content: task }]
let pending = note

for (;;) {
  const { choices } = await client.chat.completions.create({
    model: 'gpt-4o',
    messages: thread,
    tools,
  })
  const reply = choices[0].message
  thread.push(reply)
  if (!reply.tool_calls) {
    console.log(reply.content)
    break
  }
  if (pending) {
    thread.push({ role: 'user', content: pending })
    pending = undefined
  }
  for (const call of reply.tool_calls) {
    const { what } = JSON.parse(call.function.arguments)
    thread.push({ role: 'tool', tool_call_id: call.id, content: what.length * 100 + ' grams' })
  }
}
`,
    model: (request) => {
      const refusal = unansweredCalls(request)
      if (refusal !== undefined) return refusal
      const users = request.messages.filter(({ role }) => role === 'user').map(({ text }) => text)
      const [result] = toolTexts(request)
      if (result === undefined) return callTool('weigh', { what: users[0].split(' ').pop() })
      const isKilos = users.some((text) => text.includes('kilos'))
      return isKilos ? `It is ${Number.parseInt(result, 10) / 1000} kilos.` : `It is ${result}.`
    },
    failing: ['weigh melon // in kilos', 'It is 0.5 kilos.'],
    sibling: ['weigh fig // kilos please', 'It is 0.3 kilos.'],
    passing: [
      ['weigh melon', 'It is 500 grams.'],
      ['weigh plum', 'It is 400 grams.'],
    ],
    hidden: [
      ['weigh pumpkin // kilos', 'It is 0.7 kilos.'],
      ['weigh kiwi // thanks', 'It is 400 grams.'],
    ],
    fix: [
      [
        js`  if (pending) {
    thread.push({ role: 'user', content: pending })
    pending = undefined
  }
  for (const call`,
        '  for (const call',
      ],
      [
        "content: what.length * 100 + ' grams' })\n  }\n",
        js`content: what.length * 100 + ' grams' })
  }
  if (pending) {
    thread.push({ role: 'user', content: pending })
    pending = undefined
  }
`,
      ],
    ],
    silence: [
      [
        js`  if (pending) {
    thread.push({ role: 'user', content: pending })
    pending = undefined
  }
`,
        '',
      ],
    ],
  },
  {
    name: 'one-message-per-result',
    what: 'two results are sent to Claude in two messages',
    promised: "tool: calls without an answer, message order errors from the provider's text",
    agent: js`import Anthropic from '@anthropic-ai/sdk'

const anthropic = new Anthropic()
const request = process.argv[2]
console.log('compare ' + request)

const people = { Oslo: 700, Bergen: 290, Turin: 850, Genoa: 560, Porto: 230 }
const tools = [
  {
    name: 'inhabitants',
    description: 'Thousands of inhabitants of a city.',
    input_schema: { type: 'object', properties: { city: { type: 'string' } } },
  },
]
const messages = [{ role: 'user', content: request }]
while (true) {
  const { content } = await anthropic.messages.create({
    model: 'claude-sonnet-4-5',
    max_tokens: 400,
    tools,
    messages,
  })
  messages.push({ role: 'assistant', content })
  const uses = content.filter(({ type }) => type === 'tool_use')
  if (uses.length === 0) {
    console.log(content[0].text)
    break
  }
  for (const use of uses) {
    const result = { type: 'tool_result', tool_use_id: use.id, content: String(people[use.input.city]) }
    messages.push({ role: 'user', content: [result] })
  }
}
`,
    model: (request) => {
      const { messages } = request.body
      const index = messages.findIndex(
        ({ role, content }) =>
          role === 'assistant' && content.some(({ type }) => type === 'tool_use'),
      )
      const cities = messages[0].content.split(' and ')
      if (index === -1)
        return { toolCalls: cities.map((city) => ({ name: 'inhabitants', args: { city } })) }
      const next = messages[index + 1].content
      const missing = messages[index].content
        .filter(({ type }) => type === 'tool_use')
        .filter(({ id }) => !next.some((part) => part.tool_use_id === id))
      if (missing.length > 0)
        return refuse(
          400,
          `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.map(({ id }) => id).join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
          { code: 'invalid_request_error' },
        )
      const sizes = next.map((part) => Number(part.content))
      return `The largest is ${cities[sizes.indexOf(Math.max(...sizes))]}.`
    },
    failing: ['Oslo and Turin', 'The largest is Turin.'],
    sibling: ['Genoa and Porto', 'The largest is Genoa.'],
    passing: [
      ['Oslo', 'The largest is Oslo.'],
      ['Turin', 'The largest is Turin.'],
    ],
    hidden: [
      ['Bergen and Porto and Oslo', 'The largest is Oslo.'],
      ['Porto', 'The largest is Porto.'],
    ],
    fix: [
      [
        '  for (const use of uses) {\n    const result =',
        '  const results = uses.map((use) => {\n    const result =',
      ],
      [
        "    messages.push({ role: 'user', content: [result] })\n  }\n",
        "    return result\n  })\n  messages.push({ role: 'user', content: results })\n",
      ],
    ],
    partial: [
      [
        js`  for (const use of uses) {
    const result = { type: 'tool_result', tool_use_id: use.id, content: String(people[use.input.city]) }
    messages.push({ role: 'user', content: [result] })
  }
`,
        js`  const [first, second] = uses
  const resultOf = (use) => ({ type: 'tool_result', tool_use_id: use.id, content: String(people[use.input.city]) })
  messages.push({ role: 'user', content: second ? [resultOf(first), resultOf(second)] : [resultOf(first)] })
`,
      ],
    ],
  },
  {
    name: 'unknown-unit-throws',
    what: 'an error of a tool ends the run, although the model could correct itself',
    promised: 'tool: errors and missing results of tools',
    agent: js`import Groq from 'groq-sdk'

const groq = new Groq()
const wish = process.argv[2]
console.log('convert: ' + wish)

const factors = { km: 1000, m: 1, cm: 0.01, mile: 1609 }
const convert = ({ value, unit }) => {
  if (!(unit in factors)) throw new TypeError('unknown unit ' + unit + '; known: ' + Object.keys(factors))
  return value * factors[unit]
}

const messages = [
  { role: 'system', content: 'Convert lengths to metres with the tool.' },
  { role: 'user', content: wish },
]
const tools = [
  {
    type: 'function',
    function: {
      name: 'convert',
      parameters: {
        type: 'object',
        properties: { value: { type: 'number' }, unit: { type: 'string' } },
      },
    },
  },
]
let isDone = false
while (!isDone) {
  const { choices } = await groq.chat.completions.create({
    model: 'llama-3.3-70b-versatile',
    messages,
    tools,
  })
  const [{ message }] = choices
  messages.push(message)
  isDone = !message.tool_calls?.length
  if (isDone) console.log('= ' + message.content)
  for (const call of message.tool_calls ?? []) {
    const metres = convert(JSON.parse(call.function.arguments))
    messages.push({ role: 'tool', tool_call_id: call.id, content: metres + ' m' })
  }
}
`,
    model: (request) => {
      const [, value, unit] = /(\d+) (\w+)/.exec(userText(request)) ?? []
      const results = toolTexts(request)
      const metres = results.map((text) => /^([\d.]+) m$/.exec(text)?.[1]).find(Boolean)
      if (metres !== undefined) return `${metres} metres`
      const right = { kilometres: 'km', miles: 'mile', centimetres: 'cm' }[unit] ?? unit
      return callTool('convert', {
        value: Number(value),
        unit: results.length === 0 ? unit : right,
      })
    },
    failing: ['12 miles', '= 19308 metres'],
    sibling: ['3 kilometres', '= 3000 metres'],
    passing: [
      ['12 km', '= 12000 metres'],
      ['2 mile', '= 3218 metres'],
    ],
    hidden: [
      ['500 centimetres', '= 5 metres'],
      ['9 m', '= 9 metres'],
    ],
    fix: [
      [
        "    const metres = convert(JSON.parse(call.function.arguments))\n    messages.push({ role: 'tool', tool_call_id: call.id, content: metres + ' m' })",
        js`    let content
    try {
      content = convert(JSON.parse(call.function.arguments)) + ' m'
    } catch (error) {
      content = 'error: ' + error.message
    }
    messages.push({ role: 'tool', tool_call_id: call.id, content })`,
      ],
    ],
    partial: [['cm: 0.01, mile: 1609', 'cm: 0.01, mile: 1609, miles: 1609']],
    silence: [
      [
        "throw new TypeError('unknown unit ' + unit + '; known: ' + Object.keys(factors))",
        'return 0',
      ],
    ],
  },
]
