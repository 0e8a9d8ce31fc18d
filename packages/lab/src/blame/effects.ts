import { readGuards, type Step, type Tape } from '@retake/tape'
import { usageError } from '@retake/runner/command-line'
import { viewRun } from '@retake/runner/runs'
import { processesOf, type SearchedProcess } from './process-tree.js'

/**
 * True if running a step again may have an effect outside: a tool, a process, an MCP call, or a
 * request other than GET and HEAD that does not go to a model. An unwrapped tool runs inside the
 * agent, so only its own requests count.
 */
export function hasEffects(step: Step): boolean {
  if (step.inferred || step.kind === 'model' || step.kind === 'mark') return false
  if (step.kind !== 'http') return true
  const method = step.exchange()?.request.method
  return method !== 'GET' && method !== 'HEAD'
}

/** Short name of a step with effects: its tool, or its request. */
export const effectName = ({ toolName, title }: Step): string => toolName ?? title

/** Which steps with effects may really run in forks. */
export class LiveTools {
  /** `names`: tools or kinds of steps, or `all`. */
  constructor(
    readonly names: readonly string[] | 'all',
    /** Guarded tools that declare that they only read. */
    readonly readers: readonly string[],
  ) {}

  /** Reads `--live-tools`, `--live-tools=a,b` and the configuration. */
  static read(
    run: SearchedProcess,
    given: string | undefined,
    configured: boolean | readonly string[] = false,
  ): LiveTools {
    const tapes = processesOf(run).map(({ tape }) => tape)
    const readers = tapes.flatMap(readersOn)
    if (given === '' || (given === undefined && configured === true))
      return new LiveTools('all', readers)
    const names =
      given === undefined
        ? typeof configured === 'boolean'
          ? []
          : configured
        : given.split(',').map((name) => name.trim())
    const steps = tapes.flatMap((tape) => viewRun(tape).recordedSteps)
    const known = new Set(steps.flatMap(({ toolName, kind }) => [toolName ?? kind, kind]))
    const unknown = given === undefined ? undefined : names.find((name) => !known.has(name))
    if (unknown !== undefined)
      throw usageError(
        `--live-tools names "${unknown}", which this run does not call.`,
        `It calls ${[...known].join(', ')}.`,
      )
    return new LiveTools(names, readers)
  }

  /** Names that the engine may run; undefined if everything may run. */
  get allowed(): readonly string[] | undefined {
    return this.names === 'all' ? undefined : [...this.names, ...this.readers]
  }

  mayRun(step: Step): boolean {
    if (!hasEffects(step)) return true
    const { allowed } = this
    return (
      allowed === undefined || allowed.includes(step.kind) || allowed.includes(effectName(step))
    )
  }
}

const readersOn = (tape: Tape): string[] => {
  const byTool = new Map<string, boolean>()
  const steps = new Map(viewRun(tape).recordedSteps.map((step) => [step.seq, step]))
  for (const { callSeq, intent } of readGuards(tape).calls) {
    const name = steps.get(callSeq)?.toolName
    if (name === undefined) continue
    const reads = intent.effects?.length !== 0 && intent.effects?.every((each) => each === 'read')
    byTool.set(name, (byTool.get(name) ?? true) && reads === true)
  }
  return [...byTool].flatMap(([name, reads]) => (reads ? [name] : []))
}
