import type { CapturedState, PriceTable } from '@retake/tape'
import type { RunBlame } from '../model/run-blame.js'
import type { RunStatus } from '@retake/tape/present'
import type { SourceExcerpt } from '../model/run-source.js'

/** Ids of the blocks of data in the page of a report. */
export const BLOCKS = {
  about: 'retake-about',
  worker: 'retake-worker',
  parts: 'retake-parts',
  tape: (index: number) => `retake-tape-${index}`,
} as const

/** What the page itself has to know, before anything is decoded. It stands in the page as JSON. */
export interface ReportAbout {
  readonly run: string
  readonly title: string
  /** Number of tapes: of a branch, also those it goes on from. */
  readonly tapes: number
  /** Epoch milliseconds. */
  readonly madeAt: number
  /** Version of Retake that made it. */
  readonly version: string
  /** What a reader has to know about how the report was made, in sentences. */
  readonly notes: readonly string[]
}

/** What the worker answers with besides the tapes. It stands in the page compressed. */
export interface ReportParts {
  readonly status: RunStatus
  readonly redacted: boolean
  /** Bytes after the last valid event, which are not in the report. */
  readonly tornBytes: number
  readonly prices: PriceTable
  /** Captured states, in the order of their steps. */
  readonly states: readonly CapturedState[]
  /** Lines of source files by the places that steps name. */
  readonly sources: Readonly<Record<string, SourceExcerpt>>
  /** What a search for the causes of its failure came to. */
  readonly blame?: RunBlame
}
