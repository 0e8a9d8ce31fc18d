import type { Run } from '../run/use-run.js'

/** The program really standing at this step: its variables, moving on and back, evaluating expressions. */
export function LiveState(_props: { readonly run: Run; readonly step: string }) {
  return null
}
