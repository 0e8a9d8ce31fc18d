import { fileURLToPath } from 'node:url'
import { addOwnPackage, closestName, type RunEnd } from '@retake/engine/hook'
import {
  type CallUsage,
  hasRun,
  type GuardFacts,
  type GuardIntent,
  type GuardSavings,
  type ResumedRun,
  SavingsTally,
} from '@retake/tape/guards'
import { clipText, decodeBody, encodeBody, recordError } from '@retake/tape/format'
import { readBaseline } from './contract/baseline.js'
import {
  callOptionProblems,
  checkGuardOptions,
  checkToolOptions,
  type GuardOptions,
} from './check-options.js'
import type { CallInDoubt, EarlierCall } from './resume/earlier-runs.js'
import { protectGuard } from './paths/own-files.js'
import type { StandardSchema } from './contract/contract.js'
import { installFor, installGuard } from './enforcement/install.js'
import { type Denial, GuardError, guardErrors } from './denials/guard-error.js'
import { GuardedCall } from './guarded-call.js'
import type {
  GuardedTool,
  GuardedToolOptions,
  SandboxedModule,
  ToolFunction,
} from './contract/guarded-tool.js'
import { sandboxedTool } from './sandbox/tool-process.js'
import type { GuardResult } from './guard-outcome.js'
import { answerKey, isAnswer, Limiter } from './limits/limiter.js'
import { CallHistory } from './policy/call-history.js'
import { CompiledPolicy, namesInLimits, type RuleName } from './policy/compiled-policy.js'
import { type ClosedTape, GuardTapes } from './resume/guard-tapes.js'
import { ownData, ownFields } from './data/own-data.js'
import { thrownIn } from './denials/thrown-error.js'

/**
 * Creates a guard that checks every tool call. Calls inside a recording are recorded on its tape;
 * otherwise, the guard records its own.
 */
export function guard(given: GuardOptions): GuardRun {
  const own = ownFields(given)
  checkGuardOptions(own)
  const { baseline, ...rest } = own
  const options: GuardOptions = ownData(rest)
  return new GuardRun(
    baseline === undefined ? options : ownFields({ ...options, baseline: readBaseline(baseline) }),
  )
}

addOwnPackage(new URL('..', import.meta.url))

/** The program of sandboxed processes. The path is the same from `src`, `dist` and `bundle`. */
const TOOL_CHILD = fileURLToPath(new URL('../bundle/tool-child.js', import.meta.url))

export interface CallOptions {
  /** Throws `result.error` instead of returning it. */
  readonly throws?: boolean
  readonly signal?: AbortSignal
}

/** The tape of a guard that has ended. */
export interface EndedGuard extends ClosedTape {
  /** Tool names in limits, and in deny and ask rules, that no tool of the run has. */
  readonly unknownTools: readonly RuleName[]
}

/** A guard with its tools and calls. Created by `guard()`. */
export class GuardRun {
  readonly name: string
  readonly policy: CompiledPolicy
  readonly history: CallHistory
  readonly limiter: Limiter
  readonly tapes: GuardTapes
  readonly #tools = new Map<string, GuardedTool>()
  readonly #savings = new SavingsTally()
  /** Results of the resumed runs, as `run:seq`. */
  readonly #restored = new Set<string>()
  /** Set in a rerun once the tape contains a decision under another policy. */
  isPolicyChanged = false
  /** Arguments of the last approved call of each tool. Approvers see the differences. */
  readonly lastApproved = new Map<string, unknown>()
  /** Number of calls in progress. */
  #unanswered = 0
  /** Names of tools that were passed to `call` without being registered. */
  readonly #unregistered = new Set<string>()
  /** Number of tools when the names in rules were last checked. */
  #checkedNames = 0
  #isWarned = false

  constructor(readonly options: GuardOptions) {
    installGuard()
    protectGuard(options.dir)
    this.name = options.name
    const { policy = [] } = options
    this.policy = CompiledPolicy.of(policy)
    installFor(this.policy.scopes)
    const { tools } = options
    const unknown = tools && this.#namedTools().find((rule) => isMissing(rule, tools))
    if (unknown !== undefined) {
      const { name, policy } = unknown
      const meant = closestName(name, tools ?? [])
      throw new GuardError(guardErrors.RULE_TOOL_UNKNOWN(name, policy, meant))
    }
    this.history = new CallHistory(this.policy)
    this.limiter = new Limiter(
      [options.limits, ...this.policy.policies.map(({ limits }) => limits)].filter(
        (limits) => limits !== undefined,
      ),
    )
    this.tapes = new GuardTapes(options, this.policy, this.limiter, (calls) => this.#restore(calls))
  }

  /**
   * Registers a tool. Returns a function that calls it and throws on failure. A Standard Schema as
   * `input` determines the types of the arguments.
   */
  tool<Args, Output>(
    name: string,
    options: GuardedToolOptions<Args> & SandboxedModule,
  ): (args: Args) => Promise<Output>
  tool<Input, Args, Output>(
    name: string,
    run: ToolFunction<Args, Output>,
    options: GuardedToolOptions<Args> & { readonly input: StandardSchema<Input, Args> },
  ): (args: Input) => Promise<Output>
  tool<Args, Output>(
    name: string,
    run: ToolFunction<Args, Output>,
    options?: GuardedToolOptions<Args>,
  ): (args: Args) => Promise<Output>
  tool<Args, Output>(
    name: string,
    given: ToolFunction<Args, Output> | (GuardedToolOptions<Args> & SandboxedModule),
    more: GuardedToolOptions<Args> = {},
  ): (args: Args) => Promise<Output> {
    const isModule = typeof given === 'object' && given !== null && Object.hasOwn(given, 'module')
    const options = toolOptions(isModule ? given : more)
    const run = isModule ? sandboxedTool(name, options as SandboxedModule, TOOL_CHILD) : given
    if (typeof name !== 'string') throw new GuardError(guardErrors.GUARD_TOOL_WITHOUT_NAME())
    if (typeof run !== 'function') throw new GuardError(guardErrors.GUARD_TOOL_NOT_FUNCTION(name))
    const notListed = this.#notListed(name)
    if (notListed !== undefined) throw new GuardError(notListed)
    if (this.#tools.has(name)) throw new GuardError(guardErrors.GUARD_TOOL_TWICE(name))
    checkToolOptions(name, options)
    this.#tools.set(name, {
      name,
      run: run as ToolFunction<unknown, unknown>,
      options: options as GuardedToolOptions<unknown>,
    })
    return async (args) => (await this.call<Output>(name, args, THROWS)).output as Output
  }

  /**
   * Guards a plain function, by default under its own name. Rules see its argument, or the list of
   * arguments unless there is exactly one.
   */
  wrap<Args extends unknown[], Output>(
    run: (...args: Args) => Output,
    options: GuardedToolOptions<unknown> & { readonly name?: string } = {},
  ): (...args: Args) => Promise<Awaited<Output>> {
    if (typeof run !== 'function')
      throw new GuardError(guardErrors.GUARD_TOOL_NOT_FUNCTION('run.wrap'))
    const { name = run.name, ...others } = ownFields(options)
    const rest = toolOptions(others)
    if (name === '') throw new GuardError(guardErrors.GUARD_FUNCTION_WITHOUT_NAME())
    this.tool(name, (arg: unknown) => run(...([arg] as Args)), rest)
    // Only the returned function can be called with several arguments. A list from a model is one.
    const several: GuardedTool = { name, run: (args) => run(...(args as Args)), options: rest }
    return async (...args): Promise<Awaited<Output>> => {
      const [tool, given] = args.length === 1 ? [name, args[0]] : [several, args]
      return (await this.call<Awaited<Output>>(tool, given, THROWS)).output as Awaited<Output>
    }
  }

  /**
   * Checks a call and runs it. Rejects only if `throws` is set. A tool that is not registered can be
   * passed as an object.
   */
  call<Output = unknown>(
    tool: string | GuardedTool,
    args: unknown,
    givenOptions: CallOptions = PLAIN,
  ): Promise<GuardResult<Output>> {
    const options = ownFields(givenOptions)
    const isUnregistered = typeof tool === 'object' && typeof tool?.run === 'function'
    const named: unknown = isUnregistered ? tool.name : tool
    // Avoids `toString` of an object, which is foreign code.
    const given = typeof named === 'object' && named !== null ? 'an object' : String(named)
    const known = isUnregistered ? ownTool(tool) : this.#tools.get(given)
    const name = known === undefined ? clipText(given, UNKNOWN_NAME_MAX) : given
    const wrong = options === PLAIN || options === THROWS ? [] : callOptionProblems(options)
    const call = new GuardedCall(this, name, known, wrong.length === 0 ? options : PLAIN)
    const denial = isUnregistered ? (toolProblem(tool) ?? this.#notListed(name)) : undefined
    if (denial !== undefined) call.refusal = { denial }
    else if (wrong.length > 0)
      call.refusal = { denial: guardErrors.GUARD_OPTIONS_INVALID(`a call of "${name}"`, wrong) }
    if (isUnregistered) this.#unregistered.add(name)
    const typo = this.#misspelledRule()
    if (typo !== undefined) call.refusal ??= { denial: typo }
    this.#unanswered += 1
    const make = (): Promise<GuardResult> => call.make(args)
    const result = (this.tapes.ready?.then(make) ?? make()) as Promise<GuardResult<Output>>
    return options?.throws === true ? result.then(withoutError) : result
  }

  #notListed(name: string): Denial | undefined {
    const { tools } = this.options
    return tools && !tools.includes(name)
      ? guardErrors.GUARD_TOOL_NOT_LISTED(name, tools)
      : undefined
  }

  #namedTools(): readonly RuleName[] {
    return [...this.policy.exactNames, ...namesInLimits(this.name, this.options.limits)]
  }

  /** Finds a rule or limit with a misspelled tool name. */
  #misspelledRule(): Denial | undefined {
    if (this.#checkedNames === this.#tools.size) return undefined
    const names = this.toolNames
    for (const rule of this.#namedTools()) {
      const meant = this.#tools.has(rule.name) ? undefined : closestName(rule.name, names)
      // `send` is not a typo of `send_all`.
      if (meant !== undefined && Math.abs(meant.length - rule.name.length) <= 1)
        return guardErrors.RULE_TOOL_UNKNOWN(rule.name, rule.policy, meant)
    }
    this.#checkedNames = this.#tools.size
    return undefined
  }

  /** Counts and records usage outside of guarded tools, such as model calls. */
  spend(usage: CallUsage): void {
    this.limiter.spend(usage)
    this.tapes.recordSpent(usage)
  }

  /** True if calls record their call site. Without syncs, that would more than double their cost. */
  get recordsSites(): boolean {
    return this.options.durability !== 'process'
  }

  get toolNames(): string[] {
    return [...this.#tools.keys()]
  }

  /**
   * Ends the run and seals the guard's own tape, if there is one, as complete or, with `error`, as
   * failed. Wait for all calls first: calls in progress are returned as `inDoubt`.
   */
  end(output?: unknown, { error }: { readonly error?: unknown } = {}): EndedGuard | undefined {
    const ended = this.tapes.end((): RunEnd => {
      if (error !== undefined) return { error: recordError(error) }
      // Without an output, a replay does not compare it.
      return output === undefined ? {} : encodeBody(output)
    }, this.#unanswered > 0)
    const isUsed = this.#tools.size + this.#unregistered.size > 0
    const names = this.options.tools ?? [...this.toolNames, ...this.#unregistered]
    const unknownTools = isUsed ? this.#namedTools().filter((rule) => isMissing(rule, names)) : []
    if (!this.#isWarned)
      for (const { name, policy } of unknownTools) {
        const { code, what, why, allowed } = guardErrors.RULE_TOOL_UNKNOWN(name, policy)
        process.emitWarning([what, why, allowed].join(' '), { type: 'RetakeWarning', code })
      }
    this.#isWarned = true
    return ended && { ...ended, unknownTools }
  }

  /** Closes the tape of a resumable run without completing it; otherwise like `end()`. */
  [Symbol.dispose](): void {
    if (this.options.resume) this.tapes.abandon()
    else this.end()
  }

  [Symbol.asyncDispose](): Promise<void> {
    this[Symbol.dispose]()
    return Promise.resolve()
  }

  /** Calls that were in progress when the resumed run stopped and are not settled yet. */
  inDoubt(): readonly CallInDoubt[] {
    return this.tapes.inDoubt()
  }

  /** The resumed runs, latest first. */
  get resumes(): readonly ResumedRun[] {
    return this.tapes.resumes
  }

  /** Savings so far from served results and stopped calls. */
  savings(): GuardSavings {
    return this.#savings.total()
  }

  /** Adds the calls of resumed runs to the history, loop detection and circuit breakers. */
  #restore(calls: readonly EarlierCall[]): void {
    for (const call of calls) {
      const { tool, intent, facts, from } = call
      this.#restored.add(`${from.run}:${from.seq}`)
      const judged = { tool, args: call.args(), effects: intent.effects }
      // A call in doubt counts until it is made again.
      if (facts === undefined) {
        this.history.begin(judged, call)
        continue
      }
      this.history.add({
        ...judged,
        status: facts.status,
        get output() {
          const { as, body } = call.result()
          return as === undefined ? undefined : decodeBody(as, body)
        },
        error: call.error && thrownIn(call.error, facts.attempts !== 0),
        started: hasStarted(facts),
      })
      this.limiter.restoreOutcome(tool, facts)
      if (isAnswer(facts))
        this.limiter.answered(intent.fingerprint, () => {
          const { as, body } = call.result()
          return answerKey({ as, error: call.error }, body)
        })
    }
  }

  /** True if `#restore` has already counted the result. */
  isRestored({ served }: GuardFacts): boolean {
    return served !== undefined && this.#restored.has(`${served.run}:${served.seq}`)
  }

  /** Counts a result, whether it comes from the tool or from a tape. */
  countResult(
    tool: string,
    args: unknown,
    intent: GuardIntent,
    facts: GuardFacts,
    output: unknown,
    { error, token }: { readonly error?: unknown; readonly token?: object } = {},
  ): void {
    this.#unanswered -= 1
    this.#savings.add({ tool, intent, facts })
    if (this.isRestored(facts)) return
    const { status } = facts
    const { effects } = intent
    const started = hasStarted(facts)
    this.history.add({ tool, args, effects, status, output, error, started }, token)
  }
}

/** True for a call that rules look back on: its tool ran, or may have run. */
const hasStarted = (facts: GuardFacts): boolean => hasRun(facts) || facts.status === 'in doubt'

/** True for a limit, or a deny or ask rule, about a tool that does not exist. */
const isMissing = ({ name, allows }: RuleName, tools: readonly string[]): boolean =>
  !allows && !tools.includes(name)

/** Longer names of tools that do not exist are cut, because a model can choose them. */
const UNKNOWN_NAME_MAX = 200

const PLAIN: CallOptions = ownFields({})
const THROWS: CallOptions = ownFields({ throws: true })

/** Schemas, contracts and classes of errors stay as they are. */
const toolOptions = <T>(options: T): T => {
  if (typeof options !== 'object' || options === null) return options
  const own = ownFields(options) as GuardedToolOptions<unknown> & Partial<SandboxedModule>
  return ownFields({
    ...own,
    ...(own.reserve !== undefined && { reserve: ownData(own.reserve) }),
    ...(own.sandbox !== undefined && { sandbox: ownData(own.sandbox) }),
  }) as T
}

const ownOptions = new WeakMap<object, GuardedTool['options']>()

/** An unregistered tool with a copy of its options, which is the same for each call. */
function ownTool({ name, run, options }: GuardedTool): GuardedTool {
  if (typeof options !== 'object' || options === null) return ownFields({ name, run, options })
  let own = ownOptions.get(options)
  if (own === undefined) ownOptions.set(options, (own = toolOptions(options)))
  return ownFields({ name, run, options: own })
}

/** Options of unregistered tools that were already checked. */
const checked = new WeakSet<object>()

/** Denies a tool that was passed to `call` with invalid options. */
function toolProblem(tool: GuardedTool): Denial | undefined {
  const { name, options } = tool
  if (typeof name !== 'string') return guardErrors.GUARD_TOOL_WITHOUT_NAME()
  if (checked.has(options)) return undefined
  try {
    checkToolOptions(name, options)
    checked.add(options)
    return undefined
  } catch (error) {
    if (error instanceof GuardError) return error.denial
    throw error
  }
}

function withoutError<Output>(result: GuardResult<Output>): GuardResult<Output> {
  // A tool can throw `undefined`.
  if (result.error !== undefined || result.status === 'failed') throw result.error
  return result
}
