/** The same hooks for Node 20, which runs them in a thread of their own. */
import type { LoadHook, ResolveHook } from 'node:module'
import { findSource, loadSource } from './typescript-hooks.js'

export const resolve: ResolveHook = (specifier, context, next) =>
  next(findSource(specifier, context.parentURL) ?? specifier, context)

export const load: LoadHook = (url, context, next) => {
  const loaded = loadSource(url)
  if (loaded === undefined) return next(url, context)
  const { format, shortCircuit, source } = loaded
  // Without a source Node loads it through `require`, see typescript-require.ts.
  return format === 'commonjs' ? { format, shortCircuit } : { format, shortCircuit, source }
}
