import type { EventName } from './divergence.js'

/** A short readable name for an event. */
export function describeEvent(event: EventName): string {
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

/** Readable target of bytes: `127.0.0.1:5432 (postgres)`, or a command. */
export function describeReceiver(event: EventName, protocol?: string): string {
  if (event.type !== 'socket')
    return event.type === 'call' ? (event.title ?? event.name) : describeEvent(event)
  const endpoint = event.path ?? `${event.host}:${event.port}`
  return protocol === undefined ? endpoint : `${endpoint} (${protocol})`
}
