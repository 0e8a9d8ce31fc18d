import type { Provider } from '../specification/provider.js'
import { tokensOf } from '../specification/reply.js'
import { geminiEmbeddings } from './embeddings.js'
import { gemini, googleFailure } from './gemini.js'
import { OVER_200K, type PriceTable, tokenPrice } from '../specification/price.js'

/**
 * Google's price list for text, images and video, from LiteLLM's table of 2026-08-08 and
 * genai-prices of 2026-08-21. Prices with an announced end are omitted.
 */
const GOOGLE_PRICES: PriceTable = {
  'gemini-2.0-flash': tokenPrice(0.1, 0.025, 0.4),
  'gemini-2.0-flash-lite': { input: 0.075, output: 0.3 },
  'gemini-2.5-pro': tokenPrice(1.25, 0.125, 10, OVER_200K),
  'gemini-2.5-flash': tokenPrice(0.3, 0.03, 2.5),
  'gemini-2.5-flash-lite': tokenPrice(0.1, 0.01, 0.4),
  'gemini-3-pro-preview': tokenPrice(2, 0.2, 12, OVER_200K),
  'gemini-3-flash-preview': tokenPrice(0.5, 0.05, 3),
  'gemini-3.1-pro-preview': tokenPrice(2, 0.2, 12, OVER_200K),
  'gemini-3.1-flash-lite': tokenPrice(0.25, 0.025, 1.5),
  'gemini-3.5-flash': tokenPrice(1.5, 0.15, 9),
  'gemini-3.5-flash-lite': tokenPrice(0.3, 0.03, 2.5),
  'gemini-3.6-flash': tokenPrice(1.5, 0.15, 7.5),
  'gemini-embedding-001': { input: 0.15, output: 0 },
}

const MODELS = ['gemini-2.5-flash', 'gemini-2.5-pro', 'gemini-embedding-001']

/** Gemini at Google AI Studio. */
export const google: Provider = {
  name: 'google',
  apis: [gemini, geminiEmbeddings],
  hosts: /(^|\.)generativelanguage\.googleapis\.com$/,
  address: {
    route: 'gemini',
    base: 'https://generativelanguage.googleapis.com',
    variables: ['GOOGLE_GEMINI_BASE_URL'],
    whenSet: ['GEMINI_BASE_URL', 'GEMINI_API_BASE'],
    paths: /^\/v1(beta|alpha)?\d*\/(models|tunedModels|cachedContents)\b/,
    keys: ['GEMINI_API_KEY'],
  },
  prices: GOOGLE_PRICES,
  modelPrefixes: ['models', 'google', 'gemini'],
  failure: googleFailure,
  answerListing: ({ method, path, body }) => {
    if (method === 'POST')
      return path.endsWith(':countTokens')
        ? { totalTokens: tokensOf(JSON.stringify(body['contents'] ?? '')) }
        : undefined
    return /\/v1(beta|alpha)\d*\/models$/.test(path) ? { models: MODELS.map(listed) } : undefined
  },
}

const listed = (name: string) => ({
  name: `models/${name}`,
  version: '001',
  displayName: name,
  inputTokenLimit: 1_048_576,
  outputTokenLimit: 65_536,
  supportedGenerationMethods: [name.includes('embedding') ? 'embedContent' : 'generateContent'],
})

/** Google Cloud, which serves Gemini and models of other makers, each through its own API. */
export const vertex: Provider = {
  name: 'vertex',
  hosts: /(^|-|\.)aiplatform\.googleapis\.com$/,
  isServer: ({ pathname }) => /\/publishers\/[^/]+\/models\//.test(pathname),
  isClient: ({ path }) => path.includes('/publishers/'),
  address: {
    route: 'vertex',
    whenSet: ['GOOGLE_VERTEX_BASE_URL', 'ANTHROPIC_VERTEX_BASE_URL'],
    paths: /^\/v1(beta1)?\/(projects|publishers)\//,
  },
  modelPrefixes: ['vertex_ai'],
  failure: googleFailure,
}
