import type Anthropic from '@anthropic-ai/sdk'
import {
  BedrockRuntimeClient,
  ConverseCommand,
  ConverseStreamCommand,
  InvokeModelCommand,
  InvokeModelWithResponseStreamCommand,
} from '@aws-sdk/client-bedrock-runtime'
import type { TokenUsage } from '@aws-sdk/client-bedrock-runtime'
import type { ModelServer } from '@retake/engine/testing'
import { NodeHttpHandler } from '@smithy/node-http-handler'
import { heardMessage } from './anthropic.js'
import { parse, say } from './model-client.js'
import type { ModelClient } from './model-client.js'

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
        calls: calls.map(({ name, text }) => ({ name, args: parse(text || '{}') })),
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
        calls: calls.map(({ name, text }) => ({ name, args: parse(text || '{}') })),
        input: (metrics['inputTokenCount'] ?? 0) + (metrics['cacheReadInputTokenCount'] ?? 0),
        output: metrics['outputTokenCount'],
        pieces: texts.length,
      }
    },
  }
}

/** Both of its APIs over both versions of HTTP. */
export const bedrockClients: readonly ModelClient[] = [
  converseClient('HTTP/2'),
  converseClient('HTTP/1'),
  invokeClient('HTTP/2'),
  invokeClient('HTTP/1'),
]
