import { setTimeout as sleep } from 'node:timers/promises'
import { refuse, systemText, userText, wholeText } from '../animal.mjs'
import { js, json } from '../unseen/source.mjs'

/** Conversations, and settings of requests. */

const CONTEXT_TOKENS = 400
const tokensOf = (text) => Math.ceil(text.length / 4)

/** A chat of `turns` pairs whose texts have about `length` characters, and a last question. */
const chat = (turns, length, question) => [
  ...Array.from({ length: turns }, (_, index) => [
    { from: 'customer', text: `${index + 1}: ${'my parcel is late. '.repeat(length / 19)}` },
    { from: 'agent', text: `${index + 1}: ${'we look into it. '.repeat(length / 17)}` },
  ]).flat(),
  { from: 'customer', text: question },
]

/** @type {import('../unseen.mjs').UnseenAnimal[]} */
export const CONVERSATIONS = [
  {
    name: 'whole-chat-every-time',
    what: 'sends a chat as it is, also if it does not fit into the context',
    promised: 'context: conversations that are too long',
    agent: js`import OpenAI from 'openai'
import { readFileSync } from 'node:fs'

const id = process.argv[2]
console.log('chat ' + id)

const ROLES = { customer: 'user', agent: 'assistant' }

class Helper {
  constructor(client) {
    this.client = client
  }

  async reply(entries) {
    const completion = await this.client.chat.completions.create({
      model: 'local-8b',
      messages: [
        { role: 'system', content: 'You are a pirate who works for the post office.' },
        ...entries.map(({ from, text }) => ({ role: ROLES[from], content: text })),
      ],
    })
    return completion.choices[0].message.content
  }
}

const chats = JSON.parse(readFileSync('data/chats.json', 'utf8'))
const helper = new Helper(new OpenAI({ maxRetries: 0 }))
console.log(await helper.reply(chats[id]))
`,
    files: {
      'data/chats.json': `${json({
        'c-1': chat(1, 60, 'Where is parcel 11?'),
        'c-2': chat(3, 60, 'Where is parcel 22?'),
        'c-3': chat(12, 100, 'Where is parcel 33?'),
        'c-4': chat(20, 80, 'Where is parcel 44?'),
        'c-5': chat(60, 100, 'Where is parcel 55?'),
        'c-6': chat(5, 400, 'Where is parcel 66?'),
        'c-7': chat(0, 0, 'Where is parcel 77?'),
      })}\n`,
    },
    model: (request) => {
      const tokens = tokensOf(wholeText(request))
      if (tokens > CONTEXT_TOKENS)
        return refuse(
          400,
          `This model's maximum context length is ${CONTEXT_TOKENS} tokens. However, your messages resulted in ${tokens} tokens. Please reduce the length of the messages.`,
          { code: 'context_length_exceeded' },
        )
      const [parcel] = /parcel \d+/.exec(userText(request)) ?? ['nothing']
      return systemText(request).includes('pirate') ? `Arr, ${parcel} it be!` : `On ${parcel}.`
    },
    failing: ['c-3', 'Arr, parcel 33 it be!'],
    sibling: ['c-4', 'Arr, parcel 44 it be!'],
    passing: [
      ['c-1', 'Arr, parcel 11 it be!'],
      ['c-2', 'Arr, parcel 22 it be!'],
    ],
    hidden: [
      ['c-5', 'Arr, parcel 55 it be!'],
      ['c-6', 'Arr, parcel 66 it be!'],
      ['c-7', 'Arr, parcel 77 it be!'],
    ],
    fix: [
      [
        '  async reply(entries) {\n',
        `  async reply(entries) {
    let size = entries.reduce((sum, { text }) => sum + text.length, 0)
    while (entries.length > 1 && size > 1200) {
      size -= entries[0].text.length
      entries = entries.slice(1)
    }
`,
      ],
    ],
    partial: [['...entries.map(', '...entries.slice(-7).map(']],
  },
  {
    name: 'name-beyond-the-window',
    what: 'only the last three messages are sent, and the name was told before them',
    promised: 'context: conversations that are cut too short',
    agent: js`import { GoogleGenAI } from '@google/genai'

const ai = new GoogleGenAI({
  apiKey: process.env.GEMINI_API_KEY,
  httpOptions: { baseUrl: process.env.GOOGLE_GEMINI_BASE_URL },
})
const HISTORY_LENGTH = 3

function createChat() {
  const history = []
  const add = (role, text) => history.push({ role, parts: [{ text }] })
  return {
    async say(text) {
      add('user', text)
      const response = await ai.models.generateContent({
        model: 'gemini-2.5-flash-lite',
        contents: history.slice(-HISTORY_LENGTH),
        config: { systemInstruction: 'Be brief.' },
      })
      add('model', response.text)
      return response.text
    },
  }
}

const script = process.argv[2]
console.log('--- ' + script)
const chat = createChat()
for (const line of script.split(' / ')) {
  console.log('< ' + line)
  console.log('> ' + (await chat.say(line)))
}
`,
    model: (request) => {
      const last = userText(request)
      if (!last.includes('who am I')) return 'Hm.'
      const told = request.messages.findLast(
        ({ role, text }) => role === 'user' && text.startsWith('I am '),
      )
      return told === undefined ? 'You never said.' : `You are ${told.text.slice(5)}.`
    },
    failing: ['I am Ann / it rains / who am I', '> You are Ann.'],
    sibling: ['I am Bob / it snows / who am I', '> You are Bob.'],
    passing: [
      ['I am Cy / who am I', '> You are Cy.'],
      ['who am I', '> You never said.'],
    ],
    hidden: [
      ['I am Dan / a / b / c / d / e / f / who am I', '> You are Dan.'],
      ['I am Eve / a / who am I / b / c / who am I', '> You are Eve.|!never'],
      ['a / b / who am I', '> You never said.'],
    ],
    fix: [['history.slice(-HISTORY_LENGTH)', 'history']],
    partial: [['HISTORY_LENGTH = 3', 'HISTORY_LENGTH = 5']],
  },
  {
    name: 'welcome-comes-first',
    what: 'a stored conversation begins with the greeting of the assistant',
    promised: 'context: messages in an order that the provider refuses',
    agent: js`import Anthropic from '@anthropic-ai/sdk'
import { loadConversation } from './src/store.mjs'

const client = new Anthropic({ maxRetries: 0 })
const room = process.argv[2]
console.log('room ' + room)

const messages = await loadConversation(room)
const answer = await client.messages.create({
  model: 'claude-haiku-4-5',
  max_tokens: 256,
  system: 'You help guests of a hotel.',
  messages,
})
console.log('answer: ' + answer.content[0].text)
`,
    files: {
      'src/store.mjs': js`import { readFile } from 'node:fs/promises'

/** Lines such as "guest: hello" as messages. */
export async function loadConversation(room) {
  const text = await readFile(\`data/\${room}.txt\`, 'utf8')
  const lines = text.trim().split('\n')
  return lines.map((line) => {
    const [speaker, ...rest] = line.split(': ')
    return { role: speaker === 'guest' ? 'user' : 'assistant', content: rest.join(': ') }
  })
}
`,
      'data/101.txt': 'hotel: Welcome to the lake!\nguest: towels please\n',
      'data/102.txt':
        'hotel: Good evening!\nguest: hello\nhotel: How can I help?\nguest: one pillow\n',
      'data/103.txt': 'guest: two keys\n',
      'data/104.txt': 'guest: hi\nhotel: hi\nguest: wake me: at six\n',
      'data/105.txt': 'hotel: Welcome!\nhotel: Do you need anything?\nguest: tea\n',
      'data/106.txt': 'guest: taxi\n',
      'data/107.txt':
        'hotel: Hello!\nguest: hello\nhotel: Breakfast is at: 8\nguest: thanks\nhotel: Enjoy!\nguest: a map\n',
    },
    model: (request) =>
      request.body.messages[0].role === 'user'
        ? `We bring it: ${userText(request)}.`
        : refuse(400, 'messages: first message must use the "user" role'),
    failing: ['101', 'answer: We bring it: towels please.'],
    sibling: ['102', 'answer: We bring it: one pillow.'],
    passing: [
      ['103', 'answer: We bring it: two keys.'],
      ['104', 'answer: We bring it: wake me: at six.'],
    ],
    hidden: [
      ['105', 'answer: We bring it: tea.'],
      ['106', 'answer: We bring it: taxi.'],
      ['107', 'answer: We bring it: a map.'],
    ],
    fix: [
      [
        '  messages,\n',
        "  messages: messages.slice(messages.findIndex(({ role }) => role === 'user')),\n",
      ],
    ],
    partial: [['  messages,\n', '  messages: messages.slice(1),\n']],
  },
  {
    name: 'list-that-breaks-off',
    what: 'max_tokens is too low for more than a few items, so the JSON is cut off',
    promised: 'lifecycle: max_tokens',
    agent: js`import Anthropic from '@anthropic-ai/sdk'

const SETTINGS = {
  model: 'claude-sonnet-4-5',
  max_tokens: 30,
  temperature: 0,
}

const anthropic = new Anthropic()

const listOf = async (count, thing) => {
  const { content } = await anthropic.messages.create({
    ...SETTINGS,
    messages: [{ role: 'user', content: \`A JSON array of \${count} names for a \${thing}\` }],
  })
  return JSON.parse(content[0].text)
}

const [count, thing] = process.argv[2].split(' ')
console.log(\`\${count} \${thing}\`)
const names = await listOf(count, thing)
console.log(names.length === 0 ? 'no names.' : names.join(' | ') + '.')
`,
    model: (request) => {
      const [, count, thing] = /of (\d+) names for a (.*)/.exec(userText(request))
      const text = JSON.stringify(
        Array.from({ length: Number(count) }, (_, index) => `little ${thing} ${index + 1}`),
      )
      const { max_tokens: limit } = request.body
      if (tokensOf(text) <= limit) return text
      return { text: text.slice(0, limit * 4), finish: 'length' }
    },
    failing: ['8 boat', 'little boat 1|little boat 7|little boat 8.'],
    sibling: ['9 pony', 'little pony 1|little pony 8|little pony 9.'],
    passing: [
      ['3 boat', 'little boat 1|little boat 2|little boat 3.'],
      ['1 farm', 'little farm 1.'],
    ],
    hidden: [
      ['20 hut', 'little hut 1|little hut 19|little hut 20.'],
      ['60 house', 'little house 1|little house 59|little house 60.'],
      ['0 hut', 'no names.'],
    ],
    fix: [['max_tokens: 30', 'max_tokens: 4096']],
    partial: [['max_tokens: 30', 'max_tokens: 60']],
    silence: [
      [
        'return JSON.parse(content[0].text)',
        'try {\n    return JSON.parse(content[0].text)\n  } catch {\n    return []\n  }',
      ],
    ],
  },
  {
    name: 'hard-questions-refused',
    what: 'max_tokens is sent to a reasoning model, which only knows max_completion_tokens',
    promised: 'lifecycle: parameters that a model refuses',
    agent: js`import { modelFor } from './src/models.mjs'

const endpoint = process.env.OPENAI_BASE_URL + '/chat/completions'

async function complete(question) {
  const response = await fetch(endpoint, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: 'Bearer ' + process.env.OPENAI_API_KEY,
    },
    body: JSON.stringify({
      model: modelFor(question),
      max_tokens: 800,
      messages: [{ role: 'user', content: question }],
    }),
  })
  const answer = await response.json()
  if (answer.error) throw new Error(answer.error.message)
  return answer.choices[0].message.content
}

const question = process.argv.at(2)
console.log('Q: ' + question)
console.log('A: ' + (await complete(question)))
`,
    files: {
      'src/models.mjs': js`const HARD = /prove|why|plan/i

export const modelFor = (question) => (HARD.test(question) ? 'o4-mini' : 'gpt-4o-mini')
`,
    },
    model: (request) =>
      request.model === 'o4-mini' && 'max_tokens' in request.body
        ? refuse(
            400,
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            { code: 'unsupported_parameter' },
          )
        : `${userText(request).length} letters, says ${request.model}.`,
    failing: ['prove it', 'A: 8 letters, says o4-mini.'],
    sibling: ['why not', 'A: 7 letters, says o4-mini.'],
    passing: [
      ['how are you', 'A: 11 letters, says gpt-4o-mini.'],
      ['name a tree', 'A: 11 letters, says gpt-4o-mini.'],
    ],
    hidden: [
      ['Plan a very long journey through Norway', 'A: 39 letters, says o4-mini.'],
      ['?', 'A: 1 letters, says gpt-4o-mini.'],
      ['WHY', 'A: 3 letters, says o4-mini.'],
    ],
    fix: [['max_tokens: 800', 'max_completion_tokens: 800']],
  },
  {
    name: 'six-cities-together',
    what: 'all cities are requested together, but the server takes two requests at a time',
    promised: 'lifecycle: requests that are sent together',
    agent: js`import { createOpenAI } from '@ai-sdk/openai'
import { generateText } from 'ai'

const provider = createOpenAI({
  baseURL: process.env.OPENAI_BASE_URL,
  apiKey: process.env.OPENAI_API_KEY,
})

const describe = async (city) => {
  const { text } = await generateText({
    model: provider.chat('gpt-4o-mini'),
    prompt: 'One sentence about ' + city,
    maxRetries: 0,
  })
  return text
}

const cities = process.argv[2].split(' ')
console.log('guide to ' + cities.join(' '))
const sentences = await Promise.all(cities.map((city) => describe(city)))
console.log(sentences.join('\n'))
`,
    model: async (request, world) => {
      if (world.running > 2)
        return refuse(429, 'Too many concurrent requests: at most 2 are allowed for your plan.')
      await sleep(250)
      const city = userText(request).split(' ').at(-1)
      return `${city} has ${city.length} bridges.`
    },
    failing: ['Oslo Rome Leeds York', 'Oslo has 4|Rome has 4|Leeds has 5|York has 4'],
    sibling: ['Hull Bath Ely Ripon', 'Hull has 4|Bath has 4|Ely has 3|Ripon has 5'],
    passing: [
      ['Oslo', 'Oslo has 4 bridges.'],
      ['Rome Hull', 'Rome has 4 bridges.|Hull has 4 bridges.'],
    ],
    hidden: [
      [
        'A Bb Ccc Dddd Eeeee Ffffff',
        'A has 1|Bb has 2|Ccc has 3|Dddd has 4|Eeeee has 5|Ffffff has 6',
      ],
      ['Rome Rome Rome', 'Rome has 4 bridges.\nRome has 4 bridges.\nRome has 4 bridges.'],
      ['Wells Truro Ely', 'Wells has 5|Truro has 5|Ely has 3'],
    ],
    fix: [
      [
        'const sentences = await Promise.all(cities.map((city) => describe(city)))',
        'const sentences = []\nfor (const city of cities) sentences.push(await describe(city))',
      ],
    ],
    partial: [
      [
        'const sentences = await Promise.all(cities.map((city) => describe(city)))',
        `const half = Math.ceil(cities.length / 2)
const sentences = [
  ...(await Promise.all(cities.slice(0, half).map((city) => describe(city)))),
  ...(await Promise.all(cities.slice(half).map((city) => describe(city)))),
]`,
      ],
    ],
  },
]
