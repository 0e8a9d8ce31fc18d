import { isNumberedCall } from '../providers/call-numbers.js'
import type { ToolCallPart } from '../providers/message.js'
import { stableStringify } from '../stable-stringify.js'
import { toWire } from '../to-wire.js'
import { CallStep } from './call-step.js'
import { InferredToolStep } from './inferred-tool-step.js'
import { RequestStep } from './request-step.js'
import { isSameTool } from './same-tool.js'
import type { StepBase, StepContext } from './step-base.js'

export interface ToolLinks {
  /** Recorded tool steps by seq, with the label of the model step that asked for them. */
  readonly askedBy: ReadonlyMap<number, string>
  readonly inferred: readonly InferredToolStep[]
}

/** How many later requests are searched for the result of a call. */
const LOOK_AHEAD = 4

/**
 * Pairs what models asked for with what ran. A call belongs to the recorded
 * tool of the same name and arguments; failing that, to one of the same name
 * before the next model step of its lane, because tools may fill in defaults.
 * A tool of an MCP server may be called with the server's name before its own.
 * A call without a recorded tool is a step of its own when a later request
 * carries its result; a call nobody answered is none.
 *
 * Reads the answers of all model steps. Requests are searched as text, and only
 * for calls that have no recorded tool.
 */
export const linkTools = (context: StepContext, steps: readonly StepBase[]): ToolLinks => {
  const askedBy = new Map<number, string>()
  const inferred: InferredToolStep[] = []
  const models = steps.filter(
    (step) => step instanceof RequestStep && step.kind === 'model',
  ) as RequestStep[]
  const tools = new RecordedTools(steps)
  for (const [position, asked] of models.entries()) {
    const later = models.slice(position + 1)
    const next = later.find(({ lane }) => lane === asked.lane)
    let count = 0
    for (const [call, tool] of tools.take(asked, next)) {
      const told = tool === undefined ? findTelling(call, asked, later) : undefined
      if (tool !== undefined) askedBy.set(tool.seq, asked.label)
      if (told === undefined) continue
      const label = `${asked.label}.${++count}`
      inferred.push(new InferredToolStep(context, { asked, told, call, label }))
    }
  }
  return { askedBy, inferred }
}

/** The request that carries the result of a call: soon, and first of all in the same lane. */
const findTelling = (
  call: ToolCallPart,
  asked: RequestStep,
  later: readonly RequestStep[],
): RequestStep | undefined => {
  if (call.id === '') return undefined
  const inLane = later.filter(({ lane }) => lane === asked.lane).slice(0, LOOK_AHEAD)
  const nearby = later.slice(0, LOOK_AHEAD)
  return [...new Set([...inLane, ...nearby])].find((step) => hasResult(step, call.id))
}

/**
 * Whether a request carries the result of a call. Results stand near the end of
 * a long text, under a key that says so; it is parsed only when in doubt.
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

/** Recorded tool steps that no call has claimed yet, by name. */
class RecordedTools {
  readonly #byName = new Map<string, StepBase[]>()
  /** Names of tools that may be called with another name before them. */
  readonly #served: readonly string[]

  constructor(steps: readonly StepBase[]) {
    const served = new Set<string>()
    for (const step of steps) {
      const { toolName: name } = step
      if (name === undefined) continue
      if (!(step instanceof CallStep)) served.add(name)
      const known = this.#byName.get(name)
      if (known === undefined) this.#byName.set(name, [step])
      else known.push(step)
    }
    this.#served = [...served]
  }

  /** Each call of a model step with the tool step it claims, if any. */
  take(asked: RequestStep, next: RequestStep | undefined): [ToolCallPart, StepBase | undefined][] {
    const claimed = asked.toolCalls.map((call): [ToolCallPart, StepBase | undefined] => [
      call,
      this.#claim(call.name, (tool) => tool.seq > asked.seq && hasArguments(tool, call.args)),
    ])
    return claimed.map(([call, tool]) => [
      call,
      tool ?? this.#claim(call.name, ({ seq }) => seq > asked.seq && seq < (next?.seq ?? Infinity)),
    ])
  }

  #claim(called: string, fits: (tool: StepBase) => boolean): StepBase | undefined {
    const names = [called, ...this.#served.filter((name) => isSameTool(called, name))]
    for (const name of names) {
      const candidates = this.#byName.get(name)
      const position = candidates?.findIndex(fits) ?? -1
      if (position >= 0) return candidates?.splice(position, 1)[0]
    }
    return undefined
  }
}

/** Tools are called with the arguments alone, or with something of the framework's after them. */
const hasArguments = (tool: StepBase, args: unknown): boolean => {
  const recorded = tool.call()?.args
  const wanted = stableStringify(toWire(args))
  const given = Array.isArray(recorded) ? [recorded, recorded[0] as unknown] : [recorded]
  return given.some((value) => stableStringify(toWire(value)) === wanted)
}
