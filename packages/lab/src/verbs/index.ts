import { offers, type VerbTable } from '@retake/runner/command-line'

offers.viewer = [
  ...(offers.viewer ?? []),
  async () => (await import('../viewer/viewer-part.js')).default,
]
offers.packCode = async () => (await import('../fix/pack-code.js')).packCode

/** The commands of this package. */
export const labVerbs: VerbTable = {
  separate: ['Find what failed runs have in common', () => import('./failures-variables.js')],
  compare: ['Compare models or prompts, starting at a step', () => import('./compare.js')],
  blame: ['Find the steps that made a run fail', () => import('./blame.js')],
  failures: ['Group failed runs by their probable cause', () => import('./failures.js')],
  fix: ['Find a fix for a failed run, and prove it', () => import('./fix.js')],
  chaos: ['Find races by replaying other event orders', () => import('./chaos.js')],
  ci: ["Check recorded runs against today's code", () => import('./verify-code.js')],
  bisect: ['Find the commit that changed the behavior', () => import('./bisect.js')],
  bench: ['Measure how well blame finds known causes', () => import('./bench.js')],
}
