import { offers, type VerbTable } from '@retake/runner/command-line'

offers.sendVerbSpan = async () => (await import('../portable/verb-span.js')).sendVerbSpan

/** The commands of this package. */
export const interopVerbs: VerbTable = {
  receipt: {
    group: 'Share',
    summary: 'Prove single steps',
  },
  'receipt make': {
    summary: 'Prove single steps of a run, and hide the rest',
    load: () => import('./receipt-make.js'),
  },
  'receipt check': {
    summary: 'Check a receipt, offline',
    load: () => import('./receipt-check.js'),
  },
  'receipt keys': {
    summary: 'Manage the keys that sign and verify runs',
    load: () => import('./receipt-keys.js'),
  },
  export: {
    group: 'Share',
    summary: 'Export to other tools',
    load: () => import('./export.js'),
  },
  import: {
    group: 'Share',
    summary: 'Import from other tools',
    load: () => import('./import.js'),
  },
  'verify-receipt': { nowCalled: 'retake receipt check' },
  keys: { nowCalled: 'retake receipt keys' },
}
