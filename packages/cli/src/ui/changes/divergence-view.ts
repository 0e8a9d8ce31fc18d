import type { Divergence } from '@retake/engine'
import type { Tape } from '@retake/tape'
import type { DivergenceView } from '@retake/web'
import { fromHere } from '../../from-here.js'
import { stepAt, viewRun } from '../../view-run.js'

/** Longer texts of a mismatch are cut: a page shows where they begin to differ, not a whole conversation. */
const TEXT_MAX = 20_000

/** A divergence as a page shows it, with the step it happened in. */
export function divergenceView(tape: Tape, divergence: Divergence): DivergenceView {
  const { seq, summary, explanation, site, mismatches } = divergence
  const step = stepAt(viewRun(tape), seq)
  return {
    seq,
    ...(step && { step: step.label }),
    summary,
    explanation,
    ...(site !== undefined && { site: fromHere(site) }),
    mismatches: mismatches.map(({ field, recorded, current }) => ({
      field,
      recorded: textOf(recorded),
      current: textOf(current),
    })),
  }
}

function textOf(value: unknown): string {
  if (value === undefined) return ''
  const text = typeof value === 'string' ? value : JSON.stringify(value, undefined, 2)
  return text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text
}
