import { pathToFileURL } from 'node:url'
import path from 'node:path'
import type { ContinuePlan } from '../continue/continue-plan.js'
import { errors } from '../errors.js'
import { outsideRuns } from '../scope.js'
import type { Simulator } from './kept-plan.js'

/** Imports the simulator that a plan names. What it does while it is loaded, and later, is outside the run. */
export async function loadSimulator({ kept }: ContinuePlan): Promise<Simulator | undefined> {
  const file = kept?.simulator
  if (file === undefined) return undefined
  let module: { readonly default?: unknown }
  try {
    const { href } = pathToFileURL(path.resolve(file))
    module = (await outsideRuns(() => import(href))) as { readonly default?: unknown }
  } catch (cause) {
    throw errors.simulatorUnusable(file, cause)
  }
  if (typeof module.default !== 'function')
    throw errors.simulatorUnusable(file, 'It has no function as its default export')
  return module.default as Simulator
}
