import { fromWire, rebuildError, recordError, toWire } from '@retake/tape/format'
import { siteField } from '../../kernel/call-site.js'
import { isProcessRun } from '../../kernel/scope.js'
import type { Delivery, Operation, Session } from '../../kernel/session.js'
import { ownerOf, replace, type Undo } from '../patching/patch.js'
import { sharedIn } from './shared-clients.js'

/**
 * Queues that the runs of a process share. When a queue starts a task depends on other runs, and it
 * starts the task in their async context. Therefore the start and the end of a task are deliveries
 * in the run that queued it, and the queue itself works outside. On replay the tape says when a
 * task starts and ends, and the queue is not used.
 *
 * A queue that the run creates itself serves only the run, so it needs nothing. Libraries without an
 * integration need `sharedQueue`. Not captured: what a shared queue says about itself, such as
 * `size` and `onIdle()`.
 */

interface QueueMethod {
  /** Of the library, for the tape. */
  readonly library: string
  readonly method: string
  /** Arguments of a task, from the values that follow it; these values unless set. */
  readonly taskArguments?: (following: readonly unknown[]) => readonly unknown[]
}

/** Patches the method of a queue's class that takes a task. No-op if there is none. */
export function patchQueue(
  prototype: object,
  { library, method, taskArguments = (following) => following }: QueueMethod,
  patched: Map<object, Undo>,
): void {
  const owner = ownerOf(prototype, method) as Record<string, Enqueue> | undefined
  const native = owner?.[method]
  if (owner === undefined || native === undefined || patched.has(owner)) return
  const add = function (this: object, ...args: unknown[]): unknown {
    const session = waitingIn(this)
    const at = args.findIndex((each) => typeof each === 'function')
    if (session === undefined || at < 0) return native.apply(this, args)
    const [task, ...following] = args.slice(at) as [Task, ...unknown[]]
    const call = { name: library, task, taskArguments: taskArguments(following) }
    return queueInTurns(session, call, (queued) => native.apply(this, args.with(at, queued)))
  }
  patched.set(owner, replace(owner, method, add))
}

/**
 * Wraps a function that queues tasks, such as the result of `pLimit(5)`, for use by several
 * concurrent runs. Its first argument is the task, and it returns a promise of the task's result.
 * Each task belongs to the run that queued it, and starts on replay when it did in the recording.
 */
export function sharedQueue<Queue extends (task: never, ...rest: never[]) => unknown>(
  queue: Queue,
): Queue {
  const enqueue = queue as unknown as Enqueue
  return new Proxy(queue, {
    apply(_, self: object, args: unknown[]) {
      const session = waitingIn(queue)
      const [task, ...taskArguments] = args as [Task, ...unknown[]]
      if (session === undefined || typeof task !== 'function') return enqueue.apply(self, args)
      const name = queue.name === '' ? 'a shared queue' : queue.name
      return queueInTurns(session, { name, task, taskArguments }, (queued) =>
        enqueue.call(self, queued, ...taskArguments),
      )
    },
  })
}

type Task = (...args: unknown[]) => unknown
type Enqueue = (this: object, ...args: unknown[]) => unknown

/** The current run, if it shares this queue with others and its tasks may have to wait. */
function waitingIn(queue: object): Session | undefined {
  const session = sharedIn(queue)
  if (session === undefined || isProcessRun(session)) return undefined
  // Nothing waits in the queues of LangChain models without `maxConcurrency`. Known only in p-queue 6.
  const { concurrency, _isIntervalIgnored } = queue as Partial<Record<string, unknown>>
  return concurrency === Infinity && _isIntervalIgnored === true ? undefined : session
}

interface QueuedTask {
  readonly name: string
  readonly task: Task
  /** For a task that comes from the tape; a queue may pass fewer. */
  readonly taskArguments: readonly unknown[]
}

/** How an execution of a task ended; undefined if it has not. */
interface Execution {
  readonly result: Promise<unknown>
  outcome?: { readonly value: unknown } | { readonly error: unknown }
}

function queueInTurns(
  session: Session,
  { name, task, taskArguments }: QueuedTask,
  enqueue: (queued: Task) => unknown,
): Promise<unknown> {
  /** A queue such as Bottleneck may try a task again. */
  let last: Execution | undefined
  let start: ((result: Promise<unknown>) => void) | undefined
  const execute = (args: readonly unknown[]): void => {
    let settle: (result: unknown) => void = () => {}
    const execution: Execution = { result: new Promise((resolve) => (settle = resolve)) }
    execution.result.then(
      (value) => (execution.outcome = { value }),
      (error: unknown) => (execution.outcome = { error }),
    )
    // The run may go live while the task starts.
    last = execution
    start?.(execution.result)
    settle((async () => task(...args))())
  }
  /** If the run goes live while the task executes, the queue gets that execution. */
  const queued = (operation: Operation): Task => {
    let underWay = last
    return async (...args) => {
      if (underWay === undefined)
        return await new Promise((resolve) => {
          start = resolve
          operation.complete({ type: 'deliver', part: 'turn', value: args.length }, undefined, args)
        })
      const { result } = underWay
      underWay = undefined
      return result
    }
  }
  return new Promise((resolve, reject) => {
    const operation = session.perform({
      event: { type: 'call', kind: 'input', name, ...siteField() },
      lasting: true,
      start: (live) =>
        void reportEnd(
          live,
          () => enqueue(queued(live)),
          () => last,
        ),
      deliver({ event, native }: Delivery) {
        if (event.type !== 'deliver') return
        if (event.part === 'turn')
          return execute((native as unknown[]) ?? taskArguments.slice(0, Number(event.value)))
        operation.close()
        if (event.error) reject(native ?? rebuildError(event.error))
        else resolve('value' in event ? fromWire(event.value) : last?.result)
      },
    })
  })
}

/** Reports what the queue says about a task. Without a value and an error, it is the task's own outcome. */
async function reportEnd(
  operation: Operation,
  settle: () => unknown,
  last: () => Execution | undefined,
): Promise<void> {
  const outcome = (): Partial<Record<'value' | 'error', unknown>> => last()?.outcome ?? {}
  const end = { type: 'deliver', part: 'end' } as const
  try {
    const value = await settle()
    const isOwn = 'value' in outcome() && outcome().value === value
    operation.complete(isOwn ? end : { ...end, value: toWire(value) })
  } catch (error) {
    const isOwn = 'error' in outcome() && outcome().error === error
    operation.complete(isOwn ? end : { ...end, error: recordError(error) }, undefined, error)
  }
}
