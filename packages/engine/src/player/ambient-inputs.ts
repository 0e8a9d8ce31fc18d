import path from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  type CallEvent,
  decodeBody,
  type DeliveryEvent,
  fileEffect,
  fileFunctionName,
  type InitiationEvent,
  type NewEvent,
  pushTo,
  type Tape,
} from '@retake/tape/format'
import { callSite } from '../kernel/call-site.js'
import { natives } from '../kernel/natives.js'
import { flagBits, opensForWriting } from '../overlay/open-flags.js'
import { isBelowFolder, overlayOf } from '../overlay/overlay.js'
import { ParentWrites } from '../overlay/parent-writes.js'
import type { IsOutdated, Session } from '../kernel/session.js'
import { bodySha, identityOf, recordedSha } from '../kernel/compare.js'
import { TurnDraws } from '../kernel/draws.js'
import { changesFiles } from './find-doubts.js'
import type { AmbientPlan } from './plan.js'
import { isInput, isStepEvent, type RecordedOperation, TapeTimeline } from '../kernel/timeline.js'

/** Groups the kinds of draws; undefined for facts about the machine and the process. */
export function ambientKind(kind: string): 'clock' | 'random' | undefined {
  const [source = kind] = kind.split(' ')
  if (CLOCKS.has(source)) return 'clock'
  return source === 'Math.random' || source === 'FormData' || source.startsWith('crypto.')
    ? 'random'
    : undefined
}

const CLOCKS: ReadonlySet<string> = new Set([
  'Date.now',
  'performance.now',
  'performance.timeOrigin',
  'process.hrtime',
  'Event.timeStamp',
  'Temporal.Now',
])

/** Facts that a fork always gets as recorded: they are neither steps nor ambient inputs. */
const FACT = /^(?:os|tty|process)\.|^dns\.getServers$/

interface RecordedDraws {
  readonly values: unknown[]
  /** The last value that was drawn, and when. */
  last: { readonly value: unknown; readonly atMs: number } | undefined
}

/**
 * Recorded values that a fork draws again, identified by kind, by call site in the agent's code,
 * and by ordinal there. When they run out, a clock continues from the last one with the time that
 * passes, and everything else is live.
 */
class PinnedDraws {
  readonly #byKey = new Map<string, RecordedDraws>()

  constructor(tape: Tape, { draws }: AmbientPlan) {
    for (const { seq, site } of draws) {
      const event = tape.event(seq)
      if (event.type === 'draw') this.#add(drawKey(event.kind, site), event.value)
    }
    for (const event of tape.events(1))
      if (event.type === 'draw' && isFact(event.kind)) this.#add(drawKey(event.kind), event.value)
  }

  take<T>(kind: string, native: () => T): T {
    if (this.#byKey.size === 0) return native()
    const recorded = this.#byKey.get(drawKey(kind, isFact(kind) ? undefined : callSite()))
    if (recorded === undefined) return native()
    const { values, last } = recorded
    const atMs = natives.performanceNow()
    if (values.length > 0) {
      const value = values.shift()
      recorded.last = { value, atMs }
      return value as T
    }
    if (isFact(kind) && last !== undefined) return last.value as T
    if (ambientKind(kind) !== 'clock' || last === undefined) return native()
    return later(kind, last.value, atMs - last.atMs) as T
  }

  #add(key: string, value: unknown): void {
    const known = this.#byKey.get(key)
    if (known === undefined) this.#byKey.set(key, { values: [value], last: undefined })
    else known.values.push(value)
  }
}

const isFact = (kind: string): boolean => ambientKind(kind) === undefined && FACT.test(kind)

const drawKey = (kind: string, site = ''): string => `${kind} at ${site}`

/** The reading of a clock `passedMs` after it showed `value`; two kinds of clock count nanoseconds. */
function later(kind: string, value: unknown, passedMs: number): unknown {
  if (kind === 'performance.timeOrigin') return value
  if (kind === 'Date.now') return Number(value) + Math.round(passedMs)
  if (typeof value === 'number') return value + passedMs
  return String(BigInt(String(value)) + BigInt(Math.round(passedMs * 1e6)))
}

/**
 * Recorded answers to calls that read files, for the files that the plan names. Files that the
 * recorded run changed are always included, because the disk now has their later content. Files
 * that the fork has written are read live.
 */
class PinnedFiles {
  readonly #byKey = new Map<string, RecordedOperation[]>()
  readonly #pinned: ReadonlySet<string>
  readonly #written: ParentWrites
  readonly #changed = new Set<string>()

  constructor(
    readonly tape: Tape,
    recorded: TapeTimeline,
    { files }: AmbientPlan,
  ) {
    this.#pinned = new Set(files)
    this.#written = new ParentWrites(tape)
    for (const operation of recorded.operations) {
      const { event } = operation
      if (!isFileCall(event) || !readsFile(event, tape.body(event.seq))) continue
      pushTo(this.#byKey, fileKey(event, recordedSha(tape, event.seq)), operation)
    }
  }

  /** The recorded answer to a call; undefined if it is made live. */
  take(
    event: NewEvent<CallEvent>,
    body: Uint8Array,
    owner: Pick<Session, 'overlay'>,
  ): RecordedOperation | undefined {
    const overlay = overlayOf(owner)
    const paths = pathsOfCall(this.tape, event)
    if (!readsFile(event, body)) {
      for (const filePath of paths) {
        // The file on disk also contains what the recorded run appended.
        if (this.#written.appendedTo(filePath).parts.length > 0) overlay?.revertAppends(filePath)
        this.#changed.add(filePath)
      }
      return undefined
    }
    if (!paths.every((filePath) => this.#isPinned(filePath))) return undefined
    return this.#byKey.get(fileKey(event, bodySha(body)))?.shift()
  }

  #isPinned(filePath: string): boolean {
    for (const changed of this.#changed) if (isBelowFolder(filePath, changed)) return false
    return this.#pinned.has(filePath) || this.#written.has(filePath)
  }
}

export function readsFile(event: NewEvent<CallEvent>, body: Uint8Array): boolean {
  if (changesFiles(event) || fileEffect(event.name) === 'watch') return false
  if (fileFunctionName(event.name) !== 'open' || event.as === undefined) return true
  const [flags] = decodeBody(event.as, body) as unknown[]
  return !opensForWriting(flagBits(flags))
}

export function isFileCall<E extends { readonly type: string }>(
  event: E,
): event is Extract<E, { readonly type: 'call' }> {
  return event.type === 'call' && (event as unknown as CallEvent).kind === 'file'
}

const fileKey = ({ name, title }: NewEvent<CallEvent>, sha: string | undefined): string =>
  `${name} ${title} ${sha}`

/** Absolute paths of the files that a recorded call names. */
export function pathsOfCall({ details }: Tape, { title = '' }: Pick<CallEvent, 'title'>): string[] {
  const names = title.replace(/ \[.*\]$/s, '').split(' → ')
  return names.map((name) =>
    name.startsWith('file:') && URL.canParse(name)
      ? fileURLToPath(name)
      : path.resolve(details.cwd ?? '.', name),
  )
}

/** Answers everything besides steps after a run has left its tape. */
export interface AmbientSource {
  draw<T>(kind: string, native: () => T, isOutdated?: IsOutdated<T>): T
  /** Deliveries of the recorded answer to a call; undefined if the call is live. */
  answerTo(
    event: NewEvent<InitiationEvent>,
    body: Uint8Array,
    owner: Pick<Session, 'overlay'>,
    op?: number,
  ): readonly DeliveryEvent[] | undefined
  /** Notes that an operation of this run corresponds to a recorded one, which these events answered. */
  follow?(op: number, parts: readonly number[]): void
  delivering?(op: number): void
}

/** Everything besides steps that a fork gets from its tape. */
export class AmbientInputs implements AmbientSource {
  readonly #draws: PinnedDraws
  readonly #files: PinnedFiles
  /** Reads of stdin, and threads, in order. */
  readonly #others: RecordedOperation[]

  constructor(
    tape: Tape,
    readonly plan: AmbientPlan,
    readonly recorded: TapeTimeline,
    /** True if nothing may run; then threads are served, too. */
    readonly isAllPinned: boolean,
  ) {
    this.#draws = new PinnedDraws(tape, plan)
    this.#files = new PinnedFiles(tape, recorded, plan)
    this.#others = recorded.operations.filter(({ event }) => this.#isServed(event))
  }

  draw<T>(kind: string, native: () => T): T {
    return this.#draws.take(kind, native)
  }

  answerTo(
    event: NewEvent<InitiationEvent>,
    body: Uint8Array,
    owner: Pick<Session, 'overlay'>,
  ): readonly DeliveryEvent[] | undefined {
    const operation = isFileCall(event)
      ? this.#files.take(event, body, owner)
      : this.#isServed(event)
        ? this.#takeOther(event)
        : undefined
    return operation?.parts.map((seq) => this.recorded.delivery(seq))
  }

  #takeOther({ kind, name, title }: NewEvent<CallEvent>): RecordedOperation | undefined {
    const at = this.#others.findIndex(
      ({ event }) =>
        event.type === 'call' &&
        event.kind === kind &&
        event.name === name &&
        event.title === title,
    )
    return at < 0 ? undefined : this.#others.splice(at, 1)[0]
  }

  /** True for recorded input, because nobody will type it again, unless a program sends it. */
  #isServed(event: NewEvent<InitiationEvent>): event is NewEvent<CallEvent> {
    if (event.type !== 'call') return false
    if (event.kind === 'input') return this.plan.input !== 'live'
    return event.kind === 'worker' && this.isAllPinned
  }
}

/**
 * The ambient inputs of a rerun: files are read from disk, and recorded input is served. Clocks and
 * random values come from the recording, so that ids and dates in requests stay the same. Call
 * sites cannot identify them, because the code has changed. Instead, a value belongs to the turn in
 * which it was drawn, that is, to the delivery before it. After the last value of a turn, a clock
 * continues with the time that passes, and everything else is live.
 */
export class RerunInputs implements AmbientSource {
  readonly #recorded: TapeTimeline
  readonly #draws: TurnDraws
  /** By operation of this run, the recorded deliveries that correspond to its next ones. */
  readonly #turns = new Map<number, number[]>()
  /** Recorded operations that are not steps, by their identity. */
  readonly #others = new Map<string, RecordedOperation[]>()
  readonly #clocks = new Map<string, { readonly value: unknown; readonly atMs: number }>()

  /** `at`: the first event that is not served. */
  constructor(
    readonly tape: Tape,
    readonly at: number,
  ) {
    this.#recorded = new TapeTimeline(tape, at)
    this.#draws = new TurnDraws(this.#recorded, (_kind, { native }) => native())
    for (const operation of this.#recorded.operations) {
      if (isStepEvent(operation.event)) continue
      const key = identityOf(operation.event, recordedSha(tape, operation.event.seq))
      pushTo(this.#others, key, operation)
    }
  }

  draw<T>(kind: string, native: () => T, isOutdated?: IsOutdated<T>): T {
    if (ambientKind(kind) !== 'clock') {
      const value = this.#draws.take(kind, native) as T
      return isOutdated?.(value) === true ? native() : value
    }
    const atMs = natives.performanceNow()
    const last = this.#clocks.get(kind)
    const passed = (): unknown =>
      last === undefined ? native() : later(kind, last.value, atMs - last.atMs)
    const drawn = this.#draws.take(kind, passed)
    // A live request may have taken longer than its recorded counterpart.
    const isBehind = typeof drawn === 'number' && last !== undefined && drawn < Number(last.value)
    const value = isBehind ? passed() : drawn
    this.#clocks.set(kind, { value, atMs })
    return value as T
  }

  answerTo(
    event: NewEvent<InitiationEvent>,
    body: Uint8Array,
    _owner: unknown,
    op?: number,
  ): readonly DeliveryEvent[] | undefined {
    const recorded = this.#others.get(identityOf(event, bodySha(body)))?.shift()
    if (recorded === undefined) return undefined
    if (op !== undefined) this.follow(op, recorded.parts)
    // Recorded input is always served, because nobody will type it again.
    if (!isInput(event)) return undefined
    return recorded.parts.map((seq) => this.#recorded.delivery(seq))
  }

  follow(op: number, parts: readonly number[]): void {
    this.#turns.set(
      op,
      parts.filter((seq) => seq >= this.at),
    )
  }

  delivering(op: number): void {
    if (!this.#turns.has(op) && op < this.at)
      this.follow(op, this.#recorded.byStart.get(op)?.parts ?? [])
    const turns = this.#turns.get(op) ?? []
    this.#draws.begin((turns.length > 1 ? turns.shift() : turns[0]) ?? NEW_TURN)
  }
}

/** Turn of a delivery that the recording does not have. */
const NEW_TURN = -1
