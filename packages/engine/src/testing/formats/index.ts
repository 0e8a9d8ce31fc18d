import type { WireFormat } from '../wire-format.js'
import { anthropic } from './anthropic.js'
import { bedrockConverse } from './bedrock-converse.js'
import { bedrockInvoke } from './bedrock-invoke.js'
import { geminiEmbeddings, ollamaEmbeddings, openaiEmbeddings } from './embeddings.js'
import { gemini } from './gemini.js'
import { ollama } from './ollama.js'
import { openaiChat } from './openai-chat.js'
import { openaiResponses } from './openai-responses.js'

/** Every format that is spoken. Their paths do not overlap. */
export const FORMATS: readonly WireFormat[] = [
  openaiChat,
  openaiResponses,
  anthropic,
  gemini,
  bedrockConverse,
  bedrockInvoke,
  ollama,
  openaiEmbeddings,
  geminiEmbeddings,
  ollamaEmbeddings,
]
