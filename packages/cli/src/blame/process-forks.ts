import { createHash } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { copyFileSync, mkdirSync } from 'node:fs'
import path from 'node:path'
import type { Coalition, Fork, ForkSource } from '@retake/diagnose'
import type { FreeAnswer, KeptPlan } from '@retake/engine'
import type { Step, Tape } from '@retake/tape'
import { blameAgentChanged } from '../errors/blame.js'
import { readOutcome } from '../oracle/read-outcome.js'
import type { Oracle } from '../oracle/oracle.js'
import { replayAgent } from '../replay-agent.js'
import type { ForkPool } from './fork-pool.js'
import type { ForkRun } from './fork-run.js'
import { RateLimitPause } from './rate-limit-pause.js'
import { coalitionKey } from './stored-forks.js'
import type { StoredFork, StoredForks } from './stored-forks.js'
import { stepRanges } from './step-ranges.js'
import { canonical, stepValue } from './step-value.js'

export interface ProcessForksOptions {
  readonly tape: Tape
  /** The steps that are searched, in order. */
  readonly steps: readonly Step[]
  readonly oracle: Oracle
  readonly pool: ForkPool
  readonly stored: StoredForks
  /** By label, how a free step is answered; live unless named. */
  readonly answers?: Readonly<Record<string, FreeAnswer>>
  /** File of a module that answers free steps. */
  readonly simulator?: string
  readonly seed: number
  readonly env?: Readonly<Record<string, string>>
  readonly timeoutMs: number
  /** Ends everything that is under way. */
  readonly signal: AbortSignal
  /** Folder for the tapes of forks; they are thrown away unless set. */
  readonly keepIn?: string
  readonly onPause?: (ms: number) => void
}

/**
 * Forks of a recorded run, each a process of its own, judged by an oracle. What a
 * fork came to is stored before it is handed on, and never run a second time.
 */
export class ProcessForks implements ForkSource {
  readonly stepCount: number
  readonly recorded: readonly string[]
  readonly concurrency: number
  /** Forks that were run and not found among the stored ones. */
  newForks = 0
  /** Forks that were already stored. */
  storedForks = 0
  /** Why forks came to no verdict, with how often; stored ones count as well. */
  readonly undefinedBy: Record<string, number> = {}
  forced = 0
  liveSteps = 0
  /** Of all forks, those of the comparison and of words, too. */
  tokens = 0
  costUsd = 0
  isCostKnown = true
  /** What the new forks have cost, as far as it is known. */
  spentUsd = 0
  readonly #options: ProcessForksOptions
  readonly #underWay = new Map<string, Promise<Fork>>()
  readonly #pause: RateLimitPause
  readonly #closing = new AbortController()
  readonly #signal: AbortSignal
  #replay: Promise<void> | undefined

  constructor(options: ProcessForksOptions) {
    this.#options = options
    this.stepCount = options.steps.length
    this.recorded = options.steps.map(stepValue)
    this.concurrency = options.pool.size
    this.#signal = AbortSignal.any([options.signal, this.#closing.signal])
    // Every fork under way listens to them.
    setMaxListeners(0, options.signal, this.#signal)
    this.#pause = new RateLimitPause(this.#signal, options.onPause)
  }

  /** Ends what is under way; nothing can be forked after it. */
  close(): void {
    this.#closing.abort()
  }

  /** Nothing is under way any more. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#underWay.values())
  }

  fork(coalition: Coalition, draw: number): Promise<Fork> {
    const isReplay = coalition.kept.length === this.stepCount
    return this.#once(coalitionKey(coalition, draw), () =>
      isReplay ? this.#judgeReplay() : this.#runLive(this.#planOf(coalition, draw)),
    )
  }

  /** A step is asked something else; what follows happens anew. */
  ask(at: string, request: unknown, draw: number): Promise<Fork> {
    const asked = createHash('sha256').update(canonical(request)).digest('hex').slice(0, 16)
    const key = `asked ${at} ${asked} #${draw}`
    return this.#once(key, () => this.#runLive(this.#askedPlan(at, request, key)))
  }

  #askedPlan(at: string, request: unknown, key: string): KeptPlan {
    const { steps, answers = {}, simulator, seed } = this.#options
    const labels = steps.map(({ label }) => label)
    const { [at]: _, ...others } = answers
    return {
      kept: labels.slice(0, labels.indexOf(at)),
      mode: 'free',
      answers: others,
      questions: { [at]: request },
      ...(simulator !== undefined && { simulator }),
      seed: seedOf(`${seed} ${key}`),
    }
  }

  /** Repeating a fork that ran before costs nothing. */
  async #once(key: string, run: () => Promise<StoredFork>): Promise<Fork> {
    const known = this.#underWay.get(key)
    if (known !== undefined) return { ...(await known), isServed: true }
    const fork = this.#forkOnce(key, run)
    this.#underWay.set(key, fork)
    return fork
  }

  async #forkOnce(key: string, run: () => Promise<StoredFork>): Promise<Fork> {
    const stored = this.#options.stored.find(key)
    const fork = stored ?? (await this.#runAndStore(key, run))
    if (fork.why !== undefined) this.undefinedBy[fork.why] = (this.undefinedBy[fork.why] ?? 0) + 1
    this.forced += fork.forced
    this.liveSteps += fork.liveSteps
    this.tokens += fork.tokens ?? 0
    this.costUsd += fork.costUsd ?? 0
    if (fork.costUsd === undefined) this.isCostKnown = false
    if (stored === undefined) this.spentUsd += fork.costUsd ?? 0
    else this.storedForks += 1
    return {
      outcome: fork.outcome,
      values: fork.values.map((value) => value ?? undefined),
      ...(stored && { isServed: true }),
      ...(fork.tokens !== undefined && { tokens: fork.tokens }),
      ...(fork.costUsd !== undefined && { costUsd: fork.costUsd }),
    }
  }

  async #runAndStore(key: string, run: () => Promise<StoredFork>): Promise<StoredFork> {
    const fork = await run()
    this.#signal.throwIfAborted()
    this.newForks += 1
    this.#options.stored.add(key, fork)
    return fork
  }

  /** Everything kept is a replay. It comes to the same each time, so only the oracle is asked again. */
  async #judgeReplay(): Promise<StoredFork> {
    const { tape, oracle } = this.#options
    await this.#checkProgram()
    const { verdict, reason } = await oracle(readOutcome(tape), this.#signal)
    return {
      outcome: verdict,
      ...(verdict === 'undefined' && { why: reason }),
      values: this.recorded,
      liveSteps: 0,
      forced: 0,
      tokens: 0,
      costUsd: 0,
    }
  }

  /** Once, also where all replays are stored: forks of another program must not be added to them. */
  #checkProgram(): Promise<void> {
    this.#replay ??= replayRun(this.#options)
    return this.#replay
  }

  async #runLive(plan: KeptPlan): Promise<StoredFork> {
    const { pool, tape, env = {}, timeoutMs } = this.#options
    const job = { tape: path.resolve(tape.path), plan, timeoutMs, env }
    await this.#checkProgram()
    const run = await this.#pause.retrying(() => pool.run(job, this.#signal))
    try {
      if (run.changed !== undefined) throw blameAgentChanged(tape.run.id, run.changed.summary)
      const judged = await this.#judge(run)
      const kept = this.#keepTape(run)
      return { ...judged, ...(kept !== undefined && { tape: kept }) }
    } finally {
      run.remove()
    }
  }

  async #judge(run: ForkRun): Promise<StoredFork> {
    const { steps, oracle } = this.#options
    const { verdict, reason } =
      run.broke === undefined
        ? await oracle(run.outcome, this.#signal)
        : { verdict: 'undefined' as const, reason: run.broke }
    return {
      outcome: verdict,
      ...(verdict === 'undefined' && { why: reason }),
      values: steps.map(({ label }) => run.values[label] ?? null),
      liveSteps: run.liveSteps,
      forced: run.forced,
      tokens: run.tokens,
      ...(run.costUsd !== undefined && { costUsd: run.costUsd }),
    }
  }

  #planOf({ kept, mode }: Coalition, draw: number): KeptPlan {
    const { steps, answers, simulator, seed } = this.#options
    return {
      kept: kept.flatMap((index) => steps[index]?.label ?? []),
      mode,
      ...(answers && { answers }),
      ...(simulator !== undefined && { simulator }),
      seed: seedOf(`${seed} ${mode} ${stepRanges(kept)} ${draw}`),
    }
  }

  #keepTape({ tape }: ForkRun): string | undefined {
    const { keepIn } = this.#options
    if (keepIn === undefined || tape === undefined) return undefined
    mkdirSync(keepIn, { recursive: true })
    const target = path.join(keepIn, path.basename(tape))
    copyFileSync(tape, target)
    return path.basename(target, '.tape')
  }
}

/** Two forks that differ in anything have seeds that differ. */
const seedOf = (text: string): number => createHash('sha256').update(text).digest().readUInt32BE(0)

/** A limit for forks that may hang; a replay has nothing to wait for. */
const REPLAY_MS = 120_000

/** Shows that the program still is the one that was recorded. */
async function replayRun({ tape, timeoutMs: forkMs }: ProcessForksOptions): Promise<void> {
  const timeoutMs = Math.max(forkMs, REPLAY_MS)
  const { divergences } = await replayAgent(tape, { stdio: 'ignore', timeoutMs })
  const [divergence] = divergences
  if (divergence !== undefined) throw blameAgentChanged(tape.run.id, divergence.summary)
}
