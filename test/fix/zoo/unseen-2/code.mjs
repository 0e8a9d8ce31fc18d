import { refuse, userText } from '../animal.mjs'
import { js, json } from '../unseen/source.mjs'

/** Code around the model: order, dates, money, files, streams, caches. */

/** @type {import('../unseen.mjs').UnseenAnimal[]} */
export const CODE = [
  {
    name: 'newest-note',
    what: 'a comparison function returns a boolean, so nothing is sorted',
    promised: 'code: wrong sort order',
    agent: js`import OpenAI from 'openai'
import { newestNote } from './src/notes.mjs'

const person = process.argv[2]
console.log('news of ' + person)

const note = newestNote(person)
if (note === undefined) {
  console.log('no news.')
} else {
  const reply = await new OpenAI().responses.create({
    model: 'gpt-5-mini',
    input: \`Shorten: \${note.text} (\${note.date})\`,
  })
  console.log(reply.output_text)
}
`,
    files: {
      'src/notes.mjs': js`import { readFileSync } from 'node:fs'

const notes = JSON.parse(readFileSync(new URL('../data/notes.json', import.meta.url), 'utf8'))

const byDate = (a, b) => a.date < b.date

export function newestNote(person) {
  const own = notes.filter((note) => note.person === person)
  return own.sort(byDate)[0]
}
`,
      'data/notes.json': `${json([
        { person: 'ann', date: '2026-01-04', text: 'moved' },
        { person: 'bob', date: '2026-02-01', text: 'has a cat' },
        { person: 'ann', date: '2026-03-09', text: 'is at sea' },
        { person: 'cy', date: '2026-05-05', text: 'sleeps' },
        { person: 'bob', date: '2026-01-30', text: 'looked for a cat' },
        { person: 'dan', date: '2025-12-31', text: 'sings' },
        { person: 'eve', date: '2026-01-02', text: 'reads' },
        { person: 'dan', date: '2026-10-01', text: 'is silent' },
        { person: 'eve', date: '2026-11-11', text: 'writes' },
        { person: 'dan', date: '2026-09-30', text: 'whispers' },
        { person: 'fay', date: '2026-04-02', text: 'b' },
        { person: 'fay', date: '2026-04-10', text: 'd' },
        { person: 'fay', date: '2026-04-01', text: 'a' },
        { person: 'fay', date: '2026-04-09', text: 'c' },
      ])}\n`,
    },
    model: (request) => `${userText(request).replace('Shorten: ', '')}!`,
    failing: ['ann', 'is at sea (2026-03-09)!'],
    sibling: ['eve', 'writes (2026-11-11)!'],
    passing: [
      ['bob', 'has a cat (2026-02-01)!'],
      ['cy', 'sleeps (2026-05-05)!'],
    ],
    hidden: [
      ['dan', 'is silent (2026-10-01)!'],
      ['fay', 'd (2026-04-10)!'],
      ['nobody', 'no news.'],
    ],
    fix: [['a.date < b.date', 'b.date.localeCompare(a.date)', 'src/notes.mjs']],
    partial: [['own.sort(byDate)[0]', 'own.sort(byDate).at(-1)', 'src/notes.mjs']],
  },
  {
    name: 'read-from-the-end',
    what: 'a function that looks for the last request of the user reverses the list of its caller',
    promised: "code: changes to a caller's list",
    agent: js`import Anthropic from '@anthropic-ai/sdk'

/** @typedef {{ role: 'user' | 'assistant', content: string }} Message */

/** @param {Message[]} messages */
function titleOf(messages) {
  const last = messages.reverse().find(({ role }) => role === 'user')
  return last?.content.split(' ')[0] ?? 'untitled'
}

/** @param {string} text @returns {Message[]} */
const parse = (text) =>
  text.split(' + ').map((part) =>
    part.startsWith('bot ')
      ? { role: 'assistant', content: part.slice(4) }
      : { role: 'user', content: part },
  )

const conversation = parse(process.argv[2])
console.log('in: ' + process.argv[2])
const title = titleOf(conversation)
const { content } = await new Anthropic().messages.create({
  model: 'claude-haiku-4-5',
  max_tokens: 64,
  messages: conversation,
})
console.log(\`[\${title}] \${content[0].text}\`)
`,
    model: (request) => {
      const texts = request.messages.map(({ text }) => text)
      return `You began with "${texts[0]}" and ended with "${texts.at(-1)}".`
    },
    failing: [
      'red boat + bot nice + fast car',
      '[fast] You began with "red boat" and ended with "fast car".',
    ],
    sibling: ['tea + bot with milk? + yes', '[yes] You began with "tea" and ended with "yes".'],
    passing: [
      ['green hill', '[green] You began with "green hill" and ended with "green hill".'],
      ['sun', '[sun] You began with "sun" and ended with "sun".'],
    ],
    hidden: [
      ['a b + c d', '[c] You began with "a b" and ended with "c d".'],
      [
        'one + bot two + three + bot four + five six',
        '[five] You began with "one" and ended with "five six".',
      ],
      ['x + bot y + x', '[x] You began with "x" and ended with "x".'],
      ['hi + bot bye', '[hi] You began with "hi" and ended with "bye".'],
    ],
    fix: [['messages.reverse().find(', 'messages.findLast(']],
    partial: [["messages.reverse().find(({ role }) => role === 'user')", 'messages.at(-1)']],
  },
  {
    name: 'fallback-that-never-runs',
    what: 'a promise is returned from try without await, so catch never sees its error',
    promised: 'code: missing await',
    agent: js`import Anthropic from '@anthropic-ai/sdk'

const anthropic = new Anthropic({ maxRetries: 0 })

async function ask(model, question) {
  const { content } = await anthropic.messages.create({
    model,
    max_tokens: 200,
    messages: [{ role: 'user', content: question }],
  })
  return \`\${content[0].text} (\${model})\`
}

/** The large model, or the small one while the large one is overloaded. */
async function askAnyone(question) {
  try {
    return ask('claude-opus-4-5', question)
  } catch (error) {
    if (error.status !== 529) throw error
    return ask('claude-haiku-4-5', question)
  }
}

const question = process.argv[2]
console.log('> ' + question)
console.log(await askAnyone(question))
`,
    model: (request) =>
      request.model.includes('opus') && userText(request).length > 12
        ? refuse(529, 'Overloaded')
        : `${userText(request).split(' ').length} words`,
    failing: ['tell me a long story', '5 words (claude-haiku-4-5)'],
    sibling: ['sing the blues for us', '5 words (claude-haiku-4-5)'],
    passing: [
      ['hello', '1 words (claude-opus-4-5)'],
      ['how are you', '3 words (claude-opus-4-5)'],
    ],
    hidden: [
      ['an even longer question about trees', '6 words (claude-haiku-4-5)'],
      ['twelve chars', '2 words (claude-opus-4-5)'],
      ['thirteenchars', '1 words (claude-haiku-4-5)'],
    ],
    fix: [
      ["return ask('claude-opus-4-5', question)", "return await ask('claude-opus-4-5', question)"],
    ],
    partial: [["'claude-opus-4-5'", "'claude-haiku-4-5'"]],
    silence: [['await askAnyone(question)', "await askAnyone(question).catch(() => 'no answer')"]],
  },
  {
    name: 'rent-on-the-last-day',
    what: 'a month is added to the 31st, which lands in the month after the next',
    promised: 'code: the last day of a month',
    agent: js`import OpenAI from 'openai'

const client = new OpenAI()

/** Due dates of a rent, a month apart. */
function* dueDates(start, count) {
  const [year, month, day] = start.split('-').map(Number)
  for (let index = 1; index <= count; index++) {
    yield new Date(Date.UTC(year, month - 1 + index, day)).toISOString().slice(0, 10)
  }
}

const [start, count] = process.argv[2].split(' x ')
console.log(\`rent from \${start} x \${count}\`)
for (const date of dueDates(start, Number(count))) {
  const completion = await client.chat.completions.create({
    model: 'gpt-4.1-nano',
    messages: [{ role: 'user', content: 'Remind me on ' + date }],
  })
  console.log('- ' + completion.choices[0].message.content)
}
`,
    model: (request) => `${userText(request).split(' ').at(-1)}: pay the rent`,
    failing: ['2026-01-31 x 1', '- 2026-02-28: pay'],
    sibling: ['2026-03-31 x 1', '- 2026-04-30: pay'],
    passing: [
      ['2026-01-15 x 2', '- 2026-02-15: pay|- 2026-03-15: pay'],
      ['2026-11-30 x 1', '- 2026-12-30: pay'],
    ],
    hidden: [
      ['2028-01-30 x 2', '- 2028-02-29: pay|- 2028-03-30: pay'],
      ['2026-12-31 x 3', '- 2027-01-31: pay|- 2027-02-28: pay|- 2027-03-31: pay'],
      ['2026-05-31 x 1', '- 2026-06-30: pay'],
      ['2026-12-01 x 1', '- 2027-01-01: pay'],
    ],
    fix: [
      [
        'new Date(Date.UTC(year, month - 1 + index, day))',
        'new Date(Date.UTC(year, month - 1 + index, Math.min(day, new Date(Date.UTC(year, month + index, 0)).getUTCDate())))',
      ],
    ],
    partial: [
      [
        'new Date(Date.UTC(year, month - 1 + index, day))',
        'new Date(Date.UTC(year, month - 1 + index, Math.min(day, 28)))',
      ],
    ],
  },
  {
    name: 'one-cent-short',
    what: 'an amount times 100 is cut off instead of rounded',
    promised: 'code: rounding and printing of cents',
    agent: js`import { createOpenAI } from '@ai-sdk/openai'
import { generateObject } from 'ai'
import { z } from 'zod'
import { toCents, formatCents } from './lib/money.mjs'

const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL })
const text = process.argv[2]
console.log('receipt: ' + text)

const { object } = await generateObject({
  model: openai.chat('gpt-4o'),
  schema: z.object({ amounts: z.array(z.number()) }),
  prompt: 'Amounts in: ' + text,
})
const cents = object.amounts.map(toCents)
const sum = cents.reduce((total, each) => total + each, 0)
console.log(\`items \${cents.join(' ')}, sum \${formatCents(sum)}.\`)
`,
    files: {
      'lib/money.mjs': js`export const toCents = (amount) => Math.trunc(amount * 100)

export const formatCents = (cents) => {
  const rest = String(cents % 100).padStart(2, '0')
  return Math.floor(cents / 100) + '.' + rest
}
`,
    },
    model: (request) =>
      JSON.stringify({
        amounts: (
          userText(request)
            .replace('Amounts in: ', '')
            .match(/\d+(?:\.\d+)?/g) ?? []
        ).map(Number),
      }),
    failing: ['tea 19.99', 'items 1999, sum 19.99.'],
    sibling: ['rice 4.35', 'items 435, sum 4.35.'],
    passing: [
      ['cup 2.50', 'items 250, sum 2.50.'],
      ['pen 1, ink 12.25', 'items 100 1225, sum 13.25.'],
    ],
    hidden: [
      ['a 1.1, b 2.2, c 4.35', 'items 110 220 435, sum 7.65.'],
      ['ship 1234567.89', 'items 123456789, sum 1234567.89.'],
      ['air', 'items , sum 0.00.'],
      ['gum 0.29', 'items 29, sum 0.29.'],
    ],
    fix: [['Math.trunc(', 'Math.round(', 'lib/money.mjs']],
    partial: [['Math.trunc(', 'Math.ceil(', 'lib/money.mjs']],
  },
  {
    name: 'flat-in-the-city-column',
    what: 'lines of a CSV file with a quoted comma are split at every comma',
    promised: 'code: quoted CSV',
    agent: js`import Anthropic from '@anthropic-ai/sdk'
import { readFile } from 'node:fs/promises'

const wanted = process.argv[2]
console.log('label for ' + wanted)

const [header, ...rows] = (await readFile('data/contacts.csv', 'utf8')).trim().split('\n')
const columns = header.split(',')
const contacts = rows.map((row) => {
  const cells = row.split(',')
  return Object.fromEntries(columns.map((column, index) => [column, cells[index]]))
})

const contact = contacts.find(({ name }) => name === wanted)
if (!contact) {
  console.log('unknown.')
} else {
  const { content } = await new Anthropic().messages.create({
    model: 'claude-haiku-4-5',
    max_tokens: 128,
    messages: [{ role: 'user', content: JSON.stringify(contact) }],
  })
  console.log(content.at(0).text)
}
`,
    files: {
      'data/contacts.csv': [
        'name,street,city',
        'Ann,"12 High Street, Flat 3",Leeds',
        'Bob,1 Mill Lane,York',
        'Cy,"The ""Old"" Mill, Lane End",Hull',
        'Dan,,Ely',
        '"Reed, Eve","5 Hill Road",Ripon',
        'Fay,"Barn, Yard, Farm 7",Wells',
        'Gus,2 Low Road,Bath',
        '',
      ].join('\n'),
    },
    model: (request) => {
      const { name, street, city } = JSON.parse(userText(request))
      return `${name} * ${street} * ${city} *`
    },
    failing: ['Ann', 'Ann * 12 High Street, Flat 3 * Leeds *'],
    sibling: ['Fay', 'Fay * Barn, Yard, Farm 7 * Wells *'],
    passing: [
      ['Bob', 'Bob * 1 Mill Lane * York *'],
      ['Gus', 'Gus * 2 Low Road * Bath *'],
    ],
    hidden: [
      ['Cy', 'Cy * The "Old" Mill, Lane End * Hull *'],
      ['Dan', 'Dan *  * Ely *'],
      ['Reed, Eve', 'Reed, Eve * 5 Hill Road * Ripon *'],
      ['Zoe', 'unknown.'],
    ],
    fix: [
      [
        "row.split(',')",
        `[...row.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
    ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain,
  )`,
      ],
    ],
    partial: [
      ["row.split(',')", 'row.match(/"[^"]*"|[^,]+/g).map((cell) => cell.replace(/^"|"$/g, \'\'))'],
    ],
  },
  {
    name: 'song-without-its-last-line',
    what: 'the rest of a stream after its last line break is never printed',
    promised: 'code: a lost last chunk',
    agent: js`import OpenAI from 'openai'

async function* linesOf(stream) {
  let rest = ''
  for await (const chunk of stream) {
    rest += chunk.choices[0]?.delta?.content ?? ''
    const lines = rest.split('\n')
    rest = lines.pop()
    yield* lines
  }
}

const wish = process.argv[2]
console.log('song: ' + wish)
const stream = await new OpenAI().chat.completions.create({
  model: 'gpt-4o-mini',
  stream: true,
  messages: [{ role: 'user', content: wish }],
})
let number = 0
for await (const line of linesOf(stream)) console.log(\`\${++number}. \${line}\`)
console.log(number + ' lines')
`,
    model: (request) => {
      const [first, ...others] = userText(request).split(' ')
      const lines = [first, ...others].map((word) => `la la ${word}`).join('\n')
      return first === 'full' ? `${lines}\n` : lines
    },
    failing: ['sun moon', '1. la la sun|2. la la moon|2 lines'],
    sibling: ['fire', '1. la la fire|1 lines'],
    passing: [
      ['full house', '1. la la full|2. la la house|2 lines'],
      ['full', '1. la la full|1 lines'],
    ],
    hidden: [
      ['one two three four five', '4. la la four|5. la la five|5 lines'],
      ['full of many words', '4. la la words|4 lines'],
      ['a', '1. la la a|1 lines'],
    ],
    fix: [['    yield* lines\n  }\n', "    yield* lines\n  }\n  if (rest !== '') yield rest\n"]],
    partial: [['    yield* lines\n  }\n', '    yield* lines\n  }\n  yield rest\n']],
  },
  {
    name: 'moods-with-a-full-stop',
    what: 'a label is compared as the model wrote it, with its case and marks',
    promised: 'code: labels as models write them',
    agent: js`import { GoogleGenAI } from '@google/genai'
import { queueFor } from './src/queues.mjs'

class Sorter {
  constructor(ai) {
    this.ai = ai
  }

  async moodOf(mail) {
    const { candidates } = await this.ai.models.generateContent({
      model: 'gemini-2.5-flash',
      config: { systemInstruction: 'Answer with one word: happy, angry or neutral.' },
      contents: [{ role: 'user', parts: [{ text: mail }] }],
    })
    return candidates[0].content.parts[0].text
  }
}

const mail = process.argv[2]
console.log('mail: ' + mail)
const { GEMINI_API_KEY: apiKey, GOOGLE_GEMINI_BASE_URL: baseUrl } = process.env
const sorter = new Sorter(new GoogleGenAI({ apiKey, httpOptions: { baseUrl } }))
console.log('to ' + queueFor(await sorter.moodOf(mail)) + '.')
`,
    files: {
      'src/queues.mjs': js`export function queueFor(mood) {
  switch (mood) {
    case 'happy':
      return 'the newsletter'
    case 'angry':
      return 'a person'
    case 'neutral':
      return 'the robot'
    default:
      return 'nobody'
  }
}
`,
    },
    model: (request) => {
      const mail = userText(request)
      if (/late|lost/.test(mail)) return mail.includes('!') ? '**Angry**' : 'Angry'
      if (/thanks|great/.test(mail)) return mail.includes('!') ? ' Happy!\n' : 'happy'
      return /hello|question/.test(mail) ? 'neutral' : 'NEUTRAL.'
    },
    failing: ['my parcel is late', 'to a person.'],
    sibling: ['you lost my hat', 'to a person.'],
    passing: [
      ['thanks for the hat', 'to the newsletter.'],
      ['hello', 'to the robot.'],
    ],
    hidden: [
      ['late again!', 'to a person.'],
      ['great!', 'to the newsletter.'],
      ['when do you open', 'to the robot.'],
      ['a question', 'to the robot.'],
    ],
    fix: [
      ['switch (mood) {', "switch (mood.toLowerCase().replace(/[^a-z]/g, '')) {", 'src/queues.mjs'],
    ],
    partial: [['switch (mood) {', 'switch (mood.toLowerCase()) {', 'src/queues.mjs']],
    silence: [["return 'nobody'", "return 'a person'", 'src/queues.mjs']],
  },
  {
    name: 'celsius-from-the-cache',
    what: 'a cache has the city as its key, but the answer also depends on the unit',
    promised: 'code: cache keys',
    agent: js`const cache = new Map()

const memoize = (fn, keyOf) =>
  async function memoized(...args) {
    const key = keyOf(...args)
    if (!cache.has(key)) cache.set(key, await fn(...args))
    return cache.get(key)
  }

const weather = memoize(
  async (city, unit) => {
    const url = \`\${process.env.GATEWAY_URL}/now?city=\${encodeURIComponent(city)}&unit=\${unit}\`
    const response = await fetch(url)
    return response.json()
  },
  (city) => city.toLowerCase(),
)

const requests = process.argv[2].split(', ')
console.log('weather: ' + requests.join(', '))
for (const [index, request] of requests.entries()) {
  const [city, unit = 'C'] = request.split(':')
  const { degrees } = await weather(city, unit)
  console.log(\`\${index + 1}) \${city} \${degrees}.\`)
}
`,
    gateway: (path) => {
      const { searchParams } = new URL(path, 'http://weather')
      const celsius = searchParams.get('city').length * 5
      const isFahrenheit = searchParams.get('unit') === 'F'
      return { json: { degrees: isFahrenheit ? (celsius * 9) / 5 + 32 : celsius } }
    },
    model: () => 'unused',
    failing: ['Oslo:C, Oslo:F', '1) Oslo 20.|2) Oslo 68.'],
    sibling: ['Paris:F, Paris:C', '1) Paris 77.|2) Paris 25.'],
    passing: [
      ['Oslo:C, Paris:C', '1) Oslo 20.|2) Paris 25.'],
      ['Rome, rome', '1) Rome 20.|2) rome 20.'],
    ],
    hidden: [
      ['Ys:F, Ys, Ys:F', '1) Ys 50.|2) Ys 10.|3) Ys 50.'],
      ['Bath:C, Bath:F, Bath:C, Hull:F', '1) Bath 20.|2) Bath 68.|3) Bath 20.|4) Hull 68.'],
      ['Lima:F', '1) Lima 68.'],
    ],
    fix: [['(city) => city.toLowerCase()', '(city, unit) => `${city.toLowerCase()} ${unit}`']],
    partial: [['if (!cache.has(key))', "if (!cache.has(key) || args[1] === 'F')"]],
  },
  {
    name: 'flight-on-the-day-before',
    what: 'a date without a time is shown in New York, where it is still the day before',
    promised: 'code: dates that are shown as the day before',
    agent: js`import OpenAI from 'openai'
import { flights } from './src/flights.mjs'

const format = new Intl.DateTimeFormat('en-US', {
  weekday: 'long',
  month: 'long',
  day: 'numeric',
  timeZone: 'America/New_York',
})

const number = process.argv[2]
console.log('flight ' + number)
const { day } = flights.get(number) ?? {}
const when = day === undefined ? 'on no day' : 'on ' + format.format(new Date(day))

const { output_text: sentence } = await new OpenAI().responses.create({
  model: 'gpt-4.1-mini',
  instructions: 'You write to passengers.',
  input: 'It leaves ' + when,
})
console.log(sentence)
`,
    files: {
      'src/flights.mjs': js`export const flights = new Map([
  ['AB1', { day: '2026-05-04' }],
  ['AB2', { day: '2026-12-25' }],
  ['AB3', { day: '2027-01-01' }],
  ['AB4', { day: '2028-03-01' }],
  ['AB5', { day: '2026-11-02' }],
  ['AB6', {}],
])
`,
    },
    model: (request) => `${userText(request)}, dear passenger.`,
    failing: ['AB1', 'on Monday, May 4, dear'],
    sibling: ['AB2', 'on Friday, December 25, dear'],
    passing: [
      ['AB6', 'on no day, dear'],
      ['XX9', 'on no day, dear'],
    ],
    hidden: [
      ['AB3', 'on Friday, January 1, dear'],
      ['AB4', 'on Wednesday, March 1, dear'],
      ['AB5', 'on Monday, November 2, dear'],
    ],
    fix: [["timeZone: 'America/New_York'", "timeZone: 'UTC'"]],
    partial: [
      ['format.format(new Date(day))', 'format.format(new Date(Date.parse(day) + 4 * 3_600_000))'],
    ],
  },
]
