import {
  type BranchDetails,
  type CapturedState,
  plainJson,
  type ReadOptions,
  readRun,
  type RunView,
  type Step,
  type Tape,
  TapeError,
  toWire,
  valueTooLarge,
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
import type { LaneHead, RunHead } from './run-head.js'
import { detailOf } from './detail-of.js'
import type { BodySide, StepDetail, StreamFrames } from './step-detail.js'
import { eventAt, eventRows } from './event-rows.js'
import { filesOf } from './files-of.js'
import type { ConsolePart, EventRow, FileTouch, SearchProgress } from './run-source.js'
import { ConversationNews } from './conversation-news.js'
import { LaneLayout } from './lane-layout.js'
import { searchRun } from './search-run.js'
import { stateView, type StateView } from './state-view.js'
import { clipError, clipMessages } from './clip.js'
import { LossyText } from './clip.js'
import { clip, cutText } from './clip.js'
import { siteInStack } from './site-in-stack.js'

/** Characters of a name or of one argument; kinds of notes, each of which is told once. */
const LINE = 2000
const NOTES_MAX = 1000

interface HeadOptions {
  readonly status: RunStatus
  readonly redacted: boolean
  readonly lanes: readonly LaneHead[]
}

/** All that is small about a run. */
function headOf(tape: Tape, view: RunView, { status, redacted, lanes }: HeadOptions): RunHead {
  const { details } = tape
  const { exit, parent } = view
  const exitSite = siteInStack(exit?.error)
  return {
    id: view.id,
    name: cutText(view.name, LINE),
    startedAt: view.startedAt,
    durationMs: view.durationMs,
    status,
    ...(exit && { exit: { ...exit, ...(exit.error && { error: clipError(exit.error) }) } }),
    ...(exitSite !== undefined && { exitSite }),
    node: view.node,
    ...(parent && { parent }),
    ...(details.branch && { branch: clipBranch(details.branch) }),
    recorded: recordedOf(tape),
    command: commandOf(tape).map((part) => cutText(part, LINE)),
    ...(details.cwd !== undefined && { cwd: details.cwd }),
    ...(details.platform !== undefined && { platform: details.platform }),
    events: tape.count,
    counts: view.counts,
    recordedSteps: view.recordedSteps.length,
    lanes,
    notCaptured: view.notCaptured.slice(0, NOTES_MAX),
    tornBytes: tape.tornBytes,
    ...(!tape.isComplete && status !== 'recording' && { cutOff: true as const }),
    ...(redacted && { redacted }),
  }
}

/** A fork may have put a whole answer there. */
const clipBranch = (branch: BranchDetails): BranchDetails => ({
  ...branch,
  edits: branch.edits.map((edit) => ({ ...edit, value: clip(edit.value) })),
})

function recordedOf({ run, details }: Tape): NonNullable<RunHead['recorded']> {
  if (details.command !== undefined) return 'command'
  return run.scope === 'function' ? 'function' : 'program'
}

const commandOf = ({ details }: Tape): readonly string[] =>
  details.command ?? [details.entry ?? '', ...(details.args ?? [])].filter(Boolean)

/** Characters of one part, and bytes and parts of all of them, that are shown. */
const PART_MAX = 32_768
const BYTES_MAX = 4_000_000
const PARTS_MAX = 50_000

/**
 * What the agent wrote to its terminal, in order. A character that was written in
 * two parts stands in the second. Of very much output the end is left out; the last
 * part then says how much.
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

/** Frames of one stream, and characters in all of them together. */
const FRAMES_MAX = 150
const CHARACTERS_MAX = 6_000_000

/**
 * A model's answer as it grew; undefined when it came in one piece. The last frame
 * is the answer itself.
 */
function streamOf(step: Step): StreamFrames | undefined {
  if (step.kind !== 'model') return undefined
  const chunks = step.exchange()?.response?.chunks.length ?? 0
  if (chunks < 2) return undefined
  // Each frame repeats what came before: half of the answer, on average.
  const size = Math.max(1, JSON.stringify(step.answer()).length)
  const affordable = Math.max(2, Math.floor((2 * CHARACTERS_MAX) / size))
  const framesMax = Math.min(FRAMES_MAX, affordable)
  const frames = step.answerFrames({ framesMax })
  if (frames.length < 2) return undefined
  return {
    frames: frames.map(({ at, answer }) => ({
      at: at - step.at,
      answer: clipMessages(answer),
    })),
    chunks,
  }
}

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
  #lanes: LaneLayout | undefined
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
    const parents = recordedSteps.flatMap(({ parent }, index) =>
      parent === undefined ? [] : [[index, parent] as const],
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

  get #drawnLanes(): LaneLayout {
    return (this.#lanes ??= new LaneLayout(this.view))
  }
}

/** The place of a step whose records are damaged, or cannot be taken apart: its number and time, and why. */
function unreadableRow(tape: Tape, step: Step, error: TapeError): StepRow {
  return blankRow({
    label: step.label,
    seq: step.seq,
    kind: kindOf(tape, step.seq),
    state: 'failed',
    title: 'This step cannot be read',
    at: step.at,
    error: `${error.what} ${error.why}`,
    inferred: step.inferred,
  })
}

/** By the event alone. */
function kindOf(tape: Tape, seq: number): StepRow['kind'] {
  const event = tape.event(seq)
  if (event.type === 'call') return event.kind === 'process' ? 'process' : 'tool'
  return event.type === 'note' ? 'mark' : 'http'
}

/** The bytes of one side of a step, whole; undefined when it has no such side. */
function bodyOf(step: Step, side: BodySide): Uint8Array | undefined {
  if (side === 'request') return step.exchange()?.request.body
  if (side === 'response') return step.exchange()?.response?.body
  const call = step.call()
  if (side === 'output') return call && joinBytes(call.output.map(({ bytes }) => bytes))
  const value = side === 'args' ? call?.args : call?.result
  if (value === undefined) return undefined
  if (typeof value === 'string') return new TextEncoder().encode(value)
  if (value instanceof Uint8Array) return value
  return new TextEncoder().encode(JSON.stringify(plainJson(toWire(value)), undefined, 2))
}

function joinBytes(pieces: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const piece of pieces) {
    joined.set(piece, at)
    at += piece.length
  }
  return joined
}
