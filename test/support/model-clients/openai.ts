import type { ModelServer } from '@retake/engine/testing'
import OpenAI, { AzureOpenAI } from 'openai'
import { parse, retries, say } from './model-client.js'
import type { Heard, ModelClient } from './model-client.js'

/** Everything that speaks chat completions by way of OpenAI's client. */
function chatClient(
  name: string,
  provider: string,
  open: (server: ModelServer) => OpenAI,
  model = 'gpt-4o-mini',
): ModelClient {
  return {
    name,
    format: 'openai-chat',
    provider,
    ask: async (server, prompt) => {
      const { choices, usage } = await open(server).chat.completions.create({
        model,
        messages: say(prompt),
      })
      const [choice] = choices
      return {
        text: choice?.message.content ?? '',
        calls: (choice?.message.tool_calls ?? []).flatMap((call) =>
          call.type === 'function'
            ? [{ name: call.function.name, args: parse(call.function.arguments) }]
            : [],
        ),
        input: usage?.prompt_tokens,
        output: usage?.completion_tokens,
      }
    },
    stream: async (server, prompt) => {
      const stream = open(server).chat.completions.stream({
        model,
        messages: say(prompt),
        stream_options: { include_usage: true },
      })
      let pieces = 0
      stream.on('content', () => pieces++)
      const [choice] = (await stream.finalChatCompletion()).choices
      const usage = await stream.totalUsage()
      return {
        text: choice?.message.content ?? '',
        calls: (choice?.message.tool_calls ?? []).map((call) => ({
          name: call.function.name,
          args: parse(call.function.arguments),
        })),
        input: usage.prompt_tokens,
        output: usage.completion_tokens,
        pieces,
      }
    },
  }
}

const responses: ModelClient = {
  name: 'openai, responses',
  format: 'openai-responses',
  provider: 'openai',
  ask: async (server, prompt) =>
    heardResponse(await openai(server).responses.create({ model: 'gpt-4o-mini', input: prompt })),
  stream: async (server, prompt) => {
    const stream = openai(server).responses.stream({ model: 'gpt-4o-mini', input: prompt })
    let pieces = 0
    stream.on('response.output_text.delta', () => pieces++)
    return { ...heardResponse(await stream.finalResponse()), pieces }
  },
}

const openai = ({ env }: ModelServer): OpenAI =>
  new OpenAI({ baseURL: env['OPENAI_BASE_URL'], apiKey: env['OPENAI_API_KEY'], ...retries })

function heardResponse(response: OpenAI.Responses.Response): Heard {
  return {
    text: response.output_text,
    calls: response.output.flatMap((item) =>
      item.type === 'function_call' ? [{ name: item.name, args: parse(item.arguments) }] : [],
    ),
    input: response.usage?.input_tokens,
    output: response.usage?.output_tokens,
  }
}

/** Chat completions at several addresses, and responses. */
export const openaiClients: readonly ModelClient[] = [
  chatClient('openai', 'openai', openai),
  chatClient(
    'openai at Azure',
    'azure',
    ({ env }) =>
      new AzureOpenAI({
        baseURL: `${env['AZURE_OPENAI_ENDPOINT']}/openai`,
        apiKey: env['AZURE_OPENAI_API_KEY'],
        apiVersion: env['OPENAI_API_VERSION'],
        deployment: 'my-deployment',
        ...retries,
      }),
  ),
  chatClient(
    'openai at OpenRouter',
    'openrouter',
    ({ env }) => new OpenAI({ baseURL: env['OPENROUTER_BASE_URL'], apiKey: 'made-up', ...retries }),
  ),
  chatClient(
    'openai without a path',
    'openai',
    ({ url }) => new OpenAI({ baseURL: url, apiKey: 'made-up', ...retries }),
  ),
  responses,
]
