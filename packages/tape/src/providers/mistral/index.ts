import { openaiDialect, plainUsage, type ChatDialect } from '../specification/chat-dialect.js'
import { OPENAI_PATHS } from '../specification/chat-dialect.js'
import { tokenPrice, type PriceTable } from '../specification/price.js'
import type { Provider } from '../specification/provider.js'
import type { Reply } from '../specification/reply.js'

const dialect: ChatDialect = {
  ...openaiDialect,
  idPrefix: '',
  callId,
  say: ({ reasoning, text }) =>
    reasoning === undefined
      ? { content: text ?? '' }
      : {
          content: [
            { type: 'thinking', thinking: [{ type: 'text', text: reasoning }] },
            ...(text === undefined ? [] : [{ type: 'text', text }]),
          ],
        },
  usage: (usage) => ({
    ...plainUsage(usage),
    ...(usage.cachedInput > 0 && { prompt_tokens_details: { cached_tokens: usage.cachedInput } }),
  }),
  streamUsage: 'last chunk',
  hasWholeCalls: true,
  head: {},
  errorBody: (error) => ({ object: 'error', ...error }),
}

/** Nine letters and digits, the only form of tool call ids that Mistral accepts. */
function callId(reply: Reply, index: number): string {
  const [request, call] = [reply.number % 1000, (index + 1) % 100]
  return (
    reply.toolCalls[index]?.id ??
    `call${String(request).padStart(3, '0')}${String(call).padStart(2, '0')}`
  )
}

/**
 * Mistral's price list, from LiteLLM's table of 2026-08-08 and genai-prices of 2026-08-21 (cached
 * input from the latter). Moving names, such as `mistral-large-latest`, are omitted.
 */
const PRICES: PriceTable = {
  'mistral-large-2411': { input: 2, output: 6 },
  'mistral-large-2512': tokenPrice(0.5, 0.05, 1.5),
  'mistral-small-2603': tokenPrice(0.15, 0.015, 0.6),
  'ministral-3b-2512': tokenPrice(0.1, 0.01, 0.1),
  'ministral-8b-2512': { input: 0.15, output: 0.15 },
  'ministral-14b-2512': tokenPrice(0.2, 0.02, 0.2),
  'mistral-medium-2505': { input: 0.4, output: 2 },
  'mistral-medium-2508': { input: 0.4, output: 2 },
  'mistral-medium-2604': { input: 1.5, output: 7.5 },
  'magistral-medium-2509': { input: 2, output: 5 },
  'codestral-2508': tokenPrice(0.3, 0.03, 0.9),
  'devstral-2512': tokenPrice(0.4, 0.04, 2),
  'mistral-embed': { input: 0.1, output: 0 },
}

export const mistral: Provider = {
  name: 'mistral',
  hosts: /(^|\.)mistral\.ai$/,
  isClient: ({ headers }) => /^mistral-client/i.test(headers['user-agent'] ?? ''),
  address: {
    route: 'mistral',
    base: 'https://api.mistral.ai',
    whenSet: ['MISTRAL_BASE_URL', 'MISTRAL_API_BASE', 'MISTRAL_AZURE_API_BASE'],
    paths: OPENAI_PATHS,
    keys: ['MISTRAL_API_KEY'],
  },
  prices: PRICES,
  modelPrefixes: ['mistral', 'mistralai'],
  dialect,
}
