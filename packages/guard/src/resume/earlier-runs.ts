import { closeSync, openSync, readdirSync, readSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import {
  type GuardedCallOnTape,
  type GuardFacts,
  readGuards,
  type ResumedRun,
  type ServedFrom,
} from '@retake/tape/guards'
import { type RecordedError, type Tape, TapeError, attempt } from '@retake/tape/format'
import { openOwnTape, openTape, TapeLock } from '@retake/tape/node'
import {
  outsideRuns,
  redactionOf,
  type Redactor,
  revealedTape,
  type Session,
} from '@retake/engine/hook'
import type { Spent } from '../limits/amount.js'
import { resumeErrors } from './resume-errors.js'
import { SpendingOnTape } from './spending-on-tape.js'

/** Identifies a call in a run: its fingerprint, occurrence and enclosing call. */
export const guardedCallKey = (fingerprint: string, occurrence: number, within?: string): string =>
  `${within === undefined ? '' : `${within}/`}${fingerprint}-${occurrence}`

/** A call of an earlier run with its outcome. Without `facts`, it is in doubt. */
export interface EarlierCall extends Pick<
  GuardedCallOnTape,
  'tool' | 'intent' | 'facts' | 'error' | 'args' | 'result'
> {
  /** The event of its result; of its start if it is in doubt. */
  readonly from: ServedFrom
}

export type CallWithoutResult = Pick<EarlierCall, 'tool' | 'intent' | 'args' | 'from'>

/**
 * Outcomes of guarded calls on one or more tapes, which are added oldest first. A done call stays
 * done. A call in doubt stays in doubt until it is made again.
 */
export class CallLedger {
  readonly #calls = new Map<string, EarlierCall>()

  /** With `isNestedOnly`, ignores calls of the agent itself, because the session serves those. */
  addTape(tape: Tape, { isNestedOnly = false } = {}): void {
    for (const call of readGuards(tape).calls) {
      if (!call.isNested && isNestedOnly) continue
      const { intent, facts, state } = call
      const { guard, fingerprint, occurrence, within } = intent
      const key = `${guardedCallKey(fingerprint, occurrence, within)} ${guard}`
      const known = this.#calls.get(key)
      if (known?.facts?.status === 'done') continue
      // A call that did not run changes nothing.
      const wasStarted = facts === undefined ? state === 'in doubt' : facts.attempts !== 0
      if (!wasStarted && state !== 'done' && known !== undefined) continue
      if (facts === undefined && state !== 'in doubt') continue
      this.#calls.set(key, {
        ...call,
        facts: facts && isWithoutResult(facts, call.error) ? undefined : facts,
        from: facts?.served ?? { run: tape.run.id, seq: call.resultSeq ?? call.callSeq },
      })
    }
  }

  find(
    guard: string,
    fingerprint: string,
    occurrence: number,
    within?: string,
  ): EarlierCall | undefined {
    return this.#calls.get(`${guardedCallKey(fingerprint, occurrence, within)} ${guard}`)
  }

  /** Started calls of a guard, in the order of their first start. */
  of(guard: string): readonly EarlierCall[] {
    return [...this.#calls.values()].filter(({ intent }) => intent.guard === guard)
  }

  inDoubt(): readonly EarlierCall[] {
    return [...this.#calls.values()].filter(({ facts }) => facts === undefined)
  }
}

/** Errors after which the result of a tool was discarded. */
const DISCARDED: ReadonlySet<unknown> = new Set(['CONTRACT_DRIFT', 'GUARD_RESULT_NOT_RECORDABLE'])

/**
 * True if a tool may have taken effect without a result: it was stopped, its result was discarded, or
 * an action was refused after it had acted. An error that the tool threw is a result.
 */
const isWithoutResult = (
  { status, attempts, served, acted }: GuardFacts,
  error: RecordedError | undefined,
): boolean =>
  attempts !== 0 &&
  served === undefined &&
  (status === 'stopped' || acted === true || (status === 'failed' && DISCARDED.has(error?.code)))

/** A call that started and has no result, so it may have taken effect. */
export interface CallInDoubt {
  readonly tool: string
  readonly args: unknown
  readonly fingerprint: string
  readonly occurrence: number
  /** Its idempotency key. */
  readonly key: string | undefined
  /** The event that started it, in the stopped run. */
  readonly from: ServedFrom
}

/** `fail`: refuse the call. `retry`: make it again. `skip`: return neither output nor error. */
export type InDoubtDecision = 'fail' | 'retry' | 'skip'

export type InDoubtChoice = InDoubtDecision | ((call: CallInDoubt) => InDoubtDecision)

export function describeDoubt(call: CallWithoutResult): CallInDoubt {
  const { fingerprint, occurrence, key } = call.intent
  return { tool: call.tool, args: call.args(), fingerprint, occurrence, key, from: call.from }
}

/** The tape of the run to resume, if any. `true`: the latest run of this name, unless complete. */
function findRun(dir: string, name: string, resume: true | string): string | undefined {
  if (resume !== true) {
    const isPath = resume.endsWith('.tape') || path.basename(resume) !== resume
    return isPath ? path.resolve(resume) : path.join(dir, `${resume}.tape`)
  }
  const [latest] = runsOf(dir, name)
  return latest === undefined || isComplete(latest) ? undefined : latest.path
}

/** Runs in a folder that have this name and a guard of this name, latest first. */
function runsOf(dir: string, name: string, since = ''): readonly Tape[] {
  const found: Tape[] = []
  const files = attempt(() => readdirSync(dir), [])
    .filter((file) => file.endsWith('.tape'))
    .toSorted()
    .toReversed()
  // Ids start with the time, to the second.
  for (const file of files) {
    const second = secondOf(file)
    if (second < secondOf(since)) break
    const last = found.at(-1)
    if (since === '' && last !== undefined && second !== secondOf(path.basename(last.path))) break
    const tape = openNamed(path.join(dir, file), name)
    if (tape !== undefined) found.push(tape)
  }
  return found.toSorted((a, b) => b.run.startedAt - a.run.startedAt)
}

const secondOf = (id: string): string => id.slice(0, '20261115-093012'.length)

/** Opens the tape of a run with this name. Throws if it is damaged. */
function openNamed(file: string, name: string): Tape | undefined {
  // Skip most tapes without opening them.
  if (!startOf(file).includes(`"name":${JSON.stringify(name)}`)) return undefined
  try {
    if (openOwnTape(file).run.name !== name) return undefined
    const tape = openTape(file)
    // Ignore a run that was killed before its first call.
    return readGuards(tape).guards.some(({ guard }) => guard === name) ? tape : undefined
  } catch (error) {
    const code = error instanceof TapeError ? error.code : ''
    if (NOTHING_IN_IT.has(code)) return undefined
    throw error
  }
}

const NOTHING_IN_IT: ReadonlySet<string> = new Set([
  'TAPE_MISSING',
  'TAPE_EMPTY',
  'TAPE_NO_RUN',
  'TAPE_NOT_A_TAPE',
  'TAPE_IS_DIRECTORY',
])

const startOf = (file: string): string =>
  attempt(() => {
    const fd = openSync(file, 'r')
    try {
      const bytes = Buffer.alloc(4096)
      return bytes.toString('utf8', 0, readSync(fd, bytes, 0, bytes.length, 0))
    } finally {
      closeSync(fd)
    }
  }, '')

/** True if a run ended without an error. Without a seal, it was killed before its end. */
function isComplete(tape: Tape): boolean {
  if (tape.status !== 'sealed') return false
  const end = tape.event(tape.count - 2)
  return end.type === 'end' && end.error === undefined && (end.exitCode ?? 0) === 0
}

/** A lock or a buffered tape, to release when the process exits. */
interface ExitResource {
  release(): void
}

const resources = new Set<ExitResource>()

export function releaseOnExit(one: ExitResource): void {
  if (resources.size === 0) outsideRuns(() => process.on('exit', releaseAll))
  resources.add(one)
}

export function unregisterOnExit(one: ExitResource): void {
  if (resources.delete(one) && resources.size === 0) process.off('exit', releaseAll)
}

function releaseAll(): void {
  for (const one of resources) {
    try {
      one.release()
    } catch {
      // The process is about to end.
    }
  }
}

/**
 * The resumed runs: the requested one, the runs it continued, and the runs that continued it. Results
 * are served from all of them. Their tapes are verified, and locked until `release`.
 */
export class EarlierRuns {
  /** Latest first. */
  readonly resumes: readonly ResumedRun[]
  /** Folder of their tapes; the run that continues them is recorded here too. */
  readonly dir: string
  readonly calls = new CallLedger()
  readonly #lock: TapeLock
  /** Oldest first. */
  readonly #tapes: readonly Tape[]

  private constructor(tapes: readonly Tape[], lock: TapeLock) {
    this.#lock = lock
    this.#tapes = tapes
    for (const tape of tapes) this.calls.addTape(tape)
    this.resumes = tapes
      .map((tape) => ({ run: tape.run.id, chain: tape.chainAt(tape.count - 1) }))
      .toReversed()
    this.dir = path.dirname(tapes[0]?.path ?? '')
  }

  /** Finds, locks and verifies the runs; undefined if there is nothing to resume. */
  static open(dir: string, name: string, resume: true | string): EarlierRuns | undefined {
    for (let attempt = 0; ; attempt += 1) {
      const found = findRun(dir, name, resume)
      if (found === undefined) return undefined
      // The lock of the first run covers all runs that continue it.
      const first = linksOf(openTape(found)).at(-1)
      const lock = TapeLock.take(
        first ? path.join(path.dirname(found), `${first.run}.tape`) : found,
      )
      try {
        // The previous owner of the lock may have continued the run.
        if (attempt < 3 && findRun(dir, name, resume) !== found) {
          lock.release()
          continue
        }
        return new EarlierRuns(familyOf(found, name), lock)
      } catch (error) {
        lock.release()
        throw error
      }
    }
  }

  spentBy(guard: string): readonly Spent[] {
    return this.#tapes.flatMap((tape, index) =>
      // A run ends before the next one starts.
      new SpendingOnTape(tape, guard).all(this.#tapes[index + 1]?.run.startedAt),
    )
  }

  /** The redactor of the latest run; undefined if it was not redacted. */
  redactor(): Redactor | undefined {
    const latest = this.#tapes.at(-1)
    return latest && redactionOf(latest)?.redactor()
  }

  /**
   * Throws if either these runs or the run that continues them is redacted, but not both. Earlier
   * calls would not be found, and would be made again.
   */
  checkRedaction({ secrets }: Session): void {
    for (const tape of this.#tapes)
      if ((tape.details.redaction === undefined) !== (secrets.digestKey === undefined))
        throw resumeErrors.RESUME_REDACTION_CHANGED(tape.path)
  }

  openDoubts(): readonly EarlierCall[] {
    return this.calls.inDoubt().filter((call) => !settled.has(call))
  }

  /** Id of the first run, which is the same in every resume. */
  get root(): string {
    return this.resumes.at(-1)?.run ?? ''
  }

  release(): void {
    unregisterOnExit(this)
    this.#lock.release()
  }
}

/** The runs that a session continues, for nested calls of other guards. */
export const resumedBy = new WeakMap<Session, EarlierRuns>()

const settled = new WeakSet<CallWithoutResult>()

export const settleDoubt = (call: CallWithoutResult): void => void settled.add(call)

/** The runs that a run continues, latest first. */
const linksOf = (tape: Tape): readonly ResumedRun[] =>
  readGuards(tape).guards.find(({ resumes }) => resumes !== undefined)?.resumes ?? []

/** The run and all related runs, verified, oldest first. */
function familyOf(file: string, name: string): readonly Tape[] {
  const dir = path.dirname(file)
  const requested = openTape(file)
  const later = runsOf(dir, name, requested.run.id).find((tape) =>
    linksOf(tape).some(({ run }) => run === requested.run.id),
  )
  const latest = later ?? requested
  const links = linksOf(latest)
  const earlier = links.map((link) => openLinked(dir, link, latest.run.id))
  const tapes = [latest, ...earlier].toReversed()
  for (const tape of tapes) {
    const { problem } = tape.verify()
    if (problem !== undefined) throw resumeErrors.RESUME_TAPE_CORRUPT(tape.path, problem)
    const { durability, startedAt } = tape.run
    const bootedAt = Date.now() - os.uptime() * 1000
    if (durability === 'process' && tape.status === 'truncated' && startedAt < bootedAt)
      throw resumeErrors.RESUME_NOT_DURABLE(tape.path)
  }
  return tapes.map(revealed)
}

function openLinked(dir: string, { run, chain }: ResumedRun, by: string): Tape {
  const file = path.join(dir, `${run}.tape`)
  let tape: Tape
  try {
    tape = openTape(file)
  } catch (error) {
    if (error instanceof TapeError && error.code === 'TAPE_MISSING')
      throw resumeErrors.RESUME_TAPE_MISSING(file, by, error)
    throw error
  }
  if (tape.chainAt(tape.count - 1) !== chain) throw resumeErrors.RESUME_TAPE_REPLACED(file)
  return tape
}

/** The tape with its original values. Throws if the key is missing, because masked results are useless. */
function revealed(tape: Tape): Tape {
  const opened = revealedTape(tape)
  const { redaction } = tape.details
  if (redaction !== undefined && redactionOf(opened) === undefined)
    throw resumeErrors.RESUME_KEY_MISSING(tape.path, redaction.key)
  return opened
}
