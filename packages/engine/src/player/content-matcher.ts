import type { InitiationEvent, NewEvent } from '@retake/tape'
import {
  bodyMismatches,
  bodySha,
  compareInitiation,
  type Mismatch,
  recordedSha,
} from './compare.js'
import { changesFiles } from './in-doubt.js'
import type { DrawnValues } from './draws.js'
import type { TapeTimeline, RecordedOperation } from './timeline.js'

/**
 * What a recording wrote to files through streams, line by line. A stream puts
 * what waits into one write: in another order of answers the same lines are
 * written in other portions, and that is nothing the agent asks for.
 */
export class StreamWrites {
  readonly #lines = new Map<string, Set<string>>()

  constructor(readonly recorded: TapeTimeline) {}

  /** Whether this writes nothing but lines that were written to that file then. */
  has(event: NewEvent<InitiationEvent>, body: Uint8Array): boolean {
    const place = placeOf(event)
    if (place === undefined) return false
    const known = this.#linesOf(place)
    return linesOf(body).every((line) => known.has(line))
  }

  #linesOf(place: string): ReadonlySet<string> {
    const known = this.#lines.get(place)
    if (known !== undefined) return known
    const lines = new Set(
      this.recorded.operations
        .filter(({ event }) => placeOf(event) === place)
        .flatMap(({ event }) => linesOf(this.recorded.tape.body(event.seq))),
    )
    this.#lines.set(place, lines)
    return lines
  }
}

/** The file that is written at its end, or where it was left; undefined for anything else. */
function placeOf(event: NewEvent<InitiationEvent>): string | undefined {
  if (event.type !== 'call' || event.kind !== 'file' || event.sync === true) return undefined
  return /\.writev?$/.test(event.name) ? (event.title ?? '') : undefined
}

/** With their ends; latin1 keeps every byte. */
const linesOf = (body: Uint8Array): string[] =>
  Buffer.from(body)
    .toString('latin1')
    .split(/(?<=\n)/)

type Initiation = NewEvent<InitiationEvent>

/** More candidates than this are not looked at to name the nearest one. */
const COMPARED_MAX = 50

export interface Nearest {
  readonly recorded: RecordedOperation
  readonly mismatches: readonly Mismatch[]
}

/** What counts as the same content, and how often a recorded answer is given. */
export interface ContentRules {
  /** `ignored`: where nothing identical is left, values of clocks and random may differ. */
  readonly drawn: 'compared' | 'ignored'
  /** `again`: answers that were all used are given once more, from the first on. */
  readonly answers: 'once' | 'again'
}

/** The same program in the recorded order. */
export const SAME_ORDER: ContentRules = { drawn: 'compared', answers: 'once' }
/** The same program in another order: another lane may have drawn a value. */
export const OTHER_ORDER: ContentRules = { drawn: 'ignored', answers: 'once' }
/** Another program, which may also ask more often. */
export const OTHER_PROGRAM: ContentRules = { drawn: 'ignored', answers: 'again' }

/** Finds what a recording has for something the agent starts, by what it is. */
export class ContentMatcher {
  readonly #buckets = new Map<string, RecordedOperation[]>()
  readonly #shas = new Map<RecordedOperation, string>()
  readonly #bodies = new Map<RecordedOperation, string>()

  constructor(
    readonly recorded: TapeTimeline,
    readonly drawn: DrawnValues,
    readonly rules: ContentRules,
  ) {
    for (const operation of recorded.operations) {
      const key = keyOf(operation.event)
      const bucket = this.#buckets.get(key)
      if (bucket === undefined) this.#buckets.set(key, [operation])
      else bucket.push(operation)
    }
  }

  /** Takes the one of this turn, else the first in recorded order. `body` is masked already. */
  take(event: Initiation, body: Uint8Array, turn: number): RecordedOperation | undefined {
    const bucket = this.#buckets.get(keyOf(event)) ?? []
    const sha = bodySha(body)
    const isIdentical = (one: RecordedOperation): boolean =>
      this.#sha(one) === sha && compareInitiation(one.event, event).length === 0
    const found =
      bucket.find((one) => !one.used && one.turn === turn && isIdentical(one)) ??
      bucket.find((one) => !one.used && isIdentical(one)) ??
      this.#again(bucket, isIdentical) ??
      this.#takeLike(bucket, event, body, turn) ??
      (mayBeAskedAgain(event) ? bucket.findLast(isIdentical) : undefined)
    if (found !== undefined) found.used = true
    return found
  }

  /** Whether `take` would find something. */
  has(event: Initiation, body: Uint8Array): boolean {
    const bucket = this.#buckets.get(keyOf(event)) ?? []
    const sha = bodySha(body)
    return (
      bucket.some(
        (one) => this.#sha(one) === sha && compareInitiation(one.event, event).length === 0,
      ) || this.#likeWithoutDrawn(bucket, event, body).length > 0
    )
  }

  #again(
    bucket: readonly RecordedOperation[],
    isAlike: (one: RecordedOperation) => boolean,
  ): RecordedOperation | undefined {
    if (this.rules.answers === 'once') return undefined
    const used = bucket.filter(isAlike)
    for (const one of used) one.used = false
    return used[0]
  }

  /** Timers, work and connections that are not used and of the same kind. */
  unused(event: Initiation): RecordedOperation[] {
    return (this.#buckets.get(keyOf(event)) ?? []).filter(({ used }) => !used)
  }

  /** Any that is identical, used or not. */
  alike(event: Initiation): RecordedOperation[] {
    const bucket = this.#buckets.get(keyOf(event)) ?? []
    return bucket.filter((one) => compareInitiation(one.event, event).length === 0)
  }

  /** The unused one that differs least, for a person who wants to know what changed. */
  nearest(event: Initiation, body: Uint8Array, turn: number): Nearest | undefined {
    const sameKind = this.recorded.operations.filter(
      (one) =>
        !one.used && one.event.type === event.type && callName(one.event) === callName(event),
    )
    let best: Nearest | undefined
    for (const recorded of sameKind.slice(0, COMPARED_MAX)) {
      const { mismatches } = this.compare(recorded, event, body)
      const isBetter =
        best === undefined ||
        mismatches.length < best.mismatches.length ||
        (mismatches.length === best.mismatches.length &&
          recorded.turn === turn &&
          best.recorded.turn !== turn)
      if (isBetter) best = { recorded, mismatches }
    }
    return best
  }

  compare(recorded: RecordedOperation, event: Initiation, body: Uint8Array): Nearest {
    const bodies =
      this.#sha(recorded) === bodySha(body)
        ? []
        : bodyMismatches(this.recorded.tape.body(recorded.event.seq), body)
    return { recorded, mismatches: [...compareInitiation(recorded.event, event), ...bodies] }
  }

  #takeLike(
    bucket: readonly RecordedOperation[],
    event: Initiation,
    body: Uint8Array,
    turn: number,
  ): RecordedOperation | undefined {
    const like = this.#likeWithoutDrawn(bucket, event, body)
    const unused = like.filter(({ used }) => !used)
    return unused.find((one) => one.turn === turn) ?? unused[0] ?? this.#again(like, () => true)
  }

  #likeWithoutDrawn(
    bucket: readonly RecordedOperation[],
    event: Initiation,
    body: Uint8Array,
  ): RecordedOperation[] {
    if (this.rules.drawn === 'compared' || body.length === 0) return []
    const text = this.drawn.without(body)
    return bucket.filter(
      (one) =>
        this.#withoutDrawn(one) === text &&
        compareInitiation(one.event, event).every(({ recorded, current }) =>
          this.drawn.differsOnlyInDrawn(recorded, current),
        ),
    )
  }

  #withoutDrawn(operation: RecordedOperation): string {
    const known = this.#bodies.get(operation)
    if (known !== undefined) return known
    const text = this.drawn.without(this.recorded.tape.body(operation.event.seq))
    this.#bodies.set(operation, text)
    return text
  }

  #sha(operation: RecordedOperation): string {
    const known = this.#shas.get(operation)
    if (known !== undefined) return known
    const sha = recordedSha(this.recorded.tape, operation.event.seq)
    this.#shas.set(operation, sha)
    return sha
  }
}

/** What is certainly the same when two are identical. */
function keyOf(event: Initiation): string {
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

/** Looking has no effect: the last answer stands for another look. */
const mayBeAskedAgain = (event: Initiation): boolean =>
  event.type === 'call' && (event.kind === 'dns' || (event.kind === 'file' && !changesFiles(event)))
