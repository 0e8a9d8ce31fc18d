import path from 'node:path'
import { openTape } from '@retake/tape/node'
import { divergenceAdvice, recordCommand } from '../divergence-advice.js'
import { divergenceReport } from '../divergence-report.js'
import { fromHere } from '../from-here.js'
import { movedHere } from '../moved-here.js'
import { stepAt, viewRun } from '../view-run.js'
import type { Verified } from '../verify-tape.js'

/** One tape as reports tell of it. */
export interface Verdict {
  /** `error`: it could not be checked; `failed`: it was, and something is wrong. */
  readonly outcome: 'passed' | 'failed' | 'error' | 'skipped'
  readonly tape: string
  readonly name: string
  readonly seconds: number
  /** One line: what is wrong, or how much was checked. */
  readonly summary: string
  /** All there is to say about what is wrong. */
  readonly text: string
  /** Where in the agent's code, as `file:line:column`. */
  readonly site?: string
  readonly verified: Verified
}

/** What reports say about a checked tape. `replay`: whether its program was to be run. */
export function verdictOf(verified: Verified, ms: number, replay: boolean): Verdict {
  const { tape, detail, name, replayed } = verified
  const [divergence] = replayed?.divergences ?? []
  return {
    outcome: outcomeOf(verified, replay),
    tape,
    name: name ?? path.basename(tape),
    seconds: Math.round(ms) / 1000,
    summary: detail,
    text: textOf(verified),
    ...(divergence?.site !== undefined && { site: divergence.site }),
    verified,
  }
}

function outcomeOf({ ok, integrity, replay }: Verified, wanted: boolean): Verdict['outcome'] {
  if (!ok) return integrity === 'unreadable' || replay === 'failed' ? 'error' : 'failed'
  return wanted && replay === 'not tried' ? 'skipped' : 'passed'
}

const plain = { paint: (_: unknown, text: string): string => text, width: 100 }

function textOf({ tape: file, ok, detail, error, replayed }: Verified): string {
  if (ok) return ''
  if (error !== undefined)
    return [error.what, `why  ${error.why}`, `fix  ${error.fix}`, `code ${error.code}`].join('\n')
  if (replayed === undefined || replayed.divergences.length === 0) return detail
  const tape = openTape(file)
  const view = viewRun(tape)
  const root = movedHere(tape)
  const again = recordCommand(tape)
  return replayed.divergences
    .map((divergence) => {
      const step = stepAt(view, divergence.seq)
      const advice = divergenceAdvice(tape, divergence, { again, ...(root && { root }) })
      const fix = [...advice, `retake replay ${fromHere(file)}`]
      const place = { events: tape.count, fix, ...(step && { step: `step ${step.label}` }) }
      return divergenceReport(divergence, place, plain).join('\n')
    })
    .join('\n\n')
}
