import { replace, type Undo, undoAll } from '@retake/engine/hook'
import type { CallBounds } from '../../bounds/call-bounds.js'
import { currentBounds } from '../current-bounds.js'
import { boundListener, type Listener } from './bound-listener.js'
import { portOf } from '../../bounds/canonical-host.js'
import { takeRefusal } from '../../bounds/refused-endpoints.js'

type Given = Listener | { readonly handleEvent: Listener }
type Options = boolean | { readonly capture?: unknown; readonly once?: unknown } | undefined
type Native = (this: EventTarget, type: string, listener: unknown, options?: Options) => void

/** Replacement of a listener, and the call that has added it. */
interface StandIn {
  readonly call: CallBounds
  readonly function: Listener
}

/** By target, listener and kind of event. A target has a listener once for each, and so has this. */
const standIns = new WeakMap<EventTarget, WeakMap<Given, Map<string, StandIn>>>()
let hasAny = false

/**
 * Listeners that a guarded tool adds to event targets, to an `AbortSignal` of others above
 * all, stay within its bounds whoever dispatches. Without a guarded call around it every
 * function is the native one. Not seen: a handler that replaces another's (`onabort`).
 */
export function patchTargetListeners(): Undo {
  const { prototype } = EventTarget
  const add = prototype.addEventListener as Native
  const remove = prototype.removeEventListener as Native

  const take = (target: EventTarget, type: string, given: Given, options: Options): void => {
    const known = standIns.get(target)?.get(given)
    const kind = kindOf(type, options)
    const found = known?.get(kind)
    if (found === undefined) return
    known?.delete(kind)
    remove.call(target, type, found.function, options)
  }

  return undoAll([
    replace(prototype, 'addEventListener', function (type, given, options) {
      const call = currentBounds().at(-1)
      if (call === undefined || !isListener(given)) return add.call(this, type, given, options)
      const known = knownOf(this, given)
      const kind = kindOf(type, options)
      let found = known.get(kind)
      if (found?.call.isOver === true) take(this, type, given, options)
      if (found === undefined || found.call.isOver) {
        const forget = isOnce(options) ? () => known.delete(kind) : undefined
        known.set(kind, (found = { call, function: standIn(given, forget) }))
      }
      add.call(this, type, found.function, options)
    } satisfies Native),
    replace(prototype, 'removeEventListener', function (type, given, options) {
      remove.call(this, type, given, options)
      if (hasAny && isListener(given)) take(this, type, given, options)
    } satisfies Native),
  ])
}

function standIn(given: Given, forget: (() => void) | undefined): Listener {
  const bound = boundListener(
    typeof given === 'function' ? given : (...args) => given.handleEvent(...args),
  )
  if (forget === undefined) return bound
  return function (this: unknown, ...args: unknown[]): unknown {
    forget()
    return bound.apply(this, args)
  }
}

function knownOf(target: EventTarget, given: Given): Map<string, StandIn> {
  hasAny = true
  let ofTarget = standIns.get(target)
  if (ofTarget === undefined) standIns.set(target, (ofTarget = new WeakMap()))
  let known = ofTarget.get(given)
  if (known === undefined) ofTarget.set(given, (known = new Map()))
  return known
}

const isListener = (given: unknown): given is Given =>
  typeof given === 'function' || (typeof given === 'object' && given !== null)

const kindOf = (type: string, options: Options): string =>
  `${typeof options === 'object' ? Boolean(options?.capture) : Boolean(options)} ${type}`

const isOnce = (options: Options): boolean => typeof options === 'object' && Boolean(options?.once)

/**
 * A `WebSocket` or an `EventSource` that cannot connect emits an event that
 * does not say why. Where a guarded call was refused its endpoint, the event
 * has the refusal as its `error`: so a tool that fails because of it is recognised.
 */
export function patchErrorEvents(): Undo {
  const { prototype } = EventTarget
  const { dispatchEvent: native } = prototype
  return replace(prototype, 'dispatchEvent', function (this: EventTarget, event: Event): boolean {
    if (event?.type === 'error' && currentBounds().length > 0) describeRefusal(this, event)
    return native.call(this, event)
  })
}

function describeRefusal(target: EventTarget, event: Event): void {
  const { url: text } = target as { url?: unknown }
  if (typeof text !== 'string' || !URL.canParse(text)) return
  const url = new URL(text)
  const refusal = takeRefusal(currentBounds(), { host: url.hostname, port: portOf(url) })
  if (refusal === undefined) return
  const details = { error: refusal, message: refusal.message }
  for (const [name, value] of Object.entries(details))
    Object.defineProperty(event, name, { value, configurable: true })
}
