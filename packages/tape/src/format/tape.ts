import { BodyReader } from './body-reader.js'
import { laterReference } from './check-records.js'
import { bodySize, type Envelope, parseDetails, RecordFault } from './codec.js'
import type { ByteSource, TapePlatform } from './platform.js'
import { tapeErrors } from './errors.js'
import { REDACTION_NOTE, type RunDetails, type RunEvent, type TapeEvent } from './events.js'
import type { Frames } from './frames.js'
import { Chain } from './chain.js'
import { type Damage, type Layout, openLayout, type TapeStatus } from './layout.js'
import { type VerifyResult, verifyTape } from './verify.js'
import { attempt } from './values/attempt.js'

export interface TapeOptions {
  /** The tape of the run that a branch continues. Without it, only the branch's own events can be read. */
  readonly parent?: Tape
  /** Shows only the events before it. */
  readonly damage?: Damage | undefined
}

/**
 * A readable tape, on any platform. It shows the state at the time it was opened; open it again to
 * see what a recording has added.
 *
 * A branch is shown as one whole run: shared events are read from the parent's tape, and its own
 * are numbered after them.
 */
export class Tape {
  readonly path: string
  readonly run: RunEvent
  readonly details: RunDetails
  /** Number of valid events, including the seal. */
  readonly count: number
  readonly status: TapeStatus
  /** Number of ignored bytes after the last valid event: the rest of a record that a kill interrupted. */
  readonly tornBytes: number
  /** Set if only the intact part of a damaged tape is shown. */
  readonly damage: Damage | undefined
  /** True if seal and index are intact. False for a tape that was cut off or is still being written. */
  readonly isComplete: boolean
  readonly #platform: TapePlatform
  readonly #frames: Frames
  readonly #bodies: BodyReader
  readonly #parent: Tape | undefined
  /** Offset from the position of an own event to its number in the run. */
  readonly #shift: number
  #readable: ReadonlyMap<number, Uint8Array> | undefined
  #verified: VerifyResult | undefined

  constructor(platform: TapePlatform, layout: Layout, path: string, options: TapeOptions = {}) {
    const { parent, damage } = options
    this.#platform = platform
    this.#frames = layout.frames
    this.#bodies = new BodyReader(platform, layout.frames, { path, bytes: layout.bytes })
    this.path = path
    this.damage = damage
    this.tornBytes = layout.tornBytes
    this.isComplete = layout.isComplete && damage === undefined
    this.run = layout.frames.frame(0).event() as RunEvent
    this.#parent = parent
    this.#shift = parent && this.run.parent ? this.run.parent.seq - 1 : 0
    const count = layout.frames.count + this.#shift
    this.count = Math.min(count, damage?.seq ?? count)
    this.status = this.count < count ? 'truncated' : layout.status
    const link = this.run.parent
    if (parent !== undefined && this.count > this.#shift) {
      const isShared =
        link !== undefined &&
        link.run === parent.run.id &&
        link.seq <= parent.count &&
        parent.chainAt(link.seq - 1) === link.chain
      if (!isShared) throw tapeErrors.BRANCH_PARENT_CHANGED(path, parent.path, link?.seq ?? 0)
    }
    const details = this.storedBody(0)
    try {
      this.details = parseDetails(platform.text(details, 0, details.length))
    } catch (error) {
      if (!(error instanceof RecordFault)) throw error
      throw tapeErrors.TAPE_CORRUPT(path, { seq: 0 }, error.message, error)
    }
  }

  /** `path` is only used in messages. */
  static open(
    platform: TapePlatform,
    source: ByteSource,
    path: string,
    options?: TapeOptions,
  ): Tape {
    return new Tape(platform, openLayout(platform, source, path), path, options)
  }

  /** The tape that this branch continues, if they were opened together. */
  get parent(): Tape | undefined {
    return this.#parent
  }

  /** Number of the first event on this tape itself, not on its parent's; 0 if it is not a branch. */
  get ownFrom(): number {
    return this.#shift === 0 ? 0 : this.#shift + 1
  }

  /** Reads one event, its body not included. */
  event(seq: number): TapeEvent {
    this.#check(seq)
    if (this.#isParents(seq)) return (this.#parent as Tape).event(seq)
    const event = this.#frames.frame(this.#positionOf(seq)).event()
    const later = laterReference(event, event.seq + this.#namedFrom)
    if (later !== undefined) throw tapeErrors.TAPE_CORRUPT(this.path, { seq }, later)
    return seq === event.seq ? event : { ...event, seq }
  }

  /** Events `from` up to, not including, `to`. */
  *events(from = 0, to = this.count): IterableIterator<TapeEvent> {
    for (let seq = Math.max(0, from); seq < Math.min(to, this.count); seq++) yield this.event(seq)
  }

  /** The recorded body; empty if the event has none. */
  body(seq: number): Uint8Array {
    if (this.details.redaction === undefined) return this.storedBody(seq)
    this.#readable ??= readablePieces(this, this.#platform)
    return this.#readable.get(seq) ?? this.storedBody(seq)
  }

  /** The body as it was first written, which is what hashes cover; see `REDACTION_NOTE`. */
  storedBody(seq: number): Uint8Array {
    this.#check(seq)
    if (this.#isParents(seq)) return (this.#parent as Tape).storedBody(seq)
    return this.#bodies.read(this.#positionOf(seq))
  }

  bodySize(seq: number): number {
    return bodySize(this.#envelope(seq))
  }

  /** sha256 of an event's body, without reading a long one; undefined if there is no body. */
  bodySha(seq: number): string | undefined {
    const envelope = this.#envelope(seq)
    const isStored = this.details.redaction === undefined
    if ((isStored && envelope.sha !== undefined) || bodySize(envelope) === 0) return envelope.sha
    return this.#platform.sha256(this.body(seq))
  }

  /** sha256 of the run details: the program, its folder, flags and environment. */
  get startDigest(): string {
    return this.#platform.sha256(this.storedBody(0))
  }

  /**
   * Identifies the run up to and including event `seq`: the chain hash of the last heavy event, and
   * the light events after it, if any.
   */
  chainAt(seq: number): string {
    this.#check(seq)
    let heavy = seq
    while (heavy > 0 && this.#envelope(heavy).chain === undefined) heavy--
    const { chain = '' } = this.#envelope(heavy)
    if (heavy === seq) return chain
    const link = new Chain(this.#platform, chain)
    for (let at = heavy + 1; at <= seq; at++)
      link.addLight(this.#eventBytes(at), this.storedBody(at))
    return link.digest()
  }

  /**
   * Identifies the whole run: the chain hash over all of it, the same for every copy of the tape,
   * packed or not. Two intact tapes with the same digest contain the same run.
   */
  get digest(): string {
    return this.chainAt(this.count - 1)
  }

  /** Number of records in this file, without those shared with the parent. */
  get ownCount(): number {
    return this.#frames.count
  }

  /** A record of this file in the form that hashes cover. Positions are those in the file, not in the run. */
  ownRecord(position: number): {
    readonly text: Uint8Array
    readonly envelope: Envelope
    readonly body: Uint8Array
  } {
    const frame = this.#frames.frame(position)
    return {
      text: frame.eventBytes,
      envelope: frame.envelope(),
      body: this.#bodies.read(position),
    }
  }

  /** Checks every byte and every link. Does not throw: the result names the first bad event. */
  verify(): VerifyResult {
    return (this.#verified ??= this.#verify())
  }

  #verify(): VerifyResult {
    const { count, damage } = this
    if (damage !== undefined) {
      const problem = { seq: damage.seq, message: damage.why }
      return { ok: false, count, digest: this.digest, signature: 'none', problem }
    }
    const own = {
      count: this.#frames.count,
      shift: this.#namedFrom,
      body: (position: number) => this.#bodies.read(position),
    }
    const found = verifyTape(this.#platform, this.#frames, own)
    const inherited = this.#parent?.verify()
    if (inherited?.problem && this.#isParents(inherited.problem.seq)) return inherited
    const { problem } = found
    return {
      ...found,
      count,
      ...(problem && { problem: { ...problem, seq: problem.seq && problem.seq + this.#shift } }),
    }
  }

  #envelope(seq: number): Envelope {
    this.#check(seq)
    if (this.#isParents(seq)) return (this.#parent as Tape).#envelope(seq)
    return this.#frames.frame(this.#positionOf(seq)).envelope()
  }

  #eventBytes(seq: number): Uint8Array {
    if (this.#isParents(seq)) return (this.#parent as Tape).#eventBytes(seq)
    return this.#frames.frame(this.#positionOf(seq)).eventBytes
  }

  /** Without its parent, a branch is numbered from its start, but names the events of the run. */
  get #namedFrom(): number {
    return this.run.parent === undefined ? 0 : this.run.parent.seq - 1
  }

  /** The run record is always the branch's own. */
  #isParents(seq: number): boolean {
    return seq > 0 && seq <= this.#shift
  }

  #positionOf(seq: number): number {
    return seq === 0 ? 0 : seq - this.#shift
  }

  #check(seq: number): void {
    if (!Number.isInteger(seq) || seq < 0 || seq >= this.count) {
      throw tapeErrors.TAPE_NO_SUCH_EVENT(this.path, seq, this.count)
    }
  }
}

/** Pieces of streams that became readable when the stream had ended, by event. */
function readablePieces(tape: Tape, platform: TapePlatform): Map<number, Uint8Array> {
  const pieces = new Map<number, Uint8Array>()
  for (const event of tape.events(1)) {
    if (event.type !== 'note' || event.name !== REDACTION_NOTE || event.text !== 'readable')
      continue
    const body = tape.storedBody(event.seq)
    let at = body.indexOf(0x0a) + 1
    const head = attempt(() => JSON.parse(platform.text(body, 0, at)) as [number, number][])
    if (!isPieceList(head, body.length - at)) {
      const why = 'It does not contain the pieces that it names.'
      throw tapeErrors.TAPE_CORRUPT(tape.path, { seq: event.seq }, why)
    }
    for (const [seq, length] of head) pieces.set(seq, body.subarray(at, (at += length)))
  }
  return pieces
}

/** True for a list of events and lengths that together have so many bytes. */
function isPieceList(value: unknown, bytes: number): value is [seq: number, length: number][] {
  if (!Array.isArray(value)) return false
  let sum = 0
  for (const piece of value as unknown[]) {
    if (!Array.isArray(piece) || !piece.every((each) => Number.isSafeInteger(each) && each >= 0))
      return false
    sum += piece[1] as number
  }
  return sum <= bytes
}
