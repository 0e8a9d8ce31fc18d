import type { NewEvent } from '@retake/tape'
import type { TapeWriter } from '@retake/tape/node'
import { natives } from '../natives.js'

/** How long events stay in memory at most, while the event loop turns. */
const FLUSH_MS = 50
/** More than this is written at once. */
const HELD_EVENTS_MAX = 4096
const HELD_BYTES_MAX = 1 << 20

interface HeldEvent {
  readonly event: NewEvent
  readonly body: Uint8Array | undefined
  readonly at: number
}

/**
 * Writes a tape in the background: an event is numbered and timed at once, and
 * put into its form on the tape later. A crash may lose the last events. Bodies
 * are kept until then: nobody may write to them any more.
 */
export class BackgroundWriter {
  readonly #writer: TapeWriter
  #held: HeldEvent[] = []
  #bytes = 0
  #timer: NodeJS.Timeout | undefined
  #failure: { readonly error: unknown } | undefined

  constructor(writer: TapeWriter) {
    this.#writer = writer
  }

  /** Throws once something before it could not be written. */
  append(event: NewEvent, body: Uint8Array | undefined): number {
    if (this.#failure !== undefined) throw this.#failure.error
    const seq = this.#writer.count + this.#held.length
    this.#held.push({ event, body, at: this.#writer.elapsed() })
    this.#bytes += body?.byteLength ?? 0
    if (this.#held.length >= HELD_EVENTS_MAX || this.#bytes >= HELD_BYTES_MAX) this.flush()
    else this.#timer ??= natives.setTimeout(this.#later, FLUSH_MS).unref()
    return seq
  }

  /** Everything is in the file when this returns, though maybe not on disk. */
  flush(): void {
    natives.clearTimeout(this.#timer)
    this.#timer = undefined
    const held = this.#held
    this.#held = []
    this.#bytes = 0
    for (const { event, body, at } of held) this.#writer.hold(event, body, at)
    this.#writer.flush()
  }

  /** Nobody is there to be told; the next call is. */
  readonly #later = (): void => {
    try {
      this.flush()
    } catch (error) {
      this.#failure = { error }
    }
  }
}
