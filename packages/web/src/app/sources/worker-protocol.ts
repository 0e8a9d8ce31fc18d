import type { Explained } from '../../model/run-head.js'
import type { StepOptions } from '../../model/run-model.js'
import type { BodySide } from '../../model/step-detail.js'

/** What the worker of a report is handed first: everything still as it stands in the page. */
export interface ReportData {
  readonly run: string
  /** Compressed and in base64, from the root to the run itself. */
  readonly tapes: readonly string[]
  readonly parts: string
}

/** The questions of `RunSource`, as they go to the worker. */
export type Question =
  | { readonly ask: 'head' | 'console' | 'files' | 'blame' | 'exportJsonl' }
  | { readonly ask: 'rows'; readonly from: number }
  | { readonly ask: 'search'; readonly text: string }
  | ({ readonly ask: 'step'; readonly label: string } & StepOptions)
  | { readonly ask: 'stream' | 'state'; readonly label: string }
  | { readonly ask: 'body'; readonly label: string; readonly side: BodySide }
  | { readonly ask: 'events'; readonly from: number; readonly to: number }
  | { readonly ask: 'event'; readonly seq: number }
  | { readonly ask: 'source'; readonly site: string }

export type ToWorker =
  | { readonly type: 'open'; readonly data: ReportData }
  | { readonly type: 'ask'; readonly id: number; readonly question: Question }
  /** Nobody waits for the rest of this answer. */
  | { readonly type: 'cancel'; readonly id: number }

/** An answer is any number of pieces and an end; one without pieces is `undefined`. */
export type FromWorker =
  | { readonly type: 'piece'; readonly id: number; readonly value: unknown }
  | { readonly type: 'end'; readonly id: number }
  | { readonly type: 'failed'; readonly id: number; readonly error: Explained }
