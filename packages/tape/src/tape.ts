import { BodyReader } from './body-reader.js'
import { bodySize, type Envelope } from './codec.js'
import type { ByteSource, TapeDoor } from './door.js'
import { noSuchEvent, tapeCorrupt } from './errors.js'
import type { RunDetails, RunEvent, TapeEvent } from './events.js'
import type { Frames } from './frames.js'
import { type Layout, openLayout, type TapeStatus } from './layout.js'
import { type Migration, MIGRATIONS, migrationFrom } from './migrations.js'
import { type VerifyResult, verifyTape } from './verify.js'

/**
 * A tape that can be read, from whatever surroundings. It shows what was there
 * when it was opened; a recording that goes on is seen by opening it again.
 */
export class Tape {
  readonly path: string
  readonly run: RunEvent
  readonly details: RunDetails
  /** Number of valid events, the seal included. */
  readonly count: number
  readonly status: TapeStatus
  /** Bytes after the last valid event that were ignored: what a kill left of the record it hit. */
  readonly tornBytes: number
  readonly #door: TapeDoor
  readonly #frames: Frames
  readonly #bodies: BodyReader
  readonly #migrate: (event: TapeEvent) => TapeEvent

  constructor(
    door: TapeDoor,
    layout: Layout,
    path: string,
    migrations: readonly Migration[] = MIGRATIONS,
  ) {
    this.#door = door
    this.#frames = layout.frames
    this.#bodies = new BodyReader(door, layout.frames, path)
    this.path = path
    this.status = layout.status
    this.tornBytes = layout.tornBytes
    this.count = layout.frames.count
    const run = layout.frames.frame(0).event() as RunEvent
    const migrate = migrationFrom(run.format, migrations)
    if (migrate === undefined) {
      throw tapeCorrupt(path, { seq: 0 }, `It names format ${run.format}, which no Retake wrote.`)
    }
    this.#migrate = migrate
    this.run = migrate(run) as RunEvent
    const details = this.body(0)
    this.details = JSON.parse(door.text(details, 0, details.length)) as RunDetails
  }

  /** `path` only names the tape in messages. */
  static open(
    door: TapeDoor,
    source: ByteSource,
    path: string,
    migrations?: readonly Migration[],
  ): Tape {
    return new Tape(door, openLayout(door, source, path), path, migrations)
  }

  /** Reads one event, its body not included. */
  event(seq: number): TapeEvent {
    this.#check(seq)
    return this.#migrate(this.#frames.frame(seq).event())
  }

  /** Events `from` up to, not including, `to`. */
  *events(from = 0, to = this.count): IterableIterator<TapeEvent> {
    for (let seq = Math.max(0, from); seq < Math.min(to, this.count); seq++) yield this.event(seq)
  }

  /** The body as it was recorded; empty when the event has none. */
  body(seq: number): Uint8Array {
    this.#check(seq)
    return this.#bodies.read(seq)
  }

  /** Length of the body, without reading it. */
  bodySize(seq: number): number {
    return bodySize(this.#envelope(seq))
  }

  /** sha256 of the body of a heavy event, without reading it; undefined when it has none. (The engine compares by it.) */
  bodySha(seq: number): string | undefined {
    return this.#envelope(seq).sha
  }

  /** Chain hash of event `seq`, or of the last heavy event before it: it names the run up to there. */
  chainAt(seq: number): string {
    this.#check(seq)
    for (let at = seq; at > 0; at--) {
      const { chain } = this.#envelope(at)
      if (chain !== undefined) return chain
    }
    return this.#envelope(0).chain ?? ''
  }

  /** Checks every byte and every link. Does not throw: the result names the first bad event. */
  verify(): VerifyResult {
    return verifyTape(this.#door, this.#frames, this)
  }

  #envelope(seq: number): Envelope {
    this.#check(seq)
    return this.#frames.frame(seq).envelope()
  }

  #check(seq: number): void {
    if (!Number.isInteger(seq) || seq < 0 || seq >= this.count) {
      throw noSuchEvent(this.path, seq, this.count)
    }
  }
}
