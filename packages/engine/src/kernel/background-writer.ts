import type { KeyObject } from 'node:crypto'
import type { NewEvent } from '@retake/tape/format'
import { natives } from './natives.js'

interface SealOptions {
  /** Private ed25519 key that signs the seal. */
  readonly privateKey?: KeyObject | undefined
}

/**
 * Receives the events of a session. `TapeWriter` of `@retake/tape/node` writes immediately,
 * `BackgroundWriter` later.
 */
export interface EventWriter {
  readonly path: string
  /** True if no other run of this process waits for the disk. */
  readonly isAlone: boolean
  /** Writes an event, and returns its number. */
  append(event: NewEvent, body?: Uint8Array, json?: string): number
  /** Like `append`, but the event may stay in memory until the next one. */
  buffer(event: NewEvent, body?: Uint8Array, json?: string): number
  flush(): void
  /** Returns when everything written so far is on disk. */
  barrier(): void
  whenDurable(then: (failure?: Error) => void): void
  seal(options?: SealOptions): void
  sealLater(options: SealOptions, then: (failure?: Error) => void): void
  close(): void
}

/** Maximum time that events stay in memory while the event loop turns. */
const FLUSH_MS = 50

/**
 * Writes a tape in the background: an event is encoded immediately, but written later, together
 * with others. A crash may lose the last events. Encoding later would cost more, because the
 * garbage collector would have to track the events until then.
 */
export class BackgroundWriter implements EventWriter {
  readonly #writer: EventWriter
  #timer: NodeJS.Timeout | undefined
  #failure: { readonly error: unknown } | undefined

  constructor(writer: EventWriter) {
    this.#writer = writer
  }

  get path(): string {
    return this.#writer.path
  }

  /** Throws if an earlier event could not be written. */
  append(event: NewEvent, body?: Uint8Array, json?: string): number {
    if (this.#failure !== undefined) throw this.#failure.error
    this.#timer ??= natives.setTimeout(this.#later, FLUSH_MS).unref()
    return this.#writer.buffer(event, body, json)
  }

  buffer(event: NewEvent, body?: Uint8Array, json?: string): number {
    return this.append(event, body, json)
  }

  /** Nothing waits for the disk. */
  readonly isAlone = true

  barrier(): void {}

  whenDurable(then: () => void): void {
    then()
  }

  seal(options?: SealOptions): void {
    this.#stopTimer()
    this.#writer.seal(options)
  }

  sealLater(options: SealOptions, then: (failure?: Error) => void): void {
    this.#stopTimer()
    this.#writer.sealLater(options, then)
  }

  close(): void {
    this.#stopTimer()
    this.#writer.close()
  }

  /** Writes everything to the file, but not necessarily to disk. */
  flush(): void {
    this.#stopTimer()
    this.#writer.flush()
  }

  #stopTimer(): void {
    natives.clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** There is no caller to throw to, so the next call throws. */
  readonly #later = (): void => {
    try {
      this.flush()
    } catch (error) {
      this.#failure = { error }
    }
  }
}
