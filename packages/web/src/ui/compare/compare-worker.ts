import { parentPort, workerData } from 'node:worker_threads'
import type { PriceTable, RunComparison } from '@retake/tape'
import type { Explained } from '../../model/run-source.js'
import { project, useProject } from '@retake/runner/config'
import { explainOrThrow } from '@retake/runner/command-line'
import { RunStore } from '@retake/runner/runs'
import { compareRuns } from './compared-rows.js'

export interface CompareTask {
  readonly folder: string
  readonly a: string
  readonly b: string
  readonly prices: PriceTable
}

export type CompareAnswer = { readonly compared: RunComparison } | { readonly error: Explained }

const { folder, a, b, prices } = workerData as CompareTask
useProject({ ...project(), prices })
let answer: CompareAnswer
try {
  answer = { compared: compareRuns(new RunStore(folder), a, b) }
} catch (error) {
  // Unexpected errors end the thread and are reported that way.
  answer = { error: explainOrThrow(error) }
}

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
parentPort?.postMessage(answer)
