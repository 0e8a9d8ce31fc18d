// Every known provider, one line each. Paths of their APIs do not overlap.
export { anthropic } from './anthropic/index.js'
export { bedrock } from './bedrock/index.js'
export { COMPATIBLE } from './compatible/index.js'
export { google, vertex } from './google/index.js'
export { groq } from './groq/index.js'
export { mistral } from './mistral/index.js'
export { ollama } from './ollama/index.js'
export { openai } from './openai/index.js'
