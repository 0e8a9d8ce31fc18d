import type { NewEvent } from '@retake/tape/format'
import type { SealOptions } from '@retake/tape/node'
import type { EventWriter } from '../kernel/background-writer.js'
import { stopWith } from './process-exit.js'

/** Sees every event that the session appends. Not those that it buffers. */
export interface EventWatcher {
  readonly before?: (event: NewEvent) => void
  readonly after?: (event: NewEvent) => void
}

/**
 * Stops the agent immediately if its tape can no longer be written, however well it handles errors.
 * The command that started this process finds the reason in `failureFile`.
 */
export class FailFastWriter implements EventWriter {
  readonly #writer: EventWriter
  readonly #failureFile: string | undefined
  readonly #watchers: readonly EventWatcher[]

  constructor(
    writer: EventWriter,
    failureFile: string | undefined,
    watchers: readonly EventWatcher[] = [],
  ) {
    this.#writer = writer
    this.#failureFile = failureFile
    this.#watchers = watchers
  }

  get path(): string {
    return this.#writer.path
  }

  get isAlone(): boolean {
    return this.#writer.isAlone
  }

  append(event: NewEvent, body?: Uint8Array, json?: string): number {
    for (const { before } of this.#watchers) before?.(event)
    const seq = this.#orStop(() => this.#writer.append(event, body, json))
    for (const { after } of this.#watchers) after?.(event)
    return seq
  }

  buffer(event: NewEvent, body?: Uint8Array, json?: string): number {
    return this.#orStop(() => this.#writer.buffer(event, body, json))
  }

  flush(): void {
    this.#orStop(() => this.#writer.flush())
  }

  barrier(): void {
    this.#orStop(() => this.#writer.barrier())
  }

  whenDurable(then: () => void): void {
    this.#orStop(() => this.#writer.whenDurable((failure) => this.#thenOrStop(then, failure)))
  }

  seal(options?: SealOptions): void {
    this.#orStop(() => this.#writer.seal(options))
  }

  sealLater(options: SealOptions, then: () => void): void {
    this.#orStop(() =>
      this.#writer.sealLater(options, (failure) => this.#thenOrStop(then, failure)),
    )
  }

  close(): void {
    this.#writer.close()
  }

  #orStop<T>(write: () => T): T {
    try {
      return write()
    } catch (error) {
      return stopWith(error, this.#failureFile)
    }
  }

  #thenOrStop(then: () => void, failure: Error | undefined): void {
    if (failure === undefined) then()
    else stopWith(failure, this.#failureFile)
  }
}
