import path from 'node:path'
import { type CallUsage, type GuardIntent, readGuards, type ResumedRun } from '@retake/tape/guards'
import { toWire } from '@retake/tape/format'
import {
  currentSession,
  openRecording,
  outsideRuns,
  type RecordedRun,
  isRedactRule,
  type RedactRule,
  revealedTape,
  type RecordSession,
  type RunEnd,
  type Session,
  toolOwner,
} from '@retake/engine/hook'
import {
  anything,
  being,
  oneWord,
  required,
  type DataSchema,
  nonEmptyText,
  type TypeOfFields,
} from '@retake/engine/schema'
import { types } from 'node:util'
import type { Denial } from '../denials/guard-error.js'
import { ordinaryData, ownFields } from '../data/own-data.js'
import type { Limits } from '../limits/limits.js'
import type { GuardedTool } from '../contract/guarded-tool.js'
import { amountOf, isNothing } from '../limits/amount.js'
import type { Limiter } from '../limits/limiter.js'
import { protectTapes } from '../paths/own-files.js'
import type { CompiledPolicy } from '../policy/compiled-policy.js'
import {
  type InDoubtChoice,
  type CallInDoubt,
  guardedCallKey,
  CallLedger,
  type CallWithoutResult,
  describeDoubt,
  type EarlierCall,
  EarlierRuns,
  type InDoubtDecision,
  releaseOnExit,
  unregisterOnExit,
  resumedBy,
  settleDoubt,
} from './earlier-runs.js'
import { environment } from './environment.js'
import { attachNote, NestedSession } from './nested-session.js'
import { withChangedPolicy } from './resume-errors.js'
import { RunSpending } from './spending-on-tape.js'
import { openTape } from '@retake/tape/node'
import { createHash, type KeyObject } from 'node:crypto'
import type { CallBounds } from '../bounds/call-bounds.js'
import { currentBounds } from '../bounds/current-bounds.js'

/** Options of a guard that concern its tape. */
export const TAPE_OPTIONS = {
  /** Name of the run in lists. */
  name: required(nonEmptyText(), 'It needs a `name`.'),
  /** Folder for the guard's own tape; default `.retake/runs` in the working directory. */
  dir: nonEmptyText(),
  /**
   * Failures that the guard's own tape survives, as for `record`. `machine` (default): a power cut;
   * a call is on disk before it runs, and its result before it is returned. `process`: only a
   * killed process; nothing waits for the disk.
   */
  durability: oneWord('machine', 'process'),
  /** Apply in addition to the limits of the policies. The smaller value counts. */
  limits: anything<Limits>(),
  /**
   * Continues an earlier run: serves its results, then runs further calls. `true` means the latest
   * run of this name, unless it is complete. A string is the id or path of a run. Only `end()`
   * completes a run.
   */
  resume: being<boolean | string>(
    'true, or the id or path of a run',
    (value) => typeof value === 'boolean' || typeof value === 'string',
  ),
  /** Decision about calls that were running when the resumed run stopped; default `fail`. */
  inDoubt: ((check, path, value) => {
    if (typeof value !== 'function') oneWord('fail', 'retry', 'skip')(check, path, value)
  }) as DataSchema<InDoubtChoice>,
  /**
   * Personal data to replace by pseudonyms on the guard's own tape, as for `record()`. Default:
   * `recording.redact` in the project's configuration. Tools get the original values.
   */
  redact: being<readonly RedactRule[]>(
    'a list of names, expressions and functions',
    (value) => Array.isArray(value) && value.every(isRedactRule),
  ),
  /** Private ed25519 key that signs the seal of the guard's own tape. */
  signingKey: ((check, path, value) => {
    const isKey = types.isKeyObject(value) && value.type === 'private'
    if (!isKey || value.asymmetricKeyType !== 'ed25519')
      check.add(
        path,
        'It must be a private ed25519 key, as returned by `createPrivateKey` of node:crypto.',
      )
  }) as DataSchema<KeyObject>,
}

export type GuardTapeOptions = TypeOfFields<typeof TAPE_OPTIONS>

/** Project settings for tapes that guards record themselves. */
export type GuardDefaults = Pick<GuardTapeOptions, 'redact'> & { readonly sign?: boolean }

let readDefaults: () => Promise<GuardDefaults> | undefined = () => undefined

/** Sets the function that reads project settings. It returns `undefined` if there are none. */
export function useGuardDefaults(read: typeof readDefaults): void {
  readDefaults = read
}

/** The tape of a guard outside of a recording. Unless `end` completes it, it can be resumed. */
class OwnTape {
  readonly session: RecordSession
  readonly run: RecordedRun

  /** `earlier` are the runs that it continues. */
  constructor(options: GuardTapeOptions & GuardDefaults, earlier?: EarlierRuns) {
    const { name, durability, signingKey, redact, sign } = options
    const dir = earlier?.dir ?? options.dir
    const { session, run } = outsideRuns(() =>
      openRecording(
        {
          name,
          ...(dir !== undefined && { dir }),
          ...(redact && { redact }),
          ...(sign !== undefined && { sign }),
          ...(durability !== undefined && { durability }),
        },
        {
          signingKey,
          ...(redact === undefined && { redactor: earlier?.redactor() }),
        },
      ),
    )
    this.session = session
    this.run = run
    releaseOnExit(this)
  }

  end(end: RunEnd): void {
    unregisterOnExit(this)
    outsideRuns(() => this.session.finish(end))
  }

  /** Calls that were in progress when the tape was sealed. */
  underWay(): readonly CallInDoubt[] {
    const { calls } = outsideRuns(() => readGuards(revealedTape(openTape(this.run.path))))
    return calls
      .filter(({ facts, state }) => facts === undefined && state === 'in doubt')
      .map((call) => describeDoubt({ ...call, from: { run: this.run.id, seq: call.callSeq } }))
  }

  abandon(): void {
    unregisterOnExit(this)
    this.release()
  }

  release(): void {
    if (this.session.closed) return
    this.session.close()
    this.session.writer.close()
  }
}

/** Numbers the calls of a run. Nested calls count per enclosing call, because that may be served. */
class CallCounters {
  #calls = 0
  readonly #occurrences = new Map<string, number>()

  nextCall(): number {
    this.#calls += 1
    return this.#calls
  }

  nextOccurrence(fingerprint: string, within: string | undefined): number {
    const key = within === undefined ? fingerprint : `${within}/${fingerprint}`
    const occurrence = (this.#occurrences.get(key) ?? 0) + 1
    this.#occurrences.set(key, occurrence)
    return occurrence
  }

  /** Continues the numbers after a call whose decision comes from a tape. */
  follow({ call, fingerprint, occurrence }: GuardIntent): void {
    this.#calls = Math.max(this.#calls, call)
    this.#occurrences.set(
      fingerprint,
      Math.max(this.#occurrences.get(fingerprint) ?? 0, occurrence),
    )
  }
}

export interface ClosedTape extends RecordedRun {
  /** Unsettled calls of resumed runs, and calls in progress when the guard ended. */
  readonly inDoubt: readonly CallInDoubt[]
}

/** The tapes of a guard: the current one and those of the runs that it continues. */
export class GuardTapes {
  readonly spending: RunSpending
  readonly #options: GuardTapeOptions
  readonly #policy: CompiledPolicy
  readonly counters = new CallCounters()
  readonly #introduced = new WeakSet<Session>()
  #earlier: EarlierRuns | undefined
  /** Nested calls on the tape that the session continues. */
  #nested: CallLedger | undefined
  #hasFollowed = false
  #isResumed = false
  #isEnded = false
  #leftOpen: readonly CallInDoubt[] = []
  #own: OwnTape | undefined
  #defaults: GuardDefaults = ownFields({})
  #ready: Promise<void> | undefined
  #named: { readonly tape: string | undefined; readonly run: string } | undefined

  constructor(
    options: GuardTapeOptions,
    policy: CompiledPolicy,
    limiter: Limiter,
    /** Called once before the first call, with the calls of the resumed runs. */
    readonly onResume: (calls: readonly EarlierCall[]) => void,
  ) {
    this.#options = options
    this.#policy = policy
    this.spending = new RunSpending(options.name, limiter)
    if (currentSession()?.local !== 'tape') this.#resume()
    const defaults = readDefaults()
    this.#ready = defaults && this.#take(defaults)
    // The first call reports the error.
    this.#ready?.catch(() => {})
  }

  async #take(defaults: Promise<GuardDefaults>): Promise<void> {
    this.#defaults = await defaults
    this.#ready = undefined
  }

  /** Resolves when the project settings were read; undefined if nothing has to wait for them. */
  get ready(): Promise<void> | undefined {
    return this.#ready === undefined || currentSession() !== undefined ? undefined : this.#ready
  }

  /** Seals the guard's own tape, if there is one. Calls `outcome` only then. */
  end(outcome: () => RunEnd, isUnderWay: boolean): ClosedTape | undefined {
    if (!this.#isEnded) {
      this.#isEnded = true
      const inDoubt = this.inDoubt()
      if (inDoubt.length > 0) {
        const calls = inDoubt.map(({ tool, fingerprint, occurrence, from }) => ({
          tool,
          fingerprint,
          occurrence,
          from,
        }))
        const session = this.#own?.session ?? currentSession()
        if (session) attachNote(session, 'leftOpen', { guard: this.#options.name, calls }, false)
      }
      this.#own?.end(outcome())
      this.#earlier?.release()
      this.#leftOpen = inDoubt
      if (isUnderWay) this.#leftOpen = [...inDoubt, ...(this.#own?.underWay() ?? [])]
    }
    return this.#own && { ...this.#own.run, inDoubt: this.#leftOpen }
  }

  /** Releases everything, so that the run can be resumed. */
  abandon(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#own?.abandon()
    this.#earlier?.release()
  }

  /** True after the end, outside of a recording. */
  get isOver(): boolean {
    return this.#isEnded && currentSession() === undefined
  }

  inDoubt(): readonly CallInDoubt[] {
    return this.#earlier?.openDoubts().map(describeDoubt) ?? []
  }

  get resumes(): readonly ResumedRun[] {
    return this.#earlier?.resumes ?? []
  }

  /** The session of the current recording, or of the guard's own tape. */
  session(): Session {
    const around = currentSession()
    if (around !== undefined) return around
    const owner = toolOwner()
    if (owner !== undefined && !owner.closed)
      return new NestedSession(owner, currentBounds().at(-1)?.key ?? 'tool')
    this.#resume()
    if (this.#own === undefined) {
      this.#own = new OwnTape(ownFields({ ...this.#defaults, ...this.#options }), this.#earlier)
      if (this.#earlier) resumedBy.set(this.#own.session, this.#earlier)
    }
    return this.#own.session
  }

  /** Records the policy and environment of the guard, once per tape. */
  introduce(session: Session): void {
    const run = session.owner ?? session
    this.#resume()
    if (run.recording === undefined || this.#introduced.has(run)) return
    this.#earlier?.checkRedaction(run)
    this.#introduced.add(run)
    protectTapes(path.dirname(run.recording.tape))
    const { name, limits } = this.#options
    const { hash, policies } = this.#policy
    const { resumes } = this
    const opened = {
      guard: name,
      policy: { hash, policies: policies.map((each) => toWire(ordinaryData(each))) },
      ...(limits && { limits: toWire(ordinaryData(limits)) }),
      environment: environment(),
      ...(resumes.length > 0 && { resumes }),
    }
    attachNote(run, 'opened', opened, false)
    const around = resumedBy.get(run)
    if (around !== this.#earlier) this.spending.restore(around)
    this.spending.continue(run, session !== run || this.#hasFollowed)
  }

  /** Records spending outside of calls, unless it is being replayed. */
  recordSpent(usage: CallUsage): void {
    if (this.isOver || isNothing(amountOf(usage))) return
    if (this.ready !== undefined) {
      void this.ready.then(() => this.recordSpent(usage)).catch(() => {})
      return
    }
    const isRepeated = currentSession() !== undefined
    const session = this.session()
    if (session.local === 'tape') return
    outsideRuns(() => {
      this.introduce(session)
      this.spending.record(session, usage, isRepeated)
    })
  }

  /** Continues after a call whose decision comes from a tape. */
  follow(intent: GuardIntent): void {
    this.#hasFollowed = true
    this.counters.follow(intent)
  }

  findEarlier(
    session: Session,
    fingerprint: string,
    occurrence: number,
    within: string | undefined,
  ): EarlierCall | undefined {
    const call = [this.#options.name, fingerprint, occurrence, within] as const
    const found = this.#runsFor(session)?.calls.find(...call)
    if (found !== undefined || within === undefined || !this.#hasFollowed) return found
    const { recording } = session
    if (this.#nested === undefined && recording !== undefined) {
      this.#nested = new CallLedger()
      const tape = outsideRuns(() => revealedTape(openTape(recording.tape)))
      this.#nested.addTape(tape, { isNestedOnly: true })
    }
    return this.#nested?.find(...call)
  }

  /** True if calls may be served from an earlier run, at no cost. */
  mayServe(session: Session): boolean {
    return this.#hasFollowed || this.#runsFor(session) !== undefined
  }

  /** Applies `inDoubt`. Idempotent tools are always retried. */
  decideDoubt(call: CallWithoutResult, { options }: GuardedTool): InDoubtDecision {
    const { inDoubt = 'fail' } = this.#options
    const mayRepeat = options.idempotent === true || options.idempotencyKey !== undefined
    const choice = mayRepeat ? 'retry' : inDoubt
    const decision = typeof choice === 'function' ? choice(describeDoubt(call)) : choice
    if (decision !== 'fail') settleDoubt(call)
    return decision
  }

  /** Default idempotency key of a call, identical in every resume. */
  keyOf(session: Session, fingerprint: string, occurrence: number, within?: string): string {
    const run = this.#runsFor(session)?.root ?? this.#runOn(session.recording?.tape)
    return `${run}-${guardedCallKey(fingerprint, occurrence, within)}`
  }

  /** Id of the run on a tape. Cached, because it rarely changes. */
  #runOn(tape: string | undefined): string {
    if (this.#named?.tape !== tape)
      this.#named = { tape, run: tape === undefined ? '' : path.basename(tape, '.tape') }
    return this.#named?.run ?? ''
  }

  /** Extends a denial if an earlier run was allowed to make the call. */
  explainChange(denial: Denial, earlier: EarlierCall | undefined): Denial {
    const { hash } = this.#policy
    if (earlier?.facts?.status !== 'done' || earlier.intent.policy === hash) return denial
    return withChangedPolicy(denial, earlier.from.run, earlier.intent.policy, hash)
  }

  /** The earlier runs of the owner, if this guard is used inside a tool of another guard. */
  #runsFor({ owner }: Session): EarlierRuns | undefined {
    return (owner && resumedBy.get(owner)) ?? this.#earlier
  }

  /** Opens the runs to resume. Not called in a replay, whose tape has the served results. */
  #resume(): void {
    const { resume, dir, name } = this.#options
    if (this.#isResumed || resume === undefined || resume === false) return
    this.#isResumed = true
    const folder = path.resolve(dir ?? path.join('.retake', 'runs'))
    this.#earlier = outsideRuns(() => EarlierRuns.open(folder, name, resume))
    if (this.#earlier === undefined) return
    releaseOnExit(this.#earlier)
    this.spending.restore(this.#earlier)
    this.onResume(this.#earlier.calls.of(name))
  }
}

/** Sets the key of a call for its nested calls. The key of a nested call is hashed. */
export function encloseCalls(bounds: CallBounds, key: string): void {
  const isDeep = key.includes('/')
  bounds.key = isDeep ? createHash('sha256').update(key).digest('hex').slice(0, 32) : key
}
