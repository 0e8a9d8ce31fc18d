import { EventEmitter } from 'node:events'
import { Readable } from 'node:stream'
import { DefaultSerializer, deserialize } from 'node:v8'
import worker, { type WorkerOptions } from 'node:worker_threads'
import { rebuildError } from '@retake/tape/format'
import { errors } from '../../errors.js'
import { natives } from '../../kernel/natives.js'
import { siteField } from '../../kernel/call-site.js'
import { currentSession, outsideRuns } from '../../kernel/scope.js'
import type { Delivery, Operation, Session } from '../../kernel/session.js'
import { deliverError } from '../patching/deliver-error.js'
import { noteChildUsesDisk } from './child-command.js'
import { replace, type Undo } from '../patching/patch.js'
import { isLogThread, startLogThread } from '../shared/shared-logs.js'
import { noteBoundary } from '../patching/note-boundary.js'
import { WrittenBytes } from '../patching/written-bytes.js'

/**
 * Worker threads are recorded from outside, like child processes: their messages and output are on
 * the tape, and a replay starts no thread. Message ports and shared memory work, but their content
 * is not captured, so a replay stops where a thread gets one.
 */
export function patchWorker(): Undo {
  const Native = worker.Worker
  const Patched = new Proxy(Native, {
    construct(native, args: [string | URL, WorkerOptions?], newTarget) {
      const session = currentSession()
      if (session === undefined) return Reflect.construct(native, args, newTarget) as object
      const [file, options] = args
      if (isLogThread(String(file))) return startLogThread(session, () => new Native(file, options))
      return new TapeWorker(session, args, () => {
        noteChildUsesDisk(session)
        return new Native(file, { ...options, stdout: true, stderr: true })
      })
    },
  })
  return replace(worker, 'Worker', Patched)
}

class TapeWorker extends EventEmitter {
  readonly threadId: number
  readonly stdin = null
  readonly stdout = new Readable({ read: () => {} })
  readonly stderr = new Readable({ read: () => {} })
  readonly performance = { eventLoopUtilization: () => ({ idle: 0, active: 0, utilization: 0 }) }
  readonly resourceLimits = {}
  readonly #operation: Operation
  readonly #written: WrittenBytes
  readonly #isRead: { readonly 1: boolean; readonly 2: boolean }
  #real: worker.Worker | undefined
  readonly #terminating: ((exitCode: number) => void)[] = []

  constructor(
    session: Session,
    [file, options]: [string | URL, WorkerOptions?],
    start: () => worker.Worker,
  ) {
    super()
    this.#written = new WrittenBytes(session)
    this.#isRead = { 1: options?.stdout === true, 2: options?.stderr === true }
    const title = options?.eval === true ? '(code)' : String(file)
    this.#operation = session.perform({
      event: {
        type: 'call',
        kind: 'worker',
        name: 'Worker',
        title,
        as: 'bytes',
        ...siteField(),
      },
      body: sent(session, {
        // Masked before it is encoded with its length, which the name of another folder changes.
        file: session.secrets.text(String(file)),
        workerData: options?.workerData as unknown,
      }),
      durable: true,
      start: (operation) => this.#attach(operation, start()),
      deliver: (delivery) => this.#deliver(delivery),
      stamp: () => this.#written.stamp(),
      digestAt: (written) => this.#written.digestAt(written),
    })
    this.threadId = session.draw('Worker.threadId', () => this.#real?.threadId ?? 0)
  }

  postMessage(message: unknown, transfer?: never): void {
    this.#written.add(sent(this.#operation.session, message))
    this.#operation.session.proceed()
    outsideRuns(() => this.#real?.postMessage(message, transfer))
  }

  terminate(): Promise<number | undefined> {
    if (this.#operation.closed) return Promise.resolve(undefined)
    outsideRuns(() => void this.#real?.terminate())
    return new Promise((resolve) => this.#terminating.push(resolve))
  }

  ref(): void {
    this.#real?.ref()
  }

  unref(): void {
    this.#real?.unref()
  }

  #attach(operation: Operation, real: worker.Worker): void {
    this.#real = real
    real.on('online', () => operation.complete({ type: 'deliver', part: 'online' }))
    real.on('message', (message) => {
      const { bytes, uncaptured } = serialize(message)
      if (uncaptured !== undefined) noteUncaptured(operation.session, uncaptured)
      const native = uncaptured === undefined ? undefined : { message: message as unknown }
      operation.complete({ type: 'deliver', part: 'message' }, bytes, native)
    })
    real.on('error', (error) => deliverError(operation, error))
    const ends = ([1, 2] as const).map((pipe) => {
      const stream = pipe === 1 ? real.stdout : real.stderr
      stream.on('data', (bytes: Buffer) =>
        operation.complete({ type: 'deliver', part: 'chunk', pipe }, bytes),
      )
      return new Promise((resolve) => stream.on('close', resolve))
    })
    // Node reports the exit before the last output has been read.
    real.on('exit', (exitCode) => {
      void Promise.all(ends).then(() =>
        operation.complete({ type: 'deliver', part: 'exit', value: exitCode }),
      )
    })
  }

  #deliver({ event, body, native }: Delivery): void {
    if (event.type !== 'deliver') return
    if (event.part === 'message')
      this.emit(
        'message',
        native === undefined ? deserialize(body) : (native as { message: unknown }).message,
      )
    else if (event.part === 'error' && event.error)
      this.emit('error', native ?? rebuildError(event.error))
    else if (event.part === 'chunk') {
      const pipe = event.pipe as 1 | 2
      const bytes = Buffer.from(body)
      if (this.#isRead[pipe]) (pipe === 1 ? this.stdout : this.stderr).push(bytes)
      else if (pipe === 1) natives.stdoutWrite(bytes)
      else natives.stderrWrite(bytes)
    } else if (event.part === 'online') this.emit('online')
    else if (event.part === 'exit') {
      const exitCode = Number(event.value)
      this.#operation.close()
      this.stdout.push(null)
      this.stderr.push(null)
      this.emit('exit', exitCode)
      for (const resolve of this.#terminating.splice(0)) resolve(exitCode)
    }
  }
}

/** A message to a thread as bytes. Content that cannot be captured is noted, and refused on replay. */
function sent(session: Session, message: unknown): Uint8Array {
  const { bytes, uncaptured } = serialize(message)
  if (uncaptured === undefined) return bytes
  if (session.local === 'tape') {
    const refusal = errors.BOUNDARY_NOT_REPLAYABLE(uncaptured)
    session.refuse?.(refusal)
    if (session.local === 'tape') throw refusal
  }
  noteUncaptured(session, uncaptured)
  return bytes
}

const noteUncaptured = (session: Session, name: string): void =>
  noteBoundary(session, {
    name,
    text: 'what threads exchange through it is not captured',
    consequence: 'stops',
  })

function serialize(message: unknown): { bytes: Uint8Array; uncaptured: string | undefined } {
  const serializer = new MessageSerializer()
  serializer.writeHeader()
  serializer.writeValue(message)
  return { bytes: serializer.releaseBuffer(), uncaptured: serializer.uncaptured }
}

/** Also writes objects that only threads of a process can share, as placeholders. */
class MessageSerializer extends DefaultSerializer {
  uncaptured: string | undefined

  _getSharedArrayBufferId(): number {
    this.uncaptured ??= SHARED_MEMORY
    return 0
  }

  _writeHostObject(value: object): void {
    if (ArrayBuffer.isView(value)) {
      if (value.buffer instanceof SharedArrayBuffer) this.uncaptured ??= SHARED_MEMORY
      ;(super['_writeHostObject' as never] as (value: object) => void).call(this, value)
    } else {
      this.uncaptured ??= `${value.constructor.name} between threads`
      this.writeUint32(HOST_OBJECT)
    }
  }
}

const SHARED_MEMORY = 'SharedArrayBuffer between threads'
/** Above the numbers that Node writes for the classes of views. */
const HOST_OBJECT = 1000
