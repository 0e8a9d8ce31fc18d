import { callTool, refuse, systemText, toolTexts, userText, wholeText } from './animal.mjs'

const js = String.raw

/** Incompatible providers: parameters, roles and answers that one has and another has not. */

const chatAnswer = (content, finish = 'stop') => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_767_225_600,
  model: 'local',
  choices: [{ index: 0, finish_reason: finish, message: { role: 'assistant', content } }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
})

/** @type {import('./animal.mjs').Animal[]} */
export const PROVIDERS = [
  {
    name: 'renamed-parameter',
    what: 'max_tokens is not accepted by a newer model',
    byRules: true,
    agent: js`import OpenAI from 'openai'

const client = new OpenAI()
const text = process.argv[2]
console.log('> ' + text)

const isHard = text.split(' ').length > 5
const completion = await client.chat.completions.create({
  model: isHard ? 'o4-mini' : 'gpt-4o-mini',
  max_tokens: 500,
  messages: [
    { role: 'user', content: 'Is this argument VALID or INVALID? ' + text },
  ],
})
console.log('logic: ' + completion.choices[0].message.content)
`,
    model: (request) => {
      if (/^o\d/.test(request.model) && 'max_tokens' in request.body)
        return refuse(
          400,
          "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
          { code: 'unsupported_parameter' },
        )
      return /never|moon/.test(userText(request)) ? 'INVALID' : 'VALID'
    },
    failing: ['All men are mortal and Socrates is a man', 'logic: VALID'],
    siblings: [
      ['If it rains then streets are wet, it rains', 'logic: VALID'],
      ['Every square is a rectangle so this one is', 'logic: VALID'],
    ],
    twins: [
      ['Cats are never dogs', 'logic: INVALID'],
      ['The moon is cheese', 'logic: INVALID'],
    ],
    corpus: [
      ['A is A', 'logic: VALID'],
      ['B or not B', 'logic: VALID'],
      ['C implies C', 'logic: VALID'],
    ],
    fix: [['max_tokens: 500', 'max_completion_tokens: 500']],
  },
  {
    name: 'content-in-parts',
    what: 'a compatible server sends the content as a list of parts',
    byRules: true,
    agent: js`const text = process.argv[2]
console.log('> ' + text)

async function complete(prompt) {
  const response = await fetch(process.env.GATEWAY_URL + '/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'local',
      messages: [{ role: 'user', content: prompt }],
    }),
  })
  const data = await response.json()
  return data.choices[0].message.content.trim()
}

const answer = await complete('Is this number prime? YES or NO: ' + text)
console.log('prime: ' + answer)
`,
    gateway: (_path, body) => {
      const number = Number(/NO: (\d+)/.exec(body.messages[0].content)?.[1])
      const isPrime = [7, 11, 13, 101, 103, 107].includes(number)
      const said = isPrime ? ' YES ' : ' NO '
      return { json: chatAnswer(number > 100 ? [{ type: 'text', text: said }] : said) }
    },
    model: () => 'not used',
    failing: ['101', 'prime: YES'],
    siblings: [
      ['103', 'prime: YES'],
      ['107', 'prime: YES'],
    ],
    twins: [
      ['8', 'prime: NO'],
      ['9', 'prime: NO'],
    ],
    corpus: [
      ['7', 'prime: YES'],
      ['11', 'prime: YES'],
      ['13', 'prime: YES'],
    ],
    fix: [
      [
        'return data.choices[0].message.content.trim()',
        js`const { content } = data.choices[0].message
  const text = Array.isArray(content) ? content.map((part) => part.text ?? '').join('') : content
  return text.trim()`,
      ],
    ],
  },
  {
    name: 'system-role-in-messages',
    what: 'a message with the role system is sent to Claude',
    agent: js`import Anthropic from '@anthropic-ai/sdk'

const client = new Anthropic()
const [tone, text] = process.argv[2].split(': ')
console.log('> ' + process.argv[2])

function buildMessages(tone, text) {
  const messages = []
  if (tone === 'formal') messages.push({ role: 'system', content: 'Be very formal.' })
  messages.push({ role: 'user', content: text })
  return messages
}

const message = await client.messages.create({
  model: 'claude-sonnet-4-5',
  max_tokens: 400,
  messages: buildMessages(tone, text),
})
console.log(message.content[0].text)
`,
    model: (request) => {
      if (request.body.messages.some(({ role }) => role === 'system'))
        return refuse(
          400,
          'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter.',
          { code: 'invalid_request_error' },
        )
      const text = userText(request)
      if (/insult/.test(text)) return 'I decline.'
      return systemText(request).includes('formal') ? `Dear Sir, ${text}` : `Hey, ${text}`
    },
    failing: ['formal: thanks', 'Dear Sir, thanks'],
    siblings: [
      ['formal: welcome', 'Dear Sir, welcome'],
      ['formal: see you', 'Dear Sir, see you'],
    ],
    twins: [
      ['casual: insult me', 'I decline.'],
      ['casual: insult him', 'I decline.'],
    ],
    corpus: [
      ['casual: thanks', 'Hey, thanks'],
      ['casual: welcome', 'Hey, welcome'],
      ['casual: see you', 'Hey, see you'],
    ],
    fix: [
      [
        "  if (tone === 'formal') messages.push({ role: 'system', content: 'Be very formal.' })\n",
        '',
      ],
      [
        '  max_tokens: 400,\n',
        "  max_tokens: 400,\n  ...(tone === 'formal' && { system: 'Be very formal.' }),\n",
      ],
    ],
  },
  {
    name: 'strict-schema',
    what: 'a strict tool without additionalProperties: false',
    agent: js`import OpenAI from 'openai'

const client = new OpenAI()
const question = process.argv[2]
console.log('> ' + question)

const add = {
  type: 'function',
  name: 'add',
  description: 'Adds two numbers.',
  strict: true,
  parameters: {
    type: 'object',
    properties: { a: { type: 'number' }, b: { type: 'number' } },
    required: ['a', 'b'],
  },
}
const tools = /\d/.test(question) ? [add] : []
const input = [{ role: 'user', content: question }]

for (let turn = 0; turn < 4; turn++) {
  const response = await client.responses.create({ model: 'gpt-4.1', input, tools })
  const calls = response.output.filter((item) => item.type === 'function_call')
  if (calls.length === 0) {
    console.log(response.output_text)
    break
  }
  for (const call of calls) {
    const { a, b } = JSON.parse(call.arguments)
    input.push(call, { type: 'function_call_output', call_id: call.call_id, output: String(a + b) })
  }
}
`,
    model: (request) => {
      const [tool] = request.body.tools ?? []
      if (tool?.strict === true && tool.parameters.additionalProperties !== false)
        return refuse(
          400,
          "Invalid schema for function 'add': In context=(), 'additionalProperties' is required to be supplied and to be false.",
          { code: 'invalid_function_parameters' },
        )
      const [result] = toolTexts(request)
      if (result !== undefined) return `It is ${result}.`
      const numbers = [...wholeText(request).matchAll(/\d+/g)].map(Number)
      if (numbers.length < 2) return 'That is not a sum.'
      return callTool('add', { a: numbers[0], b: numbers[1] })
    },
    failing: ['What is 2 plus 3?', 'It is 5.'],
    siblings: [
      ['Add 10 and 20', 'It is 30.'],
      ['7 + 8', 'It is 15.'],
    ],
    twins: [
      ['What is love?', 'That is not a sum.'],
      ['Who are you?', 'That is not a sum.'],
    ],
    corpus: [
      ['Hello', 'That is not a sum.'],
      ['Add them', 'That is not a sum.'],
      ['Sum', 'That is not a sum.'],
    ],
    fix: [
      [
        "    required: ['a', 'b'],\n",
        "    required: ['a', 'b'],\n    additionalProperties: false,\n",
      ],
    ],
  },
  {
    name: 'region-not-served',
    what: 'the provider does not serve this country',
    expect: 'not-fixed',
    agent: js`import OpenAI from 'openai'

const [country, text] = process.argv[2].split(': ')
console.log('> ' + process.argv[2])

const client = new OpenAI({ defaultHeaders: { 'x-country': country }, maxRetries: 0 })
try {
  const completion = await client.chat.completions.create({
    model: 'gpt-4o',
    user: country,
    messages: [
      { role: 'system', content: 'Is the text polite? Answer POLITE or RUDE.' },
      { role: 'user', content: text },
    ],
  })
  console.log('tone: ' + completion.choices[0].message.content)
} catch (error) {
  console.error('failed: ' + error.status + ' ' + error.message)
  process.exit(1)
}
`,
    model: (request) => {
      if (request.headers['x-country'] === 'nauru' || request.body.user === 'nauru')
        return refuse(403, 'Country, region, or territory not supported', {
          code: 'unsupported_country_region_territory',
        })
      return /fool|idiot/.test(userText(request)) ? 'RUDE' : 'POLITE'
    },
    failing: ['nauru: good morning', 'tone: POLITE'],
    siblings: [
      ['nauru: thank you', 'tone: POLITE'],
      ['nauru: please', 'tone: POLITE'],
    ],
    twins: [
      ['austria: you fool', 'tone: RUDE'],
      ['austria: you idiot', 'tone: RUDE'],
    ],
    corpus: [
      ['austria: good morning', 'tone: POLITE'],
      ['austria: thank you', 'tone: POLITE'],
      ['austria: please', 'tone: POLITE'],
    ],
  },
]
