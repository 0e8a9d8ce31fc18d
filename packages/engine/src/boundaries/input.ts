import tty from 'node:tty'
import { currentProcessRun, currentSession, outsideRuns } from '../kernel/scope.js'
import type { Operation, Session } from '../kernel/session.js'
import { dressLike, replace, replaceGetter, type Undo, undoAll } from './patching/patch.js'
import fs from 'node:fs'
import { Readable } from 'node:stream'
import { rebuildError, attempt } from '@retake/tape/format'
import { siteField } from '../kernel/call-site.js'
import { deliverError } from './patching/deliver-error.js'

/**
 * `process.stdin` inside a run: a stream whose chunks come through the gate, from the real stdin
 * while recording and from the tape on replay. Records nothing until the agent reads.
 */
export function patchInput(): Undo {
  // Recorded for a process run, but not for a function run: libraries call `isatty` once per
  // process, in whichever run uses them first.
  const { isatty } = tty
  const patched = (fd: number): boolean =>
    currentProcessRun()?.draw('tty.isatty', () => isatty(fd)) ?? isatty(fd)
  const streams = new WeakMap<Session, TapeInput>()
  const undoStream = replaceGetter(process, 'stdin', () => {
    const session = currentSession()
    if (session === undefined) return nativeInput()
    let stream = streams.get(session)
    if (stream === undefined) {
      stream = new TapeInput(session, recordedFacts ?? describeInput(), nativeInput)
      streams.set(session, stream)
    }
    return stream
  })
  return undoAll([undoStream, replace(tty, 'isatty', dressLike(patched, isatty))])
}

const getter = Object.getOwnPropertyDescriptor(process, 'stdin')?.get
const nativeInput = (): NodeJS.ReadStream => getter?.call(process) as NodeJS.ReadStream

let recordedFacts: InputFacts | undefined

export function imitateInput(facts: InputFacts): void {
  recordedFacts = facts
}

export interface InputFacts {
  readonly isTTY?: boolean
  /** True if redirected from a file, whose stream is never closed. */
  readonly isFile?: boolean
}

/** Copied before they are patched. */
const { fstatSync } = fs
const { isatty } = tty

/**
 * Inspects the descriptor instead of `process.stdin`: creating that stream makes a pipe
 * non-blocking, and `readFileSync(0)` would fail instead of waiting.
 */
export function describeInput(): InputFacts {
  if (isatty(0)) return { isTTY: true }
  const stat = attempt(() => fstatSync(0))
  return stat?.isFile() || stat?.isCharacterDevice() ? { isFile: true } : {}
}

/** True if input can arrive: stdin is open, and is not a device such as /dev/null. */
export const hasInput = (): boolean =>
  isatty(0) || attempt(() => !fstatSync(0).isCharacterDevice(), false)

/**
 * `process.stdin` inside a run. Has the methods of a socket or terminal, but is not an instance of
 * either.
 */
class TapeInput extends Readable {
  readonly fd = 0
  // Only set for a terminal.
  declare readonly isTTY?: true
  declare isRaw?: boolean
  declare readonly setRawMode?: (raw: boolean) => this
  readonly #session: Session
  readonly #open: () => NodeJS.ReadStream
  #operation: Operation | undefined
  /** The real stdin, while recording. */
  #native: NodeJS.ReadStream | undefined

  constructor(session: Session, facts: InputFacts, open: () => NodeJS.ReadStream) {
    // Node reads ahead from pipes and files, but not from a terminal.
    super({ autoDestroy: facts.isFile !== true, ...(facts.isTTY === true && { highWaterMark: 0 }) })
    this.#session = session
    this.#open = open
    if (facts.isTTY === true) {
      Object.assign(this, {
        isTTY: true,
        isRaw: false,
        setRawMode: (raw: boolean) => {
          this.isRaw = raw
          this.#live()?.setRawMode?.(raw)
          return this
        },
      })
    }
    // A paused stdin does not keep the process alive, and is read again when it resumes.
    this.on('pause', () =>
      process.nextTick(() => {
        if (this.readableFlowing === true) return
        this.#state.reading = false
        this.#withNative((native) => native.pause())
      }),
    )
  }

  // The real stdin may differ from the recorded one: a file has no `ref`, and only a terminal has a
  // raw mode.
  ref(): this {
    this.#live()?.ref?.()
    return this
  }

  unref(): this {
    this.#live()?.unref?.()
    return this
  }

  override _read(): void {
    if (this.#operation !== undefined) return this.#withNative((native) => native.resume())
    this.#operation = this.#session.perform({
      event: { type: 'call', kind: 'input', name: 'stdin', ...siteField() },
      // Recorded input answered the recorded prompts; a run that goes live prompts again.
      lasting: this.isTTY === true && hasInput(),
      start: (operation) => this.#listen(operation),
      deliver: (delivery) => {
        const { event, body, native } = delivery
        if (event.type !== 'deliver') return
        if (event.part === 'chunk') {
          if (!this.push(Buffer.from(body))) this.#withNative((stream) => stream.pause())
        } else if (event.part === 'end') this.push(null)
        else if (event.error) this.destroy((native ?? rebuildError(event.error)) as Error)
      },
    })
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#operation?.close()
    this.#withNative((native) => native.destroy())
    done(error)
  }

  #listen(operation: Operation): void {
    const native = this.#open()
    this.#native = native
    // The run may have chosen the mode, or paused, while it was served.
    if (this.isRaw === true) native.setRawMode?.(true)
    native
      .on('data', (chunk: Buffer | string) =>
        operation.complete({ type: 'deliver', part: 'chunk' }, Buffer.from(chunk as string)),
      )
      .on('end', () => operation.complete({ type: 'deliver', part: 'end' }))
      .on('error', (error) => deliverError(operation, error))
    if (!this.#state.reading) native.pause()
  }

  /** `reading`: a reader waits for more input than is available. */
  get #state(): { reading: boolean } {
    return (this as unknown as { _readableState: { reading: boolean } })._readableState
  }

  /** The real stream, even if nothing has been read from it; undefined on replay. */
  #live(): NodeJS.ReadStream | undefined {
    return this.#session.local === 'tape' ? undefined : (this.#native ?? this.#open())
  }

  #withNative(work: (native: NodeJS.ReadStream) => void): void {
    const native = this.#native
    if (native !== undefined) outsideRuns(() => work(native))
  }
}
