import type { Provider } from '../specification/provider.js'
import { openaiChat, openaiFailure } from './chat.js'
import { openaiCompletions } from './completions.js'
import { openaiEmbeddings } from './embeddings.js'
import { OPENAI_PATHS } from '../specification/chat-dialect.js'
import { openaiResponses } from './responses.js'
import { OPENAI_PRICES } from './prices.js'

/** Gemini lists its models at `/v1beta/models`. */
const OWN_LIST = /(?<!\/v1(?:beta|alpha)\d*)\/models$/

const MODELS = ['gpt-4o-mini', 'gpt-5-mini', 'text-embedding-3-small']

export const openai: Provider = {
  name: 'openai',
  apis: [openaiChat, openaiResponses, openaiCompletions, openaiEmbeddings],
  address: {
    route: 'openai',
    base: 'https://api.openai.com/v1',
    variables: ['OPENAI_BASE_URL', 'OPENAI_API_BASE'],
    paths: OPENAI_PATHS,
    // The Azure client of OpenAI's SDK refuses to start if both addresses are set.
    within: (env) =>
      env['AZURE_OPENAI_ENDPOINT'] && !env['OPENAI_BASE_URL'] && !env['OPENAI_API_KEY']
        ? undefined
        : openai.address,
    keys: ['OPENAI_API_KEY'],
    // Traces are sent to OpenAI, whatever the base URL.
    testVariables: { OPENAI_AGENTS_DISABLE_TRACING: '1' },
  },
  prices: OPENAI_PRICES,
  modelPrefixes: ['openai'],
  failure: openaiFailure,
  answerListing: ({ method, path, headers }) =>
    method !== 'POST' && OWN_LIST.test(path) && !('anthropic-version' in headers)
      ? {
          object: 'list',
          data: MODELS.map((id) => ({
            id,
            object: 'model',
            created: Date.UTC(2026, 0, 1) / 1000,
            owned_by: 'scripted',
          })),
        }
      : undefined,
}
