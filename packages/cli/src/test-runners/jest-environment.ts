/**
 * Jest's Node environment with Retake in it. Jest runs every test file in a `vm`
 * context with a `Date` and a `Math.random` of its own, and loads modules for it
 * again; the engine lives outside, once, and reaches in from here.
 *
 * What tests import as `retake` and `retake/jest` is a thin door to it: an export
 * condition of this environment leads there.
 */
import './install-outside-jest.js'
import * as engine from '@retake/engine'
import { currentSession, installInRealm, outsideRuns } from '@retake/engine'
import { TestEnvironment } from 'jest-environment-node'
import * as retake from '../index.js'
import { adoptValue } from './adopt-value.js'
import { tapeFunction, toReplay } from './to-replay.js'

/** What the modules inside find, under `Symbol.for('retake.jest')`. */
const door = (realm: typeof globalThis): object => ({
  retake: { ...retake, tool: toolOf(realm) },
  engine: { ...engine, tool: toolOf(realm) },
  toReplay,
  tapeFunction,
})

export default class RetakeEnvironment extends TestEnvironment {
  readonly #undo: () => void

  constructor(...args: ConstructorParameters<typeof TestEnvironment>) {
    super(...args)
    const realm = this.global as unknown as typeof globalThis
    this.#undo = installInRealm(realm)
    keepConsoleOutside(realm)
    // A getter, so that Jest does not take the engine apart when the file is done.
    const opened = door(realm)
    Object.defineProperty(realm, Symbol.for('retake.jest'), { get: () => opened })
  }

  override exportConditions(): string[] {
    return ['retake-jest', ...super.exportConditions()]
  }

  override async teardown(): Promise<void> {
    this.#undo()
    await super.teardown()
  }
}

/** A tool whose results and errors are of the realm that asked, as if it had made them itself. */
const toolOf =
  (realm: typeof globalThis): typeof retake.tool =>
  (name, run, options) => {
    const call = retake.tool(name, run, options)
    return async (...args) => {
      try {
        return adoptValue(await call(...args), realm)
      } catch (error) {
        throw adoptValue(error, realm)
      }
    }
  }

/**
 * Jest's console looks at the stack and reads source maps when it is called: work
 * of Jest's, not of the agent. Jest sets the console later, when it is known how
 * many files there are.
 */
function keepConsoleOutside(realm: typeof globalThis): void {
  let jests = realm.console
  const wrappers = new WeakMap<Function, Function>()
  const wrap = (method: Function): Function => {
    const wrapper =
      wrappers.get(method) ??
      ((...args: unknown[]): unknown =>
        outsideRuns(() => Reflect.apply(method, jests, args) as unknown))
    wrappers.set(method, wrapper)
    return wrapper
  }
  const get = (target: Console, key: string | symbol): unknown => {
    const member: unknown = Reflect.get(target, key)
    // A function that a test spies on has to stay itself.
    return typeof member === 'function' && currentSession() !== undefined ? wrap(member) : member
  }
  let shown = new Proxy(jests, { get })
  Object.defineProperty(realm, 'console', {
    configurable: true,
    enumerable: false,
    get: () => shown,
    set: (console: Console) => {
      jests = console
      shown = new Proxy(console, { get })
    },
  })
}
