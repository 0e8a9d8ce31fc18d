import { anthropicFailure } from './formats/anthropic.js'
import { bedrockFailure } from './formats/bedrock-converse.js'
import { geminiFailure } from './formats/gemini.js'
import { ollamaFailure } from './formats/ollama.js'
import { openaiFailure } from './formats/openai-failure.js'
import type { Arrived } from './model-request.js'
import type { FailureFormat } from './wire-format.js'

const FAILURES: Readonly<Record<string, FailureFormat>> = {
  anthropic: { failure: anthropicFailure },
  gemini: { failure: geminiFailure },
  vertex: { failure: geminiFailure },
  bedrock: { failure: bedrockFailure },
  ollama: { failure: ollamaFailure },
}

/** How the provider tells errors that a request of no known format is nearest to. */
export const failureFormat = ({ provider, headers }: Arrived): FailureFormat =>
  FAILURES['anthropic-version' in headers ? 'anthropic' : provider] ?? { failure: openaiFailure }
