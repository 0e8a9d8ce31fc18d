import { defined } from '@retake/tape'
import { confidenceSequence } from '../search/stats.js'
import type { FixCandidate, FixContext } from './candidates.js'
import { type Attempt } from './uses.js'
import { type Claim, claimOf } from './claims.js'
import {
  COMBINATIONS_MAX,
  combineFixes,
  isFurther,
  MEMBERS_MAX,
  type RunProgress,
} from './combine-fixes.js'
import type { Loss } from './losses.js'
import { type Refusal, reviewEdit, type RunLiteral } from './review-edit.js'
import { isPartOf } from './probes.js'
import { rankFixes } from './rank-fixes.js'
import type { Symptom } from './symptoms.js'

/** Text that a run printed, and how it ended. */
export interface TrialOutput {
  readonly stdout: string
  /** `exit code 1`, or the error. */
  readonly end: string
}

/** One run of the agent with a candidate applied, or without one (the control arm). */
export interface FixTrial {
  /** `undefined`: the agent broke, a call was refused, or the oracle could not decide. */
  readonly verdict: 'pass' | 'fail' | 'undefined'
  readonly reason: string
  readonly tape?: string
  readonly costUsd?: number
  /** Requests that were sent to a real model or tool. */
  readonly live: number
  /**
   * Label of the first step whose recorded answer was replaced by a live one, because its request
   * changed or was repeated. Retrying a request that failed on the tape does not count. Missing if
   * every recorded answer was used.
   */
  readonly liveFrom?: string
  /** Number of recorded answers given to a changed request. */
  readonly pinnedToChanged: number
  /** Set if the agent stopped for a reason other than the recorded failure. */
  readonly broke?: string
  /** Tools whose changed code did not run for lack of a sandbox. */
  readonly notRun?: readonly string[]
  /** Tools that answered from the tape in a run that did not differ from the recorded one. */
  readonly servedTools?: readonly string[]
  /** Set if a call was refused because the tape has no answer for it. */
  readonly refused?: string
  /** For a run with a candidate that passed: what it printed, and lost compared with the failed run. */
  readonly output?: TrialOutput
  readonly losses?: readonly Loss[]
  /** Forbidden things that the changed code tried. */
  readonly attempts?: readonly Attempt[]
  /** For a variant of the run, `undefined`: it fails, but not as the recorded run does. */
  readonly failsOtherwise?: true
  /** For a variant of the run, `undefined`: it ends with an error of the language, another one. */
  readonly crashes?: true
  /** For a variant that fails: a value of the recorded run that it writes, and never got. */
  readonly recordedValue?: string
  /** For a variant: what it printed and sent, up to a request without a recorded answer. */
  readonly did?: {
    readonly digest: string
    readonly isThrown: boolean
    /** True if it printed or sent a word such as `undefined`. */
    readonly isEmpty: boolean
  }
  /** How far the run came. */
  readonly progress?: RunProgress
  readonly ms: number
  /** True if the result comes from an earlier trial: it counts as evidence, but not as a fork. */
  readonly isStored?: boolean
  /** Set if the code was not run: a model wrote it, and there is no sandbox. */
  readonly isUnconfined?: boolean
  /** Variables that the project needs from here on, that the failed run did not read, and that are not set. */
  readonly missingVariables?: readonly string[]
  /** The `host:port` of a request that was not sent, because the sandbox cannot reach it. */
  readonly unknownAddress?: string
}

export interface CorpusResult {
  readonly tape: string
  readonly result: 'identical' | 'same-outcome' | 'breaks' | 'not-checked'
  readonly reason?: string
  /** Set if it prints something else: the first line that differs. */
  readonly output?: { readonly before: string; readonly after: string }
  readonly attempts?: readonly Attempt[]
}

/** A copy of the failed run in which values are changed everywhere. */
export interface Probe {
  readonly id: string
  /** Values of the recorded run, and those in their place. */
  readonly changes: readonly { readonly from: string; readonly to: string }[]
  /** Set if the change may have nothing to do with the failure, so that passing shows nothing. */
  readonly onlyRejects?: true
  /** Set if values only have other names, which code that does not contain them cannot notice. */
  readonly isRenaming?: true
}

/** The recorded answer, in a form that the unchanged code may expect, and pairs with other values. */
export interface Form {
  /** Set if both mean the same to everybody, as a number does with and without signs in it. */
  readonly isCertain?: true
  readonly recorded: Probe
  readonly form: Probe
  readonly others: readonly { readonly recorded: Probe; readonly form: Probe }[]
}

/** Runs the agent. Tests implement it with planted worlds. */
export interface TrialSource {
  /**
   * Runs the failing run; without a candidate, this is the control arm. With `liveFrom`, recorded
   * answers are used up to that step and the rest is live, as for the compared candidate.
   */
  failing(candidate: FixCandidate | undefined, index: number, liveFrom?: string): Promise<FixTrial>
  /** Runs another failing run of the same class. */
  sibling(candidate: FixCandidate | undefined, tape: string, index: number): Promise<FixTrial>
  /** Variants of the failed run, most telling first. */
  probes(): Promise<readonly Probe[]>
  /**
   * Runs a variant without network. `fail`: it fails like the recorded run. A variant says nothing
   * unless the unchanged code does.
   */
  probe(candidate: FixCandidate | undefined, probe: Probe): Promise<FixTrial>
  /** Forms of the answers of the failed run. */
  forms(): Promise<readonly Form[]>
  /** Runs a run with the opposite outcome. `pass`: its outcome is as recorded. */
  opposite(candidate: FixCandidate, tape: string): Promise<FixTrial>
  /** Runs the unchanged code with live models and new random values: is it chance? */
  unpinned(index: number): Promise<FixTrial>
  /** Runs every passing tape. */
  corpus(candidate: FixCandidate): Promise<readonly CorpusResult[]>
  /** Changes for what the run with a candidate still does wrong, on top of that candidate. */
  further(candidate: FixCandidate): Promise<readonly FixCandidate[]>
}

export interface TrialCounts {
  readonly trials: number
  readonly passed: number
}

export interface FixEvidence {
  readonly control: TrialCounts
  /** `low`: 95 % lower bound of the pass rate at any stopping time; 1 without chance. */
  readonly fixed: TrialCounts & { readonly low: number }
  /** Trials without the fix, run after those with it. */
  readonly ablated: TrialCounts
  readonly placebo?: TrialCounts
  /** Siblings that fail without the fix. */
  readonly siblings: TrialCounts
  /** Variants of the failed run. */
  readonly probes: TrialCounts
  /** Number of variants in which values only have other names. */
  readonly renamed: number
  readonly opposites: TrialCounts
  readonly isOracleGiven: boolean
  readonly losses: readonly Loss[]
  readonly attempts: readonly Attempt[]
  /** Values of this run that the change compares with. */
  readonly literals: readonly RunLiteral[]
  /** Output of the run with the change. */
  readonly output?: TrialOutput
  readonly corpus: {
    readonly identical: number
    readonly same: number
    readonly breaks: number
    readonly notChecked: number
    /** Reason for the first unchecked run. */
    readonly whyNotChecked?: string
    /** The first passing run that prints something else: what it printed, and prints now. */
    readonly changedOutput?: {
      readonly tape: string
      readonly before: string
      readonly after: string
    }
  }
  readonly causeSetsHit: { readonly hit: number; readonly all: number }
  readonly pinnedToChanged: number
  readonly costUsd?: number
  readonly forks: number
  readonly ms: number
  /** True if no trial with the fix sent anything: the result follows from the tape alone. */
  readonly isExact: boolean
  /** Probability of a difference this large if the fix did nothing; 0 if exact. */
  readonly pValue: number
}

export interface FixVerdict {
  /**
   * `repairs`: the run passes, and nothing is lost. `workaround`: it passes, with losses. `untried`:
   * its changed code did not run.
   */
  readonly status: 'repairs' | 'workaround' | 'rejected' | 'undecided' | 'untried'
  /** Set if the run passes with the change. */
  readonly claim?: Claim
  readonly reason: string
  /** Why it was refused without running, or for what it tried. */
  readonly refusals?: readonly Refusal[]
  /** A variant of the run that it does not repair. */
  readonly failedProbe?: Probe
  /** Why a fix was not tried: the tools that it changes, or the variables or address that it needs. */
  readonly code?:
    | 'FIX_TOOL_NOT_RUN'
    | 'FIX_SANDBOX_MISSING'
    | 'FIX_VARIABLE_MISSING'
    | 'FIX_ADDRESS_MISSING'
  readonly tools?: readonly string[]
  readonly variables?: readonly string[]
  readonly address?: string
}

export interface JudgedFix {
  readonly candidate: FixCandidate
  readonly evidence: FixEvidence
  readonly verdict: FixVerdict
  readonly score: number
  readonly scoreReason: string
}

export interface FixResult {
  readonly status:
    /** A change repairs the run; `claim` says how far that is shown. */
    | 'repaired'
    | 'workaround'
    | 'not-reproduced'
    | 'flaky'
    | 'not-fixed'
    | 'untried'
    | 'not-forkable'
    | 'passing'
  /** The claim of the best fix. */
  readonly claim?: Claim
  readonly reason: string
  /** Output of the failed run. */
  readonly failedOutput?: TrialOutput
  /** True if a limit ended the trials before everything was decided. */
  readonly isCutShort?: true
  readonly reproduced: { readonly trials: number; readonly failed: number }
  readonly symptoms: readonly Symptom[]
  /** Every candidate, best first: those that repair the run before others. */
  readonly fixes: readonly JudgedFix[]
  readonly tried: number
  readonly costUsd?: number
  readonly forks: number
  readonly ms: number
}

export interface ProveOptions {
  /** Maximum probability of accepting any change that has no effect (default: 0.05). */
  readonly alpha?: number
  /** Lower bound of the pass rate that a fix must reach (default: 0.7). */
  readonly target?: number
  readonly maxForks?: number
  readonly maxUsd?: number
  /** Maximum number of concurrent live trials (default: 1). */
  readonly jobs?: number
  /** Number of fixes after which to stop (default: 3). */
  readonly enough?: number
  /** Other failing runs of the same class, by path. They are not used to write candidates. */
  readonly siblings?: readonly string[]
  /** Runs with the opposite expected outcome, by path. */
  readonly opposites?: readonly string[]
  /** True if the user said what a pass is, so that a passing run is more than exit code 0. */
  readonly isOracleGiven?: boolean
  readonly signal?: AbortSignal
}

/** Number of trials of an arm that involves chance. */
const FIRST_TRIALS = 5
const MAX_TRIALS = 40
/** A candidate whose first trials all fail is given up after this many. */
const MAX_FIRST_FAILURES = 3
const MAX_UNDEFINED = 5
/** Variants of the run that a fix must repair, and those tried with the unchanged code to find them. */
const PROBES_MAX = 6
const PROBE_CONTROLS_MAX = 16
/** The same for forms of an answer. */
const FORMS_MAX = 3
const FORM_CONTROLS_MAX = 8

/** Stops the trials. Users never see it as an error: the result contains what is known so far. */
class BudgetSpent extends Error {}

/**
 * Tries candidates against the failing run, a control arm, siblings, opposites and the corpus.
 * Starts no process itself. Accepts a change without effect with a probability of at most `alpha` over
 * the candidates of all rounds (Holm), at any stopping time. What may be said of an accepted change
 * is decided by `claimOf`.
 */
export class FixProof {
  /** Control arms by the step from which they are live; `''` if everything is served. */
  readonly #controls = new Map<string, Arm>()
  readonly #unpinned = new Arm()
  readonly #alpha: number
  readonly #target: number
  readonly #jobs: number
  readonly #maxForks: number
  readonly #judged: Judged[] = []
  readonly #probes: Probe[] = []
  /** Variants on which the unchanged code passes. */
  readonly #passingProbes: Probe[] = []
  /** Variants that were not tried yet. */
  #proposed: Probe[] | undefined
  /** Forms with which the unchanged code works, at least as far as can be seen. */
  #forms: Promise<readonly Form[]> | undefined
  #probeControls = 0
  /** How far the run comes with a candidate, by its id. Known only if nothing was sent. */
  readonly #progress = new Map<string, RunProgress>()
  #candidates = 0
  #combinations = 0
  #forks = 0
  #ms = 0
  #costUsd: number | undefined
  /** Of all trials with the current candidate. */
  #attempts: readonly Attempt[] = []
  /** Reason for ending early. */
  #cutShort: string | undefined

  constructor(
    /** Replaced when the cause of the failure becomes known. */
    public context: FixContext,
    private readonly source: TrialSource,
    private readonly options: ProveOptions = {},
  ) {
    this.#alpha = options.alpha ?? 0.05
    this.#target = options.target ?? 0.7
    this.#jobs = options.jobs ?? 1
    this.#maxForks = options.maxForks ?? DEFAULT_FIX_FORKS
  }

  /** Reproduces the failure, and tries further candidates if it recurs. */
  async prove(candidates: readonly FixCandidate[]): Promise<void> {
    this.#candidates += candidates.length
    await this.#withinLimits(async () => {
      // If everything is served, one run and one confirmation; else enough for a rough rate.
      const control = this.#control(undefined)
      while (control.count < (control.isExact ? 2 : FIRST_TRIALS))
        await this.#drawControl(undefined, 2)

      if (control.failed === 0) return
      for (const candidate of candidates) {
        if (this.#repairCount() >= (this.options.enough ?? 3)) return
        this.#judged.push(await this.#judge(candidate))
      }
      await this.#combine()
    })
  }

  /** Several faults: adds changes to those with which the run comes further, the furthest first. */
  async #combine(): Promise<void> {
    const control = this.#control(undefined).progress
    if (control === undefined || this.#repairCount() > 0) return
    const alone = [...this.#judged]
    const started = alone
      .filter((judged) => isUnfinished(judged) && this.#comesFurther(judged, control))
      .toSorted((left, right) => {
        const [one, other] = [left, right].map(({ candidate }) => this.#progress.get(candidate.id)!)
        return other!.steps - one!.steps || other!.lines - one!.lines || one!.empty - other!.empty
      })
    for (const start of started) {
      let base: Judged | undefined = start
      for (let members = 2; base !== undefined && members <= MEMBERS_MAX; members++) {
        const operators: readonly string[] = base.candidate.operator.split('+')
        // Changes that help alone, then those of the same kind, whose failure comes later.
        const partners = [
          ...started,
          ...alone.filter(({ candidate }) => operators.includes(candidate.operator)),
        ].filter((judged) => judged.verdict.status === 'workaround' || isUnfinished(judged))
        base = await this.#addTo(base.candidate, partners)
        if (base?.verdict.status === 'repairs') return
      }
    }
  }

  /** The first combination of a candidate with another that comes further than it alone. */
  async #addTo(candidate: FixCandidate, partners: readonly Judged[]): Promise<Judged | undefined> {
    const combined = [
      ...(await this.source.further(candidate)),
      ...partners.flatMap((each) => combineFixes(candidate, each.candidate) ?? []),
    ]
    for (const each of combined) {
      if (this.#combinations >= COMBINATIONS_MAX) return undefined
      if (this.#judged.some(({ candidate: { id } }) => id === each.id)) continue
      this.#combinations++
      this.#candidates++
      const judged = await this.#judge(each)
      this.#judged.push(judged)
      const isAhead = this.#comesFurther(judged, this.#progress.get(candidate.id)!)
      if (judged.verdict.status === 'repairs' || isAhead) return judged
    }
    return undefined
  }

  #comesFurther({ candidate }: Judged, before: RunProgress): boolean {
    const progress = this.#progress.get(candidate.id)
    return progress !== undefined && isFurther(progress, before, candidate.edits)
  }

  /**
   * A recorded failure recurs whenever its tape is served. New answers show whether it was bad
   * luck. Each costs a whole run, so they are skipped once a fix is proven.
   */
  async measureFlakiness(): Promise<void> {
    const arm = this.#unpinned
    if (!/^(?:not-fixed|workaround)$/.test(this.status) || !this.#control(undefined).isExact) return
    await this.#withinLimits(async () => {
      while (arm.count < FIRST_TRIALS) {
        await this.#drawInto(arm, FIRST_TRIALS - arm.count, (index) => this.source.unpinned(index))
        if (arm.verdicts < arm.count || arm.passed > 0) return
      }
    })
  }

  async #withinLimits(work: () => Promise<void>): Promise<void> {
    if (this.#cutShort !== undefined) return
    try {
      await work()
    } catch (error) {
      if (!(error instanceof BudgetSpent)) throw error
      this.#cutShort = error.message
    }
  }

  get status(): FixResult['status'] {
    const control = this.#control(undefined)
    if (this.#repairCount() > 0) return 'repaired'
    if (this.#judged.some(({ verdict }) => verdict.status === 'workaround')) return 'workaround'
    if (control.verdicts === 0 && this.#cutShort === undefined) return 'not-forkable'
    if (control.failed === 0) return 'not-reproduced'
    if (this.#flakyArm() !== undefined) return 'flaky'
    return this.#judged.some(({ verdict }) => verdict.status === 'untried')
      ? 'untried'
      : 'not-fixed'
  }

  /** An arm without a fix in which some trials passed. */
  #flakyArm(): Arm | undefined {
    return [this.#unpinned, ...this.#controls.values()].find(({ passed }) => passed > 0)
  }

  get result(): FixResult {
    const { status } = this
    const control = this.#control(undefined)
    const fixes = rankFixes(this.#afterHolm())
    const claim = fixes[0]?.verdict.claim
    return {
      status,
      ...(claim !== undefined && { claim }),
      reason: this.#cutShort ?? statusReason(status, this.#flakyArm() ?? control, fixes),
      ...(this.#cutShort !== undefined && { isCutShort: true }),
      reproduced: { trials: control.verdicts, failed: control.failed },
      symptoms: this.context.symptoms,
      fixes,
      tried: this.#judged.filter(({ verdict }) => verdict.status !== 'untried').length,
      ...(this.#costUsd !== undefined && { costUsd: this.#costUsd }),
      forks: this.#forks,
      ms: this.#ms,
    }
  }

  // ── One candidate ─────────────────────────────────────────────────────────

  async #judge(candidate: FixCandidate): Promise<Judged> {
    const fixed = new Arm()
    this.#attempts = []
    const evidence: CollectedEvidence = { fixed, before: this.#forks }
    const judged = (
      status: FixVerdict['status'],
      reason: string,
      pValue = 1,
      more: Partial<FixVerdict> = {},
    ): Judged => this.#conclude(candidate, evidence, { status, reason, ...more }, pValue)
    const { refusals, losses, literals } = reviewEdit(candidate, this.context)
    Object.assign(evidence, { losses, literals })
    if (refusals.length > 0) return judged('rejected', REFUSED, 1, { refusals })

    try {
      const trials = await this.#tryFixed(candidate, fixed)
      if (fixed.isExact && fixed.progress !== undefined)
        this.#progress.set(candidate.id, fixed.progress)
      if (this.#attempts.length > 0) return judged('rejected', ATTEMPTED)
      if (trials?.status === 'untried')
        return this.#conclude(candidate, { ...evidence, fixed: new Arm() }, trials, 1)
      if (trials !== undefined) return judged(trials.status, trials.reason)
      const control = this.#control(fixed.liveFrom)
      evidence.control = control

      // One more run without the fix: the failure must recur.
      const isExact = fixed.isExact && control.isExact
      const before = control.counts()
      await this.#drawControl(fixed.liveFrom, 1)
      const after = control.counts()
      evidence.ablated = {
        trials: after.trials - before.trials,
        passed: after.passed - before.passed,
      }
      if (isExact && control.passed > 0)
        return judged('rejected', 'The run also passes without the fix.')

      const pValue = isExact ? 0 : differencePValue(fixed, control)
      if (!isExact && pValue > this.#alpha)
        return judged(
          'undecided',
          `It is not clearly better than no fix: ${fixed.rate} against ${control.rate}.`,
          pValue,
        )

      for (const check of this.#checks) {
        const why = await check(candidate, evidence)
        if (this.#attempts.length > 0) return judged('rejected', ATTEMPTED)
        if (why !== undefined)
          return judged('rejected', why, 1, defined({ failedProbe: evidence.failedProbe }))
      }
      // Another run that fails alike, and passes with it, has other values.
      if ((evidence.siblings?.passed ?? 0) > 0)
        evidence.losses = losses.filter(({ code }) => code !== 'VALUE_NAMED')
      const isLossy = (evidence.losses ?? []).length + fixed.losses.length > 0
      return judged(
        isLossy ? 'workaround' : 'repairs',
        isExact
          ? `The recorded run passes with the ${isLossy ? 'change' : 'fix'} and fails without it.`
          : `It passes ${fixed.rate} with the ${isLossy ? 'change' : 'fix'} and ${control.rate} without it.`,
        pValue,
      )
    } catch (error) {
      if (error instanceof BudgetSpent) this.#judged.push(judged('undecided', error.message))
      throw error
    }
  }

  /** Runs with the fix until decided. Returns undefined if it passes often enough. */
  async #tryFixed(candidate: FixCandidate, fixed: Arm): Promise<FixVerdict | undefined> {
    for (;;) {
      // One failure of a recorded run decides, so only live trials run concurrently.
      const wanted = fixed.isExact ? 1 : this.#jobs
      const trial = await this.#drawInto(fixed, wanted, (index) =>
        this.source.failing(candidate, index),
      )
      // The run shows nothing about code that did not run.
      if (trial.notRun !== undefined && trial.verdict !== 'pass')
        return {
          status: 'untried',
          reason: `It changes the code of ${trial.notRun.join(', ')}, which runs only in a sandbox.`,
          code: 'FIX_TOOL_NOT_RUN',
          tools: trial.notRun,
        }
      if (trial.isUnconfined === true)
        return {
          status: 'untried',
          reason: 'A model wrote it, and there is no sandbox to run it in.',
          code: 'FIX_SANDBOX_MISSING',
        }
      if (trial.missingVariables !== undefined && trial.verdict !== 'pass')
        return {
          status: 'untried',
          reason: `It needs ${trial.missingVariables.join(', ')}, which the failed run did not read and which is not set.`,
          code: 'FIX_VARIABLE_MISSING',
          variables: trial.missingVariables,
        }
      if (trial.unknownAddress !== undefined)
        return {
          status: 'untried',
          reason: `It makes a request to ${trial.unknownAddress} that the failed run never reached, and the sandbox does not know this address.`,
          code: 'FIX_ADDRESS_MISSING',
          address: trial.unknownAddress,
        }
      // A call refused before anything was sent is refused every time.
      const isCertain = fixed.isExact && (trial.refused !== undefined || fixed.count >= 2)
      if (fixed.passed === 0 && fixed.undefinedCount >= (isCertain ? 1 : MAX_UNDEFINED))
        return noVerdict(trial)
      if (fixed.verdicts === 0) continue
      // The run shows nothing about code that only a tool calls, if that tool did not run.
      if (fixed.isExact && fixed.passed === 0 && trial.servedTools !== undefined)
        return undecided(
          `With it, the run is the same as before. Code that only ${trial.servedTools.join(', ')} calls did not run, because the tape answered.`,
        )
      const stillFails = `The run still fails with the fix: ${trial.reason}`
      if (fixed.isExact && fixed.failed > 0) return rejected(stillFails)
      if (fixed.isExact && fixed.passed >= 2) return undefined
      if (fixed.isExact) continue
      if (this.#repairCount() > 0)
        return undecided('It needs live requests, and another fix is already found.')
      if (fixed.passed === 0 && fixed.failed >= MAX_FIRST_FAILURES) return rejected(stillFails)
      const { high, low } = fixed.bounds(0.05)
      if (high < this.#target)
        return rejected(`It passes only ${fixed.rate} with the fix: ${trial.reason}`)
      const control = this.#control(fixed.liveFrom)
      const isOftenEnough = low >= this.#target
      // A control arm that always fails separates quickly, so it needs fewer trials than the fix.
      const controls = isOftenEnough ? fixed.verdicts : Math.ceil(fixed.verdicts / 3)
      while (control.verdicts < (control.isExact ? 2 : controls)) {
        const missing = control.isExact ? 1 : controls - control.verdicts
        await this.#drawControl(fixed.liveFrom, missing)
        if (control.undefinedCount >= MAX_UNDEFINED) break
        if (isApart(fixed, control, this.#alpha / this.#candidates)) break
      }
      if (control.verdicts === 0 && control.count >= MAX_UNDEFINED)
        return undecided(`No run without the fix came to a verdict: ${control.lastReason}`)
      const isBetter = isApart(fixed, control, this.#alpha / this.#candidates)
      if (isBetter && isOftenEnough) return undefined
      if (fixed.count >= MAX_TRIALS)
        return isOftenEnough
          ? undefined
          : undecided(`It passes ${fixed.rate} with the fix, which is not often enough.`)
    }
  }

  /** Further checks of a fix that works. Each adds evidence, and may return why to reject. */
  readonly #checks: readonly ((
    candidate: FixCandidate,
    evidence: CollectedEvidence,
  ) => Promise<string | undefined>)[] = [
    // The same change at an unrelated location must not help.
    async (candidate, evidence) => {
      const { placebo } = candidate
      if (placebo === undefined) return undefined
      const arm = (evidence.placebo = new Arm())
      while (arm.count < FIRST_TRIALS) {
        const trial = await this.#draw(() => this.source.failing(placebo, arm.count))
        arm.take(trial)
        if (arm.isExact || arm.failed > FIRST_TRIALS / 2) break
      }
      return arm.passed > arm.failed
        ? 'The same change at an unrelated location also makes the run pass.'
        : undefined
    },
    // At least one sibling that fails without the fix must pass with it.
    async (candidate, evidence) => {
      let trials = 0
      let passed = 0
      for (const tape of this.options.siblings ?? []) {
        const verdictWith = (fix: FixCandidate | undefined): Promise<FixTrial['verdict']> =>
          this.#sample((index) => this.source.sibling(fix, tape, index))
        if ((await verdictWith(undefined)) !== 'fail') continue
        trials++
        if ((await verdictWith(candidate)) === 'pass') passed++
        evidence.siblings = { trials, passed }
      }
      return trials > 0 && passed === 0
        ? `It repairs none of ${trials} other failing runs of this kind, so it fits only this one.`
        : undefined
    },
    // Variants of the run must pass as well: a change that knows its values repairs only this one.
    async (candidate, evidence) => {
      let trials = 0
      let passed = 0
      let renamed = 0
      for (const probe of await this.#probesThatFail()) {
        const { verdict, failsOtherwise, recordedValue } = await this.#draw(() =>
          this.source.probe(candidate, probe),
        )
        if (verdict === 'undefined' && failsOtherwise !== true) continue
        if (verdict === 'pass' && probe.onlyRejects === true) continue
        trials++
        if (verdict === 'pass') passed++
        if (probe.isRenaming === true) renamed++
        Object.assign(evidence, { probes: { trials, passed }, renamed })
        if (verdict !== 'fail') continue
        evidence.failedProbe = probe
        const happened =
          recordedValue === undefined
            ? 'the run fails as before'
            : `the run still writes “${recordedValue}”`
        return `It repairs only this run: with ${changesText(probe)}, ${happened}.`
      }
      for (const probe of this.#passingProbes) {
        const { verdict, crashes } = await this.#draw(() => this.source.probe(candidate, probe))
        if (verdict !== 'fail' && crashes !== true) continue
        evidence.failedProbe = probe
        return `It breaks the run with ${changesText(probe)}, which passes without it.`
      }
      return undefined
    },
    // The unchanged code with the form that it expects says what is right, also for other values.
    async (candidate, evidence) => {
      if (candidate.author !== 'model') return undefined
      const deeds = async (fix: FixCandidate | undefined, probe: Probe): Promise<FixTrial> =>
        this.#draw(() => this.source.probe(fix, probe))
      for (const { recorded, form, others, isCertain } of await this.#formsThatWork()) {
        const right = (await deeds(undefined, form)).did!
        const { did: now } = await deeds(candidate, recorded)
        if (now !== undefined && now.digest !== right.digest && isCertain === true) {
          // The form is what was wrong, if the error is gone with it.
          if ((await deeds(undefined, recorded)).did?.isThrown !== true) continue
          evidence.failedProbe = form
          return `It does something else than the unchanged code does with ${changesText(form)}, which means the same.`
        }
        // With another meaning, a form says nothing about the change.
        if (now?.digest !== right.digest) continue
        for (const pair of [{ recorded, form }, ...others]) {
          const expected = (await deeds(undefined, pair.form)).did
          if (expected === undefined || expected.isThrown || expected.isEmpty) continue
          for (const probe of new Set([pair.form, pair.recorded])) {
            const { did } = await deeds(candidate, probe)
            if (did === undefined || did.digest === expected.digest) continue
            evidence.failedProbe = probe
            return probe === pair.form
              ? `It breaks the run with ${changesText(probe)}, with which the unchanged code does something else.`
              : `It repairs only this run: with ${changesText(probe)}, it does not do what the unchanged code does with these values in the form that it expects.`
          }
        }
      }
      return undefined
    },
    // Opposites must keep their outcome.
    async (candidate, evidence) => {
      let trials = 0
      let passed = 0
      for (const tape of this.options.opposites ?? []) {
        const verdict = await this.#sample(() => this.source.opposite(candidate, tape))
        if (verdict === 'undefined') continue
        trials++
        if (verdict === 'pass') passed++
        evidence.opposites = { trials, passed }
        if (verdict === 'fail')
          return `It changes the outcome of a run that must not change: ${tape}.`
      }
      return undefined
    },
    // Passing runs must still pass.
    async (candidate, evidence) => {
      this.#checkLimits({ isFork: false })
      const corpus = (evidence.corpus = await this.source.corpus(candidate))
      this.#note(corpus.flatMap(({ attempts = [] }) => attempts))
      const broken = corpus.filter(({ result }) => result === 'breaks')
      const [first] = broken
      return (
        first &&
        `It breaks ${broken.length} of ${corpus.length} passing runs: ${
          first.output === undefined
            ? (first.reason ?? first.tape)
            : `“${first.output.before}” becomes “${first.output.after}”`
        }.`
      )
    },
  ]

  /** Variants on which the unchanged code fails like the recorded run, each tried once. */
  async #probesThatFail(): Promise<readonly Probe[]> {
    this.#proposed ??= [...(await this.source.probes())]
    while (this.#probes.length < PROBES_MAX && this.#probeControls < PROBE_CONTROLS_MAX) {
      const probe = this.#proposed.shift()
      if (probe === undefined) break
      if (this.#probes.some((other) => isPartOf(probe, other))) continue
      const control = await this.#draw(() => this.source.probe(undefined, probe))
      this.#probeControls++
      if (control.live > 0) continue
      if (control.verdict === 'fail') this.#probes.push(probe)
      if (control.verdict === 'pass' && this.#passingProbes.length < PROBES_MAX)
        this.#passingProbes.push(probe)
    }
    return this.#probes
  }

  /** Forms that do not end the unchanged code with an error; each is tried once. */
  #formsThatWork(): Promise<readonly Form[]> {
    return (this.#forms ??= (async () => {
      const working: Form[] = []
      for (const form of (await this.source.forms()).slice(0, FORM_CONTROLS_MAX)) {
        const { did } = await this.#draw(() => this.source.probe(undefined, form.form))
        if (did?.isThrown === false && !did.isEmpty) working.push(form)
        if (working.length === FORMS_MAX) break
      }
      return working
    })())
  }

  /** Verdict on one tape: the first trial, or two out of three if chance is involved. */
  async #sample(trial: (index: number) => Promise<FixTrial>): Promise<FixTrial['verdict']> {
    const arm = new Arm()
    while (arm.count < 3) {
      arm.take(await this.#draw(() => trial(arm.count)))
      if (arm.isExact || arm.passed >= 2 || arm.failed >= 2) break
    }
    if (arm.verdicts === 0) return 'undefined'
    return arm.passed > arm.failed ? 'pass' : 'fail'
  }

  // ── Trials ────────────────────────────────────────────────────────────────

  #control(liveFrom: string | undefined): Arm {
    const key = liveFrom ?? ''
    const arm = this.#controls.get(key) ?? new Arm()
    this.#controls.set(key, arm)
    return arm
  }

  async #drawControl(liveFrom: string | undefined, wanted: number): Promise<void> {
    await this.#drawInto(this.#control(liveFrom), wanted, (index) =>
      this.source.failing(undefined, index, liveFrom),
    )
  }

  /** Runs up to `wanted` trials of an arm concurrently, and returns the last. */
  async #drawInto(
    arm: Arm,
    wanted: number,
    trial: (index: number) => Promise<FixTrial>,
  ): Promise<FixTrial> {
    const count = Math.max(1, Math.min(wanted, this.#jobs, this.#maxForks - this.#forks))
    const before = arm.count
    const drawn = await Promise.all(
      Array.from({ length: count }, (_, at) => this.#draw(() => trial(before + at))),
    )
    for (const each of drawn) arm.take(each)
    return drawn.at(-1)!
  }

  async #draw(trial: () => Promise<FixTrial>): Promise<FixTrial> {
    this.#checkLimits({ isFork: true })
    const result = await trial()
    this.#note(result.attempts)
    if (result.isStored !== true) this.#forks++
    this.#ms += result.ms
    if (result.costUsd !== undefined) this.#costUsd = (this.#costUsd ?? 0) + result.costUsd
    return result
  }

  /** The first trial with attempts says enough. */
  #note(attempts: readonly Attempt[] = []): void {
    if (this.#attempts.length === 0) this.#attempts = attempts
  }

  #checkLimits({ isFork }: { readonly isFork: boolean }): void {
    const { signal, maxUsd } = this.options
    if (signal?.aborted === true) throw new BudgetSpent('Stopped before it was decided.')
    if (isFork && this.#forks >= this.#maxForks)
      throw new BudgetSpent(`The limit of ${this.#maxForks} trials was reached.`)
    if (maxUsd !== undefined && (this.#costUsd ?? 0) > maxUsd)
      throw new BudgetSpent(`The limit of $${maxUsd} was reached.`)
  }

  // ── Conclusion ────────────────────────────────────────────────────────────

  #conclude(
    candidate: FixCandidate,
    collected: CollectedEvidence,
    verdict: FixVerdict,
    pValue: number,
  ): Judged {
    const { fixed, placebo, corpus = [] } = collected
    const control = collected.control ?? this.#control(fixed.liveFrom)
    const isExact = fixed.isExact && control.isExact
    const count = (result: CorpusResult['result']): number =>
      corpus.filter((each) => each.result === result).length
    const whyNotChecked = corpus.find(({ result }) => result === 'not-checked')?.reason
    const other = corpus.find(({ output }) => output !== undefined)
    // A cause set is hit if the fix changes one of its steps, or if the run passes although these
    // steps gave their recorded answers.
    const causes = this.context.findings?.causes ?? []
    const hit = causes.filter(
      ({ steps }) =>
        steps.some((step) => candidate.steps.includes(step)) ||
        (fixed.passed > 0 &&
          steps.every(
            (step) => fixed.liveFrom === undefined || Number(step) < Number(fixed.liveFrom),
          )),
    )
    const evidence: FixEvidence = {
      control: control.counts(),
      fixed: {
        ...fixed.counts(),
        low: isExact && fixed.failed === 0 && fixed.passed > 0 ? 1 : fixed.bounds(0.05).low,
      },
      ablated: collected.ablated ?? NO_TRIALS,
      ...(placebo !== undefined && { placebo: placebo.counts() }),
      siblings: collected.siblings ?? NO_TRIALS,
      probes: collected.probes ?? NO_TRIALS,
      renamed: collected.renamed ?? 0,
      isOracleGiven: this.options.isOracleGiven === true,
      losses: [...(collected.losses ?? []), ...fixed.losses],
      attempts: this.#attempts,
      literals: collected.literals ?? [],
      ...(fixed.output !== undefined && { output: fixed.output }),
      opposites: collected.opposites ?? NO_TRIALS,
      corpus: {
        identical: count('identical'),
        same: count('same-outcome'),
        breaks: count('breaks'),
        notChecked: count('not-checked'),
        ...(whyNotChecked !== undefined && { whyNotChecked }),
        ...(other?.output !== undefined && {
          changedOutput: { tape: other.tape, ...other.output },
        }),
      },
      causeSetsHit: { hit: hit.length, all: causes.length },
      pinnedToChanged: fixed.pinnedToChanged,
      ...(fixed.costUsd !== undefined && { costUsd: fixed.costUsd }),
      forks: this.#forks - collected.before,
      ms: fixed.ms,
      isExact,
      pValue,
    }
    const isWorking = verdict.status === 'repairs' || verdict.status === 'workaround'
    return {
      candidate,
      evidence,
      verdict: isWorking
        ? {
            ...verdict,
            claim: claimOf({ ...evidence, isWritten: candidate.author === 'model' }),
          }
        : verdict,
    }
  }

  #repairCount(): number {
    return this.#judged.filter(({ verdict }) => verdict.status === 'repairs').length
  }

  /** Applies Holm's procedure. Fixes that it does not confirm become undecided. */
  #afterHolm(): Judged[] {
    const order = this.#judged
      .filter(({ verdict }) => verdict.claim !== undefined)
      .toSorted((left, right) => left.evidence.pValue - right.evidence.pValue)
    const refuted = new Set<Judged>()
    let isOver = false
    order.forEach((judged, rank) => {
      isOver ||= judged.evidence.pValue > this.#alpha / (this.#candidates - rank)
      if (isOver) refuted.add(judged)
    })
    return this.#judged.map((judged) =>
      refuted.has(judged)
        ? {
            ...judged,
            verdict: {
              status: 'undecided',
              reason: 'With this many candidates, the difference from no fix may be due to chance.',
            },
          }
        : judged,
    )
  }
}

export const DEFAULT_FIX_FORKS = 300

/** A candidate with its evidence, before it is ranked. */
export type Judged = Omit<JudgedFix, 'score' | 'scoreReason'>

interface CollectedEvidence {
  readonly fixed: Arm
  readonly before: number
  ablated?: TrialCounts
  control?: Arm
  placebo?: Arm
  siblings?: TrialCounts
  probes?: TrialCounts
  renamed?: number
  failedProbe?: Probe
  losses?: readonly Loss[]
  literals?: readonly RunLiteral[]
  opposites?: TrialCounts
  corpus?: readonly CorpusResult[]
}

/** True if the run still fails, or passes with empty values, so that another change may be missing. */
const isUnfinished = ({ verdict, evidence }: Judged): boolean =>
  verdict.status === 'workaround'
    ? evidence.losses.every(({ code }) => code.startsWith('EMPTY_'))
    : verdict.status === 'rejected' &&
      verdict.refusals === undefined &&
      verdict.failedProbe === undefined &&
      evidence.attempts.length === 0 &&
      // A change that repairs the run, and breaks others, does not come further with another one.
      (evidence.fixed.trials === 0 || evidence.fixed.passed < evidence.fixed.trials)

const NO_TRIALS: TrialCounts = { trials: 0, passed: 0 }

class Arm {
  count = 0
  passed = 0
  failed = 0
  pinnedToChanged = 0
  ms = 0
  costUsd: number | undefined
  lastReason = ''
  /** Output of the last trial that passed. */
  output: TrialOutput | undefined
  losses: readonly Loss[] = []
  progress: RunProgress | undefined
  /** The earliest step of all trials. */
  liveFrom: string | undefined
  #live = 0

  get verdicts(): number {
    return this.passed + this.failed
  }

  get undefinedCount(): number {
    return this.count - this.verdicts
  }

  /** True if nothing was sent, so that another trial gives the same result. */
  get isExact(): boolean {
    return this.#live === 0
  }

  take(trial: FixTrial): void {
    this.count++
    if (trial.verdict === 'pass') this.passed++
    if (trial.verdict === 'fail') this.failed++
    this.#live += trial.live
    this.ms += trial.ms
    this.lastReason = trial.reason
    this.pinnedToChanged = Math.max(this.pinnedToChanged, trial.pinnedToChanged)
    if (trial.costUsd !== undefined) this.costUsd = (this.costUsd ?? 0) + trial.costUsd
    if (trial.verdict === 'pass' && trial.output !== undefined) this.output = trial.output
    // A loss in any trial counts.
    if (this.losses.length === 0) this.losses = trial.losses ?? []
    this.progress = trial.progress ?? this.progress
    this.liveFrom ??= trial.liveFrom
    if (Number(trial.liveFrom) < Number(this.liveFrom)) this.liveFrom = trial.liveFrom
  }

  counts(): TrialCounts {
    return { trials: this.verdicts, passed: this.passed }
  }

  bounds(errorRate: number): { readonly low: number; readonly high: number } {
    // Bounds of a rate that stay valid when inspected after every trial, like `confidenceSequence`
    // of blame, but with a prior that expects 0 or 1: most arms always pass or always fail, and
    // then need fewer trials. A mixture of martingales is a martingale, so the error rate holds.
    const passed = this.passed
    const trials = this.verdicts
    const wide = confidenceSequence(passed, trials, errorRate * OTHER_SHARE)
    if (trials === 0 || (passed > 0 && passed < trials)) return wide
    const edge = (errorRate * CERTAIN_SHARE) ** (1 / trials)
    return passed === 0
      ? { low: 0, high: Math.min(wide.high, 1 - edge) }
      : { low: Math.max(wide.low, edge), high: 1 }
  }

  /** Passed of all, as in `14/14`. */
  get rate(): string {
    return `${this.passed}/${this.verdicts}`
  }
}

/** Shares of the prior: always passes and always fails (each), and everything in between. */
const CERTAIN_SHARE = 0.4
const OTHER_SHARE = 0.2

/**
 * True if the bounds of the arms do not overlap. Both are confidence sequences with half of the
 * error rate, so this may be checked after every trial.
 */
const isApart = (fixed: Arm, control: Arm, errorRate: number): boolean => {
  // A control arm served from the tape has an exact rate.
  const controlHigh =
    control.isExact && control.verdicts > 0
      ? control.passed / control.verdicts
      : control.bounds(errorRate / 2).high
  return fixed.bounds(errorRate / 2).low > controlHigh
}

/** The smallest error rate at which the bounds of two arms do not overlap. */
const differencePValue = (fixed: Arm, control: Arm): number => {
  if (!isApart(fixed, control, 0.5)) return 1
  let apart = Math.log10(0.5)
  let joined = -12
  for (let halving = 0; halving < 20; halving++) {
    const middle = (apart + joined) / 2
    if (isApart(fixed, control, 10 ** middle)) apart = middle
    else joined = middle
  }
  return 10 ** apart
}

const rejected = (reason: string): FixVerdict => ({ status: 'rejected', reason })

const undecided = (reason: string): FixVerdict => ({ status: 'undecided', reason })

const noVerdict = ({ broke, refused, reason }: FixTrial): FixVerdict =>
  broke !== undefined
    ? rejected(`The agent breaks with the fix: ${broke}`)
    : undecided(
        refused === undefined
          ? reason
          : `It needs an answer that the tape does not have, and live requests are not allowed: ${refused}`,
      )

const statusReason = (
  status: FixResult['status'],
  control: Arm,
  fixes: readonly JudgedFix[],
): string => {
  const rate = `${control.failed} of ${control.verdicts}`
  if (status === 'not-forkable') return `No run came to a verdict: ${control.lastReason}`
  if (status === 'not-reproduced')
    return `The failure did not recur: ${control.passed} of ${control.verdicts} runs without a fix passed.`
  if (status === 'repaired' || status === 'workaround')
    return `The run fails ${rate} times without a fix. ${fixes[0]!.verdict.reason}`
  if (status === 'flaky')
    return `${rate} runs of the unchanged code failed, and no candidate is clearly better.`
  if (status === 'untried') return `The run fails ${rate} times. A change could not be tried.`
  return `The run fails ${rate} times, and none of ${fixes.length} candidates repairs it.`
}

const REFUSED = 'It does what a fix may not do.'
const ATTEMPTED = 'It tried what a fix may not do.'

/** `"c9" → "c8"` of a probe, in words. */
const changesText = ({ changes }: Probe): string =>
  changes.map(({ from, to }) => `“${to}” instead of “${from}”`).join(' and ')
