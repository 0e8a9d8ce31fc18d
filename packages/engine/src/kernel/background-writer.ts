import type { NewEvent } from '@retake/tape/format'
import type { SealOptions, TapeWriter } from '@retake/tape/node'
import { natives } from './natives.js'

/** Receives the events of a session: `TapeWriter` writes immediately, `BackgroundWriter` later. */
export type EventWriter = Pick<
  TapeWriter,
  | 'path'
  | 'append'
  | 'buffer'
  | 'flush'
  | 'barrier'
  | 'isAlone'
  | 'whenDurable'
  | 'seal'
  | 'sealLater'
  | 'close'
>

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
