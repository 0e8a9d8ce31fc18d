import { encodeBody, type GuardFacts, type GuardIntent } from '@retake/tape'
import { install } from '../boundaries/install.js'
import { openRecording, type RecordedRun } from '../record.js'
import { currentSession, outsideRuns } from '../scope.js'
import type { RecordSession } from '../sessions/record-session.js'
import type { Session } from '../sessions/session.js'
import { GuardError } from './guard-error.js'
import { guardErrors } from './guard-errors.js'
import { GuardedCall } from './guarded-call.js'
import type { GuardedTool, GuardedToolOptions, ToolFunction } from './guarded-tool.js'
import type { GuardOptions } from './guard.js'
import type { GuardResult } from './guard-result.js'
import { Limiter } from './limits/limiter.js'
import type { EarlierCalls } from './resume/earlier-calls.js'
import { CallHistory } from './policy/call-history.js'
import { CompiledPolicy } from './policy/compiled-policy.js'

export interface CallOptions {
  /** Throws `result.error` where there is one, instead of returning it. */
  readonly throws?: boolean
  readonly signal?: AbortSignal
}

/** A guard at work: its tools, and what was called so far. Made by `guard()`. */
export class GuardRun {
  readonly name: string
  readonly policy: CompiledPolicy
  readonly history = new CallHistory()
  readonly limiter: Limiter
  /** What an earlier run has done already, when this one resumes it. */
  readonly earlier: EarlierCalls | undefined
  readonly #tools = new Map<string, GuardedTool>()
  readonly #occurrences = new Map<string, number>()
  #calls = 0
  #own: { readonly session: RecordSession; readonly run: RecordedRun } | undefined

  constructor(readonly options: GuardOptions) {
    install()
    this.name = options.name
    const { policy = [] } = options
    this.policy = new CompiledPolicy('name' in policy ? [policy] : policy)
    this.limiter = new Limiter(
      [options.limits, ...this.policy.policies.map(({ limits }) => limits)].filter(
        (limits) => limits !== undefined,
      ),
    )
  }

  /** Registers a tool, and returns it as a function that throws what goes wrong. */
  tool<Args, Output>(
    name: string,
    run: ToolFunction<Args, Output>,
    options: GuardedToolOptions<Args> = {},
  ): (args: Args) => Promise<Output> {
    this.#tools.set(name, {
      name,
      run: run as ToolFunction<unknown, unknown>,
      options: options as GuardedToolOptions<unknown>,
    })
    return async (args) => (await this.call<Output>(name, args, { throws: true })).output as Output
  }

  /**
   * A plain function behind the guard, under its own name unless another is given. It is
   * judged by its argument, or by the list of them where there are more or fewer than one.
   */
  wrap<Args extends unknown[], Output>(
    run: (...args: Args) => Output,
    options: GuardedToolOptions<unknown> & { readonly name?: string } = {},
  ): (...args: Args) => Promise<Awaited<Output>> {
    const { name = run.name, ...rest } = options
    if (name === '') throw new GuardError(guardErrors.functionWithoutName())
    const call = this.tool(
      name,
      (args: unknown) => (Array.isArray(args) ? run(...(args as Args)) : run(...([args] as Args))),
      rest,
    )
    return (...args) =>
      call(args.length === 1 && !Array.isArray(args[0]) ? args[0] : args) as Promise<
        Awaited<Output>
      >
  }

  /**
   * Verifies a call, then runs it. Never throws unless asked to: the result says what became
   * of it. A tool that is not registered can be handed in as it is, for one call.
   */
  async call<Output = unknown>(
    tool: string | GuardedTool,
    args: unknown,
    options: CallOptions = {},
  ): Promise<GuardResult<Output>> {
    const name = typeof tool === 'string' ? tool : tool.name
    const known = typeof tool === 'string' ? this.#tools.get(tool) : tool
    const result = await new GuardedCall(this, name, known, options).make(args)
    if (options.throws === true && result.error !== undefined) throw result.error
    return result as GuardResult<Output>
  }

  get toolNames(): string[] {
    return [...this.#tools.keys()]
  }

  /** Ends the guard's own tape, if it has one. Calls made inside a recording are on that one's. */
  end(output?: unknown): RecordedRun | undefined {
    const own = this.#own
    own?.session.finish(encodeBody(output))
    return own?.run
  }

  /** The run that calls made here belong to: the recording around them, or the guard's own. */
  session(): Session {
    const around = currentSession()
    if (around !== undefined) return around
    const inBackground = this.options.durability === 'memory'
    this.#own ??= outsideRuns(() => openRecording(this.options, { inBackground }))
    return this.#own.session
  }

  /** A call has its answer, from the tool or from a tape. */
  took(tool: string, args: unknown, intent: GuardIntent, facts: GuardFacts, output: unknown): void {
    this.history.add({ tool, args, effects: intent.effects, status: facts.status, output })
  }

  nextCall(): number {
    this.#calls += 1
    return this.#calls
  }

  nextOccurrence(fingerprint: string): number {
    const occurrence = (this.#occurrences.get(fingerprint) ?? 0) + 1
    this.#occurrences.set(fingerprint, occurrence)
    return occurrence
  }
}
