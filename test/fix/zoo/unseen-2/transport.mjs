import { refuse, userText } from '../animal.mjs'
import { js } from '../unseen/source.mjs'

/** Answers that come late, wrapped, or with their values elsewhere. */

const QUOTA_MS = 1000
const LONG_WORD = 8
/** When each world accepts the next request. */
const openAgain = new WeakMap()

/** @type {import('../unseen.mjs').UnseenAnimal[]} */
export const TRANSPORT = [
  {
    name: 'hasty-glossary',
    what: 'waits a tenth of a second after a 429 that asks for one or two seconds',
    promised: 'transport: waiting as long as a server asks',
    agent: js`import { setTimeout as sleep } from 'node:timers/promises'

class Claude {
  #pauseMs

  constructor({ pauseMs }) {
    this.#pauseMs = pauseMs
  }

  async ask(prompt) {
    for (let attempt = 0; attempt < 4; attempt++) {
      const response = await fetch(\`\${process.env.ANTHROPIC_BASE_URL}/v1/messages\`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'anthropic-version': '2023-06-01',
          'x-api-key': process.env.ANTHROPIC_API_KEY,
        },
        body: JSON.stringify({
          model: 'claude-haiku-4-5',
          max_tokens: 100,
          messages: [{ role: 'user', content: prompt }],
        }),
      })
      if (response.status === 429) {
        await sleep(this.#pauseMs)
        continue
      }
      const { content } = await response.json()
      return content[0].text
    }
    throw new Error('still rate limited after 4 attempts')
  }
}

const words = process.argv[2].split(' ')
console.log('glossary of ' + words.join(' '))
const claude = new Claude({ pauseMs: 100 })
for (const word of words) {
  console.log(word + ' = ' + (await claude.ask('Translate into Latin: ' + word)))
}
`,
    model: (request, world) => {
      const waitMs = (openAgain.get(world) ?? 0) - Date.now()
      if (waitMs > 0)
        return refuse(429, 'This request would exceed your rate limit.', {
          retryAfter: Math.ceil(waitMs / 1000),
        })
      const word = userText(request).replace('Translate into Latin: ', '')
      openAgain.set(world, Date.now() + (word.length > LONG_WORD ? 2 : 1) * QUOTA_MS)
      return `${word.toUpperCase()}US.`
    },
    failing: ['tree river', 'tree = TREEUS.|river = RIVERUS.'],
    sibling: ['bread salt', 'bread = BREADUS.|salt = SALTUS.'],
    passing: [
      ['moon', 'moon = MOONUS.'],
      ['constellation', 'constellation = CONSTELLATIONUS.'],
    ],
    hidden: [
      ['sun star sea', 'sun = SUNUS.|star = STARUS.|sea = SEAUS.'],
      ['thunderstorm rain', 'thunderstorm = THUNDERSTORMUS.|rain = RAINUS.'],
      ['a', 'a = AUS.'],
    ],
    fix: [
      [
        'await sleep(this.#pauseMs)',
        "await sleep(Number(response.headers.get('retry-after') ?? this.#pauseMs / 1000) * 1000)",
      ],
    ],
    partial: [['new Claude({ pauseMs: 100 })', 'new Claude({ pauseMs: 400 })']],
    silence: [
      [
        "throw new Error('still rate limited after 4 attempts')",
        "return '(rate limited, try later)'",
      ],
    ],
  },
  {
    name: 'recipe-in-a-fence',
    what: 'JSON.parse of an answer that sometimes comes in a code fence',
    promised: 'transport: JSON in code fences',
    agent: js`import Anthropic from '@anthropic-ai/sdk'
import { readRecipe } from './src/read-recipe.mjs'

const client = new Anthropic()
const dish = process.argv[2]
console.log('shopping for ' + dish)

const message = await client.messages.create({
  model: 'claude-sonnet-4-5',
  max_tokens: 500,
  system: 'Answer with JSON: { "dish": string, "ingredients": string[] }',
  messages: [{ role: 'user', content: 'Ingredients of ' + dish }],
})
const recipe = readRecipe(message)
for (const [index, ingredient] of recipe.ingredients.entries()) {
  console.log(\`\${index + 1}) \${ingredient}\`)
}
console.log(\`\${recipe.ingredients.length} things to buy.\`)
`,
    files: {
      'src/read-recipe.mjs': js`/** The recipe in a message of the model. */
export function readRecipe({ content }) {
  const text = content
    .filter((block) => block.type === 'text')
    .map((block) => block.text)
    .join('')
  return JSON.parse(text)
}
`,
    },
    model: (request) => {
      const dish = userText(request).replace('Ingredients of ', '')
      const words = dish.split(' ')
      const recipe = { dish, ingredients: words.map((word) => `${word.length} g ${word}`) }
      if (words.length === 1) return JSON.stringify(recipe)
      const text = JSON.stringify(recipe, undefined, 2)
      if (dish.startsWith('old')) return `\`\`\`\n${text}\n\`\`\`\n`
      if (words.length > 3)
        return `Sure! Here are the ingredients:\n\n\`\`\`JSON\n${text}\n\`\`\`\n\nEnjoy your meal!`
      return `\`\`\`json\n${text}\n\`\`\``
    },
    failing: ['tomato soup', '1) 6 g tomato|2) 4 g soup|2 things to buy.'],
    sibling: ['carrot cake', '1) 6 g carrot|2) 4 g cake|2 things to buy.'],
    passing: [
      ['bread', '1) 5 g bread|1 things to buy.'],
      ['pizza', '1) 5 g pizza|1 things to buy.'],
    ],
    hidden: [
      ['old cheese', '1) 3 g old|2) 6 g cheese|2 things to buy.'],
      ['green beans with bacon', '3) 4 g with|4) 5 g bacon|4 things to buy.'],
      ['rice', '1) 4 g rice|1 things to buy.'],
    ],
    fix: [
      [
        'JSON.parse(text)',
        'JSON.parse(/```\\w*\\s*([\\s\\S]*?)```/.exec(text)?.[1] ?? text)',
        'src/read-recipe.mjs',
      ],
    ],
    partial: [
      [
        'JSON.parse(text)',
        "JSON.parse(text.replace('```json\\n', '').replace(/```$/, ''))",
        'src/read-recipe.mjs',
      ],
    ],
  },
  {
    name: 'departure-board',
    what: 'one operator spells a field with an underscore, the other in camel case',
    promised: 'transport: values that moved (another spelling)',
    agent: js`import OpenAI from 'openai'

const openai = new OpenAI()

const board = async (line) => {
  const response = await fetch(new URL('/lines/' + line, process.env.GATEWAY_URL))
  if (!response.ok) throw new Error('no such line: ' + line)
  return response.json()
}

const announce = async (fact) => {
  const { choices } = await openai.chat.completions.create({
    model: 'gpt-4o-mini',
    messages: [
      { role: 'system', content: 'You speak in a railway station.' },
      { role: 'user', content: fact },
    ],
  })
  return choices[0].message.content
}

const [line] = process.argv.slice(2)
console.log('board for ' + line)
const train = await board(line)
console.log(await announce(\`\${train.line} to \${train.to} is \${train.delay_minutes} minutes late\`))
`,
    gateway: (path) => {
      const line = path.split('/').at(-1)
      const late = Number(line.slice(1)) % 7
      return {
        json: line.startsWith('R')
          ? { line, to: 'Leeds', delayMinutes: late }
          : { line, to: 'York', delay_minutes: late },
      }
    },
    model: (request) => `Attention please: ${userText(request)}.`,
    failing: ['R12', 'R12 to Leeds is 5 minutes late.'],
    sibling: ['R3', 'R3 to Leeds is 3 minutes late.'],
    passing: [
      ['S4', 'S4 to York is 4 minutes late.'],
      ['S13', 'S13 to York is 6 minutes late.'],
    ],
    hidden: [
      ['S7', 'S7 to York is 0 minutes late.'],
      ['R14', 'R14 to Leeds is 0 minutes late.'],
      ['R20', 'R20 to Leeds is 6 minutes late.'],
    ],
    fix: [['train.delay_minutes', 'train.delay_minutes ?? train.delayMinutes']],
    partial: [['train.delay_minutes', 'train.delay_minutes || train.delayMinutes']],
    silence: [['train.delay_minutes', 'train.delay_minutes ?? 0']],
  },
  {
    name: 'single-hit',
    what: 'a search server that was made from XML returns an object instead of a list of one',
    promised: 'transport: values that moved (one item for a list)',
    agent: js`import { createOpenAI } from '@ai-sdk/openai'
import { generateText } from 'ai'
import { searchLibrary } from './src/library.mjs'

const query = process.argv[2]
console.log(\`looking for "\${query}"\`)

const { total, hits } = await searchLibrary(query)
const titles = hits.map(({ title }) => title)
console.log(\`\${titles.length} of \${total}: \${titles.join(' / ')}.\`)

if (titles.length > 0) {
  const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL })
  const { text } = await generateText({
    model: openai.chat('gpt-4.1-mini'),
    prompt: 'Recommend one of: ' + titles.join('; '),
  })
  console.log(text)
}
`,
    files: {
      'src/library.mjs': js`export async function searchLibrary(query) {
  const url = new URL('/search', process.env.GATEWAY_URL)
  url.searchParams.set('q', query)
  const response = await fetch(url, { headers: { accept: 'application/json' } })
  return (await response.json()).result
}
`,
    },
    gateway: (path) => {
      const query = new URL(path, 'http://library').searchParams.get('q')
      const books = ['Sea Birds', 'Sea Shells', 'The Whale', 'Trees of the North', 'A Sea of Trees']
      const hits = books
        .filter((title) => title.toLowerCase().includes(query))
        .map((title) => ({ title }))
      return { json: { result: { total: hits.length, hits: hits.length === 1 ? hits[0] : hits } } }
    },
    model: (request) =>
      `Read ${userText(request).replace('Recommend one of: ', '').split('; ')[0]}!`,
    failing: ['whale', '1 of 1: The Whale.|Read The Whale!'],
    sibling: ['birds', '1 of 1: Sea Birds.|Read Sea Birds!'],
    passing: [
      ['sea', '3 of 3: Sea Birds / Sea Shells / A Sea of Trees.|Read Sea Birds!'],
      ['trees', '2 of 2: Trees of the North / A Sea of Trees.|Read Trees of the North!'],
    ],
    hidden: [
      ['shells', '1 of 1: Sea Shells.|Read Sea Shells!'],
      ['desert', '0 of 0: .|!Read'],
      ['north', '1 of 1: Trees of the North.|Read Trees of the North!'],
      ['e', '5 of 5: Sea Birds / Sea Shells / The Whale / Trees of the North / A Sea of Trees.'],
    ],
    fix: [['hits.map(', '[hits].flat().map(']],
    partial: [['hits.map(', '[hits].map(']],
    silence: [
      ['hits.map(({ title }) => title)', '(hits.length ? hits : []).map(({ title }) => title)'],
    ],
  },
  {
    name: 'proxy-with-parts',
    what: 'the content of an answer is a list of parts where the code expects a text',
    promised: 'transport: texts in parts',
    agent: js`const topic = process.argv[2]

/** The chat proxy of the company. */
function makeChat(base) {
  return async function chat(messages) {
    const response = await fetch(base + '/v2/chat', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'house-large', messages }),
    })
    const { message } = await response.json()
    return message.content
  }
}

const chat = makeChat(process.env.GATEWAY_URL)

console.log('haiku about ' + topic)
const poem = await chat([
  { role: 'system', content: 'You write haikus.' },
  { role: 'user', content: topic },
])
const lines = poem.split('\n')
lines.forEach((line, index) => console.log(\`\${index + 1}: \${line.trim()}\`))
console.log('end.')
`,
    gateway: (_path, { messages }) => {
      const topic = messages.at(-1).content
      const words = topic.split(' ')
      if (words.length === 1)
        return { json: { message: { role: 'assistant', content: `o ${topic}\nmy ${topic}` } } }
      const parts = words.map((word, index) => ({
        type: 'text',
        text: `o ${word}${index === words.length - 1 ? '' : '\n'}`,
      }))
      const source = { type: 'citation', url: 'https://poems.example' }
      const content = words.length > 3 ? [parts[0], source, ...parts.slice(1)] : parts
      return { json: { message: { role: 'assistant', content } } }
    },
    model: () => 'unused',
    failing: ['blue lake', '1: o blue|2: o lake|!3:|end.'],
    sibling: ['late snow', '1: o late|2: o snow|!3:|end.'],
    passing: [
      ['frog', '1: o frog|2: my frog|!3:|end.'],
      ['rain', '1: o rain|2: my rain|!3:|end.'],
    ],
    hidden: [
      ['an old pond', '1: o an|2: o old|3: o pond|!4:|end.'],
      ['four words are here', '1: o four|4: o here|!5:|!undefined|end.'],
      ['snail', '1: o snail|2: my snail|!3:|end.'],
    ],
    fix: [
      [
        'return message.content',
        "return [message.content].flat().map((part) => part.text ?? (typeof part === 'string' ? part : '')).join('')",
      ],
    ],
    partial: [
      ['return message.content', "return message.content.map((part) => part.text).join('')"],
    ],
  },
]
