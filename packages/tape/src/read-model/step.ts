import type { FrameworkScope, RecordedError, TapeEvent } from '../format/events.js'
import type { GuardFacts } from '../guards/guard-facts.js'
import type { Message, ToolCallPart } from '../providers/message.js'
import { addUsage, NO_USAGE, type Usage } from '../providers/usage.js'
import type { AnswerFrame, FrameLimits } from './answer-frames.js'
import type { Exchange } from './exchange.js'
import type { McpExchange } from './mcp/json-rpc.js'
import type { Tape } from '../format/tape.js'

/** Sums over a run. */
export interface RunTotals {
  readonly modelCalls: number
  /** Recorded and inferred ones; a call is counted once. */
  readonly toolCalls: number
  /** Sum over the exchanges that report it. */
  readonly usage: Usage
  /** Cost of the whole run; `undefined` as soon as one exchange's cost is not known. */
  readonly costUsd: number | undefined
  /** Cost of the exchanges whose cost is known. */
  readonly knownCostUsd: number
  /** Labels of model steps whose cost is not known. */
  readonly unknownCost: readonly string[]
}

/** Adds a run up. Reads the answers of all model steps. */
export const sumSteps = (steps: readonly Step[]): RunTotals => {
  const models = steps.filter(({ kind }) => kind === 'model')
  const unknownCost = models.filter(isCostUnknown).map(({ label }) => label)
  const knownCostUsd = models.reduce((sum, step) => sum + (step.costUsd ?? 0), 0)
  return {
    modelCalls: models.length,
    toolCalls: steps.filter(({ kind }) => kind === 'tool').length,
    usage: models.reduce(
      (sum, { usage }) => (usage === undefined ? sum : addUsage(sum, usage)),
      NO_USAGE,
    ),
    costUsd: unknownCost.length === 0 ? knownCostUsd : undefined,
    knownCostUsd,
    unknownCost,
  }
}

/** An answer that the provider refused costs nothing; one that broke off costs something unknown. */
export const isCostUnknown = (step: Step): boolean =>
  step.costUsd === undefined && !(step.usage === undefined && step.state === 'failed')

/**
 * Kind of boundary. Draws, timers and file reads are events, not steps.
 * A tool that an MCP server runs is a `tool`; its other requests are `mcp`.
 */
export type StepKind = 'model' | 'tool' | 'http' | 'mcp' | 'process' | 'mark'

/**
 * `failed`: an error or a status of 400 and above. `aborted`: the agent gave up
 * on it. `in doubt`: it left, the run was killed, and whether it had its effect
 * is not on the tape. `denied`: a guard kept it from starting, or from touching
 * what it must not.
 */
export type StepState = 'done' | 'failed' | 'aborted' | 'in doubt' | 'denied'

/** Effect of a guard on a step, without its arguments and result. */
export interface StepGuard extends Partial<GuardFacts> {
  /** The rule that decided, as `policy/rule`; missing when a default did. */
  readonly rule?: string
  /** For a call that did not run: the stable code of the error. */
  readonly code?: string
  /** Hash of the policy that decided. */
  readonly policy: string
}

/** Arguments and answer of a tool or a child process. */
export interface CallDetail {
  readonly name: string
  readonly args: unknown
  /** `undefined` when there is no answer, or it failed. */
  readonly result: unknown
  readonly error: RecordedError | undefined
  /** Output of a child process, as it came. */
  readonly output: readonly {
    readonly at: number
    readonly pipe: number
    readonly bytes: Uint8Array
  }[]
}

/**
 * One numbered boundary of a run. Cheap to make: titles, states and all that
 * needs a body is read when first asked for.
 */
export interface Step {
  /** From 1, in the order steps started. An inferred step has the number of the model step that asked for it. */
  readonly number: number
  /** The number as text; `3.1` for the first step inferred from step 3. Unique in a run. */
  readonly label: string
  /** Event that starts it; for an inferred step the event that asks for it. */
  readonly seq: number
  readonly kind: StepKind
  /** One short line for people. */
  readonly title: string
  readonly state: StepState
  /** One line about what went wrong. */
  readonly error: string | undefined
  /** Milliseconds since the run started, and wall clock. */
  readonly at: number
  readonly startedAt: number
  /** From its start to its last delivery. */
  readonly latencyMs: number | undefined
  readonly timeToFirstChunkMs: number | undefined
  readonly lane: number
  /** Label of the step that asked for it. */
  readonly parent: string | undefined
  /** Where in the agent's code, as `file:line:column`. */
  readonly site: string | undefined
  /** Agents, nodes and tools it happened in, as an adapter named them, outermost first. */
  readonly within: readonly FrameworkScope[]
  /** Events that carry the answer. */
  readonly answerSeqs: readonly number[]
  /** Not recorded itself, but seen in the conversation: there is no event to fork at. */
  readonly inferred: boolean
  readonly provider: string | undefined
  readonly model: string | undefined
  /** Tool calls the model asked for. */
  readonly toolCalls: readonly ToolCallPart[]
  readonly usage: Usage | undefined
  /** `undefined` when it is not known. */
  readonly costUsd: number | undefined
  readonly finishReason: string | undefined
  /** Name of a tool, read without its arguments and result. */
  readonly toolName: string | undefined
  /** For a guarded tool: what the guard did with it. */
  readonly guard: StepGuard | undefined
  /** The error as it was recorded, with its stack; `undefined` when an answer only says that it failed. */
  readonly failure: RecordedError | undefined
  /** For model and HTTP steps. Decoded on each call, so store the result. */
  exchange(): Exchange | undefined
  /** Messages sent to a model, and its answer; empty for all else. Cheaper than `exchange`. */
  messages(): readonly Message[]
  answer(): readonly Message[]
  /** A streamed answer of a model as it grew; fewer than two if it came in one piece. */
  answerFrames(limits?: FrameLimits): readonly AnswerFrame[]
  /** For tool, process and MCP steps. */
  call(): CallDetail | undefined
  /** For requests of the Model Context Protocol, over stdio or HTTP. Decoded on each call. */
  mcp(): McpExchange | undefined
}

/** The fields of a step that need no drilling down, for `--json`. */
export const summarizeStep = (step: Step): Record<string, unknown> => ({
  number: step.number,
  label: step.label,
  seq: step.seq,
  kind: step.kind,
  title: step.title,
  state: step.state,
  error: step.error,
  at: step.at,
  latencyMs: step.latencyMs,
  timeToFirstChunkMs: step.timeToFirstChunkMs,
  lane: step.lane,
  parent: step.parent,
  site: step.site,
  within: step.within,
  inferred: step.inferred,
  provider: step.provider,
  model: step.model,
  toolCalls: step.toolCalls.map(({ id, name, args }) => ({ id, name, args })),
  usage: step.usage,
  costUsd: step.costUsd,
  finishReason: step.finishReason,
  guard: step.guard,
})

/**
 * - `served`: its answer came from the tape of the parent
 * - `edited`: its answer was put there by a fork
 * - `lost`: it was under way when the run went live, and could not go on
 * - `live`: it was really asked
 */
export type StepOrigin = 'served' | 'edited' | 'lost' | 'live'

/** Where the answer of a step of a branch came from; undefined in a run that is not a branch. */
export function originOf(tape: Tape, step: Step): StepOrigin | undefined {
  const { branch } = tape.details
  if (branch === undefined || step.inferred) return undefined
  const own = step.answerSeqs.filter((seq) => !isFromParent(tape, seq))
  // On its own tape it was asked, unless every part of its answer is the parent's.
  if (step.seq >= tape.ownFrom) {
    const isServed = step.answerSeqs.length > 0 && own.length === 0
    return isServed ? 'served' : 'live'
  }
  const isForkedAt = branch.at === step.label
  if (isForkedAt && branch.edits.some(({ target }) => target === 'answer')) return 'edited'
  if (own.length === 0) return isForkedAt && step.answerSeqs.length === 0 ? 'live' : 'served'
  if (isForkedAt) return 'live'
  return own.some((seq) => hasContent(tape.event(seq))) ? 'live' : 'lost'
}

function isFromParent(tape: Tape, seq: number): boolean {
  if (seq < tape.ownFrom) return true
  const event = tape.event(seq)
  return 'from' in event && event.from !== undefined
}

/** True if this part of an answer came from outside; errors and ends are also made when a run goes live. */
function hasContent(event: TapeEvent): boolean {
  if (event.type === 'response') return true
  if (event.type === 'result') return event.error?.code !== 'ANSWER_LOST'
  return event.type === 'deliver' && (event.part === 'chunk' || event.part === 'message')
}
