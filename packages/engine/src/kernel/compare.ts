import {
  attempt,
  type DeliveryEvent,
  type InitiationEvent,
  type NewEvent,
  parseJson,
  type Tape,
} from '@retake/tape/format'
import type { Operation as StartedOperation } from './session.js'
import { meaningfulHeaders } from './headers.js'
import { createHash } from 'node:crypto'

/** If there are as many mismatches, there may be more. */
export const MISMATCHES_MAX = 20

/**
 * The differences between two bodies: paths if both are JSON, lines if both are text, otherwise
 * sizes. At most twenty.
 */
export function bodyMismatches(recorded: Uint8Array, current: Uint8Array): Mismatch[] {
  const before = readable(recorded)
  const now = readable(current)
  if (before === undefined || now === undefined) {
    return [
      {
        field: 'body',
        recorded: `${recorded.length} bytes`,
        current: `${current.length} other bytes`,
        isPlain: true,
      },
    ]
  }
  const found: Mismatch[] = []
  try {
    compareJson('body', JSON.parse(before), JSON.parse(now), found)
  } catch {
    compareLines(before, now, found)
  }
  if (found.length === 0) found.push({ field: 'body', recorded: before, current: now })
  return found
}

const readable = (bytes: Uint8Array): string | undefined =>
  attempt(() => new TextDecoder('utf-8', { fatal: true }).decode(bytes))

function compareJson(path: string, recorded: unknown, current: unknown, found: Mismatch[]): void {
  if (found.length >= MISMATCHES_MAX || Object.is(recorded, current)) return
  if (
    !isContainer(recorded) ||
    !isContainer(current) ||
    Array.isArray(recorded) !== Array.isArray(current)
  ) {
    found.push({ field: path, recorded, current })
    return
  }
  for (const key of new Set([...Object.keys(recorded), ...Object.keys(current)])) {
    const inner = Array.isArray(recorded) ? `${path}[${key}]` : `${path}.${key}`
    compareJson(inner, recorded[key], current[key], found)
  }
}

const isContainer = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

function compareLines(recorded: string, current: string, found: Mismatch[]): void {
  const before = recorded.split('\n')
  const now = current.split('\n')
  const length = Math.max(before.length, now.length)
  for (let line = 0; line < length && found.length < MISMATCHES_MAX; line += 1) {
    if (before[line] !== now[line]) {
      const field = `line ${line + 1}`
      found.push({ field, recorded: before[line], current: now[line], isPlain: true })
    }
  }
}

/** A body as JSON; undefined if it is something else. */
export const parseBody = (body: Uint8Array = new Uint8Array()): unknown =>
  parseJson(Buffer.from(body).toString())

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** Digest of an empty body; the tape stores none. */
const EMPTY_SHA = sha256(new Uint8Array(0))

/** The hash by which bodies are compared without reading the recorded one. */
export const bodySha = (body: Uint8Array): string => (body.length === 0 ? EMPTY_SHA : sha256(body))

export const recordedSha = (tape: Tape, seq: number): string => tape.bodySha(seq) ?? EMPTY_SHA

export interface Started {
  readonly event: NewEvent<InitiationEvent>
  readonly body?: Uint8Array | undefined
}

export interface Mismatch {
  readonly field: string
  readonly recorded: unknown
  readonly current: unknown
  /** True if the sides are lines of text or descriptions, not values that have a type. */
  readonly isPlain?: true
  /** True if the sides are digests of bytes that the tape does not have. */
  readonly isDigest?: true
}

/**
 * Compares an initiation with the recorded one, without bodies. Ignores keys, dates and user
 * agents.
 */
export function compareInitiation(
  recorded: InitiationEvent,
  current: NewEvent<InitiationEvent>,
): Mismatch[] {
  const before = fieldsOf(recorded)
  const now = fieldsOf(current)
  const mismatches: Mismatch[] = []
  for (const field of new Set([...Object.keys(before), ...Object.keys(now)])) {
    if (JSON.stringify(before[field]) !== JSON.stringify(now[field])) {
      mismatches.push({ field, recorded: before[field], current: now[field] })
    }
  }
  return mismatches
}

/** True for a header that only one of two requests has, because SDK versions send different headers. */
export const isAddedHeader = ({ field, recorded, current }: Mismatch): boolean =>
  field.startsWith('header ') && (recorded === undefined || current === undefined)

/**
 * A key shared by operations for which `compareInitiation` finds no difference and whose bodies are
 * equal.
 */
export const identityOf = (
  event: InitiationEvent | NewEvent<InitiationEvent>,
  sha: string,
): string => {
  const fields = Object.entries(fieldsOf(event)).filter(([, value]) => value !== undefined)
  return JSON.stringify([sha, ...fields.toSorted(([a], [b]) => (a < b ? -1 : 1))])
}

function fieldsOf(event: InitiationEvent | NewEvent<InitiationEvent>): Record<string, unknown> {
  switch (event.type) {
    case 'request': {
      const headers = meaningfulHeaders(event.headers)
      const fields: Record<string, unknown> = {
        type: 'request',
        method: event.method,
        url: event.url,
      }
      for (const [name, value] of headers) {
        const key = `header ${name}`
        fields[key] = key in fields ? `${String(fields[key])}, ${value}` : value
      }
      return fields
    }
    case 'call':
      return {
        type: 'call',
        kind: event.kind,
        name: event.name,
        as: event.as,
        // For these, only the title has paths and host names.
        ...((event.kind === 'file' || event.kind === 'dns') && { title: event.title }),
      }
    case 'timer':
      return { type: 'timer', kind: event.kind, ms: event.ms }
    case 'work':
      return { type: 'work', name: event.name }
    case 'socket':
      return {
        type: 'socket',
        kind: event.kind,
        host: event.host,
        port: event.port,
        path: event.path,
      }
  }
}

export type Written = 'less' | 'enough' | { readonly otherDigest: string }

/**
 * Compares the bytes that the agent has written to a connection or process with those it had
 * written when a part came in the recording. Ignores the bytes `before` the operation.
 */
export function hasWritten(
  { action }: StartedOperation,
  event: DeliveryEvent,
  before = { recorded: 0, current: 0 },
): Written {
  const stamp = action.stamp?.()
  if (event.type !== 'deliver' || event.written === undefined || stamp === undefined)
    return 'enough'
  const due = event.written - before.recorded + before.current
  if (stamp.written < due) return 'less'
  const otherDigest = stamp.written === due ? stamp.digest : action.digestAt?.(due)
  return otherDigest === undefined || otherDigest === event.digest ? 'enough' : { otherDigest }
}
