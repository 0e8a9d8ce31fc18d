import { blameFolder } from '@retake/runner/runs'
import { Deadline } from '@retake/tape/format'
import { type AmbientInput, defined, isRecord, type Tape, attempt, sumKnown } from '@retake/tape'
import type { Interventions } from './interventions.js'
import type { BlameSearch } from './search-run.js'
import { createHash, randomInt } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import path from 'node:path'
import { breakageText } from '../texts/breakage.js'
import type { Coalition, Fork, ForkOutcome, ForkSource, StepValue } from '../search/fork-source.js'
import { rangesText } from '../search/step-set.js'
import type { RetakeError } from '@retake/engine/errors'
import type { RecordedCode } from '@retake/runner/sources'
import type { Divergence, FreeAnswer, MovedRoot, PinnedPlan } from '@retake/engine'
import { cliErrors } from '@retake/runner/errors'
import { readOutcome, type Judgement, type RunOutcome } from '@retake/runner/oracle'
import { replayAgent } from '@retake/runner/agent'
import { findAmbientInputs, type FoundAmbient } from './ambient.js'
import { type ForkRun, describeAnswer, type StepAnswer } from './fork-run.js'
import { planProcess, type TreePlan } from './plan-processes.js'
import type { ModelSamples } from './process-tree.js'
import { canonicalFindings, type CauseDetail, shortDigest, stepValue } from './findings.js'
import { setTimeout } from 'node:timers/promises'

export interface StoredFork {
  readonly outcome: ForkOutcome
  /** Why it has no verdict. */
  readonly why?: string
  /** The tool or kind of step that it was not allowed to run. */
  readonly blocked?: string
  readonly reason?: string
  /** Result of each step; null if it did not happen. */
  readonly values: readonly (string | null)[]
  readonly liveSteps: number
  readonly forced: number
  /** True if it ended with the uncaught error of the failed run. */
  readonly repeatsError?: boolean
  /** Labels of steps with effects that got their recorded answer, although their arguments differed. */
  readonly assumed?: readonly string[]
  readonly tokens?: number
  readonly costUsd?: number
  /** The tape of the fork, if it was saved. */
  readonly tape?: string
}

/** A private file with one JSON value per line. Skips lines torn by a crash. */
class JsonLines<T> {
  constructor(readonly file: string) {}

  read(): T[] {
    const lines = existsSync(this.file) ? readFileSync(this.file, 'utf8').split('\n') : []
    return lines
      .flatMap((line) => attempt(() => [JSON.parse(line) as T], []))
      .filter((value) => isRecord(value))
  }

  append(value: T): void {
    mkdirSync(path.dirname(this.file), { recursive: true, mode: 0o700 })
    // The newline comes first, so that a record torn by a crash spoils only itself.
    appendFileSync(this.file, `\n${JSON.stringify(value)}`, { mode: 0o600 })
  }
}

/**
 * The forks of one search of a run, by coalition and draw. A fork is on disk before the search sees
 * it, so stopping a search loses nothing. Forks without a verdict are not reused, because a
 * provider may be up again. Answers of free steps are stored once per value, for transplants.
 */
export class StoredForks {
  /** The folder for tapes of forks. */
  readonly tapes: string
  readonly #lines: JsonLines<StoredLine>
  readonly #known = new Map<string, StoredFork>()
  readonly #answers = new Map<string, StepAnswer>()

  constructor(tapeFile: string, run: string, question: string) {
    this.tapes = path.join(blameFolder(tapeFile), `${run}.${question}`)
    this.#lines = new JsonLines(`${this.tapes}.jsonl`)
    for (const { key, fork, answers = {} } of this.#lines.read()) {
      if (typeof key !== 'string' || !Array.isArray(fork?.values)) continue
      this.#addAnswers(fork, answers)
      if (fork.outcome !== 'undefined') this.#known.set(key, fork)
    }
  }

  get file(): string {
    return this.#lines.file
  }

  get size(): number {
    return this.#known.size
  }

  /** `key`: from `coalitionKey`, or another that identifies the fork. */
  find(key: string): StoredFork | undefined {
    return this.#known.get(key)
  }

  /** `answers`: of free steps, by step index. */
  add(key: string, fork: StoredFork, answers: StepAnswers = {}): void {
    this.#lines.append({ key, fork, answers: this.#addAnswers(fork, answers) })
    this.#known.set(key, fork)
  }

  /** An answer of a step with this value, from any fork. */
  answer(step: number, value: StepValue): StepAnswer | undefined {
    return this.#answers.get(`${step} ${value}`)
  }

  /** Adds answers with new values, and returns them. */
  #addAnswers({ values }: StoredFork, answers: StepAnswers): StepAnswers {
    const fresh = Object.entries(answers).filter(([step]) => {
      const value = values[Number(step)]
      return typeof value === 'string' && this.answer(Number(step), value) === undefined
    })
    for (const [step, answer] of fresh) this.#answers.set(`${step} ${values[Number(step)]}`, answer)
    return Object.fromEntries(fresh)
  }
}

/**
 * Model answers in the forks of a run, for later searches with another oracle: a fork of the same
 * coalition, draw and seed gets its own answers again for identical requests. Two forks of one
 * search never share an answer, because they must be independent.
 */
class StoredSamples {
  readonly #lines: JsonLines<{ readonly fork: string; readonly samples: ModelSamples }>
  readonly #byFork = new Map<string, Record<string, Record<string, FreeAnswer[]>>>()

  constructor({ path: tapeFile, run }: Tape) {
    this.#lines = new JsonLines(path.join(blameFolder(tapeFile), `${run.id}.samples.jsonl`))
    for (const { fork, samples } of this.#lines.read()) this.#add(fork, samples)
  }

  find(fork: string): ModelSamples | undefined {
    return this.#byFork.get(fork)
  }

  /** Appends the answers of a fork to those it got from here. */
  add(fork: string, samples: ModelSamples): void {
    if (Object.values(samples).every((answers) => Object.keys(answers).length === 0)) return
    this.#add(fork, samples)
    this.#lines.append({ fork, samples })
  }

  #add(fork: string, samples: ModelSamples): void {
    const known = this.#byFork.get(fork) ?? {}
    this.#byFork.set(fork, known)
    for (const [process, byCall] of Object.entries(samples))
      for (const [key, answers] of Object.entries(byCall))
        ((known[process] ??= {})[key] ??= []).push(...answers)
  }
}

type StepAnswers = Readonly<Record<number, StepAnswer>>

interface StoredLine {
  readonly key: string
  readonly fork: StoredFork
  readonly answers?: StepAnswers
}

export function coalitionKey(coalition: Coalition, draw: number): string {
  const { pinned, mode, ambient, given = [] } = coalition
  const ambientKey = ambient.length === 0 ? '' : ` ambient ${rangesText(ambient)}`
  const givenKey = given.map(
    ({ step, from, draw: of }) => ` ${step} from (${coalitionKey(from, of)})`,
  )
  return `${mode} ${rangesText(pinned)}${ambientKey}${givenKey.join('')} #${draw}`
}

export const shortHash = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 12)

/** One fork to run, as plain data that could be sent to another machine. */
export interface ForkJob {
  readonly tape: string
  readonly plan: PinnedPlan
  readonly timeoutMs: number
  /** Variables that differ from the recorded ones. */
  readonly env: Readonly<Record<string, string>>
  /** Set if the recorded code runs, in a copy of the project. */
  readonly root?: MovedRoot
}

type RunFork = (job: ForkJob, signal: AbortSignal) => Promise<ForkRun>

/** Runs forks as local processes, at most `size` at a time. Does not judge, store or retry. */
export class LocalForkPool {
  readonly #waiting: (() => void)[] = []
  #busy = 0

  constructor(
    readonly size: number,
    private readonly runFork: RunFork,
  ) {}

  /** Rejects if the signal aborts. */
  async run(job: ForkJob, signal: AbortSignal): Promise<ForkRun> {
    if (this.#busy >= this.size) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    else this.#busy += 1
    try {
      signal.throwIfAborted()
      return await this.runFork(job, signal)
    } finally {
      // Hands this slot to the next in line.
      const next = this.#waiting.shift()
      if (next === undefined) this.#busy -= 1
      else next()
    }
  }
}

const FIRST_MS = 1000
const PAUSE_MAX_MS = 60_000
const TRIES_MAX = 6

/**
 * Repeats forks that a provider rate-limited. All of them wait together: as long as the provider
 * says, or else longer each time, with some jitter. After six attempts a fork has no verdict.
 */
export class RateLimitPause {
  #until = 0

  constructor(
    private readonly signal: AbortSignal,
    private readonly onPause?: (ms: number) => void,
  ) {}

  async retrying(run: () => Promise<ForkRun>): Promise<ForkRun> {
    let turnedAway: Pick<ForkRun, 'tokens' | 'costUsd'> = { tokens: 0, costUsd: 0 }
    for (let tries = 1; ; tries++) {
      for (let left = this.#until - Date.now(); left > 0; left = this.#until - Date.now())
        await setTimeout(left, undefined, { signal: this.signal })

      const { costUsd, ...fork } = await run()
      const result: ForkRun = {
        ...fork,
        // Failed attempts cost money too.
        tokens: fork.tokens + turnedAway.tokens,
        ...defined({ costUsd: sumKnown([costUsd, turnedAway.costUsd]) }),
      }
      if (result.rateLimit === undefined || result.changed !== undefined) return result
      if (tries === TRIES_MAX) return { ...result, broke: { code: 'rate-limited' } }
      result.remove()
      turnedAway = result
      const retryAfterMs = result.rateLimit.retryAfterMs
      const grown = Math.min(PAUSE_MAX_MS, FIRST_MS * 2 ** (tries - 1))

      // Respects the provider's delay, within limits.
      const wanted = Math.min(retryAfterMs ?? grown, 10 * PAUSE_MAX_MS)
      const ms = wanted + randomInt(0, Math.ceil(grown / 4))
      this.onPause?.(ms)
      this.#until = Math.max(this.#until, Date.now() + ms)
    }
  }
}

export type ProcessForksOptions = Pick<
  BlameSearch,
  | 'tape'
  | 'process'
  | 'steps'
  | 'oracle'
  | 'pool'
  | 'seed'
  | 'timeoutMs'
  | 'signal'
  | 'tapesFolder'
  | 'onPause'
> &
  Partial<
    Pick<BlameSearch, 'env' | 'freesUnset' | 'code'> &
      Pick<Interventions, 'answers' | 'simulator' | 'recordings' | 'liveTools' | 'live'>
  > & {
    readonly stored: StoredForks
  }

const GOOD_MAX = 3

/**
 * Forks of a recorded run, each in its own process, judged by an oracle. Stores the result of a
 * fork before returning it, and never runs a fork twice.
 */
export class ProcessForks implements ForkSource {
  readonly stepCount: number
  readonly recorded: readonly string[]
  readonly ambient: readonly AmbientInput[]
  readonly alwaysPinned: readonly string[]
  readonly concurrency: number
  readonly isDeterministic: boolean
  /** Forks run by this search. */
  newForks = 0
  storedForks = 0
  /** Reasons for missing verdicts, with counts; includes stored forks. */
  readonly undefinedBy: Record<string, number> = {}
  /** Tools and kinds of steps that forks were not allowed to run; includes stored forks. */
  readonly blocked = new Set<string>()
  forced = 0
  /** By label, how often a step with effects got its recorded answer although its arguments differed. */
  readonly assumed: Record<string, number> = {}
  liveSteps = 0
  /** Totals over all forks, including those of `--classic` and `--spans`. */
  tokens = 0
  costUsd = 0
  isCostKnown = true
  /** Known cost of the new forks. */
  spentUsd = 0
  readonly #underWay = new Map<string, Promise<Fork>>()
  readonly #pause: RateLimitPause
  readonly #closing = new AbortController()
  readonly #ended: Deadline
  /** Forks seen by this search, new and stored. */
  readonly #seen: StoredFork[] = []
  /** Servers on pipes and other processes can be forked only from the start of the tape. */
  readonly #leavesAtStart: boolean
  /** Coalitions and outcomes with a saved tape. */
  readonly #saved = new Set<string>()
  readonly #samples: StoredSamples
  /** Number of model answers reused from an earlier search. */
  sampled = 0

  /** Replays the run first, to verify the program and to find its ambient inputs. */
  static async open(options: ProcessForksOptions): Promise<ProcessForks> {
    const { tape, process: run, steps, env = {}, freesUnset, code } = options
    let { drawSites } = run
    if (drawSites === undefined) {
      const timeoutMs = Math.max(options.timeoutMs, REPLAY_MS)
      const replay = { stdio: 'ignore', timeoutMs, reportsDrawSites: true, code } as const
      const { divergences, drawSites: drawn = {} } = await replayAgent(tape, replay)
      const [divergence] = divergences
      if (divergence) throw agentChanged(tape, divergence, code)
      drawSites = drawn
    }
    return new ProcessForks(options, findAmbientInputs(run, steps, { drawSites, env, freesUnset }))
  }

  private constructor(
    private readonly options: ProcessForksOptions,
    private readonly found: FoundAmbient,
  ) {
    this.ambient = found.inputs.map(({ input }) => input)
    this.alwaysPinned = found.unsetVariables
    this.#leavesAtStart =
      this.ambient.length > 0 ||
      options.process.children.size > 0 ||
      options.steps.some(({ seq, process: { tape } }) => tape.event(seq).type === 'write')
    this.stepCount = options.steps.length
    this.recorded = options.steps.map(stepValue)
    this.concurrency = options.pool.size
    this.isDeterministic = isDeterministic(options, found)
    this.#ended = new Deadline({ signals: [options.signal, this.#closing.signal] })
    // Every running fork listens to these signals.
    setMaxListeners(0, options.signal, this.#ended.signal)
    this.#samples = new StoredSamples(options.tape)
    this.#pause = new RateLimitPause(this.#ended.signal, options.onPause)
  }

  /** Aborts running forks. No fork can run afterwards. */
  close(): void {
    this.#closing.abort()
  }

  /** Resolves when no fork is running. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#underWay.values())
  }

  fork(coalition: Coalition, draw: number): Promise<Fork> {
    const { pinned, ambient, given = [] } = coalition
    // The result of an unwrapped tool shows only in free steps.
    const isReplay =
      this.options.steps.every((step, index) => step.inferred || pinned.includes(index)) &&
      ambient.length === this.ambient.length
    const key = coalitionKey(coalition, draw)
    return this.#once(key, async () => {
      if (isReplay) {
        // The outcome is the recorded one, so only the oracle runs again.
        const { tape, oracle } = this.options
        const judgement = await oracle(readOutcome(tape), this.#ended.signal)
        return { ...NO_FORK, ...verdictOf(judgement), values: this.recorded }
      }
      const transplants = await this.#transplants(given)
      if (typeof transplants === 'string') return { ...NO_FORK, why: transplants }
      return this.#runLive(this.#planOf(coalition, transplants), key)
    })
  }

  /**
   * Answers of the steps of a cause, and forks that show it: a failing fork with the recorded
   * values of its steps, and a passing fork with other values. Considers only forks of this search.
   */
  detailOf(labels: readonly string[]): CauseDetail {
    const { steps, stored } = this.options
    const causing = labels.map((label) => steps.findIndex((step) => step.label === label))
    const isRecorded = ({ values }: StoredFork, step: number): boolean =>
      values[step] === this.recorded[step]
    const passing = this.#seen.filter(
      (fork) => fork.outcome === 'pass' && causing.some((step) => !isRecorded(fork, step)),
    )
    const failing = this.#seen.filter(
      (fork) => fork.outcome === 'fail' && causing.every((step) => isRecorded(fork, step)),
    )
    const [failingFork, passingFork] = [failing, passing].map(
      (forks) => forks.find(({ tape }) => tape !== undefined)?.tape,
    )
    const isSaved = failingFork !== undefined || passingFork !== undefined
    return {
      steps: labels,
      ...defined({ failingFork, passingFork, tapes: isSaved ? this.tapes : undefined }),
      values: causing.flatMap((index) => {
        const step = steps[index]
        if (step === undefined) return []
        const others = passing.flatMap((fork) =>
          isRecorded(fork, index) ? [] : (fork.values[index] ?? []),
        )
        const good = [...new Set(others)]
          .flatMap((value) => stored.answer(index, value)?.said ?? [])
          .slice(0, GOOD_MAX)
        return { step: step.label, bad: describeAnswer(step), good }
      }),
    }
  }

  get tapes(): string {
    return this.options.tapesFolder ?? this.options.stored.tapes
  }

  /** Removes all fork tapes except these, unless the user chose a folder for them. */
  discardTapes(except: readonly string[]): void {
    const { tapesFolder, stored } = this.options
    if (tapesFolder !== undefined || !existsSync(stored.tapes)) return
    if (except.length === 0) rmSync(stored.tapes, { recursive: true, force: true })
    else
      for (const name of readdirSync(stored.tapes))
        if (!except.includes(path.basename(name, '.tape')) && name !== this.#parentName)
          rmSync(path.join(stored.tapes, name), { recursive: true, force: true })
  }

  #planOf(
    { pinned, mode, ambient, given = [] }: Coalition,
    transplants: Transplants,
  ): Omit<TreePlan, 'seed'> {
    const { steps, answers = {} } = this.options
    const isGiven = new Set(given.map(({ step }) => step))
    const labels = pinned
      .filter((index) => !isGiven.has(index))
      .flatMap((index) => steps[index]?.label ?? [])
    return {
      pinned: [...labels, ...transplants.pinned],
      mode,
      answers: { ...answers, ...transplants.answers },
      // If no input could differ, everything up to the first free step is served.
      ...(this.#leavesAtStart && { ambient }),
    }
  }

  /** Answers of the steps in other forks, or the reason why one cannot be given. */
  async #transplants(given: NonNullable<Coalition['given']>): Promise<Transplants | string> {
    const { steps, stored } = this.options
    const pinned: string[] = []
    const answers: Record<string, FreeAnswer> = {}
    for (const { step, from, draw } of given) {
      const label = steps[step]?.label ?? '?'
      const { values } = await this.fork(from, draw)
      const value = values[step]
      if (value === undefined)
        return `step ${label} was not reached in the fork that it is taken from`
      const answer = stored.answer(step, value)?.given
      if (value === this.recorded[step]) pinned.push(label)
      else if (answer === undefined)
        return `the answer of step ${label} cannot be given to another fork`
      else answers[label] = answer
    }
    return { pinned, answers }
  }

  /** Forks with a changed request of a step; everything after it is live. */
  forkRequest(at: string, request: unknown, draw: number): Promise<Fork> {
    const { answers: { [at]: _, ...answers } = {} } = this.options
    const key = `asked ${at} ${shortDigest(canonicalFindings(request))} #${draw}`
    const plan = { ...this.#planUpTo(at), answers, requests: { [at]: request } }
    return this.#once(key, () => this.#runLive(plan, key))
  }

  /** Forks with another answer of a step, pinned before it and free after it. */
  forkAnswer(at: string, answer: FreeAnswer, draw: number): Promise<Fork> {
    const { answers = {} } = this.options
    const key = `answered ${at} ${shortHash(answer)} #${draw}`
    const plan = { ...this.#planUpTo(at), answers: { ...answers, [at]: answer } }
    return this.#once(key, () => this.#runLive(plan, key))
  }

  /** Pins everything before a step. */
  #planUpTo(at: string): Omit<TreePlan, 'seed'> {
    const before = this.options.steps.findIndex(({ label }) => label === at)
    const pinned = Array.from({ length: before }, (_, index) => index)
    return this.#planOf({ pinned, mode: 'free', ambient: [] }, { pinned: [], answers: {} })
  }

  /** Reuses running and stored forks. */
  async #once(key: string, run: () => Promise<NewFork>): Promise<Fork> {
    const known = this.#underWay.get(key)
    if (known !== undefined) return { ...(await known), isServed: true }
    const fork = this.#forkOnce(key, run)
    this.#underWay.set(key, fork)
    return fork
  }

  async #forkOnce(key: string, run: () => Promise<NewFork>): Promise<Fork> {
    const stored = this.options.stored.find(key)
    const { answers, ...fork }: NewFork = stored ?? (await run())
    if (stored === undefined) {
      this.#ended.signal.throwIfAborted()
      this.newForks += 1
      this.spentUsd += fork.costUsd ?? 0
      this.options.stored.add(key, fork, answers)
    } else this.storedForks += 1
    this.#seen.push(fork)
    const { outcome, values, why, blocked, forced, assumed = [], tokens, costUsd } = fork
    const { repeatsError } = fork
    if (blocked !== undefined) this.blocked.add(blocked)
    if (why !== undefined) this.undefinedBy[why] = (this.undefinedBy[why] ?? 0) + 1
    this.forced += forced
    for (const label of assumed) this.assumed[label] = (this.assumed[label] ?? 0) + 1
    this.liveSteps += fork.liveSteps
    this.tokens += tokens ?? 0
    this.costUsd += costUsd ?? 0
    if (costUsd === undefined) this.isCostKnown = false
    return {
      outcome,
      values: values.map((value) => value ?? undefined),
      forced,
      ...(stored && { isServed: true }),
      ...defined({ tokens, costUsd, repeatsError }),
    }
  }

  /** Forks with different keys get different seeds. */
  async #runLive(plan: Omit<TreePlan, 'seed'>, key: string): Promise<NewFork> {
    const { pool, tape, steps, oracle, env = {}, timeoutMs, simulator, code } = this.options
    const { recordings, liveTools } = this.options
    const sampleKey = `${this.options.seed} ${key}`
    const seed = createHash('sha256').update(sampleKey).digest().readUInt32BE(0)
    const job = {
      tape: path.resolve(tape.path),
      plan: planProcess(
        { process: this.options.process, steps, found: this.found, env },
        {
          ...plan,
          seed,
          ...defined({ simulator, recordings, liveTools, samples: this.#samples.find(sampleKey) }),
        },
      ),
      timeoutMs,
      env,
      ...defined({ root: code?.root }),
    }
    const run = await this.#pause.retrying(() => pool.run(job, this.#ended.signal))
    try {
      if (run.changed !== undefined) throw agentChanged(tape, run.changed, code)
      this.#samples.add(sampleKey, run.samples)
      this.sampled += run.sampled
      const { liveSteps, forced, assumed, tokens, costUsd } = run
      const judgement =
        run.broke === undefined
          ? await oracle(run.outcome, this.#ended.signal)
          : ({ verdict: 'undefined', reason: breakageText(run.broke) } as const)
      const saved = this.#saveTape(run, `${key.replace(/ #\d+$/, '')} ${judgement.verdict}`)
      return {
        ...verdictOf(judgement),
        values: steps.map(({ label }) => run.values[label] ?? null),
        liveSteps,
        forced,
        ...(assumed.length > 0 && { assumed }),
        ...(isSameError(run.outcome, readOutcome(tape)) && { repeatsError: true }),
        tokens,
        ...defined({
          costUsd,
          tape: saved,
          blocked: run.broke?.code === 'no-answer' ? run.broke.effect : undefined,
        }),
        answers: Object.fromEntries(
          steps.flatMap(({ label }, index) => {
            const answer = run.answers[label]
            return answer === undefined ? [] : [[index, answer]]
          }),
        ),
      }
    } finally {
      run.remove()
    }
  }

  /** Saves one tape of each kind, or all if the user wants them. */
  #saveTape({ tape }: ForkRun, kind: string): string | undefined {
    const { tapesFolder, stored } = this.options
    const folder = tapesFolder ?? stored.tapes
    if (tape === undefined || (tapesFolder === undefined && this.#saved.has(kind))) return undefined
    this.#saved.add(kind)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const parent = path.join(folder, this.#parentName)
    if (!existsSync(parent)) copyFileSync(this.options.tape.path, parent)
    const target = path.join(folder, path.basename(tape))
    copyFileSync(tape, target)
    return path.basename(target, '.tape')
  }

  get #parentName(): string {
    return `${this.options.tape.run.id}.tape`
  }
}

const agentChanged = (
  tape: Tape,
  { summary }: Divergence,
  code: RecordedCode | undefined,
): RetakeError =>
  cliErrors.BLAME_AGENT_CHANGED(tape.run.id, summary, code === undefined ? '' : ' --code recorded')

/**
 * True if forks of one coalition cannot differ: nothing is live or simulated, no clock, random
 * value, order or timer matters, nothing runs beside the agent, and the oracle compares text.
 */
function isDeterministic(
  { tape, process: run, oracle, live, simulator }: ProcessForksOptions,
  { inputs }: FoundAmbient,
): boolean {
  if (live?.length !== 0 || simulator !== undefined || run.children.size > 0) return false
  if (!COMPARES_TEXT.test(oracle.text)) return false
  if (!inputs.every(({ input: { kind } }) => kind === 'file' || kind === 'environment'))
    return false
  for (const event of tape.events(1))
    if (event.type === 'timer' || (event.type === 'call' && event.kind === 'worker')) return false
  return true
}

const isSameError = ({ error: one }: RunOutcome, { error: other }: RunOutcome): boolean =>
  one !== undefined && one.class === other?.class && one.message === other.message

const COMPARES_TEXT = /^(not:\s*)*(exit|stdout|json):/

type NewFork = StoredFork & { readonly answers?: StepAnswers }

/** Answers of other forks, by label. Recorded answers are pinned. */
interface Transplants {
  readonly pinned: readonly string[]
  readonly answers: Readonly<Record<string, FreeAnswer>>
}

const NO_FORK = {
  outcome: 'undefined',
  values: [],
  liveSteps: 0,
  forced: 0,
  tokens: 0,
  costUsd: 0,
} as const

const verdictOf = ({
  verdict,
  reason,
}: Judgement): Pick<StoredFork, 'outcome' | 'why' | 'reason'> => ({
  outcome: verdict,
  ...(verdict === 'undefined' ? { why: reason } : { reason }),
})

/** Minimum time limit of the replay. */
const REPLAY_MS = 120_000
