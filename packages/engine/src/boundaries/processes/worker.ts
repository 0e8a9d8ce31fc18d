import { EventEmitter } from 'node:events'
import { Readable } from 'node:stream'
import { deserialize, serialize } from 'node:v8'
import worker, { type WorkerOptions } from 'node:worker_threads'
import { rebuildError } from '@retake/tape/format'
import { siteField } from '../../call-site.js'
import { currentSession, outsideRuns } from '../../scope.js'
import type { Delivery, Operation, Session } from '../../sessions/session.js'
import { deliverError } from '../deliver-error.js'
import { noteDisk } from './child-command.js'
import { replace, type Undo } from '../patch.js'
import { WrittenBytes } from '../written-bytes.js'

/**
 * Worker threads are recorded from outside, like child processes: messages from them are on the
 * tape, and a replay starts no thread. Not promised: message ports and shared memory.
 */
export function patchWorker(): Undo {
  const Native = worker.Worker
  const Patched = new Proxy(Native, {
    construct(native, args: [string | URL, WorkerOptions?], newTarget) {
      const session = currentSession()
      if (session === undefined) return Reflect.construct(native, args, newTarget) as object
      return new TapeWorker(session, args, () => {
        noteDisk(session)
        return new Native(...args)
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
  #real: worker.Worker | undefined
  readonly #terminating: ((exitCode: number) => void)[] = []

  constructor(
    session: Session,
    [file, options]: [string | URL, WorkerOptions?],
    start: () => worker.Worker,
  ) {
    super()
    this.#written = new WrittenBytes(session)
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
      body: serialize({ file: String(file), workerData: options?.workerData as unknown }),
      durable: true,
      start: (operation) => this.#attach(operation, start()),
      deliver: (delivery) => this.#deliver(delivery),
      stamp: () => this.#written.stamp(),
      digestAt: (written) => this.#written.digestAt(written),
    })
    this.threadId = session.draw('Worker.threadId', () => this.#real?.threadId ?? 0)
  }

  postMessage(message: unknown, transfer?: never): void {
    this.#written.add(serialize(message))
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
    real.on('message', (message) =>
      operation.complete({ type: 'deliver', part: 'message' }, serialize(message)),
    )
    real.on('error', (error) => deliverError(operation, error))
    real.on('exit', (exitCode) =>
      operation.complete({ type: 'deliver', part: 'exit', value: exitCode }),
    )
  }

  #deliver({ event, body, native }: Delivery): void {
    if (event.type !== 'deliver') return
    if (event.part === 'message') this.emit('message', deserialize(body))
    else if (event.part === 'error' && event.error)
      this.emit('error', native ?? rebuildError(event.error))
    else if (event.part === 'online') this.emit('online')
    else if (event.part === 'exit') this.#exited(Number(event.value))
  }

  #exited(exitCode: number): void {
    this.#operation.close()
    this.stdout.push(null)
    this.stderr.push(null)
    this.emit('exit', exitCode)
    for (const resolve of this.#terminating.splice(0)) resolve(exitCode)
  }
}
