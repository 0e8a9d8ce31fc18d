import { callTool, refuse, systemText, toolTexts, userText, wholeText } from './animal.mjs'

const js = String.raw
const FENCE = '`'.repeat(3)

/** Operating the model: answers that are not as expected, limits, settings, outages. */

const INVOICES = {
  'A-17': { vendor: 'Nordpost', total: 120, ok: true },
  'A-18': { vendor: 'Brill', total: 75, ok: true },
  'A-19': { vendor: 'Kranich', total: 310, ok: true },
  'B-20': { vendor: 'Unknown Ltd', total: 9000, ok: false },
  'B-21': { vendor: 'Unknown Ltd', total: 8000, ok: false },
  'C-30': { vendor: 'Amsel', total: 12, ok: true },
  'C-31': { vendor: 'Bussard', total: 13, ok: true },
  'C-32': { vendor: 'Dohle', total: 14, ok: true },
}
const invoiceOf = (request) => INVOICES[/[ABC]-\d\d/.exec(wholeText(request))?.[0]] ?? {}
const decision = ({ vendor, total, ok }) => ({
  vendor,
  total,
  decision: ok ? 'approve' : 'reject',
})

const CASES_OF_INVOICES = {
  failing: ['A-17', 'approve Nordpost'],
  siblings: [
    ['A-18', 'approve Brill'],
    ['A-19', 'approve Kranich'],
  ],
  twins: [
    ['B-20', 'reject Unknown Ltd'],
    ['B-21', 'reject Unknown Ltd'],
  ],
  corpus: [
    ['C-30', 'approve Amsel'],
    ['C-31', 'approve Bussard'],
    ['C-32', 'approve Dohle'],
  ],
}

/** @type {import('./animal.mjs').Animal[]} */
export const MODEL_OPERATION = [
  {
    name: 'fenced-json',
    what: 'JSON.parse of an answer in a code fence',
    byRules: true,
    agent: js`import OpenAI from 'openai'

const client = new OpenAI()
const id = process.argv[2]
console.log('> ' + id)

async function extract(text) {
  const completion = await client.chat.completions.create({
    model: 'gpt-4o-mini',
    messages: [
      { role: 'system', content: 'You check invoices. Answer with JSON: vendor, total, decision.' },
      { role: 'user', content: text },
    ],
  })
  const content = completion.choices[0].message.content
  return JSON.parse(content)
}

const invoice = await extract('Invoice ' + id + ', received today. Approve or reject?')
console.log(invoice.decision + ' ' + invoice.vendor)
console.log('total ' + invoice.total)
`,
    model: (request) => {
      const invoice = invoiceOf(request)
      const json = JSON.stringify(decision(invoice))
      const isFenced = /A-\d/.test(userText(request)) && request.body.response_format === undefined
      return isFenced ? `${FENCE}json\n${json}\n${FENCE}` : json
    },
    ...CASES_OF_INVOICES,
    fix: [
      [
        'return JSON.parse(content)',
        String.raw`return JSON.parse(content.replace(/^\s*\x60{3}\w*\s*|\s*\x60{3}\s*$/g, ''))`,
      ],
    ],
  },
  {
    name: 'prose-around-json',
    what: 'JSON.parse of an answer that begins with a sentence',
    byRules: true,
    agent: js`const id = process.argv[2]
console.log('> ' + id)

async function chat(messages) {
  const response = await fetch(process.env.OPENAI_BASE_URL + '/chat/completions', {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: 'Bearer ' + process.env.OPENAI_API_KEY,
    },
    body: JSON.stringify({ model: 'gpt-4o-mini', messages, temperature: 0 }),
  })
  if (!response.ok) throw new Error('model answered ' + response.status)
  const data = await response.json()
  return data.choices[0].message.content
}

const reply = await chat([
  { role: 'system', content: 'Check the invoice. Reply with a JSON object (vendor, total, decision).' },
  { role: 'user', content: 'Invoice ' + id },
])
const { vendor, decision } = JSON.parse(reply)
console.log(decision, vendor)
`,
    model: (request) => {
      const json = JSON.stringify(decision(invoiceOf(request)))
      return /A-\d/.test(userText(request)) ? `Sure! Here is the JSON you need:\n\n${json}` : json
    },
    ...CASES_OF_INVOICES,
    fix: [
      [
        'JSON.parse(reply)',
        "JSON.parse(reply.slice(reply.indexOf('{'), reply.lastIndexOf('}') + 1))",
      ],
    ],
  },
  {
    name: 'almost-json',
    what: 'JSON with a trailing comma from Claude',
    byRules: true,
    agent: js`import Anthropic from '@anthropic-ai/sdk'

const anthropic = new Anthropic()

async function checkInvoice(id) {
  const message = await anthropic.messages.create({
    model: 'claude-sonnet-4-5',
    max_tokens: 1024,
    system: 'You check invoices. Respond only with a JSON object with vendor, total and decision.',
    messages: [{ role: 'user', content: 'Please check invoice ' + id + '.' }],
  })
  const text = message.content.map((block) => (block.type === 'text' ? block.text : '')).join('')
  return JSON.parse(text)
}

const id = process.argv[2]
console.log('> ' + id)
try {
  const result = await checkInvoice(id)
  console.log(result.decision + ' ' + result.vendor)
} catch (error) {
  console.error('could not read the answer', error)
  process.exitCode = 1
}
`,
    model: (request) => {
      const { vendor, total, decision: said } = decision(invoiceOf(request))
      const comma = /A-\d/.test(userText(request)) ? ',' : ''
      return `{\n  "vendor": "${vendor}",\n  "total": ${total},\n  "decision": "${said}"${comma}\n}`
    },
    ...CASES_OF_INVOICES,
    fix: [['JSON.parse(text)', String.raw`JSON.parse(text.replace(/,(\s*[}\]])/g, '$1'))`]],
  },
  {
    name: 'cut-off-json',
    what: 'max_tokens too small for a long answer',
    byRules: true,
    agent: js`import OpenAI from 'openai'

const openai = new OpenAI()
const project = process.argv[2] ?? 'garden'
console.log('> ' + project)

const SYSTEM =
  'Break the project into tasks. Answer with JSON: {"tasks":[{"title","days"}],"feasible":boolean}'

const completion = await openai.chat.completions.create({
  model: 'gpt-4o-mini',
  max_tokens: 80,
  temperature: 0,
  messages: [
    { role: 'system', content: SYSTEM },
    { role: 'user', content: 'Project: ' + project },
  ],
})

const plan = JSON.parse(completion.choices[0].message.content ?? '{}')
if (!plan.feasible) {
  console.log('not feasible')
} else {
  const days = plan.tasks.reduce((sum, task) => sum + task.days, 0)
  console.log(plan.tasks.length + ' tasks, ' + days + ' days')
}
`,
    model: (request) => {
      const project = /Project: (.*)/.exec(userText(request))?.[1] ?? ''
      const count = { house: 12, bridge: 14, barn: 13 }[project] ?? 3
      const tasks = Array.from({ length: count }, (_, i) => ({ title: `Task ${i + 1}`, days: 2 }))
      const isFeasible = !project.includes('moon')
      const text = JSON.stringify({ tasks: isFeasible ? tasks : [], feasible: isFeasible })
      const limit = 4 * (request.body.max_tokens ?? request.body.max_completion_tokens ?? 4096)
      return text.length > limit ? { text: text.slice(0, limit), finish: 'length' } : text
    },
    failing: ['house', '12 tasks, 24 days'],
    siblings: [
      ['bridge', '14 tasks, 28 days'],
      ['barn', '13 tasks, 26 days'],
    ],
    twins: [
      ['moon base', 'not feasible'],
      ['moon lift', 'not feasible'],
    ],
    corpus: [
      ['shed', '3 tasks, 6 days'],
      ['fence', '3 tasks, 6 days'],
      ['pond', '3 tasks, 6 days'],
    ],
    fix: [['max_tokens: 80', 'max_tokens: 2000']],
  },
  {
    name: 'cut-off-list',
    what: 'a list from Claude that ends early, without an error',
    byRules: true,
    agent: js`import Anthropic from '@anthropic-ai/sdk'

const client = new Anthropic()
const settings = { model: 'claude-haiku-4-5', max_tokens: 64 }

const topic = process.argv[2]
console.log('> ' + topic)

const message = await client.messages.create({
  ...settings,
  system: 'List the ingredients, one per line, each with a dash. If it is not a dish, say NOT A DISH.',
  messages: [{ role: 'user', content: topic }],
})

const text = message.content[0].text
if (text.includes('NOT A DISH')) {
  console.log('not a dish')
} else {
  const items = text.split('\n').filter((line) => line.startsWith('- '))
  console.log('shopping list:')
  for (const item of items) console.log(item)
  console.log(items.length + ' items')
}
`,
    model: (request) => {
      const dish = userText(request)
      const count = { paella: 18, ramen: 20, mole: 22 }[dish] ?? 4
      const text = /chair|lamp/.test(dish)
        ? 'NOT A DISH'
        : Array.from({ length: count }, (_, i) => `- ingredient number ${i + 1}`).join('\n')
      const limit = 4 * request.body.max_tokens
      return text.length > limit ? { text: text.slice(0, limit), finish: 'length' } : text
    },
    failing: ['paella', '18 items'],
    siblings: [
      ['ramen', '20 items'],
      ['mole', '22 items'],
    ],
    twins: [
      ['chair', 'not a dish'],
      ['lamp', 'not a dish'],
    ],
    corpus: [
      ['toast', '4 items'],
      ['salad', '4 items'],
      ['soup', '4 items'],
    ],
    fix: [['max_tokens: 64', 'max_tokens: 1024']],
  },
  {
    name: 'rate-limit-without-retry',
    what: 'a 429 with Retry-After ends the run',
    byRules: true,
    oracle: 'exit:0',
    agent: js`const city = process.argv[2]
console.log('> ' + city)

const complete = async (messages) => {
  const res = await fetch(process.env.OPENAI_BASE_URL + '/chat/completions', {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: 'Bearer ' + process.env.OPENAI_API_KEY,
    },
    body: JSON.stringify({ model: 'gpt-4o', messages }),
  })
  if (!res.ok) throw new Error('OpenAI: ' + res.status + ' ' + (await res.text()))
  const json = await res.json()
  return json.choices[0].message.content
}

const answer = await complete([
  { role: 'system', content: 'You write one line about a city. If there is no such city, say UNKNOWN.' },
  { role: 'user', content: city },
])
if (answer === 'UNKNOWN') {
  console.error('no such city')
  process.exit(3)
}
console.log(answer)
`,
    model: (request, world) => {
      const city = userText(request)
      if (/Atlantis|Camelot/.test(city)) return 'UNKNOWN'
      const isBusy = /^(Bern|Basel|Genf)$/.test(city)
      if (isBusy && world.attempt(JSON.stringify(request.body)) === 1)
        return refuse(429, 'Rate limit reached, try again in 1s.', { retryAfter: 1 })
      return `${city} is nice in May.`
    },
    failing: ['Bern', 'Bern is nice'],
    siblings: [
      ['Basel', 'Basel is nice'],
      ['Genf', 'Genf is nice'],
    ],
    twins: [
      ['Atlantis', 'exit:3'],
      ['Camelot', 'exit:3'],
    ],
    corpus: [
      ['Oslo', 'Oslo is nice'],
      ['Rom', 'Rom is nice'],
      ['Wien', 'Wien is nice'],
    ],
    fix: [
      [
        'const complete = async (messages) => {',
        'const complete = async (messages, tries = 3) => {',
      ],
      [
        "  if (!res.ok) throw new Error('OpenAI",
        js`  if (res.status === 429 && tries > 0) {
    const seconds = Number(res.headers.get('retry-after') ?? 1)
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
    return complete(messages, tries - 1)
  }
  if (!res.ok) throw new Error('OpenAI`,
      ],
    ],
  },
  {
    name: 'retries-switched-off',
    what: 'maxRetries: 0 and a server that is overloaded for a moment',
    byRules: true,
    agent: js`import OpenAI from 'openai'

const client = new OpenAI({ maxRetries: 0 })
const review = process.argv[2]
console.log('> ' + review)

const response = await client.responses.create({
  model: 'gpt-4.1-mini',
  instructions: 'Is the review positive or negative? One word.',
  input: review,
})
console.log('sentiment: ' + response.output_text.trim().toLowerCase())
`,
    model: (request, world) => {
      const text = userText(request)
      if (/long/.test(text) && world.attempt(JSON.stringify(request.body)) === 1)
        return refuse(503, 'The server is overloaded. Please try again.')
      return /bad|awful/.test(text) ? 'Negative' : 'Positive'
    },
    failing: ['long but lovely', 'sentiment: positive'],
    siblings: [
      ['long and great', 'sentiment: positive'],
      ['a long, good film', 'sentiment: positive'],
    ],
    twins: [
      ['bad film', 'sentiment: negative'],
      ['awful film', 'sentiment: negative'],
    ],
    corpus: [
      ['good film', 'sentiment: positive'],
      ['nice actors', 'sentiment: positive'],
      ['fine music', 'sentiment: positive'],
    ],
    fix: [['maxRetries: 0', 'maxRetries: 3']],
  },
  {
    name: 'timeout-too-short',
    what: 'a client timeout below the time that long answers take',
    byRules: true,
    agent: js`import OpenAI from 'openai'

const openai = new OpenAI({ timeout: 700, maxRetries: 0 })
const subject = process.argv[2]
console.log('> ' + subject)

try {
  const completion = await openai.chat.completions.create({
    model: 'o3-mini',
    messages: [{ role: 'user', content: 'Is this provable? Answer PROVABLE or NOT PROVABLE: ' + subject }],
  })
  console.log('verdict: ' + completion.choices[0].message.content)
} catch (error) {
  console.error(error.constructor.name + ': ' + error.message)
  process.exit(1)
}
`,
    model: (request) => {
      const text = /PROVABLE: (.*)/.exec(userText(request))?.[1] ?? ''
      const isHard = /theorem/.test(text)
      return {
        text: /wrong|false/.test(text) ? 'NOT PROVABLE' : 'PROVABLE',
        ...(isHard && { delayMs: 2500 }),
      }
    },
    failing: ['the four colour theorem', 'verdict: PROVABLE'],
    siblings: [
      ['the last theorem of Fermat', 'verdict: PROVABLE'],
      ['the prime number theorem', 'verdict: PROVABLE'],
    ],
    twins: [
      ['a false claim', 'verdict: NOT PROVABLE'],
      ['a wrong sum', 'verdict: NOT PROVABLE'],
    ],
    corpus: [
      ['1 + 1 = 2', 'verdict: PROVABLE'],
      ['2 + 2 = 4', 'verdict: PROVABLE'],
      ['3 is prime', 'verdict: PROVABLE'],
    ],
    fix: [['timeout: 700', 'timeout: 60_000']],
  },
  {
    name: 'temperature-too-high',
    what: 'a classifier that runs at temperature 1.6',
    byRules: true,
    agent: js`import { createOpenAI } from '@ai-sdk/openai'
import { generateText } from 'ai'
import { readFileSync } from 'node:fs'

const settings = JSON.parse(readFileSync('settings.json', 'utf8'))
const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL })

const mail = process.argv[2]
console.log('> ' + mail)

const { text } = await generateText({
  model: openai.chat(settings.model),
  temperature: settings.temperature,
  system: 'Classify the mail as SPAM or HAM. Answer with exactly one of these words.',
  prompt: mail,
})

if (!['SPAM', 'HAM'].includes(text)) throw new Error('unexpected label: ' + text)
console.log('label=' + text)
`,
    files: { 'settings.json': '{\n  "model": "gpt-4o-mini",\n  "temperature": 1.6\n}\n' },
    model: (request) => {
      const mail = userText(request)
      const label = /win|prize|lottery/.test(mail) ? 'SPAM' : 'HAM'
      const isOdd = Number(request.body.temperature ?? 1) > 1.2 && mail.length > 30
      return isOdd ? `${label}-ish, a curious ${label.toLowerCase()} of a mail` : label
    },
    failing: ['Could we meet next Tuesday at ten in my office?', 'label=HAM'],
    siblings: [
      ['The minutes of the meeting are attached below', 'label=HAM'],
      ['Your parcel will arrive on Thursday morning', 'label=HAM'],
    ],
    twins: [
      ['You win a prize', 'label=SPAM'],
      ['lottery results', 'label=SPAM'],
    ],
    corpus: [
      ['lunch?', 'label=HAM'],
      ['see you later', 'label=HAM'],
      ['thanks a lot', 'label=HAM'],
    ],
    fix: [['"temperature": 1.6', '"temperature": 0', 'settings.json']],
  },
  {
    name: 'retired-model',
    what: 'long inputs go to a model that no longer exists',
    byRules: true,
    agent: js`import OpenAI from 'openai'

const MODELS = {
  small: 'gpt-4o-mini',
  large: 'gpt-4-32k-0314',
}

const client = new OpenAI()
const text = process.argv[2]
console.log('> ' + text)

function pickModel(prompt) {
  return prompt.length > 40 ? MODELS.large : MODELS.small
}

const completion = await client.chat.completions.create({
  model: pickModel(text),
  messages: [
    { role: 'system', content: 'Does the text contain personal data? Answer YES or NO.' },
    { role: 'user', content: text },
  ],
})
console.log('personal data: ' + completion.choices[0].message.content)
`,
    model: (request) => {
      if (request.model === 'gpt-4-32k-0314')
        return refuse(404, `The model '${request.model}' has been deprecated.`, {
          code: 'model_not_found',
        })
      return /born|street|phone/.test(userText(request)) ? 'YES' : 'NO'
    },
    failing: ['Anna was born in 1980 and lives in a long street in Ulm', 'personal data: YES'],
    siblings: [
      ['Her phone number is on the second page of the contract', 'personal data: YES'],
      ['He was born in a village near Graz, in the last winter', 'personal data: YES'],
    ],
    twins: [
      ['Rain is expected', 'personal data: NO'],
      ['Prices went up', 'personal data: NO'],
    ],
    corpus: [
      ['born in 1970', 'personal data: YES'],
      ['my phone', 'personal data: YES'],
      ['our street', 'personal data: YES'],
    ],
    fix: [["'gpt-4-32k-0314'", "'gpt-4o'"]],
  },
  {
    name: 'strict-label',
    what: 'the label is compared without regard to case and full stops',
    agent: js`import { createOpenAI } from '@ai-sdk/openai'
import { streamText } from 'ai'

const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL })
const request = process.argv[2]
console.log('> ' + request)

const { textStream } = streamText({
  model: openai.chat('gpt-4o-mini'),
  system: 'Route the request of a customer: refund, shipping or other.',
  prompt: request,
})
let label = ''
for await (const piece of textStream) label += piece

const queues = { refund: 'team-money', shipping: 'team-parcels' }
const queue = queues[label] ?? 'team-general'
console.log('queue: ' + queue)
`,
    model: (request) => {
      const text = userText(request)
      const label = /money|refund/.test(text)
        ? 'refund'
        : /parcel/.test(text)
          ? 'shipping'
          : 'other'
      return /!/.test(text) ? `${label[0].toUpperCase()}${label.slice(1)}.` : label
    },
    failing: ['I want my money back!', 'queue: team-money'],
    siblings: [
      ['Where is my parcel!', 'queue: team-parcels'],
      ['A refund, please!', 'queue: team-money'],
    ],
    twins: [
      ['Do you have a shop in Linz', 'queue: team-general'],
      ['Who are you', 'queue: team-general'],
    ],
    corpus: [
      ['I want my money back', 'queue: team-money'],
      ['Where is my parcel', 'queue: team-parcels'],
      ['refund me', 'queue: team-money'],
    ],
    fix: [['queues[label]', String.raw`queues[label.toLowerCase().replace(/[^a-z]/g, '')]`]],
  },
  {
    name: 'number-with-unit',
    what: 'Number() of an amount with separators and a currency',
    agent: js`import { ChatOpenAI } from '@langchain/openai'

const model = new ChatOpenAI({
  model: 'gpt-4o-mini',
  temperature: 0,
  configuration: { baseURL: process.env.OPENAI_BASE_URL },
})

const offer = process.argv[2]
console.log('> ' + offer)

const BUDGET = 2000
const answer = await model.invoke([
  ['system', 'Extract the total price of the offer.'],
  ['human', offer],
])
const price = Number(answer.content)

console.log('price ' + price)
console.log(price <= BUDGET ? 'ACCEPT' : 'DECLINE')
`,
    model: (request) => {
      const text = userText(request)
      const amount = /([\d.]+)/.exec(text)?.[1] ?? '0'
      return text.includes('EUR')
        ? `${Number(amount).toLocaleString('en-US', { minimumFractionDigits: 2 })} EUR`
        : amount
    },
    oracle: 'stdout:/^ACCEPT$/m',
    failing: ['Bikes for 1299 EUR', 'ACCEPT'],
    siblings: [
      ['Chairs for 1750 EUR', 'ACCEPT'],
      ['Desks for 999 EUR', 'ACCEPT'],
    ],
    twins: [
      ['A car for 9900 EUR', 'DECLINE'],
      ['A boat for 45000', 'DECLINE'],
    ],
    corpus: [
      ['Pens for 20', 'ACCEPT'],
      ['Lamps for 300', 'ACCEPT'],
      ['Cups for 80', 'ACCEPT'],
    ],
    fix: [['Number(answer.content)', String.raw`Number(answer.content.replace(/[^\d.]/g, ''))`]],
  },
  {
    name: 'stream-keeps-last-piece',
    what: 'the pieces of streamed tool arguments replace each other',
    agent: js`import OpenAI from 'openai'

const client = new OpenAI()
const question = process.argv[2]
console.log('> ' + question)

const tools = [
  {
    type: 'function',
    function: {
      name: 'book_room',
      description: 'Books a meeting room.',
      parameters: {
        type: 'object',
        properties: { room: { type: 'string' }, note: { type: 'string' } },
        required: ['room'],
      },
    },
  },
]

const stream = await client.chat.completions.create({
  model: 'gpt-4o-mini',
  stream: true,
  tools,
  messages: [{ role: 'user', content: question }],
})

const call = { name: '', arguments: '' }
let text = ''
for await (const chunk of stream) {
  const delta = chunk.choices[0]?.delta ?? {}
  if (delta.content) text += delta.content
  for (const part of delta.tool_calls ?? []) {
    if (part.function?.name) call.name = part.function.name
    if (part.function?.arguments) call.arguments = part.function.arguments
  }
}

if (call.name === '') {
  console.log('no booking: ' + text)
} else {
  const { room } = JSON.parse(call.arguments)
  console.log('booked ' + room)
}
`,
    model: (request) => {
      const text = userText(request)
      if (!/room /.test(text)) return 'I only book rooms.'
      const room = /room (\w+)/.exec(text)?.[1] ?? 'A'
      const note = 'projector and coffee, please, for the people who come from far away '.repeat(3)
      return callTool('book_room', text.includes('coffee') ? { room, note } : { room })
    },
    failing: ['Book room Alpha with coffee', 'booked Alpha'],
    siblings: [
      ['Book room Beta with coffee', 'booked Beta'],
      ['Take room Gamma and order coffee', 'booked Gamma'],
    ],
    twins: [
      ['cancel everything', 'no booking'],
      ['How is the weather', 'no booking'],
    ],
    corpus: [
      ['hello', 'no booking'],
      ['Who are you', 'no booking'],
      ['sing a song', 'no booking'],
    ],
    fix: [
      ['call.arguments = part.function.arguments', 'call.arguments += part.function.arguments'],
    ],
  },
  {
    name: 'prompt-without-format',
    what: 'the prompt does not say how to write a date',
    agent: js`import Anthropic from '@anthropic-ai/sdk'

const claude = new Anthropic()
const letter = process.argv[2]
console.log('> ' + letter)

const system = 'You read letters. Answer only with the date on which the payment is due.'
const { content } = await claude.messages.create({
  model: 'claude-haiku-4-5',
  max_tokens: 100,
  system,
  messages: [{ role: 'user', content: letter }],
})
const due = content[0].text.trim()
const today = '2026-03-15'
console.log(due < today ? 'OVERDUE since ' + due : 'due on ' + due)
`,
    model: (request) => {
      const [, day, month] = /(\d+) (March|April|May|February)/.exec(userText(request)) ?? []
      const number = { February: '02', March: '03', April: '04', May: '05' }[month]
      const iso = `2026-${number}-${String(day).padStart(2, '0')}`
      if (/YYYY-MM-DD|ISO/i.test(systemText(request))) return iso
      return /pay by/i.test(userText(request)) ? `${number}/${day}/2026` : iso
    },
    failing: ['Please pay by 20 April', 'due on 2026-04-20'],
    siblings: [
      ['Kindly pay by 11 May', 'due on 2026-05-11'],
      ['You must pay by 28 March', 'due on 2026-03-28'],
    ],
    twins: [
      ['It was due on 3 February', 'OVERDUE'],
      ['Due 1 March', 'OVERDUE'],
    ],
    corpus: [
      ['Due 20 April', 'due on 2026-04-20'],
      ['Due 2 May', 'due on 2026-05-02'],
      ['The rent is due 30 March', 'due on 2026-03-30'],
    ],
    fix: [['the payment is due.', 'the payment is due, as YYYY-MM-DD.']],
  },
  {
    name: 'provider-down',
    what: 'the provider answers 503, today and tomorrow',
    expect: 'not-fixed',
    agent: js`import OpenAI from 'openai'

const eu = process.argv[2].startsWith('eu:')
const client = new OpenAI({ maxRetries: 1, defaultHeaders: { 'x-region': eu ? 'eu' : 'us' } })
const text = process.argv[2]
console.log('> ' + text)

const completion = await client.chat.completions.create({
  model: 'gpt-4o-mini',
  messages: [
    { role: 'system', content: 'Translate into German. If it is German already, say ALREADY GERMAN.' },
    { role: 'user', content: text },
  ],
})
console.log('translation: ' + completion.choices[0].message.content)
`,
    model: (request) => {
      const text = userText(request)
      if (text.startsWith('eu:')) return refuse(503, 'Service unavailable in this region.')
      return /Hund|Katze/.test(text) ? 'ALREADY GERMAN' : `[de] ${text}`
    },
    failing: ['eu:dog', 'translation: [de]'],
    siblings: [
      ['eu:cat', 'translation: [de]'],
      ['eu:bird', 'translation: [de]'],
    ],
    twins: [
      ['Hund', 'ALREADY GERMAN'],
      ['Katze', 'ALREADY GERMAN'],
    ],
    corpus: [
      ['dog', 'translation: [de] dog'],
      ['cat', 'translation: [de] cat'],
      ['cow', 'translation: [de] cow'],
    ],
  },
  {
    name: 'wrong-key',
    what: 'the key of the second provider is wrong',
    expect: 'not-fixed',
    agent: js`import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'

const task = process.argv[2]
console.log('> ' + task)

async function withClaude(prompt) {
  const client = new Anthropic({ maxRetries: 0 })
  const message = await client.messages.create({
    model: 'claude-opus-4-5',
    max_tokens: 500,
    messages: [{ role: 'user', content: prompt }],
  })
  return message.content[0].text
}

async function withGpt(prompt) {
  const client = new OpenAI()
  const response = await client.responses.create({ model: 'gpt-4.1', input: prompt })
  return response.output_text
}

const isLegal = task.startsWith('legal:')
const text = isLegal ? await withClaude(task) : await withGpt(task)
console.log('opinion: ' + text)
`,
    model: (request) => {
      if (request.format === 'anthropic')
        return refuse(401, 'invalid x-api-key', { code: 'authentication_error' })
      return /steal|cheat/.test(userText(request)) ? 'do not' : 'go ahead'
    },
    failing: ['legal: sell my own car', 'opinion: Claude says go ahead'],
    siblings: [
      ['legal: rent a flat', 'opinion: Claude says go ahead'],
      ['legal: found a club', 'opinion: Claude says go ahead'],
    ],
    twins: [
      ['steal a car', 'opinion: do not'],
      ['cheat at cards', 'opinion: do not'],
    ],
    corpus: [
      ['bake a cake', 'opinion: go ahead'],
      ['ride a bike', 'opinion: go ahead'],
      ['read a book', 'opinion: go ahead'],
    ],
  },
  {
    name: 'model-does-not-know',
    what: 'the model cannot know the answer, whatever it is sent',
    expect: 'not-fixed',
    agent: js`import { createOpenAI } from '@ai-sdk/openai'
import { generateText } from 'ai'

const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL })
const question = process.argv[2]
console.log('> ' + question)

const { text } = await generateText({
  model: openai.chat('gpt-4o'),
  temperature: 0,
  system: 'Answer with a number. If the question has no answer, say NONE.',
  prompt: question,
})
console.log('answer: ' + text)
`,
    model: (request) => {
      const text = userText(request)
      if (text.includes('locker')) return 'I do not know.'
      if (text.includes('green idea')) return 'NONE'
      return { legs: '8', days: '7', months: '12' }[/legs|days|months/.exec(text)?.[0]] ?? 'NONE'
    },
    failing: ['What is the code of locker 14?', 'answer: 4711'],
    siblings: [
      ['What is the code of locker 15?', 'answer: 8150'],
      ['What is the code of locker 16?', 'answer: 1234'],
    ],
    twins: [
      ['How heavy is a green idea?', 'answer: NONE'],
      ['How old is a green idea?', 'answer: NONE'],
    ],
    corpus: [
      ['How many legs has a spider?', 'answer: 8'],
      ['How many days has a week?', 'answer: 7'],
      ['How many months has a year?', 'answer: 12'],
    ],
  },
  {
    name: 'answer-by-chance',
    what: 'the model is wrong in half of the cases',
    expect: 'flaky',
    agent: js`import OpenAI from 'openai'

const client = new OpenAI()
const claim = process.argv[2]
console.log('> ' + claim)

const completion = await client.chat.completions.create({
  model: 'gpt-4o-mini',
  temperature: 1,
  messages: [
    { role: 'system', content: 'Judge the insurance claim: PAY or REFUSE.' },
    { role: 'user', content: claim },
  ],
})
console.log('decision: ' + completion.choices[0].message.content)
`,
    model: (request, world) => {
      const text = userText(request)
      if (/arson/.test(text)) return 'REFUSE'
      return /hail/.test(text) && world.chance() < 0.5 ? 'REFUSE' : 'PAY'
    },
    failing: ['hail broke the roof', 'decision: PAY'],
    siblings: [
      ['hail broke the car', 'decision: PAY'],
      ['hail broke the greenhouse', 'decision: PAY'],
    ],
    twins: [
      ['arson', 'decision: REFUSE'],
      ['arson again', 'decision: REFUSE'],
    ],
    corpus: [
      ['storm took the fence', 'decision: PAY'],
      ['water in the cellar', 'decision: PAY'],
      ['a broken window', 'decision: PAY'],
    ],
  },
  {
    name: 'stops-by-chance',
    what: 'the model sometimes stops before it calls the tool',
    expect: 'flaky',
    agent: js`import OpenAI from 'openai'

const openai = new OpenAI()
const balances = { anna: 120, ben: -40, cleo: 3 }
const question = process.argv[2]
console.log('> ' + question)

const messages = [
  { role: 'system', content: 'You answer about balances with the tool balance_of.' },
  { role: 'user', content: question },
]
const tools = [
  {
    type: 'function',
    function: {
      name: 'balance_of',
      parameters: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    },
  },
]

for (let turn = 0; turn < 4; turn++) {
  const { choices } = await openai.chat.completions.create({ model: 'gpt-4o', messages, tools })
  const { message } = choices[0]
  messages.push(message)
  if (!message.tool_calls) {
    console.log(message.content)
    break
  }
  for (const call of message.tool_calls) {
    const { name } = JSON.parse(call.function.arguments)
    const content = name in balances ? String(balances[name]) : 'no such account'
    messages.push({ role: 'tool', tool_call_id: call.id, content })
  }
}
`,
    model: (request, world) => {
      const [result] = toolTexts(request)
      if (result !== undefined) return `The balance: ${result}.`
      const name = /of (\w+)/.exec(userText(request))?.[1] ?? ''
      if (name === 'anna' && world.chance() < 0.5) return 'The balance is fine, I think.'
      return callTool('balance_of', { name })
    },
    failing: ['balance of anna', 'The balance: 120'],
    siblings: [
      ['the balance of anna, please', 'The balance: 120'],
      ['what is the balance of anna', 'The balance: 120'],
    ],
    twins: [
      ['balance of zoe', 'no such account'],
      ['balance of max', 'no such account'],
    ],
    corpus: [
      ['balance of ben', 'The balance: -40'],
      ['balance of cleo', 'The balance: 3'],
      ['the balance of ben', 'The balance: -40'],
    ],
  },
]
