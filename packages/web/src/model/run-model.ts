import { readRun, TapeError, valueTooLarge } from '@retake/tape'
import type { CapturedState, ReadOptions, RunView, Step, Tape } from '@retake/tape'
import {
  rowOf,
  toColumns,
  type RowColumns,
  type RowMessage,
  type StepRow,
  type RunStatus,
} from '@retake/tape/present'
import { headOf } from './head-of.js'
import type { RunHead } from './run-head.js'
import { detailOf } from './detail-of.js'
import type { BodySide, StepDetail } from './step-detail.js'
import { bodyOf } from './step-body.js'
import { consoleOf } from './console-of.js'
import { eventAt, eventRows } from './event-rows.js'
import { filesOf } from './files-of.js'
import type { ConsolePart, EventRow, FileTouch, SearchProgress } from './run-parts.js'
import { ConversationNews } from './conversation-news.js'
import { LanesOf } from './lanes-of.js'
import { searchRun } from './search-run.js'
import { stateView, type StateView } from './state-view.js'
import { streamOf } from './stream-of.js'
import { unreadableRow } from './unreadable-row.js'
import type { StreamFrames } from './step-detail.js'

export interface ModelOptions extends ReadOptions {
  /** How the run stands; only its home knows whether an unfinished one goes on. */
  readonly status: RunStatus | ((view: RunView) => RunStatus)
  readonly redacted?: boolean
}

/** Parts of a long conversation and of a long stream that are not shown without being asked for. */
export interface StepOptions {
  readonly messagesFrom?: number | undefined
  readonly eventsFrom?: number | undefined
}

/** Rows in the first message, which is what a screen shows, and in those after it. */
const FIRST = 100
const BATCH = 1000

/**
 * One run, as the viewer asks about it, without knowing where it lives: the local
 * UI asks it in Node, the report in a worker of the browser. Making one reads
 * every event and no body; bodies are read when they are asked for.
 */
export class RunModel {
  readonly tape: Tape
  readonly view: RunView
  readonly status: RunStatus
  readonly #redacted: boolean
  readonly #news: ConversationNews
  #lanes: LanesOf | undefined
  #files: readonly FileTouch[] | undefined

  constructor(tape: Tape, { status, redacted = false, ...options }: ModelOptions) {
    this.tape = tape
    this.view = readRun(tape, options)
    this.status = typeof status === 'function' ? status(this.view) : status
    this.#redacted = redacted
    this.#news = new ConversationNews(this.view)
  }

  head(): RunHead {
    const { status } = this
    return this.#read(() => {
      const { lanes } = this.#drawnLanes
      return headOf(this.tape, this.view, { status, redacted: this.#redacted, lanes })
    })
  }

  /** In pieces, so that whoever reads can show the first ones, and do other things between two. */
  *rows(from = 0): Generator<RowMessage> {
    const { recordedSteps } = this.view
    for (
      let start = from, size = FIRST;
      start < recordedSteps.length;
      start += size, size = BATCH
    ) {
      if (start > from) size = BATCH
      const steps = recordedSteps.slice(start, start + size)
      yield { type: 'rows', from: start, rows: this.#columns(steps) }
    }
    yield this.#read(() => this.#rest())
  }

  /** What needs all answers. */
  #rest(): RowMessage {
    const { steps, recordedSteps, totals } = this.view
    const parents = recordedSteps.flatMap(({ parent }, place) =>
      parent === undefined ? [] : [[place, parent] as const],
    )
    const inferred = this.#columns(steps.filter((step) => step.inferred))
    return { type: 'rest', inferred, parents, totals }
  }

  /** Undefined when there is no such step. */
  step(label: string, options: StepOptions = {}): StepDetail | undefined {
    return this.#read(() => {
      const step = this.view.step(label)
      if (step === undefined) return undefined
      return detailOf(step, {
        row: this.#row(step),
        news: (each) => this.#news.of(each),
        ...options,
      })
    })
  }

  body(label: string, side: BodySide): Uint8Array | undefined {
    return this.#read(() => {
      const step = this.view.step(label)
      return step && bodyOf(step, side)
    })
  }

  /** A streamed answer as it grew; undefined when it came in one piece. */
  stream(label: string): StreamFrames | undefined {
    return this.#read(() => {
      const step = this.view.step(label)
      return step && streamOf(step)
    })
  }

  /** Variables after a step, of those that were captured; undefined when there are none of it. */
  state(label: string, states: readonly CapturedState[]): StateView | undefined {
    return this.#read(() => stateView(states, label, this.view))
  }

  console(): readonly ConsolePart[] {
    return this.#read(() => consoleOf(this.view))
  }

  files(): readonly FileTouch[] {
    return (this.#files ??= filesOf(this.tape, this.view))
  }

  events(from: number, to: number): readonly EventRow[] {
    return eventRows(this.tape, from, to)
  }

  event(seq: number): unknown {
    return this.#read(() => eventAt(this.tape, seq))
  }

  /** In pieces, like `rows`. `states`: captured variables, where the run's home has some. */
  search(
    text: string,
    { states = [] }: { readonly states?: readonly CapturedState[] } = {},
  ): Generator<SearchProgress> {
    const { tape, view } = this
    return searchRun({ tape, view, files: () => this.files(), states }, text)
  }

  #columns(steps: readonly Step[]): RowColumns {
    return toColumns(steps.map((step) => this.#readableRow(step)))
  }

  /** One step that cannot be read must not hide all others. */
  #readableRow(step: Step): StepRow {
    try {
      return this.#read(() => this.#row(step))
    } catch (error) {
      if (error instanceof TapeError) return unreadableRow(this.tape, step, error)
      throw error
    }
  }

  /** What is too deep or too long for JavaScript is said in words, as all else about a tape is. */
  #read<T>(read: () => T): T {
    try {
      return read()
    } catch (error) {
      throw error instanceof RangeError ? valueTooLarge(this.tape.path, error) : error
    }
  }

  #row(step: Step): StepRow {
    const { status } = this
    return rowOf(this.tape, step, { status, laneOf: (each) => this.#drawnLanes.of(each) })
  }

  get #drawnLanes(): LanesOf {
    return (this.#lanes ??= new LanesOf(this.view))
  }
}
