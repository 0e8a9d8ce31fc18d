/** The hooks for Node 20, which runs them in their own thread. */
import type { LoadHook, ResolveHook } from 'node:module'
import { useStrippedOf } from './strip-types.js'
import { answerFor, findImported, loadSource } from './typescript-hooks.js'

useStrippedOf(import.meta.url)

export const resolve: ResolveHook = (specifier, context, next) =>
  next(findImported(specifier, context) ?? specifier, context)

export const load: LoadHook = (url, context, next) => {
  const loaded = loadSource(url)
  return loaded ? answerFor(loaded) : next(url, context)
}
