import zlib from 'node:zlib'
import { type ReadOptions, readRun, type RunView, type Step, type Tape } from '@retake/tape'
import { project } from '../config/define-config.js'
import { errors } from '@retake/engine/errors'
import { rememberHidden, withoutHidden } from '@retake/engine/runs'
import { hideInOutput } from '../terminal/terminal.js'

/** Finds a step by number or label. Throws `NO_SUCH_STEP`. */
export function findStep(view: RunView, label: string): Step {
  const step = view.step(label)
  if (step === undefined) throw errors.NO_SUCH_STEP(view.id, label, view.recordedSteps.length)
  return step
}

/**
 * The event at which a step is inspected: its last answer, or its start if it has none. The agent
 * itself answers requests of an MCP server on a pipe.
 */
export const momentOf = (step: Step): number => {
  const { transport, askedBy } = step.kind === 'mcp' ? (step.mcp() ?? {}) : {}
  const isAnsweredHere = transport === 'stdio' && askedBy === 'server'
  return isAnsweredHere ? step.seq : (step.answerSeqs.at(-1) ?? step.seq)
}

/** Uses Node's decompressors and the prices of the project. */
export const readOptions = (): ReadOptions => ({
  prices: project().prices,
  gunzip: zlib.gunzipSync,
  inflate: zlib.inflateSync,
  brotli: zlib.brotliDecompressSync,
})

export function viewRun(tape: Tape): RunView {
  rememberHidden(tape)
  hideInOutput(withoutHidden)
  return readRun(tape, readOptions())
}

/** The step that an event starts or answers, or else the last step that had begun. */
export function stepAt(view: RunView, seq: number): Step | undefined {
  const { recordedSteps } = view
  return (
    recordedSteps.find((step) => step.seq === seq || step.answerSeqs.includes(seq)) ??
    recordedSteps.findLast((step) => step.seq <= seq)
  )
}
