/**
 * Jest's Node environment with Retake. Jest runs every test file in a `vm` context with its own
 * `Date` and `Math.random`, and reloads modules for it. The engine is loaded once outside, and
 * patches the contexts from here.
 *
 * Tests import `retake` and `retake/jest`, thin entry points to the engine that an export condition
 * of this environment selects.
 */
import * as engine from '@retake/engine'
import {
  currentSession,
  ignoreRunner,
  install,
  installInRealm,
  outsideRuns,
  uninstall,
} from '@retake/engine'
import { TestEnvironment } from 'jest-environment-node'
import * as retake from '../index.js'
import { replayProgram, tapeFunction, toReplay } from '@retake/runner/tests'

/**
 * Importing the library patched this realm. It belongs only into the realms of tests, because
 * Jest's own use of the clock and random numbers is not the agent's.
 */
uninstall()
install({ ownRealm: false })
ignoreRunner(/[\\/]node_modules[\\/](?:@jest|jest-[\w-]+|write-file-atomic|signal-exit)[\\/]/)

const CLASSES = [
  'Object',
  'Array',
  'Date',
  'RegExp',
  'Map',
  'Set',
  'Error',
  'TypeError',
  'RangeError',
  'SyntaxError',
  'EvalError',
  'ReferenceError',
  'URIError',
  'AggregateError',
] as const

type Realm = Readonly<Record<(typeof CLASSES)[number], { readonly prototype: object }>>

/** Gives plain data the classes of another realm, so that `instanceof` works there. */
function adoptValue<T>(value: T, realm: typeof globalThis): T {
  const prototypes = new Map<unknown, object>(
    CLASSES.map((name) => [
      (globalThis as Realm)[name].prototype,
      (realm as Realm)[name].prototype,
    ]),
  )
  const seen = new Set<unknown>()
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null || seen.has(node)) return
    seen.add(node)
    const theirs = prototypes.get(Object.getPrototypeOf(node))
    if (theirs === undefined) return
    Object.setPrototypeOf(node, theirs)
    if (node instanceof realm.Map) node.forEach((member, key) => [key, member].forEach(visit))
    if (node instanceof realm.Set) node.forEach(visit)
    for (const key of Reflect.ownKeys(node)) {
      const property = Object.getOwnPropertyDescriptor(node, key)
      if (property && 'value' in property) visit(property.value)
    }
  }
  visit(value)
  return value
}

export default class RetakeEnvironment extends TestEnvironment {
  readonly #undo: () => void

  constructor(...args: ConstructorParameters<typeof TestEnvironment>) {
    super(...args)
    const realm = this.global as unknown as typeof globalThis
    this.#undo = installInRealm(realm)
    leaveConsoleOutside(realm)
    // A getter, so that Jest does not tear down the engine after the file.
    // The global that modules inside of a realm use, `Symbol.for('retake.jest')`.
    const opened = {
      retake: { ...retake, tool: toolOf(realm) },
      engine: { ...engine, tool: toolOf(realm) },
      toReplay,
      tapeFunction,
      replayProgram,
    }
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

/** `tool` with results and errors of the caller's realm. */
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
 * Runs Jest's console outside of the run: it inspects the stack and reads source maps, which is not
 * the agent's work. Jest sets the console later, when it knows how many files there are.
 */
function leaveConsoleOutside(realm: typeof globalThis): void {
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
    // A function that a test spies on must keep its identity.
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
