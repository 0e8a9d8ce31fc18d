import { offers, type VerbTable } from '@retake/runner/command-line'

offers.sendVerbSpan = async () => (await import('../portable/verb-span.js')).sendVerbSpan

/** The commands of this package. */
export const interopVerbs: VerbTable = {
  receipt: ['Prove single steps of a run, and hide the rest', () => import('./receipt-make.js')],
  'verify-receipt': ['Check a receipt, offline', () => import('./receipt-check.js')],
  keys: ['Manage the keys that sign and verify runs', () => import('./receipt-keys.js')],
  export: ['Export a run for other tools', () => import('./export.js')],
  import: ['Import traces from other tools as runs', () => import('./import.js')],
}
