import type { ModelServer } from '@retake/engine/testing'
import Groq from 'groq-sdk'
import { collect, parse, retries, say } from './model-client.js'
import type { ModelClient } from './model-client.js'

export const groqClient: ModelClient = {
  name: 'groq-sdk',
  format: 'openai-chat',
  provider: 'groq',
  ask: async (server, prompt) => {
    const { choices, usage } = await groq(server).chat.completions.create({
      model: 'llama-3.3-70b-versatile',
      messages: say(prompt),
    })
    const message = choices[0]?.message
    return {
      text: message?.content ?? '',
      calls: (message?.tool_calls ?? []).map(({ function: { name, arguments: text } }) => ({
        name,
        args: parse(text),
      })),
      input: usage?.prompt_tokens,
      output: usage?.completion_tokens,
    }
  },
  stream: async (server, prompt) => {
    const chunks = await collect(
      await groq(server).chat.completions.create({
        model: 'llama-3.3-70b-versatile',
        messages: say(prompt),
        stream: true,
      }),
    )
    const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta))
    const texts = deltas.flatMap(({ content }) => content || [])
    const usage = chunks.at(-1)?.x_groq?.usage
    return {
      text: texts.join(''),
      calls: deltas.flatMap(({ tool_calls: calls = [] }) =>
        calls.map((call) => ({
          name: call.function?.name ?? '',
          args: parse(call.function?.arguments ?? ''),
        })),
      ),
      input: usage?.prompt_tokens,
      output: usage?.completion_tokens,
      pieces: texts.length,
    }
  },
}

const groq = ({ env }: ModelServer): Groq =>
  new Groq({ baseURL: env['GROQ_BASE_URL'], apiKey: env['GROQ_API_KEY'], ...retries })
