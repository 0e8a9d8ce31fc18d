import type { InitiationEvent, NewEvent } from '@retake/tape'
import { meaningfulHeaders } from './headers.js'

/** One way in which what the program does now differs from what the tape says. */
export interface Mismatch {
  readonly field: string
  readonly recorded: unknown
  readonly current: unknown
}

/**
 * Compares an initiation with the recorded one, bodies aside. Covers what is
 * asked and of whom; never keys, dates or user agents.
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
        // Paths and host names stand nowhere else.
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
