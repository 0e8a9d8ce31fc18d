import { readFileSync } from 'node:fs'
import {
  BedrockRuntimeClient,
  ConverseStreamCommand,
  type ConverseStreamOutput,
} from '@aws-sdk/client-bedrock-runtime'
import { GoogleGenAI, type GenerateContentResponse } from '@google/genai'
import {
  answerPayload,
  editedAnswer,
  readRun,
  setPath,
  type EditedAnswer,
  type Step,
} from '@retake/tape'
import { NodeHttpHandler } from '@smithy/node-http-handler'
import { Ollama, type ChatResponse } from 'ollama'
import { afterAll, describe, expect, test } from 'vitest'
import { bedrockEvent } from '../../packages/tape/test-support/event-frame.js'
import { EventScript } from '../../packages/tape/test-support/event-script.js'
import { serveDeliveries, type Served } from '../support/serve-deliveries.js'

/** Edited streams of Gemini, Bedrock and Ollama, on real shapes, read by the real SDKs. */

interface Golden {
  readonly url: string
  readonly request: object
  readonly headers: Readonly<Record<string, string>>
  readonly body?: readonly string[]
  readonly frames?: readonly (readonly [string, unknown])[]
}

const served: Served[] = []
afterAll(async () => {
  for (const server of served) await server.close()
})

/** A recorded exchange as the only step of a run. */
function recorded(name: string): [EventScript, Step] {
  const file = new URL(`../golden/providers/${name}.json`, import.meta.url)
  const { url, request, headers, body, frames } = JSON.parse(readFileSync(file, 'utf8')) as Golden
  const tape = new EventScript()
  const op = tape.request(url, request)
  const head = { status: 200, statusText: 'OK', headers: Object.entries(headers) }
  tape.add({ type: 'response', op, ...head })
  for (const piece of body ?? []) tape.chunk(op, piece)
  for (const [event, value] of frames ?? []) tape.chunk(op, bedrockEvent(event, value))
  tape.add({ type: 'deliver', op, part: 'end' })
  const [step] = readRun(tape.end()).steps
  if (step === undefined) throw new Error(`no step in ${name}`)
  return [tape, step]
}

type Edit = readonly [path: string, value: unknown]

/** Where a client finds the edited answer of a recorded exchange. */
async function serve(name: string, edits: readonly Edit[]): Promise<string> {
  const [tape, step] = recorded(name)
  const payload = answerPayload(tape, step)
  const data = edits.reduce((made, [path, value]) => setPath(made, path, value), payload.data)
  const answer: EditedAnswer = editedAnswer(tape, step, { ...payload, data })
  const server = await serveDeliveries(answer.deliveries)
  served.push(server)
  return server.url
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

const TEXT = 'It is “lost” ☃.\n\ndata: [DONE]\n\n— since 12:30, {"really":true} 👩‍👩‍👧'
const ARGS = { city: 'Ås', deep: { list: [1, null, '☃ "x"'] }, empty: {} }

describe("Google's SDK reads an edited stream", () => {
  const read = async (url: string): Promise<GenerateContentResponse[]> => {
    const client = new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl: url } })
    const request = { model: 'gemini-2.5-flash', contents: 'hi' }
    return collect(await client.models.generateContentStream(request))
  }

  test('with another thought, another text and other counts', async () => {
    const url = await serve('gemini-stream-thoughts', [
      ['candidates.0.content.parts.0.text', 'Hm, hm, hm.'],
      ['candidates.0.content.parts.1.text', TEXT],
      ['usageMetadata.candidatesTokenCount', 4242],
    ])
    const chunks = await read(url)
    const parts = chunks.flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? [])
    const join = (isThought: boolean): string =>
      parts.map(({ text, thought }) => ((thought === true) === isThought ? text : '')).join('')
    expect([join(true), join(false)]).toEqual(['Hm, hm, hm.', TEXT])
    expect(chunks.length).toBeGreaterThan(6)
    const last = chunks.at(-1)
    expect(last?.usageMetadata?.candidatesTokenCount).toBe(4242)
    expect(last?.candidates?.[0]?.finishReason).toBe('STOP')
  })

  test('with calls in place of text', async () => {
    const url = await serve('gemini-stream', [
      ['candidates.0.content.parts', [{ functionCall: { name: 'look', args: ARGS } }]],
    ])
    const calls = (await read(url)).flatMap(({ functionCalls }) => functionCalls ?? [])
    expect(calls).toEqual([{ name: 'look', args: ARGS }])
  })
})

describe("AWS's SDK reads an edited stream of Converse", () => {
  const read = async (url: string): Promise<ConverseStreamOutput[]> => {
    const client = new BedrockRuntimeClient({
      region: 'us-east-1',
      endpoint: url,
      credentials: { accessKeyId: 'none', secretAccessKey: 'none' },
      requestHandler: new NodeHttpHandler(),
    })
    const messages = [{ role: 'user' as const, content: [{ text: 'hi' }] }]
    const command = new ConverseStreamCommand({ modelId: 'm', messages })
    const { stream } = await client.send(command)
    if (stream === undefined) throw new Error('no stream')
    return collect(stream)
  }

  test('with another thought, another text and other counts, checksums included', async () => {
    const url = await serve('bedrock-converse-stream-reasoning', [
      ['output.message.content.0.reasoningContent.reasoningText.text', 'Hm, hm, hm.'],
      ['output.message.content.1.text', TEXT],
      ['usage.outputTokens', 4242],
    ])
    const events = await read(url)
    const deltas = events.flatMap(({ contentBlockDelta }) => contentBlockDelta?.delta ?? [])
    expect(deltas.map(({ text }) => text ?? '').join('')).toBe(TEXT)
    const thoughts = deltas.map(({ reasoningContent }) => reasoningContent?.text ?? '')
    expect(thoughts.join('')).toBe('Hm, hm, hm.')
    const signature = deltas.find(
      ({ reasoningContent }) => reasoningContent?.signature !== undefined,
    )
    expect(signature).toBeDefined()
    expect(events.at(-1)?.metadata?.usage?.outputTokens).toBe(4242)
    expect(events.some(({ messageStop }) => messageStop?.stopReason === 'end_turn')).toBe(true)
  })

  test('with other arguments of a call', async () => {
    const url = await serve('bedrock-converse-stream-tool-call', [
      ['output.message.content.0.toolUse.input', ARGS],
    ])
    const events = await read(url)
    const start = events.find(({ contentBlockStart }) => contentBlockStart !== undefined)
    expect(start?.contentBlockStart?.start?.toolUse?.name).toBe('lookup_order')
    const input = events.map(
      ({ contentBlockDelta }) => contentBlockDelta?.delta?.toolUse?.input ?? '',
    )
    expect(JSON.parse(input.join(''))).toEqual(ARGS)
  })
})

describe("Ollama's SDK reads an edited stream", () => {
  const read = async (url: string): Promise<ChatResponse[]> => {
    const client = new Ollama({ host: url })
    const messages = [{ role: 'user', content: 'hi' }]
    return collect(await client.chat({ model: 'llama3', messages, stream: true }))
  }

  test('with another text, a thought and other counts', async () => {
    const url = await serve('ollama-chat-stream', [
      ['message.content', TEXT],
      ['message.thinking', 'Hm, hm, hm.'],
      ['eval_count', 4242],
    ])
    const lines = await read(url)
    expect(lines.map(({ message }) => message.content).join('')).toBe(TEXT)
    expect(lines.map(({ message }) => message.thinking ?? '').join('')).toBe('Hm, hm, hm.')
    expect(lines.length).toBeGreaterThan(6)
    expect(lines.at(-1)).toMatchObject({ done: true, done_reason: 'stop', eval_count: 4242 })
  })

  test('with a call in place of text', async () => {
    const url = await serve('ollama-chat-stream', [
      ['message.content', ''],
      ['message.tool_calls', [{ function: { name: 'look', arguments: ARGS } }]],
    ])
    const calls = (await read(url)).flatMap(({ message }) => message.tool_calls ?? [])
    expect(calls).toEqual([{ function: { name: 'look', arguments: ARGS } }])
  })
})
