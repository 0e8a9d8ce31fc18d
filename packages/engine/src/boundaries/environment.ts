import { inspect } from 'node:util'
import { calledByAgent } from '../kernel/call-site.js'
import type { Environment } from '../kernel/machine.js'
import { natives } from '../kernel/natives.js'
import { currentSession } from '../kernel/scope.js'
import { variablesChanged } from '../secrets/secrets.js'
import { lookFirst, type Undo } from './patching/patch.js'

const { env } = natives

/**
 * `process.env`: the native object while no run is active; inside a run, the session answers. Reads
 * by Node itself, and its copies for child processes, are not recorded.
 *
 * Not promised: code that copied `process.env` before this patch bypasses it. An object that
 * contains `process.env` cannot be cloned or posted.
 */
export function patchEnvironment(): Undo {
  // Printing a proxy shows its target and bypasses all traps, so the target prints a copy.
  const target = Object.create(Object.getPrototypeOf(env) as object, {
    [inspect.custom]: { value: copied, configurable: true },
  }) as NodeJS.ProcessEnv
  const patched = new Proxy(target, handler)
  process.env = patched
  // A proxy cannot be cloned; the native object can.
  const undoClone = lookFirst(globalThis, 'structuredClone', (args) => {
    if (args[0] === patched) args[0] = copied()
  })
  return () => {
    undoClone()
    // The program may have replaced `process.env` in the meantime.
    if (process.env === patched) process.env = env
  }
}

function copied(): Record<string, string | undefined> {
  const variables = active()
  if (variables === undefined) return { ...env }
  return Object.fromEntries(variables.names().map((name) => [name, variables.get(name)]))
}

const handler = {
  get(object, key): unknown {
    const name = variable(key)
    if (name === undefined)
      return Reflect.get(typeof key === 'symbol' ? object : env, key) as unknown
    const variables = active()
    return variables === undefined ? env[name] : read(variables, name, handler.get)
  },
  has(object, key): boolean {
    const name = variable(key)
    if (name === undefined) return Reflect.has(typeof key === 'symbol' ? object : env, key)
    const variables = active()
    return variables === undefined ? name in env : read(variables, name, handler.has) !== undefined
  },
  getOwnPropertyDescriptor(_object, key): PropertyDescriptor | undefined {
    if (typeof key === 'symbol') return undefined
    const variables = active()
    const value =
      variables === undefined
        ? (Object.getOwnPropertyDescriptor(env, key)?.value as string | undefined)
        : read(variables, key, handler.getOwnPropertyDescriptor)
    return value === undefined
      ? undefined
      : { value, writable: true, enumerable: true, configurable: true }
  },
  ownKeys(): string[] {
    const variables = active()
    if (variables === undefined) return Object.keys(env)
    if (!calledByAgent(handler.ownKeys)) return [...variables.peekNames()]
    for (const listener of readListeners) listener(undefined)
    return [...variables.names()]
  },
  set(_object, key, value: unknown): boolean {
    const variables = active()
    if (variables === undefined || typeof key === 'symbol') {
      variablesChanged()
      return Reflect.set(env, key, value)
    }
    variables.set(key, asText(value))
    return true
  },
  defineProperty(_object, key, descriptor): boolean {
    const variables = active()
    const { value, writable, enumerable, configurable } = descriptor
    const isPlain = writable === true && enumerable === true && configurable === true
    // Node throws its own error for any other value.
    if (variables === undefined || typeof key === 'symbol' || !isPlain) {
      variablesChanged()
      return Reflect.defineProperty(env, key, descriptor)
    }
    variables.set(key, asText(value))
    return true
  },
  deleteProperty(_object, key): boolean {
    const variables = active()
    if (variables === undefined || typeof key === 'symbol') {
      variablesChanged()
      return Reflect.deleteProperty(env, key)
    }
    variables.delete(key)
    return true
  },
} satisfies ProxyHandler<NodeJS.ProcessEnv>

/** Called with the name of each variable that the program reads; undefined if it lists all. */
type ReadListener = (name: string | undefined) => void

const readListeners: ReadListener[] = []

export function onVariableRead(listener: ReadListener): void {
  readListeners.push(listener)
}

const active = (): Environment | undefined => currentSession()?.environment

function read(variables: Environment, name: string, trap: Function): string | undefined {
  if (!variables.knows(name) && (name.startsWith('RETAKE_') || !calledByAgent(trap)))
    return variables.peek(name)
  for (const listener of readListeners) listener(name)
  return variables.get(name)
}

/** Converts values to text as Node does. */
function asText(value: unknown): string {
  if (typeof value === 'symbol') throw new TypeError('Cannot convert a Symbol value to a string')
  return String(value)
}

/** Excludes inherited properties such as `hasOwnProperty`. */
const variable = (key: PropertyKey): string | undefined =>
  typeof key === 'string' && !(key in Object.prototype) ? key : undefined
