import { rebuildError, recordError } from '@retake/tape/format'
import { adoptSignalOrigin, noteSignalOrigin } from '../../kernel/call-site.js'
import { natives } from '../../kernel/natives.js'
import { currentProcessRun, currentSession, isOwnWork, outsideRuns } from '../../kernel/scope.js'
import type { Operation, Session } from '../../kernel/session.js'
import {
  replace,
  replaceClass,
  replaceGetter,
  replaceLazyClass,
  undoAll,
} from '../patching/patch.js'
import type { Undo } from '../patching/patch.js'
import { loadNodesFetch } from './global-dispatcher.js'

/**
 * Abort signals from outside a run, such as that of an HTTP request whose client may disconnect.
 * Inside the run, each is represented by a signal of the run, which aborts in a recorded turn, and
 * on replay when the tape says so, whatever the outside signal does. Signals that the run creates
 * itself need no representative.
 */
export function patchAbortSignals(): Undo {
  const { prototype } = AbortSignal
  const getter = (name: 'aborted' | 'reason'): Undo => {
    const native = Object.getOwnPropertyDescriptor(prototype, name)?.get
    return native === undefined
      ? () => {}
      : replaceGetter(prototype, name, function (this: AbortSignal) {
          return native.call(insideSignal(this)) as unknown
        })
  }
  const { throwIfAborted } = prototype
  return undoAll([
    getter('aborted'),
    getter('reason'),
    replace(prototype, 'throwIfAborted', function (this: AbortSignal) {
      throwIfAborted.call(insideSignal(this))
    }),
    listening('addEventListener'),
    listening('removeEventListener'),
    patchOnAbort(),
  ])
}

/** Patches everything that creates a signal, to know later which run created it. */
export function patchSignalMakers(): Undo {
  const Native = globalThis.AbortController
  const construct = (native: Function, args: unknown[], newTarget: Function): AbortController => {
    const controller = Reflect.construct(native, args, newTarget) as AbortController
    made(controller.signal)
    if (currentSession() !== undefined) noteSignalOrigin(construct, controller.signal)
    return controller
  }
  const Patched = new Proxy(Native, { construct })
  // A request has its own signal, which Node creates without the global class.
  const handler: ProxyHandler<Function> = {
    construct(native, args, newTarget) {
      const request = Reflect.construct(native, args, newTarget) as Request
      made(request.signal)
      return request
    },
  }
  return undoAll([
    replaceClass([globalThis], 'AbortController', Patched),
    replaceLazyClass('Request', handler, loadNodesFetch),
    patchStatics(),
  ])
}

/**
 * The run that created a signal; null if it was created outside all runs. Signals that Node or
 * Retake create for themselves have no stamp: they belong to the code that uses them.
 */
class Stamped extends (function (signal: AbortSignal) {
  return signal
} as unknown as new (signal: AbortSignal) => object) {
  #maker: Session | null

  private constructor(signal: AbortSignal, maker: Session | null) {
    super(signal)
    this.#maker = maker
  }

  /**
   * Stored in a private field of the signal, because collecting a `WeakMap` of all signals is slow
   * in a server.
   */
  static stamp(signal: AbortSignal, maker: Session | null): void {
    if (#maker in signal) signal.#maker = maker
    else new Stamped(signal, maker)
  }

  static makerOf(signal: AbortSignal): Session | null | undefined {
    return #maker in signal ? signal.#maker : undefined
  }
}

const made = <S extends AbortSignal>(signal: S): S => {
  if (!isOwnWork()) Stamped.stamp(signal, currentSession() ?? null)
  return signal
}

/** Representatives of a signal from outside, keyed by the run that uses it. */
const twins = new WeakMap<AbortSignal, WeakMap<Session, Twin>>()

/** Stops listening to an outside signal when its run is garbage-collected. */
const forgotten = new natives.FinalizationRegistry<() => void>((stop) => stop())

/** Returns the signal whose state the caller may see. */
function insideSignal(signal: AbortSignal): AbortSignal {
  const session = currentSession()
  const maker = Stamped.makerOf(signal)
  if (session === undefined || maker === undefined || maker === session) return signal
  // A run that is the whole process has no outside signals.
  if (session === currentProcessRun()) return signal
  let bySession = twins.get(signal)
  if (bySession === undefined) twins.set(signal, (bySession = new WeakMap()))
  let twin = bySession.get(session)
  if (twin === undefined) bySession.set(session, (twin = new Twin(session, signal)))
  return twin.signal
}

class Twin {
  readonly #controller = new AbortController()
  readonly #operation: Operation | undefined

  constructor(session: Session, outside: AbortSignal) {
    Stamped.stamp(this.signal, session)
    const aborted = session.draw('AbortSignal.aborted', () =>
      outsideRuns(() => (outside.aborted ? recordError(outside.reason) : null)),
    )
    if (aborted !== null) this.#controller.abort(rebuildError(aborted))
    else
      this.#operation = session.perform({
        event: { type: 'call', kind: 'input', name: 'abort signal' },
        lasting: true,
        start: (operation) => this.#listen(outside, operation),
        deliver: (delivery) => {
          const { event, native } = delivery
          this.#operation?.close()
          if (event.type !== 'deliver') return
          const given = native as { readonly reason: unknown } | undefined
          this.#controller.abort(given ? given.reason : event.error && rebuildError(event.error))
        },
      })
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** A long-lived signal, such as that of a whole server, must not keep a run in memory. */
  #listen(outside: AbortSignal, operation: Operation): void {
    const run = new WeakRef(operation)
    const onAbort = (): void => {
      const { reason } = outside as { reason: unknown }
      run
        .deref()
        ?.complete({ type: 'deliver', part: 'abort', error: recordError(reason) }, undefined, {
          reason,
        })
    }
    outside.addEventListener('abort', onAbort, { once: true })
    const source = new WeakRef(outside)
    forgotten.register(this, () => source.deref()?.removeEventListener('abort', onAbort))
  }
}

/**
 * Listens on behalf of Retake: unlike a listener of a package, this does not affect where work is
 * attributed.
 */
export const listenForAbort = (signal: AbortSignal, onAbort: () => void): void =>
  EventTarget.prototype.addEventListener.call(insideSignal(signal), 'abort', onAbort, {
    once: true,
  })

type Listening = 'addEventListener' | 'removeEventListener'

function listening(method: Listening): Undo {
  return replace(AbortSignal.prototype, method, function (this: AbortSignal, ...args: unknown[]) {
    if (method === 'addEventListener') adoptSignalOrigin(this)
    Reflect.apply(EventTarget.prototype[method], insideSignal(this), args)
  })
}

function patchOnAbort(): Undo {
  const original = Object.getOwnPropertyDescriptor(AbortSignal.prototype, 'onabort')
  if (original?.get === undefined || original.set === undefined) return () => {}
  const { get, set } = original as Required<PropertyDescriptor>
  Object.defineProperty(AbortSignal.prototype, 'onabort', {
    ...original,
    get(this: AbortSignal) {
      return get.call(insideSignal(this)) as unknown
    },
    set(this: AbortSignal, handler: unknown) {
      set.call(insideSignal(this), handler)
    },
  })
  return () => void Object.defineProperty(AbortSignal.prototype, 'onabort', original)
}

/** `AbortSignal.abort` and `AbortSignal.any`. `AbortSignal.timeout` is a timer. */
function patchStatics(): Undo {
  const abort = AbortSignal.abort.bind(AbortSignal)
  const any = AbortSignal.any.bind(AbortSignal)
  return undoAll([
    replace(AbortSignal, 'abort', (reason?: unknown) => made(abort(reason))),
    replace(AbortSignal, 'any', (signals: Iterable<AbortSignal>) => {
      const sources = [...signals]
      return made(any(sources.map(insideSignal)))
    }),
  ])
}
