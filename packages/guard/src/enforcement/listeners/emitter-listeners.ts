import { EventEmitter } from 'node:events'
import { replace, type Undo, undoAll } from '@retake/engine/hook'
import type { CallBounds } from '../../bounds/call-bounds.js'
import { currentBounds } from '../current-bounds.js'
import { boundListener, type Listener } from './bound-listener.js'

type Listen = (this: EventEmitter, event: string | symbol, listener: Listener) => EventEmitter

/** By it, Node finds a listener to remove. */
type StandIn = Listener & { listener?: Listener }

/** In which call an emitter was made. */
const makers = new WeakMap<object, CallBounds>()
/** Original listeners by replacement, until Node has wrapped the replacement for `once`. */
const originals = new WeakMap<Listener, Listener>()

/**
 * Listeners of a guarded tool stay within its bounds whoever emits: an emitter that others
 * share, or that is handed to them, calls them where no guarded call is around. Without one
 * every function is the native one.
 */
export function patchEmitterListeners(): Undo {
  const { prototype } = EventEmitter
  const add = adding(prototype.on as Listen)
  return undoAll([
    noteMakers(),
    replace(prototype, 'on', add),
    replace(prototype, 'addListener', add),
    replace(prototype, 'prependListener', adding(prototype.prependListener as Listen)),
    replace(prototype, 'once', addingOnce(prototype.once as Listen)),
    replace(prototype, 'prependOnceListener', addingOnce(prototype.prependOnceListener as Listen)),
  ])
}

function noteMakers(): Undo {
  const emitters = EventEmitter as unknown as { init: (this: object, options: unknown) => void }
  const native = emitters.init
  return replace(emitters, 'init', function (this: object, options: unknown): void {
    const bounds = currentBounds()
    if (bounds.length > 0) makers.set(this, bounds.at(-1) as CallBounds)
    native.call(this, options)
  })
}

const adding = (native: Listen): Listen =>
  function (event, listener) {
    if (currentBounds().length === 0 || typeof listener !== 'function')
      return native.call(this, event, listener)
    const once = listener as StandIn
    const original = once.listener && originals.get(once.listener)
    if (original === undefined) return native.call(this, event, standIn(this, listener))
    once.listener = original
    return native.call(this, event, once)
  }

/** Node makes a listener of its own of it, which removes itself, and adds that. */
const addingOnce = (native: Listen): Listen =>
  function (event, listener) {
    if (currentBounds().length === 0 || typeof listener !== 'function')
      return native.call(this, event, listener)
    const bound = standIn(this, listener)
    originals.set(bound, listener)
    return native.call(this, event, bound)
  }

function standIn(emitter: object, listener: Listener): Listener {
  const bound: StandIn = boundListener(listener, makers.get(emitter) === currentBounds().at(-1))
  bound.listener = listener
  return bound
}
