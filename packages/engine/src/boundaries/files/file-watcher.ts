import { EventEmitter } from 'node:events'
import { fromWire, rebuildError, recordError, toWire } from '@retake/tape/format'
import { callSite } from '../../call-site.js'
import { outsideRuns } from '../../scope.js'
import type { Delivery, Operation, Session } from '../../sessions/session.js'

/** A real watcher, as far as it is needed. */
export interface NativeWatcher extends EventEmitter {
  ref?(): unknown
  unref?(): unknown
}

/** How the arguments of a change go on tape and come back. */
export interface ChangeForm {
  encode(args: readonly unknown[]): unknown
  decode(wire: unknown): unknown[]
}

/** The kind of change and a name. */
export const namedChange: ChangeForm = {
  encode: toWire,
  decode: (wire) => fromWire(wire) as unknown[],
}

export interface Watched {
  readonly name: string
  readonly path: string
  readonly form: ChangeForm
  /** The real watcher; absent on replay, until the run goes live. */
  readonly native: NativeWatcher | undefined
  /** Starts the real watching, outside the run. */
  open(): NativeWatcher
  /** Ends the real watching. */
  stop(native: NativeWatcher): void
}

/**
 * What `fs.watch` and `fs.watchFile` give inside a run: changes come through the
 * gate, from the disk while recording and from the tape on replay.
 */
export class TapeWatcher extends EventEmitter {
  readonly #watched: Watched
  readonly #operation: Operation
  #native: NativeWatcher | undefined
  #stopListening = (): void => {}
  #isRefed = true
  #closed = false

  constructor(session: Session, watched: Watched) {
    super()
    this.#watched = watched
    this.#native = watched.native
    const { name, path } = watched
    const site = callSite()
    this.#operation = session.perform({
      event: {
        type: 'call',
        kind: 'file',
        name,
        title: session.secrets.text(path),
        ...(site !== undefined && { site }),
      },
      lasting: true,
      start: (operation) => this.#listen(operation),
      deliver: (delivery) => this.#receive(delivery),
    })
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#operation.close()
    this.#stopListening()
    const native = this.#native
    if (native) outsideRuns(() => this.#watched.stop(native))
    process.nextTick(() => this.emit('close'))
  }

  ref(): this {
    this.#isRefed = true
    this.#native?.ref?.()
    return this
  }

  unref(): this {
    this.#isRefed = false
    this.#native?.unref?.()
    return this
  }

  [Symbol.dispose](): void {
    this.close()
  }

  #listen(operation: Operation): void {
    const { form } = this.#watched
    const native = this.#native ?? this.#open(operation)
    const change = (...args: unknown[]): void =>
      operation.complete({ type: 'deliver', part: 'change', value: form.encode(args) })
    const fail = (error: unknown): void =>
      operation.complete({ type: 'deliver', part: 'error', error: recordError(error) })
    native?.on('change', change).on('error', fail)
    // Node polls a file as long as anybody listens, and shares that with all who do.
    this.#stopListening = () => void native?.off('change', change)
  }

  /** What the tape was watching is watched from now on. */
  #open(operation: Operation): NativeWatcher | undefined {
    try {
      this.#native = this.#watched.open()
      if (!this.#isRefed) this.#native.unref?.()
    } catch (error) {
      operation.complete({ type: 'deliver', part: 'error', error: recordError(error) })
    }
    return this.#native
  }

  #receive({ event }: Delivery): void {
    if (event.type !== 'deliver') return
    if (event.error) this.emit('error', rebuildError(event.error))
    else this.emit('change', ...this.#watched.form.decode(event.value))
  }
}
