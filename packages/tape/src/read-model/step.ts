import type { FrameworkScope, RecordedError } from '../format/events.js'
import type { GuardFacts } from '../guards/guard-facts.js'
import type { Message, ToolCallPart } from '../providers/specification/message.js'
import { addUsage, NO_USAGE, type Usage } from '../providers/specification/usage.js'
import type { AnswerFrame, FrameLimits } from './answer-frames.js'
import type { Exchange } from './exchange.js'
import type { McpExchange } from './mcp/json-rpc.js'

export interface RunTotals {
  readonly modelCalls: number
  /** Recorded and inferred calls, each counted once. */
  readonly toolCalls: number
  /** Sum over the exchanges that report usage. */
  readonly usage: Usage
  /** Cost of the whole run; `undefined` if the cost of any exchange is unknown. */
  readonly costUsd: number | undefined
  readonly knownCostUsd: number
  /** Labels of model steps with an unknown cost. */
  readonly unknownCost: readonly string[]
}

/** Adds up a run. Reads all model answers. */
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

/** A refused request costs nothing; an answer that broke off has an unknown cost. */
export const isCostUnknown = (step: Step): boolean =>
  step.costUsd === undefined && !(step.usage === undefined && step.state === 'failed')

/**
 * Kind of boundary. Draws, timers and file reads are events, not steps. A tool of an MCP server is
 * a `tool`; its other requests are `mcp`.
 */
export type StepKind = 'model' | 'tool' | 'http' | 'mcp' | 'process' | 'mark'

/**
 * `failed`: an error, or a status of 400 and above. `aborted`: the agent gave up on it. `in doubt`:
 * it was sent, the run was killed, and the tape does not show whether it had its effect. `denied`:
 * a guard prevented it from starting, or from touching something it must not touch.
 */
export type StepState = 'done' | 'failed' | 'aborted' | 'in doubt' | 'denied'

/** Effect of a guard on a step, without its arguments and result. */
export interface StepGuard extends Partial<GuardFacts> {
  /** The rule that decided, as `policy/rule`; missing if a default decided. */
  readonly rule?: string
  /** For a call that did not run: the stable error code. */
  readonly code?: string
  readonly policy: string
}

export interface CallDetail {
  readonly name: string
  readonly args: unknown
  /** `undefined` if there is no answer, or it failed. */
  readonly result: unknown
  readonly error: RecordedError | undefined
  /** Output of a child process, in order. */
  readonly output: readonly {
    readonly at: number
    readonly pipe: number
    readonly bytes: Uint8Array
  }[]
}

/**
 * One numbered boundary of a run. Cheap to create: titles, states and everything that needs a body
 * are read on demand.
 */
export interface Step {
  /**
   * From 1, in the order in which steps started. An inferred step has the number of the model step
   * that requested it.
   */
  readonly number: number
  /** The number as text; `3.1` for the first step inferred from step 3. Unique in a run. */
  readonly label: string
  /** Event that starts it; for an inferred step, the event that requests it. */
  readonly seq: number
  readonly kind: StepKind
  readonly title: string
  /** The title while its answer is awaited; missing if that is the same. */
  readonly waitingTitle: string | undefined
  readonly state: StepState
  readonly error: string | undefined
  /** Milliseconds since the run started, and wall-clock time. */
  readonly at: number
  readonly startedAt: number
  /** From its start to its last delivery. */
  readonly latencyMs: number | undefined
  readonly timeToFirstChunkMs: number | undefined
  readonly lane: number
  /** Label of the step that requested it. */
  readonly parent: string | undefined
  /** Line of the agent's code, as `file:line:column`. */
  readonly site: string | undefined
  /** Agents, nodes and tools around it, as named by an adapter, outermost first. */
  readonly within: readonly FrameworkScope[]
  readonly answerSeqs: readonly number[]
  /**
   * True if the step was not recorded itself but appears in the conversation: there is no event at
   * which to fork.
   */
  readonly inferred: boolean
  readonly provider: string | undefined
  readonly model: string | undefined
  readonly toolCalls: readonly ToolCallPart[]
  readonly usage: Usage | undefined
  /** `undefined` if unknown. */
  readonly costUsd: number | undefined
  readonly finishReason: string | undefined
  /** Name of a tool, read without its arguments and result. */
  readonly toolName: string | undefined
  /** For a guarded tool: what the guard did. */
  readonly guard: StepGuard | undefined
  /** The recorded error with its stack; `undefined` if an answer only reports a failure. */
  readonly failure: RecordedError | undefined
  /** For model and HTTP steps. Decoded on each call, so save the result. */
  exchange(): Exchange | undefined
  /** Messages sent to a model, and its answer; empty for other steps. Cheaper than `exchange`. */
  messages(): readonly Message[]
  answer(): readonly Message[]
  /** A streamed model answer as it grew; fewer than two frames if it came in one piece. */
  answerFrames(limits?: FrameLimits): readonly AnswerFrame[]
  /** For tool, process and MCP steps. */
  call(): CallDetail | undefined
  /** For requests of the Model Context Protocol, over stdio or HTTP. Decoded on each call. */
  mcp(): McpExchange | undefined
}

/** Summary of a step for `--json`. */
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
