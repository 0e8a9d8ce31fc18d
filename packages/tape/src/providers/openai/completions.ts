import { defined, type JsonRecord, listOf, parseJson } from '../../format/values/json-shape.js'
import { recordOf, recordsOf, textOf } from '../../format/values/json-shape.js'
import { type Message, otherPart, textPart } from '../specification/message.js'
import type { ModelApi } from '../specification/provider.js'
import { assembleChat, decodeCompletion, requestedModel } from './chat.js'

const PATH = /(?<!\/chat)\/completions$/

/**
 * Completions of a prompt, OpenAI's API before chat. Still used by vLLM and other servers of open
 * models, and by Mistral for code completion.
 */
export const openaiCompletions: ModelApi = {
  provider: 'openai',
  api: 'completions',
  conversation: ['prompt'],

  matches: ({ method, url, mentions }) =>
    method === 'POST' &&
    PATH.test(url.pathname) &&
    (mentions('model', 'prompt') || (url.pathname.includes('/deployments/') && mentions('prompt'))),

  decodeRequest: (request) => {
    const body = recordOf(request.json())
    return defined({
      model: requestedModel(request, body),
      stream: body['stream'] === true,
      messages: promptMessages(body['prompt']),
    })
  },

  decodeResponse: ({ json, events, headers }) => {
    const document =
      events === undefined
        ? asChat(recordOf(json), 'message')
        : assembleChat(
            events.map((event) => {
              const chunk = parseJson(event.data)
              if (chunk === undefined) return event
              return { ...event, data: JSON.stringify(asChat(recordOf(chunk), 'delta')) }
            }),
          )
    return decodeCompletion(document, headers)
  },
}

/** One message per prompt, which is text or tokens. */
export const promptMessages = (given: unknown): Message[] => {
  const isOne = !Array.isArray(given) || given.every((item) => typeof item === 'number')
  return (isOne ? [given] : listOf(given)).map((prompt) => ({
    role: 'user',
    parts: [typeof prompt === 'string' ? textPart(prompt) : otherPart('tokens', prompt)],
  }))
}

/** The answer in the format of chat completions, which differs only in the text field. */
const asChat = (answer: JsonRecord, key: 'message' | 'delta'): JsonRecord => {
  if (!Array.isArray(answer['choices'])) return answer
  const choices = recordsOf(answer['choices']).map(({ text, ...choice }) =>
    text === undefined
      ? choice
      : { ...choice, [key]: { role: 'assistant', content: textOf(text) } },
  )
  return { ...answer, choices }
}
