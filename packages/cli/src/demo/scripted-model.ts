import { randomBytes, randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'

interface ChatMessage {
  readonly role: string
  readonly content: string | null
}

export interface ScriptedModel {
  readonly url: string
  stop(): Promise<void>
}

/**
 * Serves a model on the loopback, so that the demo needs no key. It speaks OpenAI's
 * chat format and answers by rules; ids and waiting times are random, like those of a real model.
 */
export async function startScriptedModel(wantedPort = 0): Promise<ScriptedModel> {
  const server = createServer((request, response) => {
    // An agent may disconnect during a request.
    respond(request, response).catch(() => response.destroy())
  })
  server.listen(wantedPort, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    stop: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

export async function withScriptedModel<T>(
  use: (url: string) => Promise<T>,
  port?: number,
): Promise<T> {
  const model = await startScriptedModel(port)
  try {
    return await use(model.url)
  } finally {
    await model.stop()
  }
}

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = JSON.stringify(await answer(request))
  await setTimeout(randomInt(120, 320))
  response.setHeader('content-type', 'application/json')
  response.end(body)
}

async function answer(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const { model, messages } = JSON.parse(Buffer.concat(chunks).toString()) as {
    model: string
    messages: ChatMessage[]
  }
  const said = reply(messages)
  const message =
    typeof said === 'string'
      ? { role: 'assistant', content: said }
      : { role: 'assistant', content: null, tool_calls: [toolCall(said)] }
  const promptTokens = tokensIn(messages)
  const completionTokens = tokensIn(message)
  return {
    id: `chatcmpl-${randomBytes(9).toString('hex')}`,
    object: 'chat.completion',
    created: Math.floor(Date.now() / 1000),
    model,
    choices: [
      { index: 0, message, finish_reason: typeof said === 'string' ? 'stop' : 'tool_calls' },
    ],
    usage: {
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
    },
  }
}

interface ToolWish {
  readonly name: string
  readonly args: Readonly<Record<string, string>>
}

function toolCall({ name, args }: ToolWish): object {
  const id = `call_${randomBytes(9).toString('hex')}`
  return { id, type: 'function', function: { name, arguments: JSON.stringify(args) } }
}

function reply(messages: readonly ChatMessage[]): string | ToolWish {
  const instructions = messages[0]?.content ?? ''
  const text = messages.map(({ content }) => content ?? '').join('\n')
  const result = messages.findLast(({ role }) => role === 'tool')?.content ?? ''
  if (instructions.includes('lookup_order')) {
    if (result === '') return { name: 'lookup_order', args: { id: found(/order (\d+)/i, text) } }
    const { item, price, deliveredOn } = JSON.parse(result) as Record<string, string>
    return `${item}, €${price}, delivered on ${deliveredOn}.`
  }
  if (instructions.includes('search_policy')) {
    if (result === '') return { name: 'search_policy', args: { query: 'refund window' } }
    return (JSON.parse(result) as { text: string }).text
  }
  return decide(text)
}

function decide(text: string): string {
  const delivered = Date.parse(found(/delivered on ([\d-]+)/, text))
  const today = Date.parse(found(/Today is ([\d-]+)/, text))
  const days = Math.round((today - delivered) / 86_400_000)
  const window = Number(found(/within (\d+) days/, text))
  const price = found(/€(\d+)/, text)
  return days <= window
    ? `APPROVED: €${price}. Day ${days} of a ${window}-day window.`
    : `DENIED. Day ${days}, but the window is ${window} days.`
}

const found = (pattern: RegExp, text: string): string => pattern.exec(text)?.[1] ?? ''

/** Roughly four characters a token, like the real ones. */
const tokensIn = (value: unknown): number => Math.ceil(JSON.stringify(value).length / 4)
