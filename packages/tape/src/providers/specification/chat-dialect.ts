import { defined, type JsonRecord } from '../../format/values/json-shape.js'
import { callId, type Reply, type ScriptedUsage } from './reply.js'

/** Paths of all OpenAI-compatible servers; only used for routing. */
export const OPENAI_PATHS =
  /^(\/openai)?(\/v\d+)?\/(chat\/completions|responses|completions|embeddings|models|files|images|audio|moderations|batches)(\/|$)/

/** How the chat completions of one server differ from OpenAI's. */
export interface ChatDialect {
  readonly idPrefix: string
  readonly callId: (reply: Reply, index: number) => string
  /** The fields of a message with its reasoning and text. */
  readonly say: (said: { readonly reasoning?: string; readonly text?: string }) => JsonRecord
  readonly usage: (usage: ScriptedUsage) => JsonRecord
  /** Where a stream reports its usage. */
  readonly streamUsage: 'own chunk if requested' | 'x_groq' | 'last chunk'
  /** True if a streamed tool call arrives in one chunk, not with its arguments in pieces. */
  readonly hasWholeCalls: boolean
  /** Additional fields of every document and chunk. */
  readonly head: JsonRecord
  readonly errorBody: (error: JsonRecord) => JsonRecord
}

export const plainUsage = (usage: ScriptedUsage): JsonRecord => {
  const input = usage.input + usage.cachedInput + usage.cacheWrite
  return {
    prompt_tokens: input,
    completion_tokens: usage.output,
    total_tokens: input + usage.output,
  }
}

export const openaiDialect: ChatDialect = {
  idPrefix: 'chatcmpl-',
  callId: (reply, index) => callId(reply, index, 'call_'),
  // OpenAI hides its reasoning; DeepSeek, vLLM and others use this field.
  say: ({ reasoning, text }) => defined({ content: text, reasoning_content: reasoning }),
  usage: (usage) => ({
    ...plainUsage(usage),
    prompt_tokens_details: {
      cached_tokens: usage.cachedInput,
      audio_tokens: 0,
      ...(usage.cacheWrite > 0 && { cache_write_tokens: usage.cacheWrite }),
    },
    completion_tokens_details: {
      reasoning_tokens: usage.reasoning,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  }),
  streamUsage: 'own chunk if requested',
  hasWholeCalls: false,
  head: { service_tier: 'default', system_fingerprint: 'fp_scripted' },
  errorBody: (error) => ({ error }),
}
