import { defined } from '../format/values/json-shape.js'
import type { CapturedState, CapturedVariable } from './captured-state.js'

export interface StateChange {
  /** For example `main.cart.items[2].price`. */
  readonly path: string
  /** Undefined if it did not exist. */
  readonly before?: unknown
  readonly after?: unknown
}

export interface StateChanges {
  /** The step compared with. */
  readonly step: string
  readonly changes: readonly StateChange[]
}

/** Differences between the variables of two successive states, by function and name. */
export function stateDifference(before: CapturedState, after: CapturedState): StateChange[] {
  const old = variablesOf(before)
  const now = variablesOf(after)
  const changes: StateChange[] = []
  for (const name of new Set([...old.keys(), ...now.keys()]))
    compare(name, old.get(name), now.get(name), changes)
  return changes
}

/** For a function that is on the stack more than once, the nearest frame counts. */
function variablesOf(state: CapturedState): Map<string, unknown> {
  const found = new Map<string, unknown>()
  for (const { name: functionName, variables } of state.frames) {
    for (const variable of variables) {
      const path = statePath(functionName, variable)
      if (!found.has(path)) found.set(path, variable.json)
    }
  }
  return found
}

/** Path of a variable in a change: with its function, unless it is a module variable. */
export function statePath(
  functionName: string,
  { name, scope }: Pick<CapturedVariable, 'name' | 'scope'>,
): string {
  if (scope === 'module') return name
  return `${functionName === '' ? '(top level)' : functionName}.${name}`
}

function compare(path: string, before: unknown, after: unknown, changes: StateChange[]): void {
  // An object with `$type` represents another kind of value, and shares no members with it.
  if (
    isTree(before) &&
    isTree(after) &&
    Array.isArray(before) === Array.isArray(after) &&
    own(before, '$type') === own(after, '$type')
  ) {
    const step = (key: string): string =>
      Array.isArray(after) ? `${path}[${key}]` : `${path}.${key}`
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)]))
      compare(step(key), own(before, key), own(after, key), changes)
  } else if (!Object.is(before, after)) {
    changes.push(defined({ path, before, after }))
  }
}

const isTree = (value: unknown): value is object => typeof value === 'object' && value !== null

const own = (tree: object, key: string): unknown =>
  Object.hasOwn(tree, key) ? (tree as Record<string, unknown>)[key] : undefined
