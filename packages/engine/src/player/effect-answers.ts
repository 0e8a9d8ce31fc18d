import { answerPayload } from '@retake/tape'
import { attempt, decodeBody, isRecord, type NewEvent, type Tape } from '@retake/tape/format'
import type { CallEvent, RequestEvent } from '@retake/tape/format'
import { parseBody } from '../kernel/compare.js'
import type { RecordedStep } from './pinned-matcher.js'

type StepEvent = NewEvent<RequestEvent | CallEvent>

/** A call that may not run. `tool`: its name, if it is a call of a tool. */
export interface BlockedCall {
  readonly event: StepEvent
  readonly body: Uint8Array
  readonly tool: string | undefined
}

/**
 * True if the recorded answer of a step with effects also fits a call with other arguments: it only
 * acknowledges the effect, or the calls differ only in their wording. Not for programs, nor for
 * calls that by their name look something up, whose answers depend on their arguments.
 */
export function answersAnyCall(tape: Tape, recorded: RecordedStep, call: BlockedCall): boolean {
  const { event, body, tool } = call
  if (event.type === 'call' && event.kind === 'process') return false
  if (recorded.parts.length === 0 || recorded.step.failure !== undefined) return false
  const name = tool ?? (event.type === 'request' ? lastSegment(event.url) : event.name)
  if (looksUp(name)) return false
  const then = argumentsOf(recorded.event, tape.body(recorded.seq))
  const now = argumentsOf(event, body)
  const mcp = recorded.step.mcp()
  const answer = mcp === undefined ? attempt(() => answerPayload(tape, recorded.step)) : undefined
  if (mcp === undefined ? answer && acknowledges(answer.data) : acknowledgesMessage(mcp.result))
    return true
  const isAct =
    wordsOf(name).some((word) => ACTS.has(word)) || (event.type === 'request' && tool === undefined)
  return isAct && differsOnlyInWords(then, now)
}

/** The same for a tool of an MCP server on pipes. */
export const answersAnyMessage = (tool: string, result: unknown): boolean =>
  !looksUp(tool) && acknowledgesMessage(result)

/** The result of an MCP tool: its texts, or their JSON. */
function acknowledgesMessage(result: unknown): boolean {
  if (!isRecord(result) || result['isError'] === true) return false
  const { content = [], structuredContent } = result
  if (!Array.isArray(content) || !acknowledges(structuredContent)) return false
  return content.every((part: unknown) => {
    if (!isRecord(part) || typeof part['text'] !== 'string') return false
    const { text } = part
    return acknowledges(attempt(() => JSON.parse(text) as unknown, text))
  })
}

const looksUp = (name: string): boolean => wordsOf(name).some((word) => LOOKS_UP.has(word))

const lastSegment = (url: string): string =>
  (URL.canParse(url) ? new URL(url).pathname : url).split('/').findLast((part) => part !== '') ?? ''

/** `sendMail`, `send_mail` and `send-mail` are `send mail`. */
const wordsOf = (name: string): string[] =>
  name
    .replaceAll(/(?<=[a-z\d])(?=[A-Z])/g, ' ')
    .toLowerCase()
    .split(/[^a-z]+/)

const LOOKS_UP: ReadonlySet<string> = new Set(
  'get read list search find fetch look lookup check query validate verify count calculate calc compute convert estimate quote graphql rpc'.split(
    ' ',
  ),
)

const ACTS: ReadonlySet<string> = new Set(
  'send post mail email notify message reply publish write save store create add insert update set delete remove cancel pay transfer refund charge book order submit log report file'.split(
    ' ',
  ),
)

function argumentsOf(event: StepEvent, body: Uint8Array): unknown {
  if (event.type === 'call') return attempt(() => decodeBody(event.as ?? 'json', body))
  const text = Buffer.from(body).toString('utf8')
  return [event.method, event.url.split('?')[0], parseBody(body) ?? text]
}

/** True if two values have the same form, and their leaves differ only where both are sentences. */
export function differsOnlyInWords(then: unknown, now: unknown): boolean {
  if (Array.isArray(then) && Array.isArray(now))
    return then.length === now.length && then.every((each, at) => differsOnlyInWords(each, now[at]))
  if (isRecord(then) && isRecord(now)) {
    const keys = Object.keys(then)
    return (
      keys.length === Object.keys(now).length &&
      keys.every((key) => key in now && differsOnlyInWords(then[key], now[key]))
    )
  }
  if (typeof then === 'string' && typeof now === 'string')
    return then === now || (isSentence(then) && isSentence(now))
  return Object.is(then, now)
}

const isSentence = (text: string): boolean => text.trim().split(/\s+/).length > 2

/** True for `{ ok: true, id: 'tr_81' }`, `sent` and the like: nothing that depends on the arguments. */
export function acknowledges(answer: unknown): boolean {
  if (answer === null || answer === undefined || answer === true) return true
  if (typeof answer === 'string') return ACKNOWLEDGED.test(answer.trim()) || isId(answer.trim())
  if (Array.isArray(answer) || !isRecord(answer)) return false
  return Object.values(answer).every((value) => acknowledges(value))
}

const ACKNOWLEDGED =
  /^(?:|ok(?:ay)?|yes|true|done|sent|paid|booked|saved|stored|written|created|updated|deleted|removed|accepted|queued|scheduled|published|posted|delivered|success(?:ful)?|succeeded|complete[d]?|submitted|refunded|transferred|received)$/i

/** `tr_81`, `msg-4f2a`, a UUID: letters and digits without spaces, unlike an amount or a date. */
const isId = (text: string): boolean =>
  /^[\w-]{3,64}$/.test(text) && /[a-z]/i.test(text) && /\d/.test(text)
