import { diffRuns, type LineDiff, type PrintedLine } from '@retake/diagnose'
import type { Tape } from '@retake/tape'
import type { ComparedLine, ComparedPrinted, RunCard, RunComparison } from '@retake/web'
import { descentText, placeOf, totalsOf } from '../../compare/diff-lines.js'
import { openStored } from '../runs/open-stored.js'
import type { RunStore } from '../../runs/run-store.js'
import { statusOf } from '../../runs/run-summary.js'
import { sharedDescent } from '../../compare/shared-descent.js'
import { viewRun } from '../../runs/view-run.js'
import { comparedRows, comparedText } from './compared-rows.js'

/** Longer lines of output are cut. */
const LINE_MAX = 2000

/** Two runs side by side: all steps in pairs, and everything that differs. */
export function compareRuns(store: RunStore, idA: string, idB: string): RunComparison {
  const [tapeA, tapeB] = [openStored(store, idA), openStored(store, idB)]
  const [a, b] = [viewRun(tapeA), viewRun(tapeB)]
  const diff = diffRuns(a, b, { shared: sharedDescent(tapeA, tapeB) })
  const rows = comparedRows(a, b, diff)
  const { same, changed, moved, removed, added } = diff.counts
  const firstDifferent = rows.findIndex(
    ({ verdict, moved: isMoved }) => verdict !== 'same' || isMoved,
  )
  const sameUntil = rows[(firstDifferent < 0 ? rows.length : firstDifferent) - 1]?.a
  const descent = descentText(diff)
  return {
    // The file's name is its address; a copy of a tape still says the name it had.
    a: { ...cardOf(tapeA, a), id: idA },
    b: { ...cardOf(tapeB, b), id: idB },
    equal: diff.equal,
    ...(descent !== undefined && { descent }),
    ...(sameUntil !== undefined && { sameUntil }),
    ...(diff.first && { first: placeOf(diff.first) }),
    counts: { same, changed, moved, onlyA: removed, onlyB: added },
    rows,
    totals: totalsOf(diff),
    console: diff.output.map(comparedLine),
    outcome: diff.outcome.map(comparedText),
  }
}

function cardOf(tape: Tape, view: ReturnType<typeof viewRun>): RunCard {
  const { branch } = tape.details
  const { parent } = tape.run
  const { modelCalls, costUsd } = view.totals
  return {
    id: view.id,
    name: view.name,
    startedAt: view.startedAt,
    durationMs: view.durationMs,
    status: statusOf(view, tape),
    steps: view.recordedSteps.length,
    ...(modelCalls > 0 && costUsd !== undefined && { costUsd }),
    ...(branch && parent && { branch: { kind: branch.kind, parent: parent.run } }),
  }
}

const comparedLine = ({ stream, a, b }: LineDiff): ComparedLine => ({
  stream,
  ...(a && { a: printed(a) }),
  ...(b && { b: printed(b) }),
})

const printed = ({ line, text, step }: PrintedLine): ComparedPrinted => ({
  line,
  text: text.length > LINE_MAX ? `${text.slice(0, LINE_MAX)}…` : text,
  ...(step !== undefined && { step }),
})
