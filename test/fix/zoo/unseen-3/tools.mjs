import { callTool, refuse, toolTexts, userText } from '../animal.mjs'
import { js } from '../unseen/source.mjs'

/** Tools: their arguments, errors, answers, schemas and lists. */

const TOWNS = { Zurich: 'Zürich', Munich: 'München', Krakow: 'Kraków' }

/** @type {import('../unseen.mjs').UnseenAnimal[]} */
export const TOOLS = [
  {
    name: 'express-is-a-word',
    what: 'the model sends a boolean as a text, and the text "false" counts as true',
    promised: 'tool: argument types',
    agent: js`import { createOpenAI } from '@ai-sdk/openai'
import { generateText, jsonSchema, stepCountIs, tool } from 'ai'
import { parcelPrice } from './parcels.mjs'

const parcel = process.argv[2]
console.log(\`parcel: \${parcel}\`)

const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL })

const price = tool({
  description: 'The price of a parcel in euros.',
  inputSchema: jsonSchema({
    type: 'object',
    properties: { kilos: { type: 'number' }, express: { type: 'boolean' } },
    required: ['kilos', 'express'],
  }),
  execute: async (args) => {
    const euros = parcelPrice(args)
    console.log('price: ' + euros + ' euros')
    return { euros }
  },
})

const { text } = await generateText({
  model: openai.chat('gpt-4o-mini'),
  prompt: parcel,
  tools: { price },
  stopWhen: stepCountIs(3),
})
console.log(text)
`,
    files: {
      'parcels.mjs': js`const BASE = 4
const PER_KILO = 2
const EXPRESS = 10

export function parcelPrice({ kilos, express }) {
  const price = BASE + PER_KILO * kilos
  return express ? price + EXPRESS : price
}
`,
    },
    model: (request) => {
      const question = userText(request)
      if (toolTexts(request).length > 0) return 'See you at the counter.'
      const kilos = Number(/(\d+) kg/.exec(question)[1])
      if (question.includes('tomorrow')) return callTool('price', { kilos, express: true })
      if (question.includes('no hurry')) return callTool('price', { kilos, express: 'false' })
      if (question.includes('quick')) return callTool('price', { kilos, express: 'true' })
      return callTool('price', { kilos, express: false })
    },
    failing: ['3 kg, no hurry', 'price: 10 euros'],
    sibling: ['8 kg, really no hurry', 'price: 20 euros'],
    passing: [
      ['2 kg, by tomorrow', 'price: 18 euros'],
      ['4 kg, next week', 'price: 12 euros'],
      ['1 kg, quick', 'price: 16 euros'],
    ],
    hidden: [
      ['5 kg, no hurry at all', 'price: 14 euros'],
      ['7 kg, quick please', 'price: 28 euros'],
      ['6 kg, by tomorrow noon', 'price: 26 euros'],
      ['9 kg, some day', 'price: 22 euros'],
    ],
    fix: [['return express ?', "return String(express) === 'true' ?", 'parcels.mjs']],
    partial: [['return express ?', 'return express === true ?', 'parcels.mjs']],
  },
  {
    name: 'town-without-umlaut',
    what: 'a tool throws for a spelling, and the loop does not hand the error to the model',
    promised: 'tool: errors of tools',
    agent: js`import { Conversation } from './src/conversation.mjs'
import { populationOf } from './src/population.mjs'

const question = process.argv[2]
console.log('question: ' + question)

const conversation = new Conversation({
  population: {
    description: 'Inhabitants of a town.',
    properties: { town: { type: 'string' } },
    run: populationOf,
  },
})
console.log(await conversation.ask(question))
`,
    files: {
      'src/conversation.mjs': js`import OpenAI from 'openai'

/** @typedef {{ description: string, properties: object, run: (args: any) => unknown }} ToolDefinition */

export class Conversation {
  #client = new OpenAI()
  #messages = []
  #tools

  /** @param {Record<string, ToolDefinition>} tools */
  constructor(tools) {
    this.#tools = tools
  }

  async ask(question) {
    this.#messages.push({ role: 'user', content: question })
    for (let round = 0; round < 8; round++) {
      const message = await this.#complete()
      this.#messages.push(message)
      if (!message.tool_calls) return message.content
      for (const call of message.tool_calls) this.#messages.push(await this.#runTool(call))
    }
    throw new Error('no answer')
  }

  async #complete() {
    const { choices } = await this.#client.chat.completions.create({
      model: 'gpt-4o-mini',
      messages: this.#messages,
      tools: Object.entries(this.#tools).map(([name, { description, properties }]) => ({
        type: 'function',
        function: {
          name,
          description,
          parameters: { type: 'object', properties, required: Object.keys(properties) },
        },
      })),
    })
    return choices[0].message
  }

  async #runTool({ id, function: { name, arguments: text } }) {
    const output = await this.#tools[name].run(JSON.parse(text))
    return { role: 'tool', tool_call_id: id, content: JSON.stringify(output) }
  }
}
`,
      'src/population.mjs': js`const INHABITANTS = { Zürich: 440_000, München: 1_510_000, Kraków: 800_000, Bern: 135_000, Graz: 300_000 }

export function populationOf({ town }) {
  const inhabitants = INHABITANTS[town]
  if (inhabitants === undefined) {
    const names = Object.keys(INHABITANTS).join(', ')
    throw new RangeError('No town "' + town + '". Towns: ' + names)
  }
  return { town, inhabitants }
}
`,
    },
    model: (request) => {
      const [, town] = /in (\w+)/.exec(userText(request))
      const results = toolTexts(request)
      const last = results.at(-1)
      if (last === undefined) return callTool('population', { town })
      const count = /"inhabitants":\s*(\d+)/.exec(last)?.[1]
      if (count !== undefined) return `${count} people live in ${town}.`
      return results.length < 3 && last.includes('No town')
        ? callTool('population', { town: TOWNS[town] ?? town })
        : 'I do not know.'
    },
    failing: ['How many live in Zurich?', '440000 people live in Zurich.'],
    sibling: ['How many live in Munich?', '1510000 people live in Munich.'],
    passing: [
      ['How many live in Bern?', '135000 people live in Bern.'],
      ['How many live in Graz?', '300000 people live in Graz.'],
    ],
    hidden: [
      ['How many live in Krakow?', '800000 people live in Krakow.'],
      ['How many live in Atlantis?', 'I do not know.'],
    ],
    fix: [
      [
        'const output = await this.#tools[name].run(JSON.parse(text))',
        `let output
    try {
      output = await this.#tools[name].run(JSON.parse(text))
    } catch (error) {
      output = { error: error.message }
    }`,
        'src/conversation.mjs',
      ],
    ],
    partial: [
      [
        'const inhabitants = INHABITANTS[town]',
        "const inhabitants = INHABITANTS[town.replace('u', 'ü')]",
        'src/population.mjs',
      ],
    ],
    silence: [['throw new RangeError(', 'return String(', 'src/population.mjs']],
  },
  {
    name: 'only-the-first-call',
    what: 'of several calls in one message only the first is answered, which the provider refuses',
    promised: 'tool: calls without an answer',
    agent: js`import Groq from 'groq-sdk'

const STOCK = { tea: 14, coffee: 0, cocoa: 5, milk: 31, sugar: 8 }

const question = process.argv[2]
console.log('question: ' + question)

const groq = new Groq()
const history = [{ role: 'user', content: question }]
const tools = [
  {
    type: 'function',
    function: {
      name: 'count',
      description: 'How many packets of something we have.',
      parameters: { type: 'object', properties: { item: { type: 'string' } }, required: ['item'] },
    },
  },
]

async function step() {
  const response = await groq.chat.completions.create({
    model: 'llama-3.3-70b-versatile',
    messages: history,
    tools,
  })
  return response.choices[0].message
}

let reply = await step()
while (reply.tool_calls && reply.tool_calls.length) {
  history.push(reply)
  const call = reply.tool_calls[0]
  const { item } = JSON.parse(call.function.arguments)
  history.push({ role: 'tool', tool_call_id: call.id, content: String(STOCK[item]) })
  reply = await step()
}
console.log(reply.content)
`,
    model: (request) => {
      const items = userText(request).match(/tea|coffee|cocoa|milk|sugar/g)
      const results = toolTexts(request)
      if (results.length === 0)
        return { toolCalls: items.map((item) => ({ name: 'count', args: { item } })) }
      if (results.length < items.length)
        return refuse(
          400,
          "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
        )
      return items.map((item, index) => `${item}: ${results[index]}`).join(', ') + '.'
    },
    failing: ['How much tea and coffee?', 'tea: 14, coffee: 0.'],
    sibling: ['How much milk and cocoa?', 'milk: 31, cocoa: 5.'],
    passing: [
      ['How much tea?', 'tea: 14.'],
      ['How much sugar?', 'sugar: 8.'],
    ],
    hidden: [
      ['How much tea, milk and sugar?', 'tea: 14, milk: 31, sugar: 8.'],
      ['How much cocoa?', 'cocoa: 5.'],
      ['How much sugar and sugar?', 'sugar: 8, sugar: 8.'],
    ],
    fix: [
      [
        `  const call = reply.tool_calls[0]
  const { item } = JSON.parse(call.function.arguments)
  history.push({ role: 'tool', tool_call_id: call.id, content: String(STOCK[item]) })
`,
        `  for (const call of reply.tool_calls) {
    const { item } = JSON.parse(call.function.arguments)
    history.push({ role: 'tool', tool_call_id: call.id, content: String(STOCK[item]) })
  }
`,
      ],
    ],
    partial: [
      [
        '  reply = await step()\n}',
        `  const second = reply.tool_calls[1]
  if (second)
    history.push({
      role: 'tool',
      tool_call_id: second.id,
      content: String(STOCK[JSON.parse(second.function.arguments).item]),
    })
  reply = await step()
}`,
      ],
    ],
  },
  {
    name: 'not-strict-enough',
    what: 'a strict schema does not forbid additional properties',
    promised: 'tool: strict schemas',
    agent: js`import OpenAI from 'openai'
import { ticketFormat } from './formats.mjs'

const text = process.argv[2]
console.log('text: ' + text)

const openai = new OpenAI()
const isTicket = text.startsWith('ticket')
const response = await openai.chat.completions.create({
  model: 'gpt-4o-2024-08-06',
  messages: [{ role: 'user', content: text }],
  ...(isTicket && { response_format: ticketFormat }),
})
const { content } = response.choices[0].message
if (isTicket) {
  const { title, contact } = JSON.parse(content)
  console.log('title: ' + title + ', contact: ' + contact.mail + '.')
} else {
  console.log(content)
}
`,
    files: {
      'formats.mjs': js`const string = { type: 'string' }

/** What a ticket looks like. */
export const ticketFormat = {
  type: 'json_schema',
  json_schema: {
    name: 'ticket',
    strict: true,
    schema: {
      type: 'object',
      properties: {
        title: string,
        contact: {
          type: 'object',
          properties: { mail: string },
          required: ['mail'],
          additionalProperties: false,
        },
      },
      required: ['title', 'contact'],
    },
  },
}
`,
    },
    model: (request) => {
      const format = request.body.response_format
      if (format === undefined) return 'Noted.'
      const { strict, schema } = format.json_schema ?? {}
      if (strict && schema.additionalProperties !== false)
        return refuse(
          400,
          "Invalid schema for response_format 'ticket': In context=(), 'additionalProperties' is required to be supplied and to be false.",
        )
      const [, title, mail] = /ticket: (.*) by (\S+)/.exec(userText(request))
      return JSON.stringify({ title, contact: { mail } })
    },
    failing: [
      'ticket: broken lamp by ann@home.example',
      'title: broken lamp, contact: ann@home.example.',
    ],
    sibling: [
      'ticket: lost key by bob@home.example',
      'title: lost key, contact: bob@home.example.',
    ],
    passing: [
      ['note: all is well', 'Noted.'],
      ['note: the lift works again', 'Noted.'],
    ],
    hidden: [
      ['ticket: cold room by cy@home.example', 'title: cold room, contact: cy@home.example.'],
      ['note: it snows', 'Noted.'],
    ],
    fix: [
      [
        "      required: ['title', 'contact'],",
        "      required: ['title', 'contact'],\n      additionalProperties: false,",
        'formats.mjs',
      ],
    ],
  },
  {
    name: 'first-page-of-members',
    what: 'only the first page of a list that a helper returns is counted',
    promised: 'tool: further pages of a list that a function of the project returns',
    agent: js`import { ChatOpenAI } from '@langchain/openai'
import { createAgent, tool } from 'langchain'
import { z } from 'zod'
import { Members } from './src/members.mjs'

const question = process.argv[2]
console.log('question: ' + question)

const members = new Members()

const clubSize = tool(
  async ({ club }) => {
    const names = await members.namesOf(club)
    console.log('members: ' + names.length + ', last: ' + names.at(-1) + '.')
    return names.join(', ')
  },
  {
    name: 'club_members',
    description: 'The names of all members of a club.',
    schema: z.object({ club: z.string() }),
  },
)

const agent = createAgent({
  model: new ChatOpenAI({
    model: 'gpt-4o-mini',
    configuration: { baseURL: process.env.OPENAI_BASE_URL },
  }),
  tools: [clubSize],
})
const { messages } = await agent.invoke({ messages: [{ role: 'user', content: question }] })
console.log(messages.at(-1).text)
`,
    files: {
      'src/members.mjs': js`import { listMembers } from './registry.mjs'

export class Members {
  /** @param {string} club @returns {Promise<string[]>} */
  async namesOf(club) {
    const { items } = await listMembers({ club })
    return items.map(({ name }) => name)
  }
}
`,
      'src/registry.mjs': js`const CLUBS = {
  chess: ['Ann', 'Bob'],
  rowing: ['Cy', 'Dan', 'Eve', 'Flo', 'Gus'],
  judo: ['Hal', 'Ida', 'Jon', 'Kim'],
  choir: ['Lea', 'Max', 'Nia', 'Ole', 'Pia', 'Quinn', 'Rae', 'Sol', 'Tom', 'Uma'],
  tennis: ['Val', 'Wes', 'Xia'],
}
const PAGE_SIZE = 3

/** A page of members, and the cursor of the next page if there is one. */
export async function listMembers({ club, cursor = 0 }) {
  const all = CLUBS[club] ?? []
  const items = all.slice(cursor, cursor + PAGE_SIZE).map((name) => ({ name, club }))
  const next = cursor + PAGE_SIZE
  return { items, nextCursor: next < all.length ? next : null }
}
`,
    },
    model: (request) => {
      const [, club] = /the (\w+) club/.exec(userText(request))
      if (toolTexts(request).length === 0) return callTool('club_members', { club })
      return 'These are all.'
    },
    failing: ['Who is in the rowing club?', 'members: 5, last: Gus.'],
    sibling: ['Who is in the judo club?', 'members: 4, last: Kim.'],
    passing: [
      ['Who is in the chess club?', 'members: 2, last: Bob.'],
      ['Who is in the tennis club?', 'members: 3, last: Xia.'],
    ],
    hidden: [
      ['Who is in the choir club?', 'members: 10, last: Uma.'],
      ['Who is in the knitting club?', 'members: 0, last: '],
    ],
    fix: [
      [
        `    const { items } = await listMembers({ club })
    return items.map(({ name }) => name)`,
        `    const names = []
    let cursor
    do {
      const page = await listMembers({ club, ...(cursor && { cursor }) })
      names.push(...page.items.map(({ name }) => name))
      cursor = page.nextCursor
    } while (cursor)
    return names`,
        'src/members.mjs',
      ],
    ],
    partial: [
      [
        `    const { items } = await listMembers({ club })
    return items.map(({ name }) => name)`,
        `    const { items, nextCursor } = await listMembers({ club })
    const more = nextCursor ? (await listMembers({ club, cursor: nextCursor })).items : []
    return [...items, ...more].map(({ name }) => name)`,
        'src/members.mjs',
      ],
    ],
  },
]
