import asyncHooks from 'node:async_hooks'
import channels from 'node:diagnostics_channel'
import module from 'node:module'
import perfHooks from 'node:perf_hooks'
import { dressLike, replace, replaceClass, type Undo, undoAll } from '@retake/engine/hook'
import { boundCallback, boundFirst } from './bound-callback.js'
import { types } from 'node:util'
import v8 from 'node:v8'
import { processErrors } from '../../bounds/process-errors.js'
import { currentBounds } from '../current-bounds.js'

/** Set while Node installs its own hooks for promises. */
let isEnabling = false

/**
 * Hooks that a guarded tool leaves for every promise stay within its bounds. Node has such
 * hooks too and installs them again, by the same public function, whenever a hook of
 * `node:async_hooks` is enabled. By them `AsyncLocalStorage` (before Node 24) knows what a
 * promise belongs to: bound to a tool, every promise of the process would belong to it.
 */
function patchPromiseHooks(): Undo {
  const hook = Object.getPrototypeOf(asyncHooks.createHook({})) as object
  return undoAll([
    ...(['createHook', 'onInit', 'onBefore', 'onAfter', 'onSettled'] as const).map(patchHook),
    patchEnable(hook as asyncHooks.AsyncHook),
  ])
}

function patchHook(name: keyof typeof v8.promiseHooks): Undo {
  const native = v8.promiseHooks[name] as Function
  const binding = function (this: unknown, ...args: unknown[]): unknown {
    return native.apply(this, isEnabling ? args : boundFirst(args))
  }
  return replace(v8.promiseHooks, name, dressLike(binding, native))
}

function patchEnable(prototype: asyncHooks.AsyncHook): Undo {
  const { enable: native } = prototype
  return replace(prototype, 'enable', function (this: asyncHooks.AsyncHook) {
    const bounds = currentBounds()
    if (bounds.length === 0) return native.call(this)
    if (!isPlain(this, prototype))
      for (const each of bounds)
        each.underScopes((tool) => processErrors.internals(tool, 'a hook that runs code when read'))
    isEnabling = true
    try {
      return native.call(this)
    } finally {
      isEnabling = false
    }
  })
}

/** True if Node reads it without running code of the tool. */
const isPlain = (hook: object, prototype: object): boolean =>
  !types.isProxy(hook) &&
  Object.getPrototypeOf(hook) === prototype &&
  Reflect.ownKeys(hook).every((key) => !Object.getOwnPropertyDescriptor(hook, key)?.get)

/**
 * Where Node calls code at a time of its own, in a context that is nobody's or another's: when
 * memory is freed, something is measured or published, or any promise is made. What a guarded
 * tool leaves there stays within its bounds. Without a guarded call around it every function
 * is the native one.
 */
export function patchLaterCallbacks(): Undo {
  return undoAll([
    bindFirst(process, 'setUncaughtExceptionCaptureCallback'),
    bindFirst(asyncHooks, 'createHook'),
    bindFirst(module, 'registerHooks'),
    patchPromiseHooks(),
    bindClass([globalThis], 'FinalizationRegistry'),
    bindClass([globalThis, perfHooks], 'PerformanceObserver'),
    ...bindChannels(),
  ])
}

function bindFirst(target: object, method: string): Undo {
  const native = (target as Record<string, unknown>)[method]
  if (typeof native !== 'function') return () => {}
  const binding = function (this: unknown, ...args: unknown[]): unknown {
    return native.apply(this, boundFirst(args))
  }
  return replace(target, method, dressLike(binding, native))
}

function bindClass(owners: readonly object[], name: string): Undo {
  const Native = (owners[0] as Record<string, unknown>)[name] as Function | undefined
  if (Native === undefined) return () => {}
  const Bound = new Proxy(Native, {
    construct: (native, [first, ...rest]: unknown[], newTarget) =>
      Reflect.construct(native, [boundCallback(first), ...rest], newTarget) as object,
  })
  return replaceClass(owners, name, Bound)
}

/** Replacement of a listener in a channel, needed to unsubscribe it. */
const listeners = new WeakMap<object, unknown>()

type Listener = (message: unknown, name: string | symbol) => void

/** A channel gets another class with its first listener, and subscribes again. */
function bindChannels(): Undo[] {
  const channel = channels.channel('retake.none')
  const none = (): void => {}
  channel.subscribe(none)
  const active = Object.getPrototypeOf(channel) as object
  channel.unsubscribe(none)
  return [
    inChannel(active, 'subscribe', (listener) => {
      const standIn = boundCallback(listener)
      if (standIn !== listener) listeners.set(listener, standIn)
      return standIn as Listener
    }),
    inChannel(active, 'unsubscribe', (listener) => listeners.get(listener) as Listener | undefined),
  ]
}

function inChannel(
  target: object,
  method: 'subscribe' | 'unsubscribe',
  replacementFor: (listener: Listener) => Listener | undefined,
): Undo {
  const native = (target as Record<string, unknown>)[method] as (
    this: unknown,
    of: Listener,
  ) => unknown
  return replace(target, method, function (this: unknown, listener: Listener): unknown {
    const isFunction = typeof listener === 'function'
    const standIn = isFunction ? replacementFor(listener) : undefined
    const done = native.call(this, standIn ?? listener)
    // One function may be there by itself and for a tool.
    return method === 'unsubscribe' && done === false && standIn !== undefined
      ? native.call(this, listener)
      : done
  })
}
