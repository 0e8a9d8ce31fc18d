import { defined } from '../../format/values/json-shape.js'
import { type ChatDialect, OPENAI_PATHS, openaiDialect } from '../specification/chat-dialect.js'
import { plainUsage } from '../specification/chat-dialect.js'
import { tokenPrice, type PriceTable } from '../specification/price.js'
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

/**
 * The price of an open model depends on its host, so these names include the host. From LiteLLM's
 * table of 2026-08-08 and genai-prices of 2026-08-21.
 */
const PRICES: PriceTable = {
  'groq/llama-3.1-8b-instant': { input: 0.05, output: 0.08 },
  'groq/llama-3.3-70b-versatile': { input: 0.59, output: 0.79 },
  'groq/openai/gpt-oss-120b': tokenPrice(0.15, 0.075, 0.6),
  'groq/openai/gpt-oss-20b': tokenPrice(0.075, 0.0375, 0.3),
  'groq/meta-llama/llama-4-maverick-17b-128e-instruct': { input: 0.2, output: 0.6 },
  'groq/moonshotai/kimi-k2-instruct-0905': tokenPrice(1, 0.5, 3),
  'groq/qwen/qwen3-32b': { input: 0.29, output: 0.59 },
  'groq/meta-llama/llama-4-scout-17b-16e-instruct': { input: 0.11, output: 0.34 },
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
  prices: PRICES,
  modelPrefixes: ['groq'],
  dialect,
}
