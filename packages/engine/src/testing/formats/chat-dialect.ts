import type { ModelRequest } from '../model-request.js'
import type { Reply } from '../reply.js'
import type { ScriptedUsage } from '../scripted-answer.js'

/** How servers that speak chat completions differ from each other. */
export interface ChatDialect {
  readonly idPrefix: string
  readonly callIdPrefix: string
  /** The fields of a message, or of a piece of one, that carry reasoning and text. */
  readonly say: (said: { readonly reasoning?: string; readonly text?: string }) => object
  readonly usage: (usage: ScriptedUsage) => object
  /** Where the usage of a stream stands. */
  readonly streamUsage: 'in a chunk of its own when asked for' | 'x_groq' | 'in the last chunk'
  /** Further fields of every document and chunk. */
  readonly head: (reply: Reply) => object
}

const plainUsage = (usage: ScriptedUsage): object => {
  const input = usage.input + usage.cachedInput + usage.cacheWrite
  return {
    prompt_tokens: input,
    completion_tokens: usage.output,
    total_tokens: input + usage.output,
  }
}

const openai: ChatDialect = {
  idPrefix: 'chatcmpl-',
  callIdPrefix: 'call_',
  say: ({ reasoning, text }) => ({
    ...(text !== undefined && { content: text }),
    // Not OpenAI's own, which hides its reasoning: DeepSeek, vLLM and others tell it so.
    ...(reasoning !== undefined && { reasoning_content: reasoning }),
  }),
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
  streamUsage: 'in a chunk of its own when asked for',
  head: () => ({ service_tier: 'default', system_fingerprint: 'fp_scripted' }),
}

const groq: ChatDialect = {
  ...openai,
  say: ({ reasoning, text }) => ({
    ...(text !== undefined && { content: text }),
    ...(reasoning !== undefined && { reasoning }),
  }),
  usage: (usage) => ({
    queue_time: 0.01,
    ...plainUsage(usage),
    prompt_time: 0.01,
    completion_time: 0.05,
    total_time: 0.06,
    ...(usage.cachedInput > 0 && { prompt_tokens_details: { cached_tokens: usage.cachedInput } }),
    ...(usage.reasoning > 0 && {
      completion_tokens_details: { reasoning_tokens: usage.reasoning },
    }),
  }),
  streamUsage: 'x_groq',
  head: () => ({ system_fingerprint: 'fp_scripted', service_tier: 'on_demand' }),
}

const mistral: ChatDialect = {
  ...openai,
  idPrefix: '',
  // Mistral takes ids of nine letters and digits only; see `mistralCallId`.
  callIdPrefix: '',
  say: ({ reasoning, text }) =>
    reasoning === undefined
      ? { content: text ?? '' }
      : {
          content: [
            { type: 'thinking', thinking: [{ type: 'text', text: reasoning }] },
            ...(text === undefined ? [] : [{ type: 'text', text }]),
          ],
        },
  usage: (usage) => ({
    ...plainUsage(usage),
    ...(usage.cachedInput > 0 && { prompt_tokens_details: { cached_tokens: usage.cachedInput } }),
  }),
  streamUsage: 'in the last chunk',
  head: () => ({}),
}

const azure: ChatDialect = { ...openai, head: () => ({ system_fingerprint: 'fp_scripted' }) }

const DIALECTS: Readonly<Record<string, ChatDialect>> = { groq, mistral, azure }

export const chatDialect = ({ provider }: Pick<ModelRequest, 'provider'>): ChatDialect =>
  DIALECTS[provider] ?? openai

/** Nine letters and digits: the only ids of tool calls that Mistral takes. */
export const mistralCallId = (reply: Reply, index: number): string =>
  reply.toolCalls[index]?.id ??
  `call${String(reply.number % 1000).padStart(3, '0')}${String((index + 1) % 100).padStart(2, '0')}`
