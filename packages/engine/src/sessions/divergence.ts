import type { NewEvent, TapeEvent } from '@retake/tape'
import type { Mismatch } from '../signature.js'

/** The first point where the program and the tape part, in words and data. */
export interface Divergence {
  /** The event of the tape at which it happened. */
  readonly seq: number
  readonly kind: DivergenceKind
  /** One line: what differs. */
  readonly summary: string
  /** One or two sentences: what the tape says and what the program did. */
  readonly explanation: string
  /** The fix, if it is something other than undoing a change. */
  readonly fix?: string
  /** What the tape holds there, if anything. */
  readonly recorded?: TapeEvent
  readonly mismatches: readonly Mismatch[]
  /** Where in the agent's code, as `file:line:column`. */
  readonly site?: string
}

/**
 * - `different`: same kind of call, other content
 * - `unexpected`: the program did something the tape does not have there
 * - `missing`: the program ended, or waits, while the tape goes on
 * - `output`: it wrote something else
 * - `result`: it returned or exited with something else
 * - `cut-off`: no difference; the recording was cut off here and cannot serve more
 */
export type DivergenceKind =
  | 'different'
  | 'unexpected'
  | 'missing'
  | 'output'
  | 'result'
  | 'cut-off'

/** A short name for an event, the way a person would say it. */
export function describe(event: NewEvent): string {
  switch (event.type) {
    case 'draw':
      return `a read of ${event.kind}`
    case 'request':
      return `${event.method} ${event.url}`
    case 'call':
      if (event.kind === 'tool') return `tool call ${event.name}`
      return event.title === undefined ? event.name : `${event.name} ${event.title}`
    case 'timer':
      return event.kind === 'immediate' ? 'setImmediate' : `a ${event.kind} of ${event.ms} ms`
    case 'work':
      return `start of ${event.name}`
    case 'socket':
      return `a connection to ${event.path ?? `${event.host}:${event.port}`}`
    case 'output':
      return `a write to ${event.stream}`
    case 'write':
      return `a write to event ${event.op}`
    case 'response':
      return `the response (status ${event.status}) to event ${event.op}`
    case 'result':
      return `the result of event ${event.op}`
    case 'deliver':
      return `"${event.part}" of event ${event.op}`
    case 'end':
      return 'the end of the run'
    case 'run':
    case 'note':
    case 'seal':
      return `a ${event.type} record`
  }
}

/** Default ports of databases. */
const PROTOCOLS: Readonly<Record<number, string>> = {
  3306: 'mysql',
  5432: 'postgres',
  6379: 'redis',
  27017: 'mongodb',
}

/** Readable target of bytes: `127.0.0.1:5432 (postgres)`, or a command. */
export function nameReceiver(event: NewEvent, firstAnswer: Uint8Array | undefined): string {
  if (event.type !== 'socket')
    return event.type === 'call' ? (event.title ?? event.name) : describe(event)
  const protocol = PROTOCOLS[event.port ?? 0] ?? protocolOf(firstAnswer)
  const place = event.path ?? `${event.host}:${event.port}`
  return protocol === undefined ? place : `${place} (${protocol})`
}

/** Detects the database by its first bytes: PostgreSQL's authentication request, MySQL's greeting. */
function protocolOf(bytes: Uint8Array | undefined): string | undefined {
  if (bytes === undefined || bytes.length < 9) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (view.getUint8(0) === 0x52 && view.getUint32(1) < 256 && view.getUint32(5) <= 12)
    return 'postgres'
  return view.getUint8(3) === 0 && view.getUint8(4) === 10 ? 'mysql' : undefined
}
