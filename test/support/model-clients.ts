import { anthropicClient } from './model-clients/anthropic.js'
import { bedrockClients } from './model-clients/bedrock.js'
import { geminiClients } from './model-clients/gemini.js'
import { groqClient } from './model-clients/groq.js'
import { mistralClient } from './model-clients/mistral.js'
import type { ModelClient } from './model-clients/model-client.js'
import { ollamaClient } from './model-clients/ollama.js'
import { openaiClients } from './model-clients/openai.js'

/** Every SDK and format that the scripted model server is made for. */
export const modelClients: readonly ModelClient[] = [
  ...openaiClients,
  anthropicClient,
  ...geminiClients,
  groqClient,
  mistralClient,
  ollamaClient,
  ...bedrockClients,
]

/** The HTTP status in an error, wherever its SDK keeps it. */
export function statusOf(failure: unknown): unknown {
  const fields = failure as Readonly<Record<string, unknown>> & {
    readonly $metadata?: { readonly httpStatusCode?: number }
  }
  return (
    fields['status'] ??
    fields['statusCode'] ??
    fields['status_code'] ??
    fields.$metadata?.httpStatusCode
  )
}
