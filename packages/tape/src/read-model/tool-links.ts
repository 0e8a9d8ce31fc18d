import { attempt } from '../format/values/attempt.js'
import { isNumberedCall, type ToolCallPart } from '../providers/specification/message.js'
import { firstIndex, pushTo } from '../format/values/collections.js'
import { stableStringify } from '../format/values/stable-stringify.js'
import { toWire } from '../format/values/to-wire.js'
import { CallStep } from './call-step.js'
import { InferredToolStep } from './inferred-tool-step.js'
import { RequestStep } from './request-step.js'
import type { StepBase, StepContext } from './step-base.js'

/**
 * True if a model means this tool. Clients prefix tool names with the server: `docs__search`,
 * `mcp__docs__search`, `docs.search`.
 */
export const isSameTool = (called: string, tool: string): boolean =>
  called === tool ||
  (tool !== '' && called.endsWith(tool) && /[_.:/-]$/.test(called.slice(0, -tool.length)))

export interface ToolLinks {
  /** Recorded tool steps by seq, with the label of the model step that requested them. */
  readonly askedBy: ReadonlyMap<number, string>
  readonly inferred: readonly InferredToolStep[]
}

/** Number of later requests that are searched for the result of a call. */
const LOOK_AHEAD = 4

/**
 * Pairs requested tool calls with those that ran. A call belongs to the recorded tool with the same
 * name and arguments; otherwise to one with the same name before the next model step of its lane,
 * because tools may fill in defaults. A tool of an MCP server may be called with the server's name
 * as a prefix. A call without a recorded tool becomes an inferred step if a later request contains
 * its result; an unanswered call does not.
 *
 * Reads all model answers. Requests are searched as text, and only for calls without a recorded
 * tool.
 */
export const linkTools = (context: StepContext, steps: readonly StepBase[]): ToolLinks => {
  const askedBy = new Map<number, string>()
  const inferred: InferredToolStep[] = []
  const models = steps.filter(
    (step) => step instanceof RequestStep && step.kind === 'model',
  ) as RequestStep[]
  // For each model step, the next few in its lane.
  const nextIn = new Map<number, RequestStep[]>()
  const following = models
    .toReversed()
    .map((step) => {
      const next = nextIn.get(step.lane) ?? []
      nextIn.set(step.lane, [step, ...next].slice(0, LOOK_AHEAD))
      return next
    })
    .toReversed()
  const tools = new RecordedTools(steps)
  for (const [position, caller] of models.entries()) {
    const inLane = following[position] ?? []
    let count = 0
    for (const [call, tool] of tools.take(caller, inLane[0])) {
      if (tool !== undefined) askedBy.set(tool.seq, caller.label)
      if (tool !== undefined || call.id === '') continue
      const nearby = models.slice(position + 1, position + 1 + LOOK_AHEAD)
      const reporter = [...new Set([...inLane, ...nearby])].find((step) => hasResult(step, call.id))
      if (reporter === undefined) continue
      const label = `${caller.label}.${++count}`
      inferred.push(new InferredToolStep(context, label, call, caller, reporter))
    }
  }
  return { askedBy, inferred }
}

/**
 * True if a request contains the result of a call. Results are near the end of a long text, under a
 * known key; the text is parsed only if in doubt.
 */
const hasResult = (step: RequestStep, id: string): boolean => {
  const text = step.reader.requestText() ?? ''
  const quoted = JSON.stringify(id)
  const last = text.lastIndexOf(quoted)
  if (last < 0 && !isNumberedCall(id)) return false
  const [, key] = /"(\w+)"\s*:\s*$/.exec(text.slice(Math.max(0, last - 40), last)) ?? []
  if (key === 'tool_call_id' || key === 'tool_use_id') return true
  return step.reader
    .requestMessages()
    .some(({ parts }) => parts.some((part) => part.type === 'tool_result' && part.id === id))
}

/** Recorded tool steps that no call has claimed yet, by name and by arguments. */
class RecordedTools {
  readonly #byName = new Map<string, StepBase[]>()
  readonly #byArgs = new Map<string, Map<string, StepBase[]>>()
  readonly #claimed = new Set<StepBase>()
  /** Names of tools that may have a prefix. */
  readonly #served: readonly string[]

  constructor(steps: readonly StepBase[]) {
    const served = new Set<string>()
    for (const step of steps) {
      const { toolName: name } = step
      if (name === undefined) continue
      if (!(step instanceof CallStep)) served.add(name)
      pushTo(this.#byName, name, step)
    }
    this.#served = [...served]
  }

  /** Each call of a model step with the tool step it claims, if any. */
  take(caller: RequestStep, next: RequestStep | undefined): [ToolCallPart, StepBase | undefined][] {
    const claimed = caller.toolCalls.map((call): [ToolCallPart, StepBase | undefined] => {
      const wanted = argumentsKey(call.args)
      return [
        call,
        this.#claim(call.name, caller, (name) =>
          wanted === undefined ? undefined : this.#withArgs(name).get(wanted),
        ),
      ]
    })
    return claimed.map(([call, tool]) => [
      call,
      tool ?? this.#claim(call.name, caller, (name) => this.#byName.get(name), next?.seq),
    ])
  }

  /** The first of some tools that started after the call, and before `until`. */
  #claim(
    called: string,
    { seq: after }: RequestStep,
    candidates: (name: string) => readonly StepBase[] | undefined,
    until = Infinity,
  ): StepBase | undefined {
    const names = [called, ...this.#served.filter((name) => isSameTool(called, name))]
    for (const name of names) {
      const tools = candidates(name) ?? []
      const first = firstIndex(tools, ({ seq }) => seq > after)
      for (let index = first; index < tools.length; index++) {
        const tool = tools[index]
        if (tool === undefined || tool.seq >= until) break
        if (this.#claimed.has(tool)) continue
        this.#claimed.add(tool)
        return tool
      }
    }
    return undefined
  }

  /** Tools of a name, by their arguments: the arguments alone, or followed by a value from the framework. */
  #withArgs(name: string): ReadonlyMap<string, StepBase[]> {
    const known = this.#byArgs.get(name)
    if (known !== undefined) return known
    const tools = new Map<string, StepBase[]>()
    this.#byArgs.set(name, tools)
    for (const tool of this.#byName.get(name) ?? []) {
      const recorded = tool.call()?.args
      const given = Array.isArray(recorded) ? [recorded, recorded[0] as unknown] : [recorded]
      for (const key of new Set(given.map(argumentsKey)))
        if (key !== undefined) pushTo(tools, key, tool)
    }
    return tools
  }
}

/** Undefined for arguments that are too deeply nested to compare. */
const argumentsKey = (args: unknown): string | undefined =>
  attempt(() => stableStringify(toWire(args)))
