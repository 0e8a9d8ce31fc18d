import Anthropic from '@anthropic-ai/sdk'
import {
  BedrockRuntimeClient,
  ConverseCommand,
  ConverseStreamCommand,
  InvokeModelCommand,
  InvokeModelWithResponseStreamCommand,
} from '@aws-sdk/client-bedrock-runtime'
import type { TokenUsage } from '@aws-sdk/client-bedrock-runtime'
import { GoogleGenAI } from '@google/genai'
import type { GenerateContentResponse } from '@google/genai'
import { Mistral } from '@mistralai/mistralai'
import type { ModelServer } from '@retake/engine/testing'
import { NodeHttpHandler } from '@smithy/node-http-handler'
import Groq from 'groq-sdk'
import { Ollama } from 'ollama'
import type { ChatResponse } from 'ollama'
import OpenAI, { AzureOpenAI } from 'openai'

/** What a client made of an answer. `input` is all input, cached tokens included. */
export interface Heard {
  readonly text: string
  readonly calls: readonly { readonly name: string; readonly args: unknown }[]
  readonly input: number | undefined
  readonly output: number | undefined
  /** Pieces of text that arrived one by one. */
  readonly pieces?: number
}

/** A real SDK, asked in one way for all. */
export interface ModelClient {
  readonly name: string
  readonly format: string
  readonly provider: string
  readonly ask: (server: ModelServer, prompt: string) => Promise<Heard>
  readonly stream: (server: ModelServer, prompt: string) => Promise<Heard>
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

const parse = (text: string): unknown => JSON.parse(text)
const say = (content: string) => [{ role: 'user' as const, content }]

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

const retries = { maxRetries: 0 }

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

const anthropicClient: ModelClient = {
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

function heardMessage({ content, usage }: Anthropic.Message): Heard {
  return {
    text: content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
    calls: content.flatMap((block) =>
      block.type === 'tool_use' ? [{ name: block.name, args: block.input }] : [],
    ),
    input: usage.input_tokens + (usage.cache_read_input_tokens ?? 0),
    output: usage.output_tokens,
  }
}

function geminiClient(name: string, provider: string, open: (server: ModelServer) => GoogleGenAI) {
  const model = 'gemini-2.5-flash'
  return {
    name,
    format: 'gemini',
    provider,
    ask: async (server: ModelServer, prompt: string) =>
      heardContent([await open(server).models.generateContent({ model, contents: prompt })]),
    stream: async (server: ModelServer, prompt: string) => {
      const chunks = await collect(
        await open(server).models.generateContentStream({ model, contents: prompt }),
      )
      return heardContent(chunks)
    },
  }
}

function heardContent(chunks: readonly GenerateContentResponse[]): Heard {
  const parts = chunks.flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? [])
  const texts = parts.filter(({ text, thought }) => text !== undefined && thought !== true)
  const usage = chunks.at(-1)?.usageMetadata
  return {
    text: texts.map(({ text }) => text).join(''),
    calls: parts.flatMap(({ functionCall }) =>
      functionCall === undefined
        ? []
        : [{ name: functionCall.name ?? '', args: functionCall.args }],
    ),
    input: usage?.promptTokenCount,
    output: (usage?.candidatesTokenCount ?? 0) + (usage?.thoughtsTokenCount ?? 0),
    pieces: texts.length,
  }
}

const groqClient: ModelClient = {
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

const mistralClient: ModelClient = {
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

const ollamaClient: ModelClient = {
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

type Handler = 'HTTP/2' | 'HTTP/1'

const bedrock = ({ env }: ModelServer, handler: Handler): BedrockRuntimeClient =>
  new BedrockRuntimeClient({
    endpoint: env['AWS_ENDPOINT_URL_BEDROCK_RUNTIME']!,
    region: env['AWS_REGION']!,
    credentials: {
      accessKeyId: env['AWS_ACCESS_KEY_ID']!,
      secretAccessKey: env['AWS_SECRET_ACCESS_KEY']!,
    },
    maxAttempts: 1,
    ...(handler === 'HTTP/1' && { requestHandler: new NodeHttpHandler() }),
  })

function converseClient(handler: Handler): ModelClient {
  const input = (prompt: string) => ({
    modelId: 'amazon.nova-lite-v1:0',
    messages: [{ role: 'user' as const, content: [{ text: prompt }] }],
  })
  const total = (usage: TokenUsage | undefined) =>
    (usage?.inputTokens ?? 0) + (usage?.cacheReadInputTokens ?? 0)
  return {
    name: `Bedrock Converse over ${handler}`,
    format: 'bedrock-converse',
    provider: 'bedrock',
    ask: async (server, prompt) => {
      const { output, usage } = await bedrock(server, handler).send(
        new ConverseCommand(input(prompt)),
      )
      const content = output?.message?.content ?? []
      return {
        text: content.map(({ text = '' }) => text).join(''),
        calls: content.flatMap(({ toolUse }) =>
          toolUse === undefined ? [] : [{ name: toolUse.name ?? '', args: toolUse.input }],
        ),
        input: total(usage),
        output: usage?.outputTokens,
      }
    },
    stream: async (server, prompt) => {
      const { stream = [] } = await bedrock(server, handler).send(
        new ConverseStreamCommand(input(prompt)),
      )
      const texts: string[] = []
      const calls: { name: string; text: string }[] = []
      let usage: TokenUsage | undefined
      for await (const { contentBlockStart, contentBlockDelta, metadata } of stream) {
        const name = contentBlockStart?.start?.toolUse?.name
        if (name !== undefined) calls.push({ name, text: '' })
        const { text, toolUse } = contentBlockDelta?.delta ?? {}
        if (text !== undefined) texts.push(text)
        if (toolUse !== undefined) calls.at(-1)!.text += toolUse.input ?? ''
        usage = metadata?.usage ?? usage
      }
      return {
        text: texts.join(''),
        calls: calls.map(({ name, text }) => ({ name, args: parse(text) })),
        input: total(usage),
        output: usage?.outputTokens,
        pieces: texts.length,
      }
    },
  }
}

/** What is read of the events of Claude on Bedrock. */
interface ClaudeEvent {
  readonly content_block?: { readonly type: string; readonly name?: string }
  readonly delta?: { readonly text?: string; readonly partial_json?: string }
  readonly 'amazon-bedrock-invocationMetrics'?: Readonly<Record<string, number>>
}

function invokeClient(handler: Handler): ModelClient {
  const input = (prompt: string) => ({
    modelId: 'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
    contentType: 'application/json',
    body: JSON.stringify({
      anthropic_version: 'bedrock-2023-05-31',
      max_tokens: 100,
      messages: say(prompt),
    }),
  })
  return {
    name: `Bedrock invoke over ${handler}`,
    format: 'bedrock-invoke',
    provider: 'bedrock',
    ask: async (server, prompt) => {
      const { body } = await bedrock(server, handler).send(new InvokeModelCommand(input(prompt)))
      return heardMessage(parse(Buffer.from(body).toString()) as Anthropic.Message)
    },
    stream: async (server, prompt) => {
      const { body = [] } = await bedrock(server, handler).send(
        new InvokeModelWithResponseStreamCommand(input(prompt)),
      )
      const texts: string[] = []
      const calls: { name: string; text: string }[] = []
      let metrics: Readonly<Record<string, number>> = {}
      for await (const { chunk } of body) {
        const event = parse(Buffer.from(chunk?.bytes ?? []).toString()) as ClaudeEvent
        if (event.content_block?.type === 'tool_use')
          calls.push({ name: event.content_block.name ?? '', text: '' })
        if (event.delta?.text !== undefined) texts.push(event.delta.text)
        if (event.delta?.partial_json !== undefined) calls.at(-1)!.text += event.delta.partial_json
        metrics = event['amazon-bedrock-invocationMetrics'] ?? metrics
      }
      return {
        text: texts.join(''),
        calls: calls.map(({ name, text }) => ({ name, args: parse(text) })),
        input: (metrics['inputTokenCount'] ?? 0) + (metrics['cacheReadInputTokenCount'] ?? 0),
        output: metrics['outputTokenCount'],
        pieces: texts.length,
      }
    },
  }
}

/** Every SDK and format that the scripted model server is made for. */
export const modelClients: readonly ModelClient[] = [
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
  anthropicClient,
  geminiClient(
    '@google/genai',
    'gemini',
    ({ env }) =>
      new GoogleGenAI({
        apiKey: env['GEMINI_API_KEY']!,
        httpOptions: { baseUrl: env['GOOGLE_GEMINI_BASE_URL']! },
      }),
  ),
  geminiClient(
    '@google/genai at Vertex',
    'vertex',
    ({ env }) =>
      new GoogleGenAI({
        vertexai: true,
        apiKey: 'made-up',
        httpOptions: { baseUrl: env['GOOGLE_VERTEX_BASE_URL']! },
      }),
  ),
  groqClient,
  mistralClient,
  ollamaClient,
  converseClient('HTTP/2'),
  converseClient('HTTP/1'),
  invokeClient('HTTP/2'),
  invokeClient('HTTP/1'),
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
