import type { Run } from '../run/use-run.js'

/** What can be done with the whole run: run again, branches, compare. */
export function RunActions(_props: { readonly run: Run }) {
  return null
}
