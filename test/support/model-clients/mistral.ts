import { Mistral } from '@mistralai/mistralai'
import type { ModelServer } from '@retake/engine/testing'
import { collect, parse, say } from './model-client.js'
import type { ModelClient } from './model-client.js'

export const mistralClient: ModelClient = {
  name: '@mistralai/mistralai',
  format: 'openai-chat',
  provider: 'mistral',
  ask: async (server, prompt) => {
    const { choices, usage } = await mistral(server).chat.complete({
      model: 'mistral-small-2506',
      messages: say(prompt),
    })
    const message = choices[0]?.message
    return {
      text: mistralText(message?.content),
      calls: (message?.toolCalls ?? []).map(mistralCall),
      input: usage.promptTokens,
      output: usage.completionTokens,
    }
  },
  stream: async (server, prompt) => {
    const events = await collect(
      await mistral(server).chat.stream({ model: 'mistral-small-2506', messages: say(prompt) }),
    )
    const deltas = events.flatMap(({ data }) => data.choices.map(({ delta }) => delta))
    const texts = deltas.map(({ content }) => mistralText(content)).filter((text) => text !== '')
    const usage = events.at(-1)?.data.usage
    return {
      text: texts.join(''),
      calls: deltas.flatMap(({ toolCalls }) => (toolCalls ?? []).map(mistralCall)),
      input: usage?.promptTokens,
      output: usage?.completionTokens,
      pieces: texts.length,
    }
  },
}

const mistral = ({ env }: ModelServer): Mistral =>
  new Mistral({ serverURL: env['MISTRAL_BASE_URL']!, apiKey: env['MISTRAL_API_KEY']! })

const mistralText = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : ((content ?? []) as readonly { readonly type: string; readonly text?: string }[])
        .map(({ type, text }) => (type === 'text' ? text : ''))
        .join('')

const mistralCall = (call: { function: { name: string; arguments: unknown } }) => ({
  name: call.function.name,
  args: typeof call.function.arguments === 'string' ? parse(call.function.arguments) : {},
})
