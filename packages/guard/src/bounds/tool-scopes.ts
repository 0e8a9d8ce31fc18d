import type { GuardedTool } from '../guarded-tool.js'
import { effectScopes } from './effect-scopes.js'
import type { Scopes } from './scopes.js'

/** What the policies allow, and no more than the tool has declared. Made once for a tool under a policy. */
export function toolScopes(policies: readonly Scopes[], tool: GuardedTool): readonly Scopes[] {
  const { effects } = tool.options
  if (effects === undefined) return policies
  let known = made.get(tool)
  if (known?.policies !== policies)
    made.set(tool, (known = { policies, all: [...policies, effectScopes(effects)] }))
  return known.all
}

const made = new WeakMap<
  GuardedTool,
  { readonly policies: readonly Scopes[]; readonly all: readonly Scopes[] }
>()
