/**
 * Jest's Node environment with Retake. Jest runs every test file in a `vm` context with its own
 * `Date` and `Math.random`, and loads modules for it again; the engine is loaded once outside, and
 * reaches in from here.
 *
 * Tests import `retake` and `retake/jest`, which are thin entry points to it, selected by an export
 * condition of this environment.
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
import { replayProgram, tapeFunction, toReplay } from './to-replay.js'

/**
 * Importing the library has put it into this realm. Here it belongs around Jest's realms: Jest's
 * own use of the clock and random numbers is not the agent's.
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

/** The global for modules inside, under `Symbol.for('retake.jest')`. */
const bridge = (realm: typeof globalThis): object => ({
  retake: { ...retake, tool: toolOf(realm) },
  engine: { ...engine, tool: toolOf(realm) },
  toReplay,
  tapeFunction,
  replayProgram,
})

export default class RetakeEnvironment extends TestEnvironment {
  readonly #undo: () => void

  constructor(...args: ConstructorParameters<typeof TestEnvironment>) {
    super(...args)
    const realm = this.global as unknown as typeof globalThis
    this.#undo = installInRealm(realm)
    leaveConsoleOutside(realm)
    // A getter, so that Jest does not take the engine apart when the file is done.
    const opened = bridge(realm)
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

/** A tool whose results and errors belong to the realm of the caller. */
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
