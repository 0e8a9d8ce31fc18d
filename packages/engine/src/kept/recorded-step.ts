import { createHash } from 'node:crypto'
import type { CallEvent, InitiationEvent, NewEvent, RequestEvent, Step, Tape } from '@retake/tape'
import { isAsked } from '../answers/is-asked.js'
import type { RecordedAnswers } from '../answers/recorded-answers.js'

/** A step of the recording that something in a fork may match. */
export interface RecordedStep {
  readonly step: Step
  readonly label: string
  readonly seq: number
  readonly event: RequestEvent | CallEvent
  readonly key: string
  /** Numbers of the deliveries that carry its answer. */
  readonly parts: readonly number[]
  /** The delivery that the agent was acting on when it asked. */
  readonly turn: number
  /** Something in the fork has matched it. */
  used: boolean
}

/** All steps that were asked by a request, a tool call or a process of their own. */
export function recordedSteps(
  tape: Tape,
  steps: readonly Step[],
  answers: RecordedAnswers,
): RecordedStep[] {
  return steps.flatMap((step) => {
    const event = step.inferred ? undefined : tape.event(step.seq)
    if (event === undefined || !isAsked(event)) return []
    const { label, seq } = step
    const { parts = [], turn = 0 } = answers.byStart.get(seq) ?? {}
    const key = stepKey(event, tape.body(seq))
    return [{ step, label, seq, event, key, parts, turn, used: false }]
  })
}

/**
 * What two that match have in common in any case: the kind of step and its name. Of a
 * request that is the host; whether path or call site must agree, a `StepMatcher` knows.
 */
export function stepKey(event: NewEvent<InitiationEvent>, body: Uint8Array): string {
  if (event.type === 'call') {
    const program = event.kind === 'process' ? ` ${(event.title ?? '').split(' ')[0]}` : ''
    return `${event.kind} ${event.name}${program}`
  }
  if (event.type !== 'request') return event.type
  return `${event.method} ${originOf(event.url)}${rpcName(body)}`
}

/** Requests of the Model Context Protocol all go to one address. */
function rpcName(body: Uint8Array): string {
  if (body[0] !== OBJECT) return ''
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  if (!text.includes('"jsonrpc"')) return ''
  const { jsonrpc, method, params } = (parsed(body) ?? {}) as {
    jsonrpc?: unknown
    method?: unknown
    params?: { name?: unknown }
  }
  if (jsonrpc !== '2.0' || typeof method !== 'string') return ''
  return ` ${method} ${typeof params?.name === 'string' ? params.name : ''}`
}

const OBJECT = 0x7b

const originOf = (url: string): string => /^[a-z]+:\/\/[^/?#]*/i.exec(url)?.[0] ?? url

export const pathOf = (url: string): string =>
  url.slice(originOf(url).length).split(/[?#]/)[0] ?? ''

export const parsed = (body: Uint8Array): unknown => {
  try {
    return JSON.parse(Buffer.from(body).toString('utf8')) as unknown
  } catch {
    return undefined
  }
}

/** What was said so far in a request to a model, part by part, as hashes. */
export interface Conversation {
  /** The system prompt first. */
  readonly turns: readonly string[]
  /** What a person asked first: all of a lane have it in common. */
  readonly task: string | undefined
}

/**
 * The conversation in a request; undefined where there is none. What a lane of an
 * agent has said so far tells it from all others.
 */
export function conversationOf(
  body: Uint8Array,
  plain: (bytes: Uint8Array) => string,
): Conversation | undefined {
  const request = parsed(body)
  if (typeof request !== 'object' || request === null) return undefined
  const { messages, input, contents, ...rest } = request as Record<string, unknown>
  const turns = [messages, input, contents].find((each) => Array.isArray(each))
  if (!Array.isArray(turns)) return undefined
  const hashOf = (turn: unknown): string => sha1(plain(Buffer.from(JSON.stringify(turn) ?? '')))
  const system = rest['system'] ?? rest['instructions'] ?? rest['systemInstruction'] ?? null
  const task = (turns as ({ role?: unknown } | null)[]).find((turn) => turn?.role === 'user')
  return {
    turns: [system, ...(turns as unknown[])].map(hashOf),
    task: task === undefined ? undefined : hashOf(task),
  }
}

const sha1 = (text: string): string => createHash('sha1').update(text, 'latin1').digest('base64')
