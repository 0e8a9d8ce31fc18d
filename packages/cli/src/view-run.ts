import zlib from 'node:zlib'
import { readRun } from '@retake/tape'
import type { ReadOptions, RunView, Step, Tape } from '@retake/tape'
import { project } from './config/project.js'

/** How tapes are read here: with the decompressors Node has and the prices of the project. */
export const readOptions = (): ReadOptions => ({
  prices: project().prices,
  gunzip: zlib.gunzipSync,
  inflate: zlib.inflateSync,
  brotli: zlib.brotliDecompressSync,
})

/** A tape as people want to see it. */
export const viewRun = (tape: Tape): RunView => readRun(tape, readOptions())

/** The step an event belongs to: the one it starts or answers, else the last one begun by then. */
export function stepAt(view: RunView, seq: number): Step | undefined {
  const { recordedSteps } = view
  return (
    recordedSteps.find((step) => step.seq === seq || step.answerSeqs.includes(seq)) ??
    recordedSteps.findLast((step) => step.seq <= seq)
  )
}
