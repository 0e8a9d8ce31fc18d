import type { Tape } from '@retake/tape'
import type { RunBlame } from '@retake/web'
import { storedBlame } from '../ui/runs/stored-blame.js'

/** What blame found about a run. Findings that cannot be read keep nobody from reporting the run. */
export function gatherBlame(tape: Tape): {
  readonly blame: RunBlame | undefined
  readonly notes: readonly string[]
} {
  try {
    return { blame: storedBlame(tape), notes: [] }
  } catch {
    const note = 'What `retake blame` found about this run could not be read: it is left out.'
    return { blame: undefined, notes: [note] }
  }
}
