import type { Provider } from '../specification/provider.js'
import { tokensOf } from '../specification/reply.js'
import { anthropicFailure, messagesApi } from './messages.js'
import {
  longInput,
  OVER_200K,
  type Price,
  type PriceTable,
  REGIONAL,
} from '../specification/price.js'

const claude = (input: number, output: number, more: Partial<Price> = {}): Price => ({
  input,
  cachedInput: input / 10,
  cacheWrite: input * 1.25,
  cacheWriteLong: input * 2,
  output,
  ...more,
})

/**
 * From Anthropic's documentation (platform.claude.com, pricing and models) of October 2026. Sonnet
 * 5 still has its introductory price, which other tables end in August.
 */
const ANTHROPIC_PRICES: PriceTable = {
  'claude-3-haiku': claude(0.25, 1.25, { cachedInput: 0.03, cacheWrite: 0.3 }),
  'claude-3-5-haiku': claude(0.8, 4),
  'claude-haiku-4-5': claude(1, 5, REGIONAL),
  'claude-haiku-5-5': claude(0.1, 0.5, { ...longInput(100_000, 5, 5), ...REGIONAL }),
  'claude-3-5-sonnet': claude(3, 15),
  'claude-3-7-sonnet': claude(3, 15),
  'claude-sonnet-4': claude(3, 15, OVER_200K),
  'claude-sonnet-4-5': claude(3, 15, { ...OVER_200K, ...REGIONAL }),
  'claude-sonnet-4-6': claude(3, 15, REGIONAL),
  'claude-sonnet-5': claude(2, 10, REGIONAL),
  'claude-sonnet-5-5': claude(2, 10, REGIONAL),
  'claude-3-opus': claude(15, 75),
  'claude-opus-4': claude(15, 75),
  'claude-opus-4-1': claude(15, 75),
  'claude-opus-4-5': claude(5, 25, REGIONAL),
  'claude-opus-4-6': claude(5, 25, REGIONAL),
  'claude-opus-4-7': claude(5, 25, REGIONAL),
  'claude-opus-4-8': claude(5, 25, REGIONAL),
  'claude-opus-5': claude(5, 25, REGIONAL),
  'claude-opus-5-5': claude(4, 20, { cachedInput: 0.2, ...REGIONAL }),
  'claude-fable-5': claude(10, 50, REGIONAL),
  'claude-fable-5-1': claude(10, 50, { cachedInput: 0.25, ...REGIONAL }),
}

const MODELS = ['claude-sonnet-4-5', 'claude-haiku-4-5']

export const anthropic: Provider = {
  name: 'anthropic',
  apis: [messagesApi],
  // Other servers are addressed by a route, or by a Vertex path.
  isClient: ({ path, headers }) =>
    'anthropic-version' in headers && path.startsWith('/v1/') && !path.includes('/publishers/'),
  address: {
    route: 'anthropic',
    base: 'https://api.anthropic.com',
    variables: ['ANTHROPIC_BASE_URL'],
    whenSet: ['ANTHROPIC_API_BASE'],
    paths: /^\/v1\/(messages|complete)(\/|$)/,
    keys: ['ANTHROPIC_API_KEY'],
  },
  prices: ANTHROPIC_PRICES,
  modelPrefixes: ['anthropic'],
  failure: anthropicFailure,
  answerListing: ({ method, path, headers, body }) => {
    if (method === 'POST')
      return path.endsWith('/messages/count_tokens')
        ? { input_tokens: tokensOf(JSON.stringify(body['messages'] ?? '')) }
        : undefined
    if (!path.endsWith('/models') || !('anthropic-version' in headers)) return undefined
    return {
      data: MODELS.map((id) => ({
        type: 'model',
        id,
        display_name: id,
        created_at: '2026-01-01T00:00:00Z',
      })),
      has_more: false,
      first_id: MODELS[0],
      last_id: MODELS.at(-1),
    }
  },
}
