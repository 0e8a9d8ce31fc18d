import type { Effect } from '@retake/tape'
import type { Denial } from '../guard-error.js'
import { fileBounds } from './file-bounds.js'
import { networkBounds } from './network-bounds.js'
import type { Scopes } from './scopes.js'
import { shellBounds } from './shell-bounds.js'

const made = new WeakMap<readonly Effect[], Scopes>()

/**
 * Holds a tool to the effects that it declares: rules let it through for what it
 * says, so it may do nothing else. Reading files needs no word: every program does.
 */
export function effectScopes(effects: readonly Effect[]): Scopes {
  let scopes = made.get(effects)
  if (scopes === undefined) made.set(effects, (scopes = scopesFor(effects)))
  return scopes
}

function scopesFor(effects: readonly Effect[]): Scopes {
  const files = fileBounds('tool', { write: [] })
  const network = networkBounds('tool', { allow: [] })
  const shell = shellBounds('tool', { allow: [] })
  const may = (effect: Effect): boolean => effects.includes(effect)
  return {
    ...(may('write') ? {} : { files: held(files, 'write', effects) }),
    ...(may('network') ? {} : { network: held(network, 'network', effects) }),
    ...(may('shell') ? {} : { shell: held(shell, 'shell', effects) }),
  }
}

/** The same scope, whose refusals say what to declare. */
function held<S extends object>(scope: S, missing: Effect, effects: readonly Effect[]): S {
  return new Proxy(scope, {
    get: (target, key) => {
      const ask = Reflect.get(target, key) as (...args: unknown[]) => unknown
      if (!String(key).startsWith('check')) return ask
      return (...args: unknown[]) => {
        const denial = ask.apply(target, args) as Denial | undefined
        return denial && undeclared(denial, missing, effects)
      }
    },
  })
}

const undeclared = ({ what }: Denial, missing: Effect, effects: readonly Effect[]): Denial => ({
  code: 'EFFECT_NOT_DECLARED',
  rule: 'tool/effects',
  what,
  why: `The tool declares ${effects.length === 0 ? 'no effects' : `only ${effects.join(', ')}`}.`,
  allowed: `Declare the effect "${missing}" if the tool is meant to do this.`,
})
