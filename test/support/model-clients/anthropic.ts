import Anthropic from '@anthropic-ai/sdk'
import type { ModelServer } from '@retake/engine/testing'
import { retries, say } from './model-client.js'
import type { Heard, ModelClient } from './model-client.js'

export const anthropicClient: ModelClient = {
  name: '@anthropic-ai/sdk',
  format: 'anthropic',
  provider: 'anthropic',
  ask: async (server, prompt) =>
    heardMessage(
      await anthropic(server).messages.create({
        model: 'claude-opus-4-6',
        max_tokens: 100,
        messages: say(prompt),
      }),
    ),
  stream: async (server, prompt) => {
    const stream = anthropic(server).messages.stream({
      model: 'claude-opus-4-6',
      max_tokens: 100,
      messages: say(prompt),
    })
    let pieces = 0
    stream.on('text', () => pieces++)
    return { ...heardMessage(await stream.finalMessage()), pieces }
  },
}

const anthropic = ({ env }: ModelServer): Anthropic =>
  new Anthropic({
    baseURL: env['ANTHROPIC_BASE_URL'],
    apiKey: env['ANTHROPIC_API_KEY'],
    ...retries,
  })

export function heardMessage({ content, usage }: Anthropic.Message): Heard {
  return {
    text: content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
    calls: content.flatMap((block) =>
      block.type === 'tool_use' ? [{ name: block.name, args: block.input }] : [],
    ),
    input: usage.input_tokens + (usage.cache_read_input_tokens ?? 0),
    output: usage.output_tokens,
  }
}
