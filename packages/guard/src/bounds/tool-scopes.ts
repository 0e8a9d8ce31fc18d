import type { Effect } from '@retake/tape/format'
import type { Denial } from '../guard-error.js'
import { fileBounds } from './file-bounds.js'
import { networkBounds } from './network-bounds.js'
import type { Scopes } from './scopes.js'
import { shellBounds } from './shell-bounds.js'
import type { GuardedTool } from '../guarded-tool.js'

/** Scopes of the policies and of the declared effects of a tool, compiled once. */
export function toolScopes(policies: readonly Scopes[], tool: GuardedTool): readonly Scopes[] {
  const { effects } = tool.options
  if (effects === undefined) return policies
  let known = compiled.get(tool)
  if (known?.policies !== policies)
    compiled.set(tool, (known = { policies, all: [...policies, effectScopes(effects)] }))
  return known.all
}

const compiled = new WeakMap<
  GuardedTool,
  { readonly policies: readonly Scopes[]; readonly all: readonly Scopes[] }
>()

const made = new WeakMap<readonly Effect[], Scopes>()

/** Enforces declared effects. Reading files needs no declaration, because every program does it. */
export function effectScopes(effects: readonly Effect[]): Scopes {
  let scopes = made.get(effects)
  if (scopes === undefined) made.set(effects, (scopes = scopesFor(effects)))
  return scopes
}

function scopesFor(effects: readonly Effect[]): Scopes {
  const may = (effect: Effect): boolean => effects.includes(effect)
  return {
    ...(may('write') ? {} : { files: fileBounds('tool', { write: [] }) }),
    ...(may('network') ? {} : { network: networkBounds('tool', { allow: [] }) }),
    ...(may('shell') ? {} : { shell: shellBounds('tool', { allow: [] }) }),
    reword: (denial) => undeclared(denial, effects),
  }
}

const MISSING: Readonly<Record<string, Effect>> = {
  'tool/files': 'write',
  'tool/network': 'network',
  'tool/shell': 'shell',
}

const undeclared = ({ rule, what }: Denial, effects: readonly Effect[]): Denial => ({
  code: 'EFFECT_NOT_DECLARED',
  rule: 'tool/effects',
  what,
  why: `The tool declares ${effects.length === 0 ? 'no effects' : `only ${effects.join(', ')}`}.`,
  allowed: `Declare the effect "${MISSING[rule]}" if the tool is meant to do this.`,
})
