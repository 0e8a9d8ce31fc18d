import type { Arrived } from './model-request.js'
import { tokensOf } from './reply.js'
import { jsonAnswer } from './wire-format.js'
import type { WireAnswer } from './wire-format.js'

/** Created when the first answer of a server is. */
const SINCE = '2026-01-01T00:00:00Z'

const MODELS: Readonly<Record<'openai' | 'anthropic' | 'gemini' | 'ollama', readonly string[]>> = {
  openai: ['gpt-4o-mini', 'gpt-5-mini', 'text-embedding-3-small'],
  anthropic: ['claude-sonnet-4-5', 'claude-haiku-4-5'],
  gemini: ['gemini-2.5-flash', 'gemini-2.5-pro', 'gemini-embedding-001'],
  ollama: ['llama3.2:latest', 'qwen3:8b', 'nomic-embed-text:latest'],
}

/**
 * Answers what clients ask besides a model: which models there are, how long a
 * prompt is, whether a server is there. Not scripted. Undefined for anything else.
 */
export function answerListing(arrived: Arrived): WireAnswer | undefined {
  const path = arrived.path.replace(/\?.*$/, '')
  const { method, headers, body } = arrived
  if (method === 'GET' || method === 'HEAD') {
    if (path.endsWith('/api/tags')) return jsonAnswer({ models: MODELS.ollama.map(ollamaModel) })
    if (path.endsWith('/api/version')) return jsonAnswer({ version: '0.13.0' })
    if (/\/v1(beta|alpha)\d*\/models$/.test(path))
      return jsonAnswer({ models: MODELS.gemini.map(geminiModel) })
    if (path.endsWith('/models'))
      return jsonAnswer('anthropic-version' in headers ? anthropicModels() : openaiModels())
    return undefined
  }
  if (method !== 'POST') return undefined
  if (path.endsWith('/messages/count_tokens'))
    return jsonAnswer({ input_tokens: tokensOf(JSON.stringify(body['messages'] ?? '')) })
  if (path.endsWith(':countTokens'))
    return jsonAnswer({ totalTokens: tokensOf(JSON.stringify(body['contents'] ?? '')) })
  if (path.endsWith('/api/show'))
    return jsonAnswer({
      ...ollamaModel(String(body['model'])),
      capabilities: ['completion', 'tools'],
    })
  return undefined
}

const openaiModels = (): object => ({
  object: 'list',
  data: MODELS.openai.map((id) => ({
    id,
    object: 'model',
    created: Date.parse(SINCE) / 1000,
    owned_by: 'scripted',
  })),
})

const anthropicModels = (): object => ({
  data: MODELS.anthropic.map((id) => ({
    type: 'model',
    id,
    display_name: id,
    created_at: SINCE,
  })),
  has_more: false,
  first_id: MODELS.anthropic[0],
  last_id: MODELS.anthropic.at(-1),
})

const geminiModel = (name: string): object => ({
  name: `models/${name}`,
  version: '001',
  displayName: name,
  inputTokenLimit: 1_048_576,
  outputTokenLimit: 65_536,
  supportedGenerationMethods: [name.includes('embedding') ? 'embedContent' : 'generateContent'],
})

const ollamaModel = (name: string): object => ({
  name,
  model: name,
  modified_at: SINCE,
  size: 2_019_393_189,
  digest: '0'.repeat(64),
  details: { format: 'gguf', family: 'scripted', parameter_size: '3B', quantization_level: 'Q4_0' },
})
