import { refuse, systemText, userText } from './animal.mjs'

const js = String.raw

/** Workflows: routes, fan-outs, approvals and races between parts of an agent. */

/** @type {import('./animal.mjs').Animal[]} */
export const WORKFLOW = [
  {
    name: 'route-to-nowhere',
    what: 'a graph routes to a node by a label that has no edge',
    agent: js`import { Annotation, END, START, StateGraph } from '@langchain/langgraph'
import { ChatOpenAI } from '@langchain/openai'

const model = new ChatOpenAI({
  model: 'gpt-4o-mini',
  temperature: 0,
  configuration: { baseURL: process.env.OPENAI_BASE_URL },
})

const State = Annotation.Root({
  mail: Annotation(),
  kind: Annotation(),
  answer: Annotation(),
})

async function classify({ mail }) {
  const reply = await model.invoke([
    ['system', 'Classify the mail: billing, technical or spam.'],
    ['human', mail],
  ])
  return { kind: reply.content }
}

const write = (team) => async ({ mail }) => {
  const reply = await model.invoke([
    ['system', 'Answer as the ' + team + ' team.'],
    ['human', mail],
  ])
  return { answer: reply.content }
}

const graph = new StateGraph(State)
  .addNode('classify', classify)
  .addNode('billing', write('billing'))
  .addNode('tech', write('technical'))
  .addNode('discard', () => ({ answer: 'discarded' }))
  .addEdge(START, 'classify')
  .addConditionalEdges('classify', ({ kind }) => kind, {
    billing: 'billing',
    tech: 'tech',
    spam: 'discard',
  })
  .addEdge('billing', END)
  .addEdge('tech', END)
  .addEdge('discard', END)
  .compile()

const mail = process.argv[2]
console.log('> ' + mail)
const { answer } = await graph.invoke({ mail })
console.log('answer: ' + answer)
`,
    model: (request) => {
      const mail = userText(request)
      if (systemText(request).startsWith('Classify'))
        return /win/.test(mail) ? 'spam' : /invoice|refund/.test(mail) ? 'billing' : 'technical'
      return `${/as the (\w+) team/.exec(systemText(request))?.[1]} team: on it`
    },
    failing: ['My screen is black', 'answer: technical team: on it'],
    siblings: [
      ['The app crashes', 'answer: technical team: on it'],
      ['No sound', 'answer: technical team: on it'],
    ],
    twins: [
      ['You win a car', 'answer: discarded'],
      ['win win win', 'answer: discarded'],
    ],
    corpus: [
      ['The invoice is wrong', 'answer: billing team: on it'],
      ['A refund please', 'answer: billing team: on it'],
      ['Where is my invoice', 'answer: billing team: on it'],
    ],
    fix: [["    tech: 'tech',", "    technical: 'tech',"]],
  },
  {
    name: 'fan-out-over-limit',
    what: 'more requests in flight than the provider allows',
    byRules: true,
    agent: js`import OpenAI from 'openai'

const client = new OpenAI({ maxRetries: 0 })
const names = process.argv[2].split(' ')
console.log('> ' + process.argv[2])

async function checkName(name) {
  const completion = await client.chat.completions.create({
    model: 'gpt-4o-mini',
    messages: [
      { role: 'system', content: 'Is the applicant eligible? YES or NO.' },
      { role: 'user', content: name },
    ],
  })
  return completion.choices[0].message.content === 'YES'
}

const checks = await Promise.all(names.map((name) => checkName(name)))
const eligible = names.filter((_, index) => checks[index])
console.log(eligible.length === 0 ? 'nobody is eligible' : 'eligible: ' + eligible.join(' '))
`,
    model: async (request, world) => {
      if (world.running > 2)
        return refuse(429, 'Too many concurrent requests. Limit: 2.', {
          code: 'rate_limit_exceeded',
        })
      await new Promise((resolve) => void setTimeout(resolve, 300))
      return userText(request).startsWith('x') ? 'NO' : 'YES'
    },
    failing: ['anna ben cleo dora xeno', 'eligible: anna ben cleo dora'],
    siblings: [
      ['emil fritz gabi xena', 'eligible: emil fritz gabi'],
      ['hans ida jan kai lea', 'eligible: hans ida jan kai lea'],
    ],
    twins: [
      ['xeno xena', 'nobody is eligible'],
      ['xaver', 'nobody is eligible'],
    ],
    corpus: [
      ['anna', 'eligible: anna'],
      ['anna ben', 'eligible: anna ben'],
      ['ida xeno', 'eligible: ida'],
    ],
    fix: [
      [
        'const checks = await Promise.all(names.map((name) => checkName(name)))',
        'const checks = []\nfor (const name of names) checks.push(await checkName(name))',
      ],
    ],
  },
  {
    name: 'nobody-approves',
    what: 'the workflow waits for an approval that nobody gave',
    expect: 'not-fixed',
    agent: js`import { createOpenAI } from '@ai-sdk/openai'
import { generateText } from 'ai'
import { readFileSync } from 'node:fs'

const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL })
const approvals = JSON.parse(readFileSync('approvals.json', 'utf8'))
const request = process.argv[2]
console.log('> ' + request)

const { text } = await generateText({
  model: openai.chat('gpt-4o-mini'),
  system: 'Does the purchase need approval by a manager? APPROVAL or FREE or FORBIDDEN.',
  prompt: request,
})
if (text === 'FORBIDDEN') {
  console.log('not allowed')
} else if (text === 'APPROVAL' && approvals[request] === undefined) {
  throw new Error('waiting for the approval of a manager')
} else {
  const by = text === 'FREE' ? 'nobody needed' : approvals[request].signature
  console.log('bought, approved by ' + by)
}
`,
    files: { 'approvals.json': '{ "a van": { "signature": "sig-van-881" } }\n' },
    model: (request) => {
      const text = userText(request)
      if (/gun|poison/.test(text)) return 'FORBIDDEN'
      return /van|truck|bus|tractor/.test(text) ? 'APPROVAL' : 'FREE'
    },
    failing: ['a truck', 'bought, approved by sig-truck-113'],
    siblings: [
      ['a bus', 'bought, approved by sig-bus-204'],
      ['a tractor', 'bought, approved by sig-tractor-377'],
    ],
    twins: [
      ['a gun', 'not allowed'],
      ['poison', 'not allowed'],
    ],
    corpus: [
      ['a van', 'bought, approved by sig-van-881'],
      ['a pen', 'bought, approved by nobody needed'],
      ['a desk', 'bought, approved by nobody needed'],
    ],
  },
  {
    name: 'race-of-critics',
    what: 'the critic that answers last decides',
    expect: 'flaky',
    agent: js`import OpenAI from 'openai'

const client = new OpenAI()
const essay = process.argv[2]
console.log('> ' + essay)

let verdict = 'none'
async function critic(name) {
  const completion = await client.chat.completions.create({
    model: 'gpt-4o-mini',
    messages: [
      { role: 'system', content: 'You are the ' + name + ' critic. ACCEPT or REJECT.' },
      { role: 'user', content: essay },
    ],
  })
  verdict = completion.choices[0].message.content
}

await Promise.all([critic('mild'), critic('strict')])
console.log('verdict: ' + verdict)
`,
    model: async (request, world) => {
      await new Promise((resolve) => void setTimeout(resolve, 20 + world.chance() * 300))
      const essay = userText(request)
      if (/copied/.test(essay)) return 'REJECT'
      const isStrict = systemText(request).includes('strict')
      return isStrict && /bold/.test(essay) ? 'REJECT' : 'ACCEPT'
    },
    failing: ['a bold essay', 'verdict: ACCEPT'],
    siblings: [
      ['a bold poem', 'verdict: ACCEPT'],
      ['a bold novel', 'verdict: ACCEPT'],
    ],
    twins: [
      ['a copied essay', 'verdict: REJECT'],
      ['a copied poem', 'verdict: REJECT'],
    ],
    corpus: [
      ['a calm essay', 'verdict: ACCEPT'],
      ['a calm poem', 'verdict: ACCEPT'],
      ['a calm novel', 'verdict: ACCEPT'],
    ],
  },
]
