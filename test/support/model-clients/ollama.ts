import type { ModelServer } from '@retake/engine/testing'
import { Ollama } from 'ollama'
import type { ChatResponse } from 'ollama'
import { collect, say } from './model-client.js'
import type { Heard, ModelClient } from './model-client.js'

export const ollamaClient: ModelClient = {
  name: 'ollama',
  format: 'ollama',
  provider: 'ollama',
  ask: async (server, prompt) =>
    heardLines([await ollama(server).chat({ model: 'llama3.2', messages: say(prompt) })]),
  stream: async (server, prompt) =>
    heardLines(
      await collect(
        await ollama(server).chat({ model: 'llama3.2', messages: say(prompt), stream: true }),
      ),
    ),
}

const ollama = ({ env }: ModelServer): Ollama => new Ollama({ host: env['OLLAMA_HOST']! })

function heardLines(lines: readonly ChatResponse[]): Heard {
  const texts = lines.map(({ message }) => message.content).filter((text) => text !== '')
  return {
    text: texts.join(''),
    calls: lines.flatMap(({ message }) =>
      (message.tool_calls ?? []).map((call) => ({
        name: call.function.name,
        args: call.function.arguments,
      })),
    ),
    input: lines.at(-1)?.prompt_eval_count,
    output: lines.at(-1)?.eval_count,
    pieces: texts.length,
  }
}
