import type { RowMessage } from '@retake/tape/present'
import type { StepOptions } from '../../model/run-model.js'
import type { RunBlame } from '../../model/run-blame.js'
import type { RunHead } from '../../model/run-head.js'
import type { RunSource } from '../../model/run-source.js'
import type {
  ConsolePart,
  EventRow,
  FileTouch,
  SearchProgress,
  SourceExcerpt,
} from '../../model/run-parts.js'
import type { StateView } from '../../model/state-view.js'
import type { BodySide, StepDetail, StreamFrames } from '../../model/step-detail.js'
import type { Answerer } from './ask-worker.js'
import { HomeError } from './home-error.js'

/** The run that stands in a report; a worker answers for it. */
export class ReportSource implements RunSource {
  readonly #worker: Answerer

  constructor(worker: Answerer) {
    this.#worker = worker
  }

  head() {
    return this.#worker.one<RunHead>({ ask: 'head' })
  }

  rows({ from = 0, signal }: { from?: number; signal?: AbortSignal } = {}) {
    return this.#worker.pieces({ ask: 'rows', from }, signal) as AsyncGenerator<RowMessage>
  }

  step(label: string, options: StepOptions = {}) {
    return this.#worker.one<StepDetail | undefined>({ ask: 'step', label, ...options })
  }

  stream(label: string) {
    return this.#worker.one<StreamFrames | undefined>({ ask: 'stream', label })
  }

  async body(label: string, side: BodySide) {
    const body = await this.#worker.one<Uint8Array | undefined>({ ask: 'body', label, side })
    if (body !== undefined) return body
    throw new HomeError({ code: 'REPORT_NO_BODY', what: `Step ${label} has no ${side}.` })
  }

  state(label: string) {
    return this.#worker.one<StateView | undefined>({ ask: 'state', label })
  }

  console() {
    return this.#worker.one<readonly ConsolePart[]>({ ask: 'console' })
  }

  files() {
    return this.#worker.one<readonly FileTouch[]>({ ask: 'files' })
  }

  events(from: number, to: number) {
    return this.#worker.one<readonly EventRow[]>({ ask: 'events', from, to })
  }

  event(seq: number) {
    return this.#worker.one<unknown>({ ask: 'event', seq })
  }

  search(text: string, signal: AbortSignal) {
    return this.#worker.pieces({ ask: 'search', text }, signal) as AsyncGenerator<SearchProgress>
  }

  source(site: string) {
    return this.#worker.one<SourceExcerpt | undefined>({ ask: 'source', site })
  }

  blame() {
    return this.#worker.one<RunBlame | undefined>({ ask: 'blame' })
  }

  async exportJsonl() {
    const pieces: Blob[] = []
    for await (const piece of this.#worker.pieces({ ask: 'exportJsonl' }))
      pieces.push(piece as Blob)
    return new Blob(pieces, { type: 'application/x-ndjson' })
  }
}
