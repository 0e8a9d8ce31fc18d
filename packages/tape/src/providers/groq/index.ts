import { defined } from '../../format/values/json-shape.js'
import { type ChatDialect, OPENAI_PATHS, openaiDialect } from '../specification/chat-dialect.js'
import { plainUsage } from '../specification/chat-dialect.js'
import { GROQ_PRICES } from './prices.js'
import type { Provider } from '../specification/provider.js'

const dialect: ChatDialect = {
  ...openaiDialect,
  say: ({ reasoning, text }) => defined({ content: text, reasoning }),
  usage: (usage) => ({
    queue_time: 0.01,
    ...plainUsage(usage),
    prompt_time: 0.01,
    completion_time: 0.05,
    total_time: 0.06,
    ...(usage.cachedInput > 0 && { prompt_tokens_details: { cached_tokens: usage.cachedInput } }),
    ...(usage.reasoning > 0 && {
      completion_tokens_details: { reasoning_tokens: usage.reasoning },
    }),
  }),
  streamUsage: 'x_groq',
  hasWholeCalls: true,
  head: { system_fingerprint: 'fp_scripted', service_tier: 'on_demand' },
}

export const groq: Provider = {
  name: 'groq',
  hosts: /(^|\.)api\.groq\.com$/,
  isClient: ({ headers }) => /^groq\//i.test(headers['user-agent'] ?? ''),
  address: {
    route: 'groq',
    base: 'https://api.groq.com',
    variables: ['GROQ_BASE_URL'],
    whenSet: ['GROQ_API_BASE'],
    paths: OPENAI_PATHS,
    keys: ['GROQ_API_KEY'],
  },
  prices: GROQ_PRICES,
  modelPrefixes: ['groq'],
  dialect,
}
