import inspector from 'node:inspector'
import { isDelivery, isInitiation, type Tape } from '@retake/tape/format'
import { adoptProcess, outsideRuns } from '../../kernel/scope.js'
import type { Session } from '../../kernel/session.js'
import {
  type Described,
  type DescribeLimits,
  describeValue,
  UNAVAILABLE,
} from './describe-value.js'

/** Number of events that are searched for the work that a library does with an answer. */
const EVENTS_MAX = 2000

/** The part of a session that `InspectorTools` uses. */
export interface InspectedSession extends Session {
  readonly tape: Tape
  readonly position: number
}

/** Detaches the debugger, because a process that has ended would wait for it. */
export function closeInspector(): void {
  if (inspector.url() !== undefined) inspector.close()
}

/** A frame that awaits another one, as V8 prints it after `at async`. */
export interface RawAsyncFrame {
  readonly name: string
  readonly url: string
  readonly line: number
  readonly column: number
}

// Captured, because the agent may replace them later.
const captureStackTrace = Error.captureStackTrace.bind(Error)
const { getOwnPropertyDescriptor, keys } = Object

/**
 * Functions that the controller calls in the paused thread, through the inspector. None of them
 * runs agent code.
 */
export class InspectorTools {
  constructor(readonly session: InspectedSession) {}

  /** Number of events consumed so far. */
  position(): number {
    return this.session.position
  }

  /**
   * Deliveries that follow from delivery `seq`: answers to operations that were started in its
   * turn, in the turns of those, and so on; `seq` itself is the first. If a library unpacks or
   * retries an answer, the answer reaches the agent in one of these turns; the turns in between
   * belong to other tasks.
   */
  relatedTurns(seq: number): number[] {
    const turns = [seq]
    const started = new Set<number>()
    let isRelated = true
    for (const event of this.session.tape.events(seq + 1, seq + EVENTS_MAX)) {
      if (isDelivery(event)) {
        isRelated = started.has(event.op)
        if (isRelated) turns.push(event.seq)
      } else if (isRelated && isInitiation(event)) started.add(event.seq)
    }
    return turns
  }

  /** While set, the run does not answer, because an evaluated expression must not consume the tape. */
  setAside(isAside: boolean): void {
    adoptProcess(isAside ? undefined : this.session)
  }

  describe(value: unknown, limits: DescribeLimits): Described {
    return describeValue(value, limits)
  }

  /** The variables of a scope, which the inspector presents as an object. */
  describeScope(scope: object, limits: DescribeLimits, most: number): [string, Described][] {
    return keys(scope)
      .slice(0, most)
      .map((name) => [name, describeVariable(scope, name, limits)])
  }

  /** Functions that await the running one. Requires no bookkeeping while the agent runs. */
  asyncFrames(): RawAsyncFrame[] {
    const { stackTraceLimit } = Error
    const prepare = getOwnPropertyDescriptor(Error, 'prepareStackTrace')
    const target: { stack?: unknown } = {}
    Error.stackTraceLimit = 100
    Error.prepareStackTrace = (_error, frames) => frames
    try {
      captureStackTrace(target)
      const frames = target.stack as (NodeJS.CallSite & { isAsync(): boolean })[]
      return frames
        .filter((frame) => frame.isAsync())
        .map((frame) => ({
          name: frame.getFunctionName() ?? '',
          url: frame.getFileName() ?? '',
          line: frame.getLineNumber() ?? 0,
          column: frame.getColumnNumber() ?? 0,
        }))
    } finally {
      Error.stackTraceLimit = stackTraceLimit
      if (prepare) Object.defineProperty(Error, 'prepareStackTrace', prepare)
      else Reflect.deleteProperty(Error, 'prepareStackTrace')
    }
  }

  openInspector(port: number): string | undefined {
    return outsideRuns(() => {
      inspector.open(port, '127.0.0.1')
      return inspector.url()
    })
  }
}

function describeVariable(scope: object, name: string, limits: DescribeLimits): Described {
  try {
    const found = getOwnPropertyDescriptor(scope, name)
    return found && 'value' in found ? describeValue(found.value, limits) : UNAVAILABLE
  } catch {
    // Declared, but not initialised yet. (Node 20 reports it as undefined.)
    return UNAVAILABLE
  }
}
