import { randomInt } from 'node:crypto'
import path from 'node:path'
import type {
  ModelRequest,
  ModelServer,
  PlainMessage,
  ScriptedAnswer,
} from '@retake/engine/testing'
import type { AgentStart } from './agent-process.js'

/** Range of a delay in milliseconds, for the first lane and for the second. */
const RECORDED_DELAYS = [
  [100, 150],
  [250, 320],
] as const
/** Dozens of forks are started, in which nobody watches the answers arrive. */
const SHORT_DELAYS = [
  [1, 5],
  [40, 50],
] as const

/**
 * Serves a model on the loopback, so that the demo needs no key. Answers by rules, with random
 * delays: like those of a real model, or short ones for forks.
 */
export async function startScriptedModel(
  port = 0,
  delays: typeof RECORDED_DELAYS | typeof SHORT_DELAYS = RECORDED_DELAYS,
): Promise<ModelServer> {
  const { startModelServer } = await import('@retake/engine/testing')
  const answer = ({ messages }: ModelRequest): ScriptedAnswer => {
    const isPolicy = messages[0]?.text.includes('search_policy') === true
    // The policy arrives first, so that steps have the same numbers in every recording.
    const [least, most] = delays[isPolicy ? 0 : 1]
    return { ...reply(messages), delayMs: randomInt(least, most) }
  }
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

/** Path of the agent of `retake demo`, as `copyShipped` makes it. */
const DEMO_PATH = /[\\/](?:\.retake[\\/]demo|retake-demo-\w+)[\\/]agent\.ts$/

/** Models that answer now, by requested port. Concurrent forks of a run share one. */
const models = new Map<
  number,
  { readonly model: Promise<ModelServer | undefined>; users: number }
>()
/** Chosen again in this process, so that two recordings differ as little as possible. */
let lastPort = 0

/**
 * Lets the scripted model answer the agent of `retake demo` while it runs live, so that the commands
 * that the demo shows also work later and by themselves. `env` is the environment for the agent.
 * Does nothing for other programs, for a model that is not on the loopback address, and if
 * something already answers at the port.
 */
export async function openDemoModel({
  entry,
  cwd,
  env,
}: Pick<AgentStart, 'entry' | 'cwd' | 'env'>): Promise<
  AsyncDisposable & { readonly env: NodeJS.ProcessEnv }
> {
  const { MODEL_URL: known } = env
  const [, recordedPort] = /^http:\/\/127\.0\.0\.1:(\d+)$/.exec(known ?? '') ?? []
  const isServed = known === undefined || recordedPort !== undefined
  if (!isServed || !DEMO_PATH.test(path.resolve(cwd, entry)))
    return { env, [Symbol.asyncDispose]: () => Promise.resolve() }
  const port = Number(recordedPort ?? lastPort)
  const startElsewhere = () =>
    known === undefined ? startScriptedModel(0, SHORT_DELAYS) : undefined
  const shared = models.get(port) ?? {
    model: startScriptedModel(port, SHORT_DELAYS).catch(startElsewhere),
    users: 0,
  }
  models.set(port, shared)
  shared.users += 1
  const model = await shared.model
  if (model !== undefined) lastPort = model.port
  return {
    env: { ...env, ...(model && { MODEL_URL: model.url }) },
    async [Symbol.asyncDispose]() {
      shared.users -= 1
      if (shared.users > 0) return
      models.delete(port)
      await model?.stop()
    },
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
  const delivered = Date.parse(found(/delivered on ([\d-]+)/, text))
  const today = Date.parse(found(/Today is ([\d-]+)/, text))
  const days = Math.round((today - delivered) / 86_400_000)
  const window = Number(found(/within (\d+) days/, text))
  const price = found(/€(\d+)/, text)
  return {
    text:
      days <= window
        ? `APPROVED: €${price}. Day ${days} of a ${window}-day window.`
        : `DENIED. Day ${days}, but the window is ${window} days.`,
  }
}

const toolCall = (name: string, args: Readonly<Record<string, string>>): ScriptedAnswer => ({
  toolCalls: [{ name, args }],
})

const found = (pattern: RegExp, text: string): string => pattern.exec(text)?.[1] ?? ''
