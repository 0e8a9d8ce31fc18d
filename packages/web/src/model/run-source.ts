import type { RowMessage } from '@retake/tape/present'
import type { RunBlame } from './run-blame.js'
import type { RunHead } from './run-head.js'
import type {
  ConsolePart,
  EventRow,
  FileTouch,
  SearchProgress,
  SourceExcerpt,
} from './run-parts.js'
import type { BodySide, StepDetail, StreamFrames } from './step-detail.js'
import type { StateView } from './state-view.js'

/**
 * One run, as the viewer asks about it. The local UI answers from a server, the
 * report from a worker that holds the tape; the viewer does not know which.
 */
export interface RunSource {
  head(): Promise<RunHead>
  /** Rows from a place among the recorded steps on, and at the end what needs all of them. */
  rows(options?: { from?: number; signal?: AbortSignal }): AsyncIterable<RowMessage>
  /**
   * Undefined when there is no such step. `messagesFrom`: more of a long conversation than
   * its end. `eventsFrom`: more of a long stream than its beginning.
   */
  step(
    label: string,
    options?: { messagesFrom?: number; eventsFrom?: number },
  ): Promise<StepDetail | undefined>
  stream(label: string): Promise<StreamFrames | undefined>
  body(label: string, side: BodySide): Promise<Uint8Array>
  /** Variables after the step was answered, if they were captured. */
  state(label: string): Promise<StateView | undefined>
  console(): Promise<readonly ConsolePart[]>
  files(): Promise<readonly FileTouch[]>
  events(from: number, to: number): Promise<readonly EventRow[]>
  /** One event whole, with its body as `eventLines` has it, clipped. */
  event(seq: number): Promise<unknown>
  search(text: string, signal: AbortSignal): AsyncIterable<SearchProgress>
  source(site: string): Promise<SourceExcerpt | undefined>
  /** What a search for the causes of its failure came to; undefined when there was none. */
  blame(): Promise<RunBlame | undefined>
  /** One event a line, for downloads. */
  exportJsonl(): Promise<Blob>
}
