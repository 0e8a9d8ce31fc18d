import { natives } from '../../kernel/natives.js'
import { outsideRuns } from '../../kernel/scope.js'
import type { Session } from '../../kernel/session.js'
import { answerLater } from '../patching/in-turn.js'
import {
  performCall,
  startCall,
  type CapturedAnswer,
  type CapturedCall,
} from '../patching/captured-call.js'
import { fileCall, outputDescriptor, trackDescriptor } from './file-call.js'
import { FileWrite, trackPosition } from './file-write.js'
import {
  checkArguments,
  encodeData,
  encodingOf,
  fileFunctions,
  type FileShape,
} from './file-functions.js'
import { nativeFs, type FileFunction } from './file-natives.js'
import { callLive, startLive } from './live-call.js'

/**
 * One call of `node:fs` with valid arguments, whether it returns synchronously, by callback or as a
 * promise.
 */
export interface FileWork {
  call(): CapturedCall
  /** Makes the call and returns the value for the tape. */
  readonly run: () => unknown
  /** Like `run`, for an asynchronous answer; `run` is used if this is missing. */
  start?(done: CapturedAnswer): void
  /** Turns the value on the tape into the result for the agent. */
  settle?(value: unknown): unknown
  /** Set if the bytes go to stdout or stderr; then `value` is the result. */
  readonly output?: { readonly fd: 1 | 2; readonly bytes: Uint8Array; readonly value?: unknown }
  /** True if there is nothing to transfer, so no call is needed. */
  readonly isEmpty?: boolean
  /** Set if the call writes to a file. */
  readonly write?: FileWrite | undefined
  /** The agent's buffers, which a callback gets back. */
  readonly passed?: unknown
}

/** A call of a function in the table, recorded as `label`. `sync` and `later` replace it. */
export function tableWork(
  session: Session,
  label: string,
  name: string,
  args: readonly unknown[],
  {
    sync = nativeFs[`${name}Sync`],
    later = nativeFs[name],
  }: { readonly sync?: FileFunction; readonly later?: FileFunction } = {},
): FileWork {
  const shape = fileFunctions[name] as FileShape
  checkArguments(shape, args, sync)
  const native = sync as FileFunction
  const [file, data, options] = args
  const fd = shape.inputs[1] === 'data' ? outputDescriptor(session, file) : undefined
  return {
    call: () => fileCall(session, label, name, args, shape),
    run: () =>
      fd === undefined ? callLive(session, name, native, args) : native(fd, ...args.slice(1)),
    start: (done) => startLive(session, name, later as FileFunction, args, done),
    write: fd === undefined ? FileWrite.of(session, name, args) : undefined,
    settle: (value) => {
      trackDescriptor(session, name, args, value)
      trackPosition(session, name, args, value)
      return value
    },
    ...(fd !== undefined && {
      output: { fd, bytes: encodeData(data, encodingOf(options)).body ?? new Uint8Array(0) },
    }),
  }
}

export function workSync(session: Session, work: FileWork): unknown {
  const { output } = work
  if (work.isEmpty === true) return 0
  if (output) {
    session.output(output.fd === 1 ? 'stdout' : 'stderr', output.bytes)
    return outsideRuns(work.run)
  }
  return settled(work, performCall(session, callOf(work), work.run))
}

export function startWork(session: Session, work: FileWork, answer: CapturedAnswer): void {
  const { output } = work
  if (work.isEmpty === true) return process.nextTick(answer, null, 0)
  if (output) {
    // The bytes are written now, in order with all other output; only the answer is delayed.
    session.output(output.fd === 1 ? 'stdout' : 'stderr', output.bytes)
    if (output.fd === 1) natives.stdoutWrite(output.bytes)
    else natives.stderrWrite(output.bytes)
    return answerLater('output', () => answer(null, output.value), session)
  }
  const start = (done: CapturedAnswer): void =>
    work.start === undefined ? done(null, work.run()) : work.start(done)
  const ended = work.write?.begin()
  startCall(session, callOf(work), start, (error, value) => {
    ended?.()
    if (error === null) answer(null, settled(work, value))
    else answer(error)
  })
}

function callOf(work: FileWork): CapturedCall {
  const { write } = work
  return write === undefined ? work.call() : { ...work.call(), before: () => write.before() }
}

export function promiseWork(session: Session, work: FileWork): Promise<unknown> {
  return new Promise((resolve, reject) => {
    startWork(session, work, (error, value) => (error === null ? resolve(value) : reject(error)))
  })
}

const settled = (work: FileWork, value: unknown): unknown =>
  work.settle ? work.settle(value) : value
