import { attempt } from '../format/values/attempt.js'
import type {
  BranchEdit,
  CallEvent,
  OutputEvent,
  RecordedError,
  RequestEvent,
  SocketEvent,
  TapeEvent,
} from '../format/events.js'
import type { PriceTable } from '../providers/specification/price.js'
import { firstIndex } from '../format/values/collections.js'
import { defined } from '../format/values/json-shape.js'
import { CallStep } from './call-step.js'
import { ConnectionStep, MarkStep, type StepBase, type StepContext } from './step-base.js'
import type { BodyDecoders } from './http-answer.js'
import { assignLanes, type Lane, type LaneAssignment } from './lanes.js'
import { groupNotes, type NotCaptured } from './not-captured.js'
import { HttpServers } from './mcp/http-mcp.js'
import { indexStdio, McpStep, type StdioIndex, type StepSource } from './mcp/mcp-step.js'
import { readBody } from './readable-value.js'
import { RequestCache } from './exchange.js'
import { RequestStep } from './request-step.js'
import { type IndexedFileCall, indexRun, type RunIndex, type StepOp } from './run-index.js'
import type { TapeLike } from '../format/tape-like.js'
import { isSameTool, linkTools, type ToolLinks } from './tool-links.js'
import { type RunTotals, type Step, sumSteps } from './step.js'

/**
 * The read model of a tape. The command line, the viewer, the exporters, blame and fix all read
 * runs through it, so they agree.
 */
export const readRun = (tape: TapeLike, options: ReadOptions = {}): RunView =>
  new RunView(tape, options)

/** Decompressors for answers recorded below `fetch`, and prices that override the built-in ones. */
export interface ReadOptions extends BodyDecoders {
  readonly prices?: PriceTable
}

/**
 * A run to read. Creating one reads every event, but no body except for writes to child processes;
 * other bodies are read on demand.
 */
export class RunView {
  readonly id: string
  readonly name: string
  readonly startedAt: number
  readonly durationMs: number
  /** `truncated`: killed, or still being recorded. */
  readonly status: TapeLike['status']
  readonly exit:
    | { readonly code?: number; readonly signal?: string; readonly error?: RecordedError }
    | undefined
  /** True for a branch that stopped because its parent has no further answer. */
  readonly isStopped: boolean
  readonly node: string
  /** Set on a branch. */
  readonly parent: TapeLike['run']['parent']
  readonly counts: Readonly<Partial<Record<TapeEvent['type'], number>>>
  /** Steps that are on the tape themselves, numbered from 1. */
  readonly recordedSteps: readonly Step[]
  readonly #tape: TapeLike
  readonly #index: RunIndex
  readonly #stdio: StdioIndex
  readonly #recorded: readonly StepBase[]
  readonly #context: StepContext
  #assignment: LaneAssignment | undefined
  #links: ToolLinks | undefined
  #steps: readonly Step[] | undefined
  #totals: RunTotals | undefined

  constructor(tape: TapeLike, { prices = {}, ...decoders }: ReadOptions) {
    const index = indexRun(tape)
    const stdio = indexStdio(tape, index)
    this.#tape = tape
    this.#index = index
    this.#stdio = stdio
    const context: StepContext = {
      tape,
      index,
      decoders,
      requests: new RequestCache(),
      prices,
      laneOf: (seq) => this.#laneAssignment().laneOf.get(seq) ?? 0,
      wasContinued: (seq) => this.#laneAssignment().causes.has(seq),
      askedBy: (seq) => this.#toolLinks().askedBy.get(seq),
      get mcpServers() {
        return (servers ??= new HttpServers(context))
      },
    }
    let servers: HttpServers | undefined
    this.#context = context
    const numbers = new Map(stdio.sources.map((source, position) => [source, position + 1]))
    this.#recorded = stdio.sources.map((source, position) =>
      this.#makeStep(source, position + 1, numbers),
    )
    this.recordedSteps = this.#recorded
    const { id, name, startedAt, node, parent } = tape.run
    this.id = id
    this.name = name
    this.startedAt = startedAt
    this.durationMs = index.end?.at ?? index.lastAt
    this.status = tape.status
    const { exitCode: code, signal, error } = index.end ?? {}
    this.exit = index.end && defined({ code, signal, error })
    this.isStopped = index.isStopped
    this.node = node
    this.parent = parent
    this.counts = index.counts
  }

  /** All steps, including tool calls that appear only in the conversation. Reads all model answers. */
  get steps(): readonly Step[] {
    // Inferred steps come after the answer that requests them.
    this.#steps ??= [...this.#recorded, ...this.#toolLinks().inferred].toSorted(
      (left, right) => left.seq - right.seq || Number(left.inferred) - Number(right.inferred),
    )
    return this.#steps
  }

  get lanes(): readonly Lane[] {
    return this.#laneAssignment().lanes
  }

  get totals(): RunTotals {
    return (this.#totals ??= sumSteps(this.steps))
  }

  /**
   * Changes that a fork made to the request of a step. The tape contains the request as the agent
   * made it.
   */
  requestEdits({ label, kind, answerSeqs }: Step): readonly BranchEdit[] {
    const { branch } = this.#tape.details
    const { parent } = this
    if (branch === undefined || parent === undefined) return []
    const isSent = answerSeqs.some((seq) => {
      const event = this.#tape.event(seq)
      return seq >= parent.seq && !('from' in event && event.from !== undefined)
    })
    return branch.edits.filter(({ target, at = branch.at }) =>
      target === 'every request'
        ? kind === 'model' && isSent
        : target === 'request' && at === label,
    )
  }

  /** Everything that was not captured, each call site once. */
  get notCaptured(): readonly NotCaptured[] {
    return groupNotes(this.#index.notes, this.#tape.details.proxy !== undefined)
  }

  get fileCalls(): readonly IndexedFileCall[] {
    return this.#index.fileCalls
  }

  get outputs(): readonly OutputEvent[] {
    return this.#index.outputs
  }

  outputBytes(output: OutputEvent): Uint8Array {
    return this.#tape.body(output.seq)
  }

  /** Return value of a function run. */
  result(): unknown {
    const { end } = this.#index
    return end?.as === undefined ? undefined : readBody(end.as, this.#tape.body(end.seq))
  }

  step(label: number | string): Step | undefined {
    const wanted = String(label)
    return this.#recorded[Number(wanted) - 1] ?? this.steps.find((step) => step.label === wanted)
  }

  /** The last recorded step that began at or before an event. */
  stepBefore(seq: number): Step | undefined {
    return this.recordedSteps[firstIndex(this.recordedSteps, (step) => step.seq > seq) - 1]
  }

  /** Summary of the run for `--json`, without its steps. */
  toJSON(): Record<string, unknown> {
    const { id, name, startedAt, durationMs, status, exit, node, parent, counts } = this
    const { totals, notCaptured } = this
    return {
      id,
      name,
      startedAt,
      durationMs,
      status,
      exit,
      node,
      parent,
      counts,
      totals,
      notCaptured,
    }
  }

  #makeStep(
    source: StepSource,
    number: number,
    numbers: ReadonlyMap<StepSource, number>,
  ): StepBase {
    if ('mcp' in source)
      return new McpStep(this.#context, number, source, String(numbers.get(source.process)))
    if (!('event' in source)) return new MarkStep(this.#context, number, source)
    if (isOp<RequestEvent>(source, 'request')) return new RequestStep(this.#context, number, source)
    if (isOp<CallEvent>(source, 'call'))
      return new CallStep(this.#context, number, source, this.#stdio.sessions.get(source.event.seq))
    return new ConnectionStep(this.#context, number, source as StepOp & { event: SocketEvent })
  }

  #laneAssignment(): LaneAssignment {
    if (this.#assignment !== undefined) return this.#assignment
    const bySeq = new Map(this.#recorded.map((step) => [step.seq, step]))
    return (this.#assignment = assignLanes(this.#stdio.trace, {
      continues: (op, earlier) => {
        const step = bySeq.get(op)
        const before = earlier.map((seq) => bySeq.get(seq)).filter((each) => each !== undefined)
        return step !== undefined && isContinued(step, before)
      },
    }))
  }

  #toolLinks(): ToolLinks {
    return (this.#links ??= linkTools(this.#context, this.#recorded))
  }
}

/** Unreadable data gives no evidence about lanes; the error appears where the data is shown. */
const isContinued = (step: StepBase, earlier: readonly StepBase[]): boolean =>
  attempt(() => {
    // Whether a step continues the conversation of a lane: a model request that repeats and extends
    // it, or work that its last answer requested.
    const last = earlier.findLast(
      (candidate) => candidate instanceof RequestStep && candidate.kind === 'model',
    )
    if (!(last instanceof RequestStep) || step instanceof MarkStep) return false
    if (step instanceof RequestStep && step.kind === 'model') {
      const before = last.reader.requestMessages()
      const now = step.reader.requestMessages()
      return (
        now.length > before.length &&
        before.every((message, index) => JSON.stringify(message) === JSON.stringify(now[index]))
      )
    }
    const { toolName } = step
    if (toolName !== undefined) return last.toolCalls.some(({ name }) => isSameTool(name, toolName))
    return last.toolCalls.length > 0
  }, false)

const isOp = <E extends StepOp['event']>(
  op: StepOp,
  type: E['type'],
): op is StepOp & { readonly event: E } => op.event.type === type
