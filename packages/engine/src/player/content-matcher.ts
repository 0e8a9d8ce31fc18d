import { type HeaderPair, type InitiationEvent, type NewEvent, pushTo } from '@retake/tape/format'
import type { Nearest } from '../kernel/divergence.js'
import {
  bodyMismatches,
  bodySha,
  compareInitiation,
  identityOf,
  recordedSha,
  type Started,
} from '../kernel/compare.js'
import { onlyReads } from './find-doubts.js'
import { DrawnValues } from '../kernel/draws.js'
import type { TapeTimeline, RecordedOperation } from '../kernel/timeline.js'

type Initiation = NewEvent<InitiationEvent>

/** Decides which content counts as equal, and how often a recorded answer is given. */
export interface ContentRules {
  /** `ignored`: clock and random values may differ if no identical operation is left. */
  readonly drawn: 'compared' | 'ignored'
  /** `again`: after the last answer, starts over with the first. */
  readonly answers: 'once' | 'again'
  /** Removes the parts of a request that may differ. Applied to both sides. */
  readonly normalize?: (request: ComparedRequest) => ComparedRequest
}

export interface ComparedRequest {
  readonly method: string
  readonly url: string
  /** Names in lower case, in the order sent. */
  readonly headers: readonly HeaderPair[]
  readonly body: Uint8Array
}

/** For the same program in the recorded order. */
export const SAME_ORDER: ContentRules = { drawn: 'compared', answers: 'once' }
/** For the same program in another order, in which a value may have been drawn by another lane. */
export const OTHER_ORDER: ContentRules = { drawn: 'ignored', answers: 'once' }
/** For a different program, which may also make more requests. */
export const OTHER_PROGRAM: ContentRules = { drawn: 'ignored', answers: 'again' }

/** Maximum number of candidates that are compared in full to name the nearest one. */
const COMPARED_MAX = 50

interface StartedContent extends Started {
  readonly body: Uint8Array
  /** The delivery that the agent is acting on, as in the recording. */
  readonly turn?: number
}

interface Form {
  readonly event: Initiation
  readonly body: Uint8Array
}

/** Finds the recorded operation with the same content. Bodies must already be masked. */
export class ContentMatcher {
  readonly #byKind = new Map<string, RecordedOperation[]>()
  readonly #byIdentity = new Map<string, RecordedOperation[]>()
  readonly #texts = new Map<RecordedOperation, string>()

  constructor(
    readonly recorded: TapeTimeline,
    readonly rules: ContentRules,
    readonly drawn = new DrawnValues(),
  ) {
    for (const operation of recorded.operations) {
      pushTo(this.#byKind, kindOf(operation.event), operation)
      pushTo(this.#byIdentity, this.#recordedIdentity(operation), operation)
    }
  }

  /** Takes the operation of this turn, otherwise the first in recorded order. */
  take({ event, body, turn }: StartedContent): RecordedOperation | undefined {
    const identical = this.identical(event, body)
    let found = firstUnused(identical, turn) ?? this.#again(identical)
    if (found === undefined) {
      const like = this.#like(event, body)
      found = firstUnused(like, turn) ?? this.#again(like)
    }
    if (onlyReads(event)) found ??= identical.at(-1)
    if (found !== undefined) found.used = true
    return found
  }

  /** True if `take` would find something. */
  has(event: Initiation, body: Uint8Array): boolean {
    return this.identical(event, body).length > 0 || this.#like(event, body).length > 0
  }

  /** Every recorded operation with this content, used or not. */
  identical(event: Initiation, body: Uint8Array): readonly RecordedOperation[] {
    const form = this.#form(event, body)
    return this.#byIdentity.get(this.#identity(form.event, bodySha(form.body))) ?? []
  }

  /** Unused timers, work and connections of the same kind. */
  unused(event: Initiation): RecordedOperation[] {
    return this.#sameKind(event).filter(({ used }) => !used)
  }

  /** Any operation that is identical apart from its body, used or not. */
  alike(event: Initiation): RecordedOperation[] {
    return this.#sameKind(event).filter((one) => compareInitiation(one.event, event).length === 0)
  }

  /**
   * The candidate with the fewest differences, to explain a miss. Considers only unused operations
   * by default.
   */
  nearest(
    event: Initiation,
    body: Uint8Array,
    {
      turn,
      among = this.recorded.operations.filter(({ used }) => !used),
    }: { readonly turn?: number; readonly among?: readonly RecordedOperation[] } = {},
  ): Nearest | undefined {
    const candidates = among
      .filter(({ event: one }) => one.type === event.type && callName(one) === callName(event))
      .toSorted((a, b) => distance(a, event) - distance(b, event))
    let best: Nearest | undefined
    for (const recorded of candidates.slice(0, COMPARED_MAX)) {
      const found = this.compare(recorded, event, body)
      const more = found.mismatches.length - (best?.mismatches.length ?? Number.POSITIVE_INFINITY)
      const isOfTurn = recorded.turn === turn && best?.recorded.turn !== turn
      if (more < 0 || (more === 0 && isOfTurn)) best = found
    }
    return best
  }

  compare(recorded: RecordedOperation, event: Initiation, body: Uint8Array): Nearest {
    const then = this.#recordedForm(recorded)
    const now = this.#form(event, body)
    const isSame = Buffer.compare(then.body, now.body) === 0
    const mismatches = compareInitiation({ ...recorded.event, ...then.event }, now.event)
    return {
      recorded,
      mismatches: isSame ? mismatches : [...mismatches, ...bodyMismatches(then.body, now.body)],
    }
  }

  #sameKind(event: Initiation): readonly RecordedOperation[] {
    return this.#byKind.get(kindOf(event)) ?? []
  }

  #again(identical: readonly RecordedOperation[]): RecordedOperation | undefined {
    if (this.rules.answers === 'once') return undefined
    for (const one of identical) one.used = false
    return identical[0]
  }

  /** Operations with the same content apart from drawn values. */
  #like(event: Initiation, body: Uint8Array): readonly RecordedOperation[] {
    if (this.rules.drawn === 'compared' || body.length === 0) return []
    const text = this.drawn.without(body)
    return this.#sameKind(event).filter(
      (one) =>
        this.#textOf(one) === text &&
        compareInitiation(one.event, event).every(({ recorded, current }) =>
          this.drawn.differsOnlyInDrawn(recorded, current),
        ),
    )
  }

  #textOf(operation: RecordedOperation): string {
    const known = this.#texts.get(operation)
    if (known !== undefined) return known
    const text = this.drawn.without(this.recorded.tape.body(operation.event.seq))
    this.#texts.set(operation, text)
    return text
  }

  /** Reads the recorded body only if a rule may change it. */
  #recordedIdentity(operation: RecordedOperation): string {
    const { event } = operation
    if (this.rules.normalize === undefined)
      return this.#identity(event, recordedSha(this.recorded.tape, event.seq))
    const form = this.#recordedForm(operation)
    return this.#identity(form.event, bodySha(form.body))
  }

  #identity(event: Initiation, sha: string): string {
    return `${kindOf(event)} ${identityOf(event, sha)}`
  }

  #recordedForm({ event }: RecordedOperation): Form {
    return this.#form(event, this.recorded.tape.body(event.seq))
  }

  #form(event: Initiation, body: Uint8Array): Form {
    if (event.type !== 'request' || this.rules.normalize === undefined) return { event, body }
    const { method, url, headers } = event
    const { body: normal, ...fields } = this.rules.normalize({ method, url, headers, body })
    return { event: { ...event, ...fields }, body: normal }
  }
}

function firstUnused(
  operations: readonly RecordedOperation[],
  turn: number | undefined,
): RecordedOperation | undefined {
  const unused = operations.filter(({ used }) => !used)
  return unused.find((one) => one.turn === turn) ?? unused[0]
}

/** A rough comparison that reads no bodies. */
function distance({ event, used }: RecordedOperation, current: Initiation): number {
  const isUsed = used ? 1 : 0
  if (event.type !== 'request' || current.type !== 'request') return isUsed
  const [path, other] = [event.url, current.url].map((url) => url.replace(/\?.*$/, ''))
  return (event.method === current.method ? 0 : 4) + (path === other ? 0 : 8) + isUsed
}

/** A key that similar operations share. */
function kindOf(event: Initiation): string {
  switch (event.type) {
    case 'request':
      return `request ${event.seam} ${event.method} ${event.url}`
    case 'call':
      return `call ${event.kind} ${event.name}`
    case 'timer':
      return `timer ${event.kind}`
    case 'work':
      return `work ${event.name}`
    case 'socket':
      return `socket ${event.kind} ${event.host} ${event.port} ${event.path}`
  }
}

const callName = (event: Initiation): string =>
  event.type === 'call' ? `${event.kind} ${event.kind === 'tool' ? '' : event.name}` : ''

/**
 * Lines that a recording wrote to files through streams. A stream joins waiting pieces into one
 * write, so in another order of answers the same lines are split into different writes.
 */
export class StreamWrites {
  readonly #lines = new Map<string, Set<string>>()

  constructor(readonly recorded: TapeTimeline) {}

  /** True if every line was also written to that file in the recording. */
  has(event: NewEvent<InitiationEvent>, body: Uint8Array): boolean {
    const endpoint = endpointOf(event)
    if (endpoint === undefined) return false
    let known = this.#lines.get(endpoint)
    if (known === undefined) {
      const writes = this.recorded.operations.filter((one) => endpointOf(one.event) === endpoint)
      known = new Set(writes.flatMap((one) => linesOf(this.recorded.tape.body(one.event.seq))))
      this.#lines.set(endpoint, known)
    }
    return linesOf(body).every((line) => known.has(line))
  }
}

/** The path of a write that appends or continues at the last position; undefined for any other call. */
function endpointOf(event: NewEvent<InitiationEvent>): string | undefined {
  if (event.type !== 'call' || event.kind !== 'file' || event.sync === true) return undefined
  return /\.writev?$/.test(event.name) ? (event.title ?? '') : undefined
}

/** Lines including their line ends; latin1 preserves every byte. */
const linesOf = (body: Uint8Array): string[] =>
  Buffer.from(body)
    .toString('latin1')
    .split(/(?<=\n)/)
