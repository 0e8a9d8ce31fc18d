import { anthropic } from './anthropic/index.js'
import { bedrock } from './bedrock/index.js'
import { COMPATIBLE } from './compatible/index.js'
import { google, vertex } from './google/index.js'
import { groq } from './groq/index.js'
import { mistral } from './mistral/index.js'
import { ollama } from './ollama/index.js'
import { openai } from './openai/index.js'
import type { Provider } from './provider.js'

/**
 * Every known provider; adding one takes a folder and a line here. Paths of
 * APIs do not overlap. OpenAI is first: its paths are those of many others.
 */
export const PROVIDERS: readonly Provider[] = [
  openai,
  anthropic,
  google,
  vertex,
  groq,
  mistral,
  ollama,
  bedrock,
  ...COMPATIBLE,
]
