import type { CapturedState, PriceTable } from '@retake/tape'
import type { RunStatus } from '@retake/tape/present'
import type { SourceExcerpt } from '../model/run-source.js'

export const BLOCKS = {
  about: 'retake-about',
  worker: 'retake-worker',
  parts: 'retake-parts',
  tape: (index: number) => `retake-tape-${index}`,
} as const

/** Data that is needed before anything is decoded. Embedded as JSON. */
export interface ReportAbout {
  readonly run: string
  readonly title: string
  /** More than one for a branch. */
  readonly tapes: number
  /** Epoch milliseconds. */
  readonly madeAt: number
  readonly version: string
  readonly notes: readonly string[]
  /** Tabs of the capabilities that were installed. */
  readonly tabs: readonly string[]
}

/** Data besides the tapes. Embedded compressed. */
export interface ReportParts {
  readonly status: RunStatus
  readonly redacted: boolean
  readonly tornBytes: number
  /** Set if the report contains only the part of a damaged tape before this event. */
  readonly damage?: { readonly event: number; readonly why: string }
  readonly prices: PriceTable
  readonly states: readonly CapturedState[]
  /** Source excerpts by location. */
  readonly sources: Readonly<Record<string, SourceExcerpt>>
  /** What capabilities found, by tab. */
  readonly findings: Readonly<Record<string, unknown>>
}
