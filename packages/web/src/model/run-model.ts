import {
  type CapturedState,
  plainJson,
  type ReadOptions,
  readRun,
  type RunView,
  type Step,
  type Tape,
  TapeError,
  tapeErrors,
  toWire,
} from '@retake/tape'
import {
  blankRow,
  cutAt,
  type RowColumns,
  type RowMessage,
  rowOf,
  type RunStatus,
  type StepRow,
  toColumns,
} from '@retake/tape/present'
import { clip, clipError, clipMessages, cutText, LossyText } from './clip.js'
import { NewMessageFinder } from './new-messages.js'
import { detailOf } from './detail-of.js'
import { eventAt, eventRows, findEvents } from './event-rows.js'
import { filesOf } from './files-of.js'
import { LaneLayout } from './lane-layout.js'
import {
  CRASH_LABEL,
  type RunHead,
  type ConsolePart,
  type EventRow,
  type FileTouch,
  type FoundEvents,
  type SearchProgress,
  type BodySide,
  type StepDetail,
  type AnswerFrames,
} from './run-source.js'
import { searchRunText } from './search-run.js'
import { crashOf } from './crash-row.js'
import { stateView, type StateView } from './state-view.js'

/** Maximum characters of a name or of one argument. */
const LINE = 2000
const NOTES_MAX = 1000

function recordedOf({ run, details }: Tape): NonNullable<RunHead['recorded']> {
  if (details.imported !== undefined) return 'import'
  if (details.command !== undefined) return 'command'
  return run.scope === 'function' ? 'function' : 'program'
}

/** Limits for console output: characters of a part, and bytes and number of all parts. */
const PART_MAX = 32_768
const BYTES_MAX = 4_000_000
const PARTS_MAX = 50_000

/**
 * The console output in parts. A character that is split over two parts is in the second. Very long
 * output is cut at the end, and the last part says how much is missing.
 */
function consoleOf(view: RunView): ConsolePart[] {
  const streams = { stdout: new LossyText(), stderr: new LossyText() }
  const parts: ConsolePart[] = []
  let room = BYTES_MAX
  for (const [index, output] of view.outputs.entries()) {
    const { seq, at, stream } = output
    if (room <= 0 || parts.length === PARTS_MAX) {
      const leftOut = view.outputs.length - index
      parts.push({ seq, at, stream, text: '', clipped: true, leftOut })
      break
    }
    const bytes = view.outputBytes(output)
    const { text, isLossy } = streams[stream].read(bytes)
    const shown = cutAt(text, PART_MAX)
    const clipped = shown.length < text.length
    parts.push({ seq, at, stream, text: shown, clipped, ...(isLossy && { isLossy }) })
    room -= Math.min(bytes.length, PART_MAX)
  }
  return parts
}

const FRAMES_MAX = 150
const CHARACTERS_MAX = 6_000_000

/** The frames of a streamed answer; the last one is the whole answer. Undefined if it was not streamed. */
function streamOf(step: Step): AnswerFrames | undefined {
  if (step.kind !== 'model') return undefined
  const chunks = step.exchange()?.response?.chunks.length ?? 0
  if (chunks < 2) return undefined
  // Each frame repeats the text so far, which is half of the answer on average.
  const size = Math.max(1, JSON.stringify(step.answer()).length)
  const affordable = Math.max(2, Math.floor((2 * CHARACTERS_MAX) / size))
  const framesMax = Math.min(FRAMES_MAX, affordable)
  const frames = step.answerFrames({ framesMax })
  if (frames.length < 2) return undefined
  return {
    frames: frames.map(({ at, answer }) => ({ at: at - step.at, answer: clipMessages(answer) })),
    chunks,
  }
}

export interface ModelOptions extends ReadOptions {
  /** Passed in, because only the repository knows whether a run is still being recorded. */
  readonly status: RunStatus | ((view: RunView) => RunStatus)
  readonly redacted?: boolean
}

/** Selects further parts of a long conversation. */
export interface StepOptions {
  readonly messagesFrom?: number | undefined
}

/** Rows in the first message, enough to fill a screen, and in later messages. */
const FIRST = 100
const BATCH = 1000

/**
 * One run, in Node for the local UI and in a worker for a report. The constructor reads all events.
 * Bodies are read on demand.
 */
export class RunModel {
  readonly tape: Tape
  readonly view: RunView
  readonly status: RunStatus
  readonly #redacted: boolean
  readonly #news: NewMessageFinder
  readonly #crash: ReturnType<typeof crashOf>
  #lanes: LaneLayout | undefined
  #files: readonly FileTouch[] | undefined

  constructor(tape: Tape, { status, redacted = false, ...options }: ModelOptions) {
    this.tape = tape
    this.view = readRun(tape, options)
    this.status = typeof status === 'function' ? status(this.view) : status
    this.#redacted = redacted
    this.#news = new NewMessageFinder(this.view)
    this.#crash = crashOf(tape, this.view)
  }

  head(): RunHead {
    return this.#read(() => {
      const { tape, view, status } = this
      const { details } = tape
      const { exit, parent } = view
      const exitStep = this.#crash?.exitStep
      const { command = [details.entry ?? '', ...(details.args ?? [])].filter(Boolean) } = details
      // Clips the edits of a fork, which may contain a whole answer.
      return {
        id: view.id,
        name: cutText(view.name, LINE),
        startedAt: view.startedAt,
        durationMs: view.durationMs,
        status,
        ...(exit && { exit: { ...exit, ...(exit.error && { error: clipError(exit.error) }) } }),
        ...(exitStep !== undefined && { exitStep }),
        node: view.node,
        ...(parent && { parent }),
        ...(details.branch && {
          branch: {
            ...details.branch,
            edits: details.branch.edits.map((edit) => ({ ...edit, value: clip(edit.value) })),
          },
        }),
        recorded: recordedOf(tape),
        command: command.map((part) => cutText(part, LINE)),
        ...(details.cwd !== undefined && { cwd: details.cwd }),
        ...(details.platform !== undefined && { platform: details.platform }),
        events: tape.count,
        counts: view.counts,
        recordedSteps: view.recordedSteps.length,
        lanes: this.#drawnLanes.lanes,
        notCaptured: view.notCaptured.slice(0, NOTES_MAX),
        tornBytes: tape.tornBytes,
        ...(tape.damage && { damage: { event: tape.damage.seq, why: tape.damage.why } }),
        ...(this.#redacted && { redacted: true }),
      }
    })
  }

  /** Yields rows in chunks, so that a reader can show the first ones early. */
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
    const row = this.#crash?.row
    if (row !== undefined && from <= recordedSteps.length)
      yield { type: 'rows', from: recordedSteps.length, rows: toColumns([row]) }
    yield this.#read(() => {
      // The rest of the rows, which needs all answers: inferred steps and totals.
      const { steps, recordedSteps, totals } = this.view
      const parents = recordedSteps.flatMap(({ parent }, index) =>
        parent === undefined ? [] : [[index, parent] as const],
      )
      const inferred = this.#columns(steps.filter((step) => step.inferred))
      return { type: 'rest', inferred, parents, totals, events: this.tape.count }
    })
  }

  step(label: string, options: StepOptions = {}): StepDetail | undefined {
    return this.#read(() => {
      if (label === CRASH_LABEL) return this.#crash?.detail?.()
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

  stream(label: string): AnswerFrames | undefined {
    return this.#read(() => {
      const step = this.view.step(label)
      return step && streamOf(step)
    })
  }

  /** Captured variables after a step, or the last ones before a crash, if any. */
  state(label: string, states: readonly CapturedState[]): StateView | undefined {
    const step = label === CRASH_LABEL ? (states.at(-1)?.step ?? label) : label
    return this.#read(() => stateView(states, step, this.view))
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

  findEvents(text: string): Generator<FoundEvents> {
    return findEvents(this.tape, text)
  }

  /** Yields hits in chunks, like `rows`. `states` are the captured variables. */
  search(
    text: string,
    { states = [] }: { readonly states?: readonly CapturedState[] } = {},
  ): Generator<SearchProgress> {
    const { tape, view } = this
    const exitStep = this.#crash?.exitStep
    return searchRunText({ tape, view, files: () => this.files(), states, exitStep }, text)
  }

  #columns(steps: readonly Step[]): RowColumns {
    const rows = steps.map((step) => {
      try {
        return this.#read(() => this.#row(step))
      } catch (error) {
        if (!(error instanceof TapeError)) throw error
        // An unreadable step must not hide all others.
        const { label, seq, at, inferred } = step
        return blankRow({
          label,
          seq,
          kind: kindOf(this.tape, seq),
          state: 'failed',
          title: 'This step cannot be read',
          at,
          error: `${error.what} ${error.why}`,
          inferred,
        })
      }
    })
    return toColumns(rows)
  }

  /** Turns stack and string limits of JavaScript into readable errors. */
  #read<T>(read: () => T): T {
    try {
      return read()
    } catch (error) {
      throw error instanceof RangeError
        ? tapeErrors.TAPE_VALUE_TOO_LARGE(this.tape.path, error)
        : error
    }
  }

  #row(step: Step): StepRow {
    const { status } = this
    return rowOf(this.tape, step, { status, laneOf: (each) => this.#drawnLanes.of(each) })
  }

  get #drawnLanes(): LaneLayout {
    return (this.#lanes ??= new LaneLayout(this.view))
  }
}

function kindOf(tape: Tape, seq: number): StepRow['kind'] {
  const event = tape.event(seq)
  if (event.type === 'call') return event.kind === 'process' ? 'process' : 'tool'
  return event.type === 'note' ? 'mark' : 'http'
}

function bodyOf(step: Step, side: BodySide): Uint8Array | undefined {
  if (side === 'request') return step.exchange()?.request.body
  if (side === 'response') return step.exchange()?.response?.body
  const call = step.call()
  if (side === 'output') {
    if (call === undefined) return undefined
    const joined = new Uint8Array(call.output.reduce((sum, { bytes }) => sum + bytes.length, 0))
    let at = 0
    for (const { bytes } of call.output) {
      joined.set(bytes, at)
      at += bytes.length
    }
    return joined
  }
  const value = side === 'args' ? call?.args : call?.result
  if (value === undefined) return undefined
  if (typeof value === 'string') return new TextEncoder().encode(value)
  if (value instanceof Uint8Array) return value
  return new TextEncoder().encode(JSON.stringify(plainJson(toWire(value)), undefined, 2))
}
