import { openaiDialect, plainUsage, type ChatDialect } from '../specification/chat-dialect.js'
import { OPENAI_PATHS } from '../specification/chat-dialect.js'
import { MISTRAL_PRICES } from './prices.js'
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
  prices: MISTRAL_PRICES,
  modelPrefixes: ['mistral', 'mistralai'],
  dialect,
}
