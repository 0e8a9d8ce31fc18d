import { callTool, systemText, toolTexts, userText, wholeText } from './animal.mjs'

const js = String.raw

/** Code around the model: dates, files, text, sorting, configuration. */

/** @type {import('./animal.mjs').Animal[]} */
export const UTILITIES = [
  {
    name: 'month-overflow',
    what: 'setMonth on the last day of a month',
    agent: js`import OpenAI from 'openai'
import { addMonths } from './src/dates.mjs'

const client = new OpenAI()
const request = process.argv[2]
console.log('> ' + request)

const completion = await client.chat.completions.create({
  model: 'gpt-4o-mini',
  temperature: 0,
  messages: [
    { role: 'system', content: 'Read the contract. Answer as JSON: start (YYYY-MM-DD), months, signed.' },
    { role: 'user', content: request },
  ],
  response_format: { type: 'json_object' },
})
const { start, months, signed } = JSON.parse(completion.choices[0].message.content)
if (!signed) {
  console.log('not in force')
} else {
  console.log('ends ' + addMonths(start, months))
}
`,
    files: {
      'src/dates.mjs': js`/** Adds months to a day such as 2026-01-15. */
export function addMonths(day, months) {
  const date = new Date(day + 'T00:00:00Z')
  date.setUTCMonth(date.getUTCMonth() + months)
  return date.toISOString().slice(0, 10)
}
`,
    },
    model: (request) => {
      const text = userText(request)
      const start = /\d{4}-\d\d-\d\d/.exec(text)?.[0]
      const months = Number(/for (\d+)/.exec(text)?.[1])
      return JSON.stringify({ start, months, signed: !text.includes('unsigned') })
    },
    failing: ['from 2026-01-31 for 1 month', 'ends 2026-02-28'],
    siblings: [
      ['from 2026-03-31 for 1 month', 'ends 2026-04-30'],
      ['from 2026-08-31 for 6 months', 'ends 2027-02-28'],
    ],
    twins: [
      ['unsigned, from 2026-01-31 for 1 month', 'not in force'],
      ['unsigned, from 2026-03-31 for 2 months', 'not in force'],
    ],
    corpus: [
      ['from 2026-01-15 for 1 month', 'ends 2026-02-15'],
      ['from 2026-05-01 for 12 months', 'ends 2027-05-01'],
      ['from 2026-02-28 for 1 month', 'ends 2026-03-28'],
    ],
    fix: [
      [
        '  date.setUTCMonth(date.getUTCMonth() + months)\n',
        js`  const dayOfMonth = date.getUTCDate()
  date.setUTCDate(1)
  date.setUTCMonth(date.getUTCMonth() + months)
  const last = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate()
  date.setUTCDate(Math.min(dayOfMonth, last))
`,
        'src/dates.mjs',
      ],
    ],
  },
  {
    name: 'csv-with-commas',
    what: 'split(",") of a line with a quoted comma',
    agent: js`import Anthropic from '@anthropic-ai/sdk'
import { readFile } from 'node:fs/promises'

const client = new Anthropic()

async function readStock() {
  const text = await readFile('data/stock.csv', 'utf8')
  const [, ...lines] = text.trim().split('\n')
  return lines.map((line) => {
    const [name, units, shelf] = line.split(',')
    return { name, units: Number(units), shelf }
  })
}

const question = process.argv[2]
console.log('> ' + question)
const stock = await readStock()

const message = await client.messages.create({
  model: 'claude-haiku-4-5',
  max_tokens: 200,
  system: 'You answer from this stock list: ' + JSON.stringify(stock),
  messages: [{ role: 'user', content: question }],
})
console.log(message.content[0].text)
`,
    files: {
      'data/stock.csv': js`name,units,shelf
lamp,12,A1
"table, round",4,B2
"chair, blue",9,B3
"shelf, oak",7,B4
stool,3,C1
bench,0,C2
rug,0,C3
desk,5,C4
`,
    },
    model: (request) => {
      const item = /any (\w+)/.exec(userText(request))?.[1] ?? ''
      const json = /\[.*\]/s.exec(systemText(request))?.[0] ?? '[]'
      const found = JSON.parse(json).find(({ name }) => name.includes(item))
      if (found === undefined || found.units === null) return 'I cannot say.'
      return found.units > 0 ? `Yes, ${found.units} on ${found.shelf}.` : 'No, sold out.'
    },
    oracle: 'stdout:/^Yes, /m',
    failing: ['any table left?', 'Yes, 4 on B2'],
    siblings: [
      ['any chair left?', 'Yes, 9 on B3'],
      ['any shelf left?', 'Yes, 7 on B4'],
    ],
    twins: [
      ['any bench left?', 'No, sold out'],
      ['any rug left?', 'No, sold out'],
    ],
    corpus: [
      ['any lamp left?', 'Yes, 12 on A1'],
      ['any stool left?', 'Yes, 3 on C1'],
      ['any desk left?', 'Yes, 5 on C4'],
    ],
    fix: [
      [
        "const [name, units, shelf] = line.split(',')",
        js`const [name, units, shelf] = (line.match(/"[^"]*"|[^,]+/g) ?? []).map((cell) =>
      cell.replaceAll('"', ''),
    )`,
      ],
    ],
  },
  {
    name: 'numbers-sorted-as-text',
    what: 'sort() without a comparator',
    agent: js`import { createOpenAI } from '@ai-sdk/openai'
import { generateText } from 'ai'

const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL })
const product = process.argv[2]
console.log('> ' + product)

const { text } = await generateText({
  model: openai.chat('gpt-4o-mini'),
  system: 'List the prices that shops ask for a product, separated by spaces. NONE if nobody sells it.',
  prompt: product,
})

if (text === 'NONE') {
  console.log('nobody sells it')
} else {
  const prices = text.split(' ').map(Number)
  prices.sort()
  console.log('cheapest ' + prices[0])
  console.log('median ' + prices[Math.floor(prices.length / 2)])
}
`,
    model: (request) =>
      ({
        kettle: '30 100 25',
        toaster: '90 1000 85',
        mixer: '9 80 700',
        cup: '3 5 4',
        plate: '20 35 30',
        bowl: '11 13 12',
      })[userText(request)] ?? 'NONE',
    failing: ['kettle', 'cheapest 25|median 30'],
    siblings: [
      ['toaster', 'cheapest 85|median 90'],
      ['mixer', 'cheapest 9|median 80'],
    ],
    twins: [
      ['unicorn', 'nobody sells it'],
      ['dragon', 'nobody sells it'],
    ],
    corpus: [
      ['cup', 'cheapest 3|median 4'],
      ['plate', 'cheapest 20|median 30'],
      ['bowl', 'cheapest 11|median 12'],
    ],
    fix: [['prices.sort()', 'prices.sort((a, b) => a - b)']],
  },
  {
    name: 'id-pattern-too-short',
    what: 'a pattern that cuts five-digit order numbers',
    agent: js`import OpenAI from 'openai'
import orders from './src/orders.mjs'

const client = new OpenAI()
const mail = process.argv[2]
console.log('> ' + mail)

const ORDER = /#(\d{4})/

const id = ORDER.exec(mail)?.[1]
const order = id === undefined ? undefined : orders[id]
const facts = order === undefined ? 'No such order.' : 'Order ' + id + ': ' + order.status

const completion = await client.chat.completions.create({
  model: 'gpt-4o-mini',
  messages: [
    { role: 'system', content: 'Answer the customer in one line. Facts: ' + facts },
    { role: 'user', content: mail },
  ],
})
console.log(completion.choices[0].message.content)
`,
    files: {
      'src/orders.mjs': js`export default {
  1182: { status: 'on its way' },
  1183: { status: 'delivered' },
  1190: { status: 'packed' },
  10240: { status: 'paid' },
  10241: { status: 'waiting for stock' },
  10242: { status: 'on its way' },
}
`,
    },
    model: (request) => {
      const facts = /Facts: (.*)/.exec(systemText(request))?.[1] ?? ''
      return facts === 'No such order.'
        ? 'Sorry, we have no such order.'
        : `Dear customer: ${facts}`
    },
    oracle: 'not:stdout:no such order',
    failing: ['Where is #10240?', 'Order 10240: paid'],
    siblings: [
      ['What about #10241?', 'Order 10241: waiting'],
      ['And #10242?', 'Order 10242: on its way'],
    ],
    twins: [
      ['Where is #9999?', 'we have no such order'],
      ['Where is #8888?', 'we have no such order'],
    ],
    corpus: [
      ['Where is #1182?', 'Order 1182: on its way'],
      ['Where is #1183?', 'Order 1183: delivered'],
      ['Where is #1190?', 'Order 1190: packed'],
    ],
    fix: [[String.raw`/#(\d{4})/`, String.raw`/#(\d+)/`]],
  },
  {
    name: 'file-name-by-case',
    what: 'a prompt file is looked up with the case that the user typed',
    oracle: 'exit:0',
    agent: js`import Anthropic from '@anthropic-ai/sdk'
import { readFileSync } from 'node:fs'

const [language, text] = process.argv[2].split(':')
console.log('> ' + process.argv[2])

function loadPrompt(name) {
  return readFileSync('prompts/' + name + '.txt', 'utf8').trim()
}

const system = loadPrompt(language)
const message = await new Anthropic().messages.create({
  model: 'claude-haiku-4-5',
  max_tokens: 256,
  system,
  messages: [{ role: 'user', content: text }],
})
console.log(message.content[0].text)
`,
    files: {
      'prompts/de.txt': 'Antworte auf Deutsch.\n',
      'prompts/fr.txt': 'Réponds en français.\n',
    },
    model: (request) => {
      const word = systemText(request).includes('Deutsch') ? 'Hallo' : 'Bonjour'
      return `${word}: ${userText(request)}`
    },
    failing: ['DE:hello', 'Hallo: hello'],
    siblings: [
      ['FR:hello', 'Bonjour: hello'],
      ['De:good day', 'Hallo: good day'],
    ],
    twins: [
      ['tlh:hello', 'exit:1'],
      ['xx:hello', 'exit:1'],
    ],
    corpus: [
      ['de:hello', 'Hallo: hello'],
      ['fr:hello', 'Bonjour: hello'],
      ['de:good day', 'Hallo: good day'],
    ],
    fix: [["'prompts/' + name +", "'prompts/' + name.toLowerCase() +"]],
  },
  {
    name: 'wrong-encoding',
    what: 'a UTF-8 file is read as latin1',
    agent: js`import OpenAI from 'openai'
import { readFileSync } from 'node:fs'

const name = process.argv[2]
console.log('> ' + name)

const people = readFileSync('people.txt', 'latin1').trim().split('\n')
const client = new OpenAI()

const response = await client.responses.create({
  model: 'gpt-4.1-mini',
  instructions: 'Members of the club:\n' + people.join('\n') + '\nSay MEMBER or GUEST.',
  input: name,
})
console.log(response.output_text === 'MEMBER' ? 'welcome back' : 'please register')
`,
    files: {
      'people.txt': 'Anna Bauer\nJörg Müller\nZoë Strauß\nBjörn Åberg\nTom Hill\nEva Kurz\n',
    },
    model: (request) => {
      const members = wholeText(request).replace(userText(request), '').split('\n')
      return wholeText(request)
        .split('\n')
        .filter((line) => line === userText(request)).length > 1 ||
        members.includes(userText(request))
        ? 'MEMBER'
        : 'GUEST'
    },
    oracle: 'stdout:welcome back',
    failing: ['Jörg Müller', 'welcome back'],
    siblings: [
      ['Zoë Strauß', 'welcome back'],
      ['Björn Åberg', 'welcome back'],
    ],
    twins: [
      ['Max Fremd', 'please register'],
      ['Ida Neu', 'please register'],
    ],
    corpus: [
      ['Anna Bauer', 'welcome back'],
      ['Tom Hill', 'welcome back'],
      ['Eva Kurz', 'welcome back'],
    ],
    fix: [["'latin1'", "'utf8'"]],
  },
  {
    name: 'last-chunk-lost',
    what: 'a text splitter drops the rest of the text',
    agent: js`import { ChatOpenAI } from '@langchain/openai'
import { readFileSync } from 'node:fs'
import { splitText } from './src/split.mjs'

const model = new ChatOpenAI({
  model: 'gpt-4o-mini',
  configuration: { baseURL: process.env.OPENAI_BASE_URL },
})
const question = process.argv[2]
console.log('> ' + question)

const notes = []
for (const chunk of splitText(readFileSync('rules.txt', 'utf8'), 120)) {
  const reply = await model.invoke([
    ['system', 'Quote the rule that answers the question, or say NOTHING.'],
    ['human', question + '\n---\n' + chunk],
  ])
  if (reply.content !== 'NOTHING') notes.push(reply.content)
}
console.log(notes.length === 0 ? 'no rule' : 'rule: ' + notes.join(' '))
`,
    files: {
      'src/split.mjs': js`/** Cuts a text into pieces of whole lines, each at most size characters. */
export function splitText(text, size) {
  const chunks = []
  let chunk = ''
  for (const line of text.split('\n')) {
    if (chunk.length + line.length > size) {
      chunks.push(chunk)
      chunk = ''
    }
    chunk += line + '\n'
  }
  return chunks
}
`,
      'rules.txt': [
        'Dogs must be on a lead in the park at all times.',
        'Bicycles may be used on the wide paths only.',
        'Music is allowed until ten in the evening.',
        'Fires may be lit at the stone circle only.',
        'Boats are for rent at the northern shore.',
        'Swimming is allowed from May to September.',
        'Camping needs a permit from the town.',
        'Drones are forbidden without exception.',
      ].join('\n'),
    },
    model: (request) => {
      const [question, chunk = ''] = userText(request).split('\n---\n')
      const word = question.replace('?', '').split(' ').at(-1)
      const line = chunk.split('\n').find((each) => each.toLowerCase().startsWith(word))
      return line ?? 'NOTHING'
    },
    failing: ['May I fly drones?', 'rule: Drones are forbidden'],
    siblings: [
      ['What about camping?', 'rule: Camping needs a permit'],
      ['Are there drones?', 'rule: Drones are forbidden'],
    ],
    twins: [
      ['May I bring horses?', 'no rule'],
      ['May I bring wine?', 'no rule'],
    ],
    corpus: [
      ['May I bring dogs?', 'rule: Dogs must'],
      ['May I play music?', 'rule: Music is'],
      ['May I rent boats?', 'rule: Boats are'],
    ],
    fix: [
      [
        '  return chunks\n',
        "  if (chunk !== '') chunks.push(chunk)\n  return chunks\n",
        'src/split.mjs',
      ],
    ],
  },
  {
    name: 'map-as-json',
    what: 'JSON.stringify of a Map is {}',
    agent: js`import OpenAI from 'openai'

const openai = new OpenAI()
const question = process.argv[2]
console.log('> ' + question)

/** Points by player, from the lines of a game such as "anna+3 ben+5". */
function score(game) {
  const points = new Map()
  for (const [, name, plus] of game.matchAll(/(\w+)\+(\d+)/g))
    points.set(name, (points.get(name) ?? 0) + Number(plus))
  return points
}

const points = score(question)
const context = points.size === 0 ? 'The game has not begun.' : 'Points: ' + JSON.stringify(points)

const completion = await openai.chat.completions.create({
  model: 'gpt-4o-mini',
  messages: [
    { role: 'system', content: 'Name the leader of the game. ' + context },
    { role: 'user', content: 'Who leads?' },
  ],
})
console.log(completion.choices[0].message.content)
`,
    model: (request) => {
      const text = systemText(request)
      if (text.includes('not begun')) return 'Nobody yet.'
      const entries = [...text.matchAll(/"?(\w+)"?[:,]\s*(\d+)/g)].map(([, name, n]) => [name, +n])
      const [leader] = entries.toSorted((a, b) => b[1] - a[1])
      return leader === undefined ? 'I see no points.' : `${leader[0]} leads with ${leader[1]}.`
    },
    failing: ['anna+3 ben+5 anna+4', 'anna leads with 7'],
    siblings: [
      ['eva+1 tom+2', 'tom leads with 2'],
      ['ida+9', 'ida leads with 9'],
    ],
    twins: [
      ['start', 'Nobody yet.'],
      ['kick-off', 'Nobody yet.'],
    ],
    corpus: [
      ['hello', 'Nobody yet.'],
      ['warm up', 'Nobody yet.'],
      ['waiting for players', 'Nobody yet.'],
    ],
    fix: [['JSON.stringify(points)', 'JSON.stringify(Object.fromEntries(points))']],
  },
  {
    name: 'null-content',
    what: 'message.content is null beside tool calls',
    agent: js`import OpenAI from 'openai'

const client = new OpenAI()
const question = process.argv[2]
console.log('> ' + question)

const hours = { monday: '9 to 18', friday: '9 to 16', sunday: 'closed' }
const tools = [
  {
    type: 'function',
    function: {
      name: 'opening_hours',
      description: 'Opening hours of a day.',
      parameters: { type: 'object', properties: { day: { type: 'string' } }, required: ['day'] },
    },
  },
]
const messages = [{ role: 'user', content: question }]
const log = []

while (true) {
  const completion = await client.chat.completions.create({ model: 'gpt-4o', messages, tools })
  const message = completion.choices[0].message
  messages.push(message)
  log.push(message.content.trim())
  if (!message.tool_calls?.length) break
  for (const call of message.tool_calls) {
    const { day } = JSON.parse(call.function.arguments)
    messages.push({ role: 'tool', tool_call_id: call.id, content: hours[day] ?? 'unknown day' })
  }
}
console.log('answer: ' + log.filter(Boolean).at(-1))
`,
    model: (request) => {
      const [result] = toolTexts(request)
      if (result !== undefined) return result === 'closed' ? 'We are closed.' : `Open ${result}.`
      const day = /monday|friday|sunday/.exec(userText(request))?.[0]
      if (day === undefined) return 'Which day do you mean?'
      const thought = day === 'sunday' ? { text: 'Let me look.' } : {}
      return { ...callTool('opening_hours', { day }), ...thought }
    },
    failing: ['When are you open on monday?', 'answer: Open 9 to 18.'],
    siblings: [
      ['Hours for friday', 'answer: Open 9 to 16.'],
      ['monday please', 'answer: Open 9 to 18.'],
    ],
    twins: [
      ['Are you open on sunday?', 'answer: We are closed.'],
      ['sunday?', 'answer: We are closed.'],
    ],
    corpus: [
      ['When are you open?', 'answer: Which day'],
      ['Hello', 'answer: Which day'],
      ['Hours', 'answer: Which day'],
    ],
    fix: [['message.content.trim()', "(message.content ?? '').trim()"]],
  },
  {
    name: 'log-reverses',
    what: 'the log helper reverses the conversation in place',
    agent: js`import Anthropic from '@anthropic-ai/sdk'
import { showLatest } from './src/log.mjs'

const client = new Anthropic()
const turns = process.argv[2].split(' / ')
console.log('> ' + process.argv[2])

const messages = []
for (const turn of turns) {
  messages.push({ role: 'user', content: turn })
  showLatest(messages)
  const reply = await client.messages.create({
    model: 'claude-sonnet-4-5',
    max_tokens: 300,
    system: 'You take orders in a cafe and repeat the last wish.',
    messages,
  })
  messages.push({ role: 'assistant', content: reply.content[0].text })
}
console.log(messages.at(-1).content)
`,
    files: {
      'src/log.mjs': js`/** Shows the last three messages, newest first. */
export function showLatest(messages) {
  const newestFirst = messages.reverse().slice(0, 3)
  for (const { role, content } of newestFirst) console.error(role + ': ' + content)
}
`,
    },
    model: (request) => {
      const last = request.messages.at(-1)
      if (last.role !== 'user') return 'Sorry?'
      return /beer|wine/.test(last.text) ? 'We have no alcohol.' : `So, ${last.text}.`
    },
    failing: ['a coffee / no, a tea / with milk', 'So, with milk.'],
    siblings: [
      ['a cake / two cakes', 'So, two cakes.'],
      ['a juice / a big one', 'So, a big one.'],
    ],
    twins: [
      ['a beer', 'We have no alcohol.'],
      ['wine', 'We have no alcohol.'],
    ],
    corpus: [
      ['a coffee', 'So, a coffee.'],
      ['a tea', 'So, a tea.'],
      ['a juice', 'So, a juice.'],
    ],
    fix: [['messages.reverse()', '[...messages].reverse()', 'src/log.mjs']],
  },
  {
    name: 'missing-rates',
    what: 'the table for the year exists nowhere',
    expect: 'not-fixed',
    agent: js`import { createOpenAI } from '@ai-sdk/openai'
import { generateText } from 'ai'
import { readFileSync } from 'node:fs'

const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL })
const request = process.argv[2]
console.log('> ' + request)

const year = /\d{4}/.exec(request)[0]
const rates = JSON.parse(readFileSync('rates/' + year + '.json', 'utf8'))

const { text } = await generateText({
  model: openai.chat('gpt-4o-mini'),
  system: 'Convert with these rates: ' + JSON.stringify(rates) + ' If it is in euro, say SAME.',
  prompt: request,
})
console.log('result ' + text)
`,
    files: { 'rates/2024.json': '{ "USD": 1.1 }\n', 'rates/2025.json': '{ "USD": 1.2 }\n' },
    model: (request) => {
      if (userText(request).includes('EUR')) return 'SAME'
      const rate = Number(/"USD":([\d.]+)/.exec(systemText(request))?.[1])
      const amount = Number(/(\d+) USD/.exec(userText(request))?.[1])
      return (amount / rate).toFixed(2)
    },
    failing: ['110 USD in 2019', 'result 98.30'],
    siblings: [
      ['220 USD in 2019', 'result 196.60'],
      ['110 USD in 2018', 'result 93.20'],
    ],
    twins: [
      ['50 EUR in 2024', 'result SAME'],
      ['60 EUR in 2025', 'result SAME'],
    ],
    corpus: [
      ['110 USD in 2024', 'result 100.00'],
      ['120 USD in 2025', 'result 100.00'],
      ['220 USD in 2024', 'result 200.00'],
    ],
  },
  {
    name: 'truncated-data',
    what: 'the only copy of the data is cut off',
    expect: 'not-fixed',
    agent: js`import OpenAI from 'openai'
import { readFileSync } from 'node:fs'

const client = new OpenAI()
const patient = process.argv[2]
console.log('> ' + patient)

const records = readFileSync('records.jsonl', 'utf8')
  .split('\n')
  .filter((line) => line.includes('"' + patient + '"'))
  .map((line) => JSON.parse(line))

const completion = await client.chat.completions.create({
  model: 'gpt-4o',
  messages: [
    { role: 'system', content: 'Summarise the record. Without a record, say NO RECORD.' },
    { role: 'user', content: JSON.stringify(records) },
  ],
})
console.log(completion.choices[0].message.content)
`,
    files: {
      'records.jsonl':
        '{"name":"anna","dose":20}\n{"name":"ben","dose":15}\n{"name":"cleo","dose":5}\n{"name":"dora","dose":\n{"name":"emil","do\n{"name":"fritz"',
    },
    model: (request) => {
      const dose = /"dose":(\d+)/.exec(userText(request))?.[1]
      return dose === undefined ? 'NO RECORD' : `dose ${dose} mg`
    },
    failing: ['dora', 'dose 30 mg'],
    siblings: [
      ['emil', 'dose 45 mg'],
      ['fritz', 'dose 60 mg'],
    ],
    twins: [
      ['zoe', 'NO RECORD'],
      ['max', 'NO RECORD'],
    ],
    corpus: [
      ['anna', 'dose 20 mg'],
      ['ben', 'dose 15 mg'],
      ['cleo', 'dose 5 mg'],
    ],
  },
  {
    name: 'random-example',
    what: 'an example is drawn at random, and one in two misleads the model',
    expect: 'flaky',
    agent: js`import OpenAI from 'openai'

const client = new OpenAI()
const sentence = process.argv[2]
console.log('> ' + sentence)

const examples = [
  'She go home. -> WRONG',
  'He runs fast. -> CORRECT',
]
const example = examples[Math.floor(Math.random() * examples.length)]

const completion = await client.chat.completions.create({
  model: 'gpt-4o-mini',
  messages: [
    { role: 'system', content: 'Grade the grammar of the sentence. Example: ' + example },
    { role: 'user', content: sentence },
  ],
})
console.log('grade: ' + completion.choices[0].message.content)
`,
    model: (request) => {
      const text = userText(request)
      if (text.includes('goed')) return 'WRONG'
      const isMisled = text.includes('whom') && systemText(request).includes('WRONG')
      return isMisled ? 'WRONG' : 'CORRECT'
    },
    failing: ['To whom do I write?', 'grade: CORRECT'],
    siblings: [
      ['With whom did you go?', 'grade: CORRECT'],
      ['For whom is it?', 'grade: CORRECT'],
    ],
    twins: [
      ['I goed there.', 'grade: WRONG'],
      ['We goed away.', 'grade: WRONG'],
    ],
    corpus: [
      ['I am here.', 'grade: CORRECT'],
      ['You are there.', 'grade: CORRECT'],
      ['We sing.', 'grade: CORRECT'],
    ],
  },
]
