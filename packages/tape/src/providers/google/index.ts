import type { Provider } from '../specification/provider.js'
import { tokensOf } from '../specification/reply.js'
import { geminiEmbeddings } from './embeddings.js'
import { gemini, googleFailure } from './gemini.js'
import { GOOGLE_PRICES } from './prices.js'

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
