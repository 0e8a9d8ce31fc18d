import { refuse, userText } from '../animal.mjs'
import { js } from './source.mjs'

/** Answers that arrive too late, too early, or in another shape. */

/** @type {import('../unseen.mjs').UnseenAnimal[]} */
export const TRANSPORT = [
  {
    name: 'retries-too-soon',
    what: 'three tries without a pause, while the server asks for one second',
    promised: 'transport: waiting as long as a server asks',
    agent: js`import Groq from 'groq-sdk'

const groq = new Groq({ maxRetries: 0 })

async function ask(messages) {
  let last
  for (let attempt = 1; attempt <= 3; attempt++) {
    try {
      const { choices } = await groq.chat.completions.create({
        model: 'llama-3.3-70b-versatile',
        messages,
      })
      return choices[0].message.content
    } catch (error) {
      if (error.status !== 429) throw error
      last = error
    }
  }
  throw last
}

const station = process.argv[2]
console.log(\`timetable of \${station}\`)
const next = await ask([
  { role: 'system', content: 'Name the next train of a station, in one line.' },
  { role: 'user', content: station },
])
console.log('next: ' + next)
`,
    model: (request, world) => {
      const station = userText(request)
      if (/^[A-F]/.test(station) && world.since(station) < 1000)
        return refuse(429, 'Rate limit reached for requests per second. Please try again in 1s.', {
          retryAfter: 1,
        })
      return `${station} 10:${String(station.length).padStart(2, '0')}`
    },
    failing: ['Altona', 'next: Altona 10:06'],
    sibling: ['Bebra', 'next: Bebra 10:05'],
    passing: [
      ['Zwickau', 'next: Zwickau 10:07'],
      ['Rostock', 'next: Rostock 10:07'],
    ],
    hidden: [
      ['Celle', 'next: Celle 10:05'],
      ['Ulm', 'next: Ulm 10:03'],
    ],
    fix: [
      [
        '      last = error\n',
        js`      last = error
      const seconds = Number(error.headers?.get('retry-after') ?? 1)
      await new Promise((resolve) => setTimeout(resolve, seconds * 1000 + 50))
`,
      ],
    ],
    silence: [['  throw last\n', "  return 'see the board'\n"]],
    partial: [
      [
        '      last = error\n',
        js`      last = error
      const pauseMs = messages[1].content.length * 90
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
`,
      ],
    ],
  },
  {
    name: 'deadline-by-plan',
    what: 'the timeout of a client is an expression, and too short for one plan',
    promised: 'transport: longer timeouts (in expressions and client options)',
    agent: js`import OpenAI from 'openai'

const [plan, ...words] = process.argv[2].split(' ')
console.log('# ' + process.argv[2])

const client = new OpenAI({
  maxRetries: 0,
  timeout: plan === 'free' ? 400 : 20_000,
})

const response = await client.responses.create({
  model: 'gpt-4.1-mini',
  instructions: 'Count the documents that a request is about.',
  input: words.join(' '),
})
console.log('documents: ' + response.output_text)
`,
    model: (request) => {
      const text = userText(request)
      const count = String(text.length * 3)
      return text.includes('archive') ? { text: count, delayMs: 900 } : count
    },
    failing: ['free whole archive', 'documents: 39'],
    sibling: ['free archive of May', 'documents: 42'],
    passing: [
      ['free today', 'documents: 15'],
      ['pro whole archive', 'documents: 39'],
    ],
    hidden: [
      ['free archive', 'documents: 21'],
      ['pro today', 'documents: 15'],
      ['free inbox', 'documents: 15'],
    ],
    fix: [['400 : 20_000', '10_000 : 20_000']],
    partial: [['400 : 20_000', "words[0] === 'whole' ? 10_000 : 400 : 20_000"]],
  },
  {
    name: 'seconds-in-a-table',
    what: 'AbortSignal.timeout gets its value from a table in another file',
    promised: 'transport: longer timeouts (in expressions and client options)',
    agent: js`import { createOpenAI } from '@ai-sdk/openai'
import { generateText } from 'ai'
import { secondsFor } from './src/limits.mjs'

const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL })
const job = process.argv[2]
console.log('job', job)
const kind = job.split('-')[0]

const { text } = await generateText({
  model: openai.chat('gpt-4o'),
  maxRetries: 0,
  abortSignal: AbortSignal.timeout(secondsFor(kind) * 1000),
  prompt: 'Which colour has the label of job ' + job + '?',
})
console.log('label: ' + text)
`,
    files: {
      'src/limits.mjs': js`const seconds = { print: 5, render: 0.4, mail: 5 }

/** Seconds after which a kind of job is given up. */
export const secondsFor = (kind) => seconds[kind] ?? 5
`,
    },
    model: (request) => {
      const job = /job (\S+)\?/.exec(userText(request))?.[1] ?? ''
      const colour = ['red', 'blue', 'green'][job.length % 3]
      return job.startsWith('render') ? { text: colour, delayMs: 1000 } : colour
    },
    failing: ['render-poster', 'label: blue'],
    sibling: ['render-map', 'label: blue'],
    passing: [
      ['print-map', 'label: red'],
      ['mail-list', 'label: red'],
    ],
    hidden: [
      ['render-banner', 'label: blue'],
      ['print-poster', 'label: red'],
    ],
    fix: [['render: 0.4', 'render: 30', 'src/limits.mjs']],
    partial: [
      [
        'AbortSignal.timeout(secondsFor(kind) * 1000)',
        'AbortSignal.timeout(job.length > 12 ? 30_000 : secondsFor(kind) * 1000)',
      ],
    ],
  },
  {
    name: 'fence-without-a-language',
    what: 'only the fence that says json is removed',
    promised: 'transport: JSON in code fences',
    agent: js`import Anthropic from '@anthropic-ai/sdk'

const anthropic = new Anthropic()
const recipe = process.argv[2]
console.log('Recipe: ' + recipe)

const unfence = (text) => text.trim().replace(/^\`\`\`json\n/, '').replace(/\n\`\`\`$/, '')

const { content } = await anthropic.messages.create({
  model: 'claude-sonnet-4-5',
  max_tokens: 500,
  system: 'Answer as JSON: minutes (number) and vegan (true or false).',
  messages: [{ role: 'user', content: recipe }],
})
const { minutes, vegan } = JSON.parse(unfence(content[0].text))
console.log(minutes + ' minutes' + (vegan ? ', vegan' : ''))
`,
    model: (request) => {
      const recipe = userText(request)
      const body = JSON.stringify({ minutes: recipe.length * 5, vegan: !/cheese|egg/.test(recipe) })
      if (recipe.endsWith('soup')) return `\`\`\`\n${body}\n\`\`\``
      if (recipe.endsWith('bread')) return `\`\`\`JSON\n${body}\n\`\`\``
      return recipe.length % 2 === 0 ? body : `\`\`\`json\n${body}\n\`\`\``
    },
    failing: ['leek soup', '45 minutes, vegan'],
    sibling: ['egg soup', '40 minutes|!vegan'],
    passing: [
      ['salad', '25 minutes, vegan'],
      ['cheese pie', '50 minutes|!vegan'],
    ],
    hidden: [
      ['rye bread', '45 minutes, vegan'],
      ['cheese soup', '55 minutes|!vegan'],
      ['stew', '20 minutes, vegan'],
    ],
    fix: [['/^```json\\n/', '/^```\\w*\\s*/']],
    partial: [['/^```json\\n/', '/^```(?:json)?\\n/']],
    silence: [
      [
        'const { minutes, vegan } = JSON.parse(unfence(content[0].text))',
        js`let minutes = 0
let vegan = false
try {
  ;({ minutes, vegan } = JSON.parse(unfence(content[0].text)))
} catch {}`,
      ],
    ],
  },
  {
    name: 'customer-moved',
    what: 'newer customers are nested, and three fields have other names',
    promised: 'transport: renamed fields (moved, several at once)',
    agent: js`import OpenAI from 'openai'

const openai = new OpenAI()
const id = process.argv[2]

async function loadCustomer(id) {
  const response = await fetch(process.env.GATEWAY_URL + '/crm/customers/' + id)
  return response.json()
}

const customer = await loadCustomer(id)
console.log(\`customer \${id}\`)
const name = customer.fullName.toUpperCase()
const balance = (customer.balanceCents / 100).toFixed(2)
const completion = await openai.chat.completions.create({
  model: 'gpt-4o-mini',
  messages: [
    { role: 'system', content: 'Write one friendly line about the balance of a customer.' },
    { role: 'user', content: \`\${name} owes \${balance} EUR, tier \${customer.tierName}\` },
  ],
})
console.log(completion.choices[0].message.content)
`,
    gateway: (path) => {
      const id = Number(path.split('/').pop())
      const [name, cents, tier] = [`Ada B${id}`, id * 101, id % 2 === 0 ? 'gold' : 'basic']
      return {
        json:
          id >= 500
            ? { customer: { full_name: name, balance_cents: cents, tier_name: tier } }
            : { fullName: name, balanceCents: cents, tierName: tier },
      }
    },
    model: (request) => `Hello! ${userText(request)}.`,
    failing: ['512', 'ADA B512 owes 517.12 EUR, tier gold'],
    sibling: ['777', 'ADA B777 owes 784.77 EUR, tier basic'],
    passing: [
      ['12', 'ADA B12 owes 12.12 EUR, tier gold'],
      ['33', 'ADA B33 owes 33.33 EUR, tier basic'],
    ],
    hidden: [
      ['900', 'ADA B900 owes 909.00 EUR, tier gold'],
      ['501', 'ADA B501 owes 506.01 EUR, tier basic'],
      ['44', 'ADA B44 owes 44.44 EUR, tier gold'],
    ],
    fix: [
      [
        '  return response.json()\n',
        js`  const found = await response.json()
  if (found.customer === undefined) return found
  const { full_name: fullName, balance_cents: balanceCents, tier_name: tierName } = found.customer
  return { fullName, balanceCents, tierName }
`,
      ],
    ],
    partial: [
      [
        'customer.fullName.toUpperCase()',
        '(customer.fullName ?? customer.customer.full_name).toUpperCase()',
      ],
    ],
    silence: [['customer.fullName.toUpperCase()', "(customer.fullName ?? '').toUpperCase()"]],
  },
  {
    name: 'snake-shipment',
    what: 'a second carrier writes the same three fields with underscores',
    promised: 'transport: renamed fields (moved, several at once)',
    agent: js`import axios from 'axios'
import OpenAI from 'openai'

const parcel = process.argv[2]
console.log('Where is ' + parcel + '?')

const { data: shipment } = await axios.get(process.env.GATEWAY_URL + '/parcels/' + parcel)
const facts = [
  'left on ' + shipment.shippedAt.slice(0, 10),
  'code ' + shipment.trackingCode,
  'depot ' + shipment.depotName,
]
const client = new OpenAI()
const reply = await client.chat.completions.create({
  model: 'gpt-4o-mini',
  messages: [
    { role: 'system', content: 'Answer the customer from the facts.' },
    { role: 'user', content: facts.join(', ') },
  ],
})
console.log(reply.choices[0].message.content)
`,
    gateway: (path) => {
      const parcel = path.split('/').pop() ?? ''
      const [day, code, depot] = [
        `2026-04-${10 + (parcel.length % 9)}`,
        parcel.slice(1) + 'X',
        'Gent',
      ]
      return {
        json: parcel.startsWith('q')
          ? { shipped_at: `${day}T08:00:00Z`, tracking_code: code, depot_name: depot }
          : { shippedAt: `${day}T08:00:00Z`, trackingCode: code, depotName: depot },
      }
    },
    model: (request) => `Your parcel: ${userText(request)}.`,
    failing: ['q7731', 'left on 2026-04-15, code 7731X, depot Gent'],
    sibling: ['q88', 'left on 2026-04-13, code 88X, depot Gent'],
    passing: [
      ['b123', 'left on 2026-04-14, code 123X, depot Gent'],
      ['b9', 'left on 2026-04-12, code 9X, depot Gent'],
    ],
    hidden: [
      ['q5005001', 'left on 2026-04-18, code 5005001X, depot Gent'],
      ['b55', 'left on 2026-04-13, code 55X, depot Gent'],
    ],
    fix: [
      ['shipment.shippedAt.slice', '(shipment.shippedAt ?? shipment.shipped_at).slice'],
      ['+ shipment.trackingCode', '+ (shipment.trackingCode ?? shipment.tracking_code)'],
      ['+ shipment.depotName', '+ (shipment.depotName ?? shipment.depot_name)'],
    ],
    partial: [['shipment.shippedAt.slice', '(shipment.shippedAt ?? shipment.shipped_at).slice']],
    silence: [['shipment.shippedAt.slice(0, 10)', 'shipment.shippedAt?.slice(0, 10)']],
  },
  {
    name: 'thinks-before-it-answers',
    what: 'the first part of an answer of Claude is a thought',
    promised: 'transport: texts in parts',
    agent: js`import Anthropic from '@anthropic-ai/sdk'

const client = new Anthropic()

async function answer(question) {
  const message = await client.messages.create({
    model: 'claude-opus-4-1',
    max_tokens: 2000,
    messages: [{ role: 'user', content: question }],
  })
  return message.content[0].text.trim()
}

const question = process.argv[2]
process.stdout.write('Q: ' + question + '\n')
process.stdout.write('A: ' + (await answer(question)) + '\n')
`,
    model: (request) => {
      const question = userText(request)
      const text = ` ${question.replace(/\D/g, '').length} digits `
      return question.startsWith('why') ? { reasoning: 'Let me count.', text } : text
    },
    failing: ['why 1024 and not 1000', 'A: 8 digits'],
    sibling: ['why 7', 'A: 1 digits'],
    passing: [
      ['what is 12', 'A: 2 digits'],
      ['who is 007', 'A: 3 digits'],
    ],
    hidden: [
      ['why not', 'A: 0 digits'],
      ['why 42', 'A: 2 digits'],
      ['when was 1912', 'A: 4 digits'],
    ],
    fix: [
      [
        'return message.content[0].text.trim()',
        js`const texts = message.content.filter((part) => part.type === 'text')
  return texts.map((part) => part.text).join('').trim()`,
      ],
    ],
    silence: [['message.content[0].text.trim()', "(message.content[0].text ?? '').trim()"]],
    partial: [['message.content[0].text', 'message.content[1].text']],
  },
]
