import type { Provider } from '../specification/provider.js'
import { tokensOf } from '../specification/reply.js'
import { anthropicFailure, messagesApi } from './messages.js'
import { ANTHROPIC_PRICES } from './prices.js'

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
