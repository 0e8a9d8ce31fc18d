import { AsyncLocalStorage } from 'node:async_hooks'
import type { Context, ContextManager } from './open-telemetry.js'

/** Hands OpenTelemetry's context on to what is started in it, as the manager of its Node SDK does. */
export class AsyncContextManager implements ContextManager {
  readonly #storage = new AsyncLocalStorage<Context>()

  constructor(readonly root: Context) {}

  active(): Context {
    return this.#storage.getStore() ?? this.root
  }

  with<R>(
    context: Context,
    body: (...args: unknown[]) => R,
    self?: unknown,
    ...args: unknown[]
  ): R {
    return this.#storage.run(context, () => body.apply(self, args))
  }

  /** Functions only: listeners of an emitter run where they are called. */
  bind<T>(context: Context, target: T): T {
    if (typeof target !== 'function') return target
    const inContext = (self: unknown, args: unknown[]): unknown =>
      this.with(context, target as unknown as (...args: unknown[]) => unknown, self, ...args)
    return function bound(this: unknown, ...args: unknown[]) {
      return inContext(this, args)
    } as T
  }

  enable(): this {
    return this
  }

  disable(): this {
    this.#storage.disable()
    return this
  }
}
