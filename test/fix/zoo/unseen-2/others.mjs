import { refuse, systemText, userText } from '../animal.mjs'
import { js, json } from '../unseen/source.mjs'

/** Agents that nobody can fix, that are fine or fail by chance, and bugs that no rule promises to fix. */

/** @type {import('../unseen.mjs').UnseenAnimal[]} */
export const OTHERS = [
  {
    name: 'founder-that-nobody-knows',
    what: 'the model does not know the fact, and no request contains it',
    expect: 'not-fixed',
    agent: js`import Anthropic from '@anthropic-ai/sdk'

const company = process.argv[2]
console.log('founder of ' + company)
const { content } = await new Anthropic().messages.create({
  model: 'claude-haiku-4-5',
  max_tokens: 50,
  system: 'Answer with a name only.',
  messages: [{ role: 'user', content: 'Who founded ' + company + '?' }],
})
console.log('It was ' + content[0].text + '.')
`,
    model: (request) => {
      const company = /founded (.*)\?/.exec(userText(request))[1]
      return { 'Lamp & Co': 'Ida Reed', Northmill: 'Carl Moor' }[company] ?? 'somebody'
    },
    failing: ['Bluebird Ltd', 'It was Nora Field.'],
    sibling: ['Hatworks', 'It was Otto Brim.'],
    passing: [
      ['Lamp & Co', 'It was Ida Reed.'],
      ['Northmill', 'It was Carl Moor.'],
    ],
    hidden: [
      ['Treehouse', 'It was Emma Oak.'],
      ['Lakeside', 'It was Finn Brook.'],
      ['Q', 'It was Vera Quill.'],
    ],
  },
  {
    name: 'region-without-a-permit',
    what: 'the stock server refuses a region, for which the account has no contract',
    expect: 'not-fixed',
    agent: js`const [region, article] = process.argv[2].split('/')
console.log('stock of ' + region + '/' + article)

class HttpError extends Error {
  constructor(status, reason) {
    super(status + ' ' + reason)
    this.name = 'HttpError'
  }
}

const get = async (path) => {
  const response = await fetch(process.env.GATEWAY_URL + path)
  const body = await response.json()
  if (!response.ok) throw new HttpError(response.status, body.reason)
  return body
}

const { pieces } = await get(\`/regions/\${region}/stock/\${article}\`)
console.log(pieces + ' pieces.')
`,
    gateway: (path) => {
      const [, , region, , article] = path.split('/')
      return region === 'south'
        ? { status: 403, json: { reason: 'your contract does not include the region south' } }
        : { json: { pieces: article.length * 7 } }
    },
    model: () => 'unused',
    failing: ['south/lamp', '31 pieces.'],
    sibling: ['south/rug', '12 pieces.'],
    passing: [
      ['north/lamp', '28 pieces.'],
      ['east/rug', '21 pieces.'],
    ],
    hidden: [
      ['south/cup', '5 pieces.'],
      ['south/table', '2 pieces.'],
      ['north/cup', '21 pieces.'],
    ],
  },
  {
    name: 'rate-of-nothing',
    what: 'the server has no rate for some currencies, and the amount is multiplied by null',
    expect: 'not-fixed',
    agent: js`import OpenAI from 'openai'

const rateOf = async (currency) => {
  const response = await fetch(new URL('/rates/' + currency, process.env.GATEWAY_URL))
  const { rate } = await response.json()
  return rate
}

const [amount, currency] = process.argv[2].split(' ')
console.log('convert ' + amount + ' ' + currency)
const euros = (Number(amount) * (await rateOf(currency))).toFixed(2)
const { choices } = await new OpenAI().chat.completions.create({
  model: 'gpt-4o-mini',
  messages: [{ role: 'user', content: \`\${amount} \${currency} are \${euros} euros\` }],
})
console.log(choices[0].message.content)
`,
    gateway: (path) => {
      const currency = path.split('/').at(-1)
      return { json: { currency, rate: { USD: 0.8, GBP: 1.2, DKK: 0.13 }[currency] ?? null } }
    },
    model: (request) => `Note: ${userText(request)}.`,
    failing: ['10 ISK', 'Note: 10 ISK are 0.07 euros.'],
    sibling: ['500 CLP', 'Note: 500 CLP are 0.45 euros.'],
    passing: [
      ['10 USD', 'Note: 10 USD are 8.00 euros.'],
      ['3 GBP', 'Note: 3 GBP are 3.60 euros.'],
    ],
    hidden: [
      ['1000 ISK', 'Note: 1000 ISK are 7.00 euros.'],
      ['100 DKK', 'Note: 100 DKK are 13.00 euros.'],
      ['70 KZT', 'Note: 70 KZT are 0.12 euros.'],
    ],
  },
  {
    name: 'letter-that-was-deleted',
    what: 'a letter of the index is not in the folder, and its text is nowhere',
    expect: 'not-fixed',
    agent: js`import Anthropic from '@anthropic-ai/sdk'
import { readFile } from 'node:fs/promises'
import index from './letters/index.json' with { type: 'json' }

const number = process.argv[2]
console.log('letter ' + number)
const entry = index.find((each) => each.number === number)
const text = await readFile('letters/' + entry.file, 'utf8')
const message = await new Anthropic().messages.create({
  model: 'claude-haiku-4-5',
  max_tokens: 100,
  messages: [{ role: 'user', content: text }],
})
console.log(entry.from + ' writes: ' + message.content[0].text)
`,
    files: {
      'letters/index.json': `${json([
        { number: '1', from: 'Ann', file: 'spring.txt' },
        { number: '2', from: 'Bob', file: 'summer.txt' },
        { number: '3', from: 'Cy', file: 'autumn.txt' },
        { number: '4', from: 'Dan', file: 'winter.txt' },
        { number: '5', from: 'Eve', file: 'easter.txt' },
        { number: '6', from: 'Fay', file: 'notes/1.txt' },
        { number: '7', from: 'Gus', file: 'summer.txt' },
      ])}\n`,
      'letters/spring.txt': 'The garden is green.\n',
      'letters/summer.txt': 'We swim every day.\n',
    },
    model: (request) => userText(request).trim().toUpperCase(),
    failing: ['3', 'Cy writes: THE LEAVES ARE RED.'],
    sibling: ['4', 'Dan writes: THE LAKE IS FROZEN.'],
    passing: [
      ['1', 'Ann writes: THE GARDEN IS GREEN.'],
      ['2', 'Bob writes: WE SWIM EVERY DAY.'],
    ],
    hidden: [
      ['5', 'Eve writes: WE FOUND TWELVE EGGS.'],
      ['6', 'Fay writes: CALL ME.'],
      ['7', 'Gus writes: WE SWIM EVERY DAY.'],
    ],
  },
  {
    name: 'model-of-two-minds',
    what: 'the model sometimes adds words to a one-word answer about hard cases',
    expect: 'flaky',
    agent: js`import OpenAI from 'openai'

const claim = process.argv[2]
console.log('claim: ' + claim)
const { choices } = await new OpenAI().chat.completions.create({
  model: 'gpt-4o',
  temperature: 1,
  messages: [
    { role: 'system', content: 'Decide about the claim.' },
    { role: 'user', content: claim },
  ],
})
const [{ message }] = choices
console.log('decision: ' + message.content)
`,
    model: (request, world) => {
      if (!userText(request).includes('maybe')) return 'accept.'
      return world.chance() < 0.5 ? 'accept.' : 'reject.'
    },
    failing: ['a bike, maybe stolen', 'decision: accept.'],
    sibling: ['a hat, maybe lost', 'decision: accept.'],
    passing: [
      ['a broken cup', 'decision: accept.'],
      ['a wet book', 'decision: accept.'],
    ],
    hidden: [
      ['a lamp', 'decision: accept.'],
      ['a car, maybe sold', 'decision: accept.'],
      ['keys', 'decision: accept.'],
    ],
  },
  {
    name: 'sensor-in-the-wind',
    what: 'a sensor on a hill measures gusts, so its value differs from request to request',
    expect: 'flaky',
    agent: js`const STORM = 20

const hill = process.argv[2]
console.log('wind on ' + hill)

async function measure(path) {
  const response = await fetch(process.env.GATEWAY_URL + path)
  if (!response.ok) throw new Error('sensor: ' + response.status)
  return response.json()
}

const { speed } = await measure('/sensors/' + encodeURIComponent(hill))
console.log(speed >= STORM ? 'storm, close the lift.' : 'calm, open the lift.')
`,
    gateway: (path, _body, world) => {
      const isWindy = decodeURIComponent(path).includes('peak')
      return { json: { speed: isWindy ? 10 + Math.floor(world.chance() * 20) : 5 } }
    },
    model: () => 'unused',
    failing: ['north peak', 'calm, open the lift.'],
    sibling: ['south peak', 'calm, open the lift.'],
    passing: [
      ['mill hill', 'calm, open the lift.'],
      ['lake side', 'calm, open the lift.'],
    ],
    hidden: [
      ['valley', 'calm, open the lift.'],
      ['high peak', 'calm, open the lift.'],
      ['old wood', 'calm, open the lift.'],
    ],
  },
  {
    name: 'refusal-on-purpose',
    what: 'nothing is wrong: orders above a limit wait for a person, and a warning says so',
    expect: 'fine',
    agent: js`import Anthropic from '@anthropic-ai/sdk'

const LIMIT = 500
const [article, price] = process.argv[2].split(' for ')
console.log(\`order: \${article} for \${price}\`)
if (Number(price) > LIMIT) {
  console.warn('Error: above the limit, not ordered')
  console.log(\`\${article} waits for a person.\`)
} else {
  const { content } = await new Anthropic().messages.create({
    model: 'claude-haiku-4-5',
    max_tokens: 60,
    messages: [{ role: 'user', content: 'Confirm the order of ' + article }],
  })
  console.log(content[0].text)
}
`,
    model: (request) => `${userText(request).split(' of ')[1]} is on its way.`,
    failing: ['a piano for 9000', 'a piano waits for a person.'],
    sibling: ['a boat for 501', 'a boat waits for a person.'],
    passing: [
      ['a lamp for 40', 'a lamp is on its way.'],
      ['a desk for 500', 'a desk is on its way.'],
    ],
    hidden: [
      ['a pen for 0', 'a pen is on its way.'],
      ['a house for 1000000', 'a house waits for a person.'],
      ['a rug for 499.99', 'a rug is on its way.'],
    ],
  },
  {
    name: 'second-try-is-enough',
    what: 'nothing is wrong: the first model refuses long questions, and the second one answers',
    expect: 'fine',
    agent: js`import OpenAI from 'openai'

const openai = new OpenAI({ maxRetries: 0 })
const question = process.argv[2]
console.log('question: ' + question)

let answer
for (const model of ['local-1b', 'gpt-4.1']) {
  try {
    const { choices } = await openai.chat.completions.create({
      model,
      messages: [
        { role: 'system', content: 'One sentence.' },
        { role: 'user', content: question },
      ],
    })
    answer = \`\${model}: \${choices[0].message.content}\`
    break
  } catch (error) {
    console.error(\`\${model} failed: \${error.message}\`)
  }
}
if (answer === undefined) throw new Error('no model answered')
console.log(answer)
`,
    model: (request) =>
      request.model === 'local-1b' && userText(request).length > 20
        ? refuse(400, 'The question is too long for this model.')
        : `${systemText(request)} ${userText(request).length}.`,
    failing: ['why are the leaves of trees red', 'gpt-4.1: One sentence. 31.'],
    sibling: ['how far is the moon from here', 'gpt-4.1: One sentence. 29.'],
    passing: [
      ['who are you', 'local-1b: One sentence. 11.'],
      ['what is a tree', 'local-1b: One sentence. 14.'],
    ],
    hidden: [
      ['why', 'local-1b: One sentence. 3.'],
      ['exactly 20 character', 'local-1b: One sentence. 20.'],
      ['exactly 21 characters', 'gpt-4.1: One sentence. 21.'],
    ],
  },
  {
    name: 'rebate-on-a-part',
    what: 'the rebate applies to the nights only instead of the whole price',
    agent: js`import OpenAI from 'openai'

const [nights, rebatePercent] = process.argv[2].split(' ').map(Number)
console.log(\`offer \${nights} \${rebatePercent}\`)

const CLEANING = 40
const PER_NIGHT = 60

function priceOf(nights, rebate) {
  return CLEANING + nights * PER_NIGHT * (1 - rebate)
}

const price = priceOf(nights, rebatePercent / 100)
const client = new OpenAI()
const { output_text } = await client.responses.create({
  model: 'gpt-4.1-mini',
  input: \`Offer \${nights} nights for \${price.toFixed(0)} euros, cleaning included.\`,
})
console.log(output_text)
`,
    model: (request) => `Dear guest! ${userText(request)}`,
    failing: ['1 10', 'Dear guest! Offer 1 nights for 90 euros'],
    sibling: ['2 50', 'Dear guest! Offer 2 nights for 80 euros'],
    passing: [
      ['1 0', 'Dear guest! Offer 1 nights for 100 euros'],
      ['4 0', 'Dear guest! Offer 4 nights for 280 euros'],
    ],
    hidden: [
      ['10 20', 'Dear guest! Offer 10 nights for 512 euros'],
      ['1 100', 'Dear guest! Offer 1 nights for 0 euros'],
      ['365 5', 'Dear guest! Offer 365 nights for 20843 euros'],
    ],
    fix: [
      [
        'CLEANING + nights * PER_NIGHT * (1 - rebate)',
        '(CLEANING + nights * PER_NIGHT) * (1 - rebate)',
      ],
    ],
    partial: [
      [
        'CLEANING + nights * PER_NIGHT * (1 - rebate)',
        '(CLEANING + PER_NIGHT) * (1 - rebate) * nights',
      ],
    ],
  },
  {
    name: 'answer-to-the-wrong-person',
    what: 'a mail is answered to its first recipient instead of its sender',
    agent: js`import Anthropic from '@anthropic-ai/sdk'
import { mails } from './src/mails.mjs'

const anthropic = new Anthropic()

async function draftReply({ from, to, subject, body }) {
  const { content } = await anthropic.messages.create({
    model: 'claude-sonnet-4-5',
    max_tokens: 300,
    system: 'Write a polite reply.',
    messages: [{ role: 'user', content: body }],
  })
  return {
    to: to[0],
    subject: subject.startsWith('Re:') ? subject : 'Re: ' + subject,
    from,
    text: content[0].text,
  }
}

const id = process.argv[2]
console.log('mail ' + id)
const mail = mails.find((each) => each.id === id)
if (mail === undefined) {
  console.log('no such mail.')
} else {
  const reply = await draftReply(mail)
  console.log(\`To: <\${reply.to}> \${reply.subject}\`)
  console.log(reply.text)
}
`,
    files: {
      'src/mails.mjs': js`const me = 'me@home.example'

export const mails = [
  { id: 'm1', from: 'ann@a.example', to: ['team@home.example', me], subject: 'Tea', body: 'At 4?' },
  { id: 'm2', from: 'bob@b.example', to: [me], subject: 'Re: Cake', body: 'Yes.' },
  { id: 'm3', from: me, to: [me], subject: 'Note', body: 'Buy milk.' },
  { id: 'm4', from: 'cy@c.example', to: [me, 'x@y.example'], subject: 'Hat', body: 'Lost.' },
  { id: 'm5', from: 'dan@d.example', to: ['dan@d.example', me], subject: 'Re: Copy', body: 'See.' },
  { id: 'm6', from: 'eve@e.example', to: [], subject: 'Hidden', body: 'Psst.' },
]
`,
    },
    model: (request) => `Thank you for "${userText(request)}"`,
    failing: ['m1', 'To: <ann@a.example> Re: Tea|Thank you for "At 4?"'],
    sibling: ['m2', 'To: <bob@b.example> Re: Cake|Thank you for "Yes."'],
    passing: [
      ['m3', 'To: <me@home.example> Re: Note|Thank you for "Buy milk."'],
      ['m5', 'To: <dan@d.example> Re: Copy|Thank you for "See."'],
    ],
    hidden: [
      ['m4', 'To: <cy@c.example> Re: Hat|Thank you for "Lost."'],
      ['m6', 'To: <eve@e.example> Re: Hidden|Thank you for "Psst."'],
      ['m9', 'no such mail.'],
    ],
    fix: [['to: to[0],', 'to: from,']],
    partial: [['to: to[0],', 'to: to.length > 1 ? from : to[0],']],
  },
]
