import asyncHooks from 'node:async_hooks'
import { types } from 'node:util'
import v8 from 'node:v8'
import { dressLike, replace, type Undo, undoAll } from '@retake/engine/hook'
import { processErrors } from '../../bounds/process-errors.js'
import { currentBounds } from '../current-bounds.js'
import { boundFirst } from './bound-callback.js'

/** Set while Node puts its own hooks for promises in place. */
let isEnabling = false

/**
 * Hooks that a guarded tool leaves for every promise stay within its bounds. Node has such
 * hooks too and puts them in place anew, by the same public function, whenever a hook of
 * `node:async_hooks` is enabled. By them `AsyncLocalStorage` (before Node 24) knows what a
 * promise belongs to: bound to a tool, every promise of the process would belong to it.
 */
export function patchPromiseHooks(): Undo {
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

/** Whether Node reads it without running code of the tool. */
const isPlain = (hook: object, prototype: object): boolean =>
  !types.isProxy(hook) &&
  Object.getPrototypeOf(hook) === prototype &&
  Reflect.ownKeys(hook).every((key) => !Object.getOwnPropertyDescriptor(hook, key)?.get)
