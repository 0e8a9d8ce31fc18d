import { randomInt } from 'node:crypto'
import type {
  ModelRequest,
  ModelServer,
  PlainMessage,
  ScriptedAnswer,
} from '@retake/engine/testing'

/**
 * Serves a model on the loopback, so that the demo needs no key. Answers by rules, with random
 * delays like those of a real model.
 */
export async function startScriptedModel(port = 0): Promise<ModelServer> {
  const { startModelServer } = await import('@retake/engine/testing')
  const answer = ({ messages }: ModelRequest): ScriptedAnswer => ({
    ...reply(messages),
    delayMs: randomInt(120, 320),
  })
  return startModelServer({ port, answer })
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

/** The script of the model. */
function reply(messages: readonly PlainMessage[]): ScriptedAnswer {
  const instructions = messages[0]?.text ?? ''
  const text = messages.map((message) => message.text).join('\n')
  const result = messages.findLast(({ role }) => role === 'tool')?.text ?? ''
  if (instructions.includes('lookup_order')) {
    if (result === '') return toolCall('lookup_order', { id: found(/order (\d+)/i, text) })
    const { item, price, deliveredOn } = JSON.parse(result) as Record<string, string>
    return { text: `${item}, €${price}, delivered on ${deliveredOn}.` }
  }
  if (instructions.includes('search_policy')) {
    if (result === '') return toolCall('search_policy', { query: 'refund window' })
    return { text: (JSON.parse(result) as { text: string }).text }
  }
  return { text: decide(text) }
}

const toolCall = (name: string, args: Readonly<Record<string, string>>): ScriptedAnswer => ({
  toolCalls: [{ name, args }],
})

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
