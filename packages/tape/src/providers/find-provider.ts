import { anthropic } from './anthropic.js'
import { bedrockConverse } from './bedrock-converse.js'
import { bedrockInvoke } from './bedrock-invoke.js'
import { geminiEmbeddings, openaiEmbeddings } from './embeddings.js'
import { gemini } from './gemini.js'
import { ollama } from './ollama.js'
import { openaiChat } from './openai-chat.js'
import { openaiCompletions } from './openai-completions.js'
import { openaiResponses } from './openai-responses.js'
import type { ProviderDecoder, ProviderRequest } from './provider-decoder.js'
import { serverName } from './server-name.js'
import { unknownHttp } from './unknown-http.js'

/** Every API that is known. Their paths do not overlap. */
export const PROVIDERS: readonly ProviderDecoder[] = [
  openaiChat,
  openaiResponses,
  openaiCompletions,
  anthropic,
  gemini,
  bedrockConverse,
  bedrockInvoke,
  ollama,
  openaiEmbeddings,
  geminiEmbeddings,
]

/** The decoder for a request; `unknownHttp` when it goes to no model that is known. */
export const findProvider = (request: ProviderRequest): ProviderDecoder => {
  const provider = PROVIDERS.find((candidate) => candidate.matches(request))
  if (provider === undefined) return unknownHttp
  const name = serverName(request.url)
  return name === undefined || name === provider.name ? provider : { ...provider, name }
}
