import { offers, type VerbTable } from '@retake/runner/command-line'

offers.viewer = [
  ...(offers.viewer ?? []),
  async () => (await import('../viewer/viewer-part.js')).default,
]
offers.packCode = async () => (await import('../fix/pack-code.js')).packCode

/** The commands of this package. */
export const labVerbs: VerbTable = {
  blame: {
    group: 'Improve',
    summary: 'Find what broke a run',
    load: () => import('./blame.js'),
  },
  'blame --validate': {
    summary: 'Measure how well blame finds known causes',
    load: () => import('./blame-validate.js'),
  },
  failures: {
    group: 'Improve',
    summary: 'Group failed runs',
    load: () => import('./failures.js'),
  },
  'failures --variables': {
    summary: 'Find what failed runs have in common',
    load: () => import('./failures-variables.js'),
  },
  fix: {
    group: 'Improve',
    summary: 'Find and prove a fix',
    load: () => import('./fix.js'),
  },
  compare: {
    group: 'Improve',
    summary: 'Try models and prompts',
    load: () => import('./compare.js'),
  },
  chaos: {
    group: 'Improve',
    summary: 'Find races',
    load: () => import('./chaos.js'),
  },
  'verify --code today': {
    summary: "Judge recorded runs with today's code",
    load: () => import('./verify-code.js'),
  },
  bench: { nowCalled: 'retake blame --validate --seeds <n>' },
  bisect: { nowCalled: 'git bisect run retake verify <run>' },
  separate: { nowCalled: 'retake failures --variables' },
  ci: { nowCalled: 'retake verify --code today' },
}
