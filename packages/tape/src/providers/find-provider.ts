import { anthropic } from './anthropic.js'
import { openaiChat } from './openai-chat.js'
import { openaiResponses } from './openai-responses.js'
import type { ProviderDecoder, ProviderRequest } from './provider-decoder.js'
import { unknownHttp } from './unknown-http.js'

const PROVIDERS: readonly ProviderDecoder[] = [openaiChat, openaiResponses, anthropic]

/** The decoder for a request; `unknownHttp` when it goes to no model that is known. */
export const findProvider = (request: ProviderRequest): ProviderDecoder =>
  PROVIDERS.find((provider) => provider.matches(request)) ?? unknownHttp
