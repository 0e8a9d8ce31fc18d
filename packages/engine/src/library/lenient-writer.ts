import type { NewEvent } from '@retake/tape/format'
import { type SealOptions, TapeWriter } from '@retake/tape/node'
import type { EventWriter } from '../kernel/background-writer.js'

/**
 * Writes a tape as long as possible. After a failure, such as a full disk, everything is accepted
 * and dropped: the agent continues, and its tape ends before the failed event. If the disk has room
 * again, the tape gets a note about the failure, but never a seal.
 */
export class LenientWriter implements EventWriter {
  readonly #writer: TapeWriter
  readonly #onFailure: (failure: Error) => void
  #failure: Error | undefined
  /** Numbers of events that are dropped. */
  #seq = 0

  constructor(writer: TapeWriter, onFailure: (failure: Error) => void) {
    this.#writer = writer
    this.#onFailure = onFailure
  }

  get path(): string {
    return this.#writer.path
  }

  get isAlone(): boolean {
    return this.#failure !== undefined || this.#writer.isAlone
  }

  append(event: NewEvent, body?: Uint8Array, json?: string): number {
    return this.#attempt(() => this.#writer.append(event, body, json)) ?? this.#dropped()
  }

  buffer(event: NewEvent, body?: Uint8Array, json?: string): number {
    return this.#attempt(() => this.#writer.buffer(event, body, json)) ?? this.#dropped()
  }

  flush(): void {
    this.#attempt(() => this.#writer.flush())
  }

  barrier(): void {
    this.#attempt(() => this.#writer.barrier())
  }

  whenDurable(then: () => void): void {
    this.#whenWritten((done) => this.#writer.whenDurable(done), then)
  }

  seal(options?: SealOptions): void {
    this.#attempt(() => this.#writer.seal(options))
    this.#leaveNote()
  }

  sealLater(options: SealOptions, then: () => void): void {
    this.#whenWritten(
      (done) => this.#writer.sealLater(options, done),
      () => {
        this.#leaveNote()
        then()
      },
    )
  }

  close(): void {
    this.#writer.close()
  }

  #attempt<T>(write: () => T): T | undefined {
    if (this.#failure !== undefined) return undefined
    try {
      return write()
    } catch (error) {
      this.#failed(error as Error)
      return undefined
    }
  }

  #whenWritten(write: (done: (failure?: Error) => void) => void, then: () => void): void {
    const isWaiting = this.#attempt(() => {
      write((failure) => {
        if (failure !== undefined) this.#failed(failure)
        then()
      })
      return true
    })
    if (isWaiting !== true) then()
  }

  #failed(failure: Error): void {
    if (this.#failure !== undefined) return
    this.#failure = failure
    this.#seq = this.#writer.count
    this.#onFailure(failure)
  }

  #dropped(): number {
    this.#seq += 1
    return this.#seq - 1
  }

  #leaveNote(): void {
    if (this.#failure === undefined) return
    this.#writer.close()
    let again: TapeWriter | undefined
    try {
      again = TapeWriter.reopen(this.path, { now: () => this.#writer.elapsed() })
      again.append({
        type: 'note',
        kind: 'boundary',
        name: 'end of the recording',
        text: `the tape could not be written: ${this.#failure.message.split('\n')[0]}`,
        consequence: 'ends',
      })
    } catch {
      // Still no room. A tape without a seal is reported as cut off.
    } finally {
      again?.close()
    }
  }
}
