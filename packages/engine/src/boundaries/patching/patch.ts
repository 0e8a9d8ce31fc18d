import { outsideRuns } from '../../kernel/scope.js'

export type Undo = () => void

/**
 * Replaces one property and returns the undo. Keeps the property's flags and the function's name
 * and length, so that it looks like the original.
 */
export function replace(target: object, key: PropertyKey, value: unknown): Undo {
  const original = Object.getOwnPropertyDescriptor(target, key)
  const native: unknown = original ? original.value : Reflect.get(target, key)
  if (typeof value === 'function' && typeof native === 'function') {
    for (const key of ['name', 'length'] as const) {
      if (value[key] !== native[key])
        Object.defineProperty(value, key, { value: native[key], configurable: true })
    }
  }
  Object.defineProperty(target, key, {
    value,
    writable: true,
    configurable: true,
    enumerable: original?.enumerable ?? false,
  })
  return () => restore(target, key, original)
}

/**
 * Calls `look` with the arguments before each call of the native function. `look` may change them
 * in place, and its errors become those of the call. No-op if the method does not exist.
 */
export function lookFirst(target: object, method: string, look: (args: unknown[]) => void): Undo {
  const native = (target as Record<string, unknown>)[method]
  if (typeof native !== 'function') return () => {}
  const looking = function (this: unknown, ...args: unknown[]): unknown {
    look(args)
    return native.apply(this, args)
  }
  return replace(target, method, dressLike(looking, native))
}

/** Replaces a class in all `targets`, and as the `constructor` of its instances. */
export function replaceClass(targets: readonly object[], name: string, Patched: Function): Undo {
  return undoAll([
    replace(Patched.prototype as object, 'constructor', Patched),
    ...targets.map((target) => replace(target, name, Patched)),
  ])
}

/**
 * Replaces a global class that Node loads on first use, and loads it outside runs. Without a
 * handler, the native class stays.
 */
export function replaceLazyClass(
  name: string,
  handler?: ProxyHandler<Function>,
  load: (get: () => unknown) => unknown = outsideRuns,
): Undo {
  const original = Object.getOwnPropertyDescriptor(globalThis, name)
  if (original === undefined) return () => {}
  const { get, set, enumerable = false } = original
  if (get === undefined) return replaceLoaded()
  let undo: Undo | undefined
  const define = (value: unknown): void =>
    void Object.defineProperty(globalThis, name, {
      value,
      enumerable,
      writable: true,
      configurable: true,
    })
  Object.defineProperty(globalThis, name, {
    enumerable,
    configurable: true,
    get() {
      define(load(() => get.call(globalThis) as unknown))
      undo = replaceLoaded()
      return Reflect.get(globalThis, name) as unknown
    },
    set: set ?? define,
  })
  return () => {
    if (undo === undefined) Object.defineProperty(globalThis, name, original)
    else undo()
  }

  function replaceLoaded(): Undo {
    if (handler === undefined) return () => {}
    const Native = Reflect.get(globalThis, name) as Function
    return replaceClass([globalThis], name, new Proxy(Native, handler))
  }
}

/** Defines non-enumerable properties, like methods of a class. */
export function define<T extends object>(target: T, members: object, enumerable = false): T {
  for (const key of Reflect.ownKeys(members)) {
    const value = (members as Record<PropertyKey, unknown>)[key]
    Object.defineProperty(target, key, { value, writable: true, configurable: true, enumerable })
  }
  return target
}

/** The object that has the method as an own property: `object`, or one it inherits from. */
export function ownerOf(object: object, method: string): object | undefined {
  let owner: object | null = object
  while (owner !== null && !Object.hasOwn(owner, method))
    owner = Object.getPrototypeOf(owner) as object | null
  return owner ?? undefined
}

export function replaceGetter(target: object, key: PropertyKey, get: (this: any) => unknown): Undo {
  const original = Object.getOwnPropertyDescriptor(target, key)
  Object.defineProperty(target, key, {
    get,
    ...(original?.set && { set: original.set }),
    configurable: true,
    enumerable: original?.enumerable ?? false,
  })
  return () => restore(target, key, original)
}

function restore(target: object, key: PropertyKey, original: PropertyDescriptor | undefined): void {
  if (original === undefined) Reflect.deleteProperty(target, key)
  else Object.defineProperty(target, key, original)
}

/** Gives `wrapper` the name, length and own properties of `original`. */
export function dressLike<F extends Function>(wrapper: F, original: Function): F {
  for (const key of Reflect.ownKeys(original)) {
    if (key === 'prototype') continue
    const descriptor = Object.getOwnPropertyDescriptor(original, key)
    if (descriptor) Object.defineProperty(wrapper, key, { ...descriptor, configurable: true })
  }
  return wrapper
}

export function undoAll(undos: readonly Undo[]): Undo {
  return () => {
    for (const undo of undos.toReversed()) undo()
  }
}
