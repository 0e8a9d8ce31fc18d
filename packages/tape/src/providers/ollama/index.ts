import type { Provider } from '../provider.js'
import { ollamaApi } from './decode.js'
import { ollamaFailure } from './encode.js'

const MODELS = ['llama3.2:latest', 'qwen3:8b', 'nomic-embed-text:latest']

export const ollama: Provider = {
  name: 'ollama',
  apis: [ollamaApi],
  hosts: /(^|\.)ollama\.com$/,
  isServer: ({ port }) => port === '11434',
  address: {
    route: 'ollama',
    base: 'http://127.0.0.1:11434',
    variables: ['OLLAMA_HOST'],
    whenSet: ['OLLAMA_BASE_URL', 'OLLAMA_API_BASE'],
    paths: /^\/api\/(chat|generate|embed|embeddings|tags|show)$/,
  },
  failure: ollamaFailure,
  answerListing: ({ method, path, body }) => {
    if (method === 'POST')
      return path.endsWith('/api/show')
        ? { ...listed(String(body['model'])), capabilities: ['completion', 'tools'] }
        : undefined
    if (path.endsWith('/api/tags')) return { models: MODELS.map(listed) }
    return path.endsWith('/api/version') ? { version: '0.13.0' } : undefined
  },
}

const listed = (name: string) => ({
  name,
  model: name,
  modified_at: '2026-01-01T00:00:00Z',
  size: 2_019_393_189,
  digest: '0'.repeat(64),
  details: { format: 'gguf', family: 'scripted', parameter_size: '3B', quantization_level: 'Q4_0' },
})
