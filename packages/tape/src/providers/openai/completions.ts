import { assembleChat } from './chat-stream.js'
import { decodeCompletion } from './chat.js'
import {
  filledText,
  listOf,
  parseJson,
  recordOf,
  recordsOf,
  textOf,
} from '../../values/json-shape.js'
import type { JsonRecord } from '../../values/json-shape.js'
import { textPart, type Message } from '../message.js'
import type { ModelApi } from '../provider.js'
import { headerCost } from './chat-usage.js'

const PATH = /(?<!\/chat)\/completions$/
const DEPLOYMENT = /\/deployments\/([^/]+)\//

/**
 * Completions of a prompt, as OpenAI had them before chat. vLLM and other servers
 * of open models speak it still, and Mistral to fill a gap in code.
 */
export const openaiCompletions: ModelApi = {
  provider: 'openai',
  api: 'completions',

  matches: ({ method, url, mentions }) =>
    method === 'POST' &&
    PATH.test(url.pathname) &&
    (mentions('model', 'prompt') || (DEPLOYMENT.test(url.pathname) && mentions('prompt'))),

  decodeRequest: ({ url, json }) => {
    const body = recordOf(json())
    const model = filledText(body['model']) ?? DEPLOYMENT.exec(url.pathname)?.[1]
    const { prompt } = body
    const prompts = Array.isArray(prompt) && !prompt.every(isToken) ? prompt : [prompt]
    return {
      ...(model !== undefined && { model }),
      stream: body['stream'] === true,
      messages: prompts.map(promptMessage),
    }
  },

  decodeResponse: ({ json, events, headers }) => {
    const document =
      events === undefined
        ? asChat(recordOf(json), 'message')
        : assembleChat(events.map((event) => ({ ...event, data: deltaText(event.data) })))
    const decoded = decodeCompletion(document)
    const costUsd = decoded.costUsd ?? headerCost(headers)
    return { ...decoded, ...(costUsd !== undefined && { costUsd }) }
  },
}

const isToken = (item: unknown): boolean => typeof item === 'number'

/** A prompt is text, or tokens that stand for it. */
const promptMessage = (prompt: unknown): Message => ({
  role: 'user',
  parts: [
    typeof prompt === 'string'
      ? textPart(prompt)
      : { type: 'other', kind: 'tokens', value: listOf(prompt) },
  ],
})

const deltaText = (data: string): string => {
  const chunk = parseJson(data)
  return chunk === undefined ? data : JSON.stringify(asChat(recordOf(chunk), 'delta'))
}

/** The answer in the words of chat completions, which are the same but for the text. */
const asChat = (answer: JsonRecord, key: 'message' | 'delta'): JsonRecord => {
  if (!Array.isArray(answer['choices'])) return answer
  const choices = recordsOf(answer['choices']).map(({ text, ...choice }) =>
    text === undefined
      ? choice
      : { ...choice, [key]: { role: 'assistant', content: textOf(text) } },
  )
  return { ...answer, choices }
}
