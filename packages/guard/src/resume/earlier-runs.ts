import path from 'node:path'
import { readGuards, TapeError, type ResumedRun, type Tape } from '@retake/tape/format'
import { openTape, TapeLock } from '@retake/tape/node'
import type { Session } from '@retake/engine/hook'
import { CallLedger } from './call-ledger.js'
import type { Spent } from '../limits/spent.js'
import type { EarlierCall, EarlierCalls } from './earlier-calls.js'
import { released } from './exit.js'
import { findRun, runsOf } from './find-run.js'
import { resumeErrors } from './resume-errors.js'
import { SpendingOnTape } from './spending-on-tape.js'

/**
 * The runs that are resumed: the one that was asked for, those it went on from, and
 * those that went on from it. Results are served from all of them, so that a crash of
 * a resumed run loses nothing that it had not come to yet. Every tape is verified
 * first. As long as this lives, no other guard can resume any of them.
 */
export class EarlierRuns implements EarlierCalls {
  /** The latest first. */
  readonly resumes: readonly ResumedRun[]
  /** Where their tapes lie, and where that of the run belongs that goes on from them. */
  readonly dir: string
  readonly #ledger = new CallLedger()
  readonly #lock: TapeLock
  /** The oldest first. */
  readonly #tapes: readonly Tape[]

  private constructor(tapes: readonly Tape[], lock: TapeLock) {
    this.#lock = lock
    this.#tapes = tapes
    for (const tape of tapes) this.#ledger.addTape(tape)
    this.resumes = tapes
      .map((tape) => ({ run: tape.run.id, chain: tape.chainAt(tape.count - 1) }))
      .toReversed()
    this.dir = path.dirname(tapes[0]?.path ?? '')
  }

  /** Finds, locks and checks the runs; undefined when there is nothing to resume. */
  static open(dir: string, name: string, resume: true | string): EarlierRuns | undefined {
    for (let attempt = 0; ; attempt += 1) {
      const found = findRun(dir, name, resume)
      if (found === undefined) return undefined
      const lock = TapeLock.take(rootOf(found))
      try {
        // The previous owner of the lock may have continued it meanwhile.
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

  /** The runs that the run of this session goes on from: for calls of other guards inside its own. */
  static of(session: Session): EarlierRuns | undefined {
    return resumedBy.get(session)
  }

  /** The session that goes on from these runs. */
  resumeIn(session: Session): void {
    resumedBy.set(session, this)
  }

  find(...call: Parameters<EarlierCalls['find']>): EarlierCall | undefined {
    return this.#ledger.find(...call)
  }

  /** Spending of a guard in all of them. */
  spentBy(guard: string): readonly Spent[] {
    return this.#tapes.flatMap((tape, index) =>
      // The next one could begin only when this one was over.
      new SpendingOnTape(tape, guard).all(this.#tapes[index + 1]?.run.startedAt),
    )
  }

  /** Calls in doubt about which nothing was decided so far. */
  openDoubts(): readonly EarlierCall[] {
    return this.#ledger.inDoubt().filter((call) => !settled.has(call))
  }

  /** Id of the first of the runs: the same however often it is resumed. */
  get root(): string {
    return this.resumes.at(-1)?.run ?? ''
  }

  release(): void {
    released(this)
    this.#lock.release()
  }
}

const resumedBy = new WeakMap<Session, EarlierRuns>()
const settled = new WeakSet<EarlierCall>()

/** A call in doubt is made again, or given up on purpose. */
export const settleDoubt = (call: EarlierCall): void => void settled.add(call)

/** The tape of the run that all of them go back to: its lock is the lock of all. */
function rootOf(file: string): string {
  const first = linksOf(openTape(file)).at(-1)
  return first === undefined ? file : path.join(path.dirname(file), `${first.run}.tape`)
}

/** The runs that a run went on from, the latest first. */
const linksOf = (tape: Tape): readonly ResumedRun[] =>
  readGuards(tape).guards.find(({ resumes }) => resumes !== undefined)?.resumes ?? []

/** All of them, verified, the oldest first. */
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
  for (const tape of tapes) check(tape)
  return tapes
}

function openLinked(dir: string, { run, chain }: ResumedRun, by: string): Tape {
  const file = path.join(dir, `${run}.tape`)
  let tape: Tape
  try {
    tape = openTape(file)
  } catch (error) {
    if (error instanceof TapeError && error.code === 'TAPE_MISSING')
      throw resumeErrors.missing(file, by, error)
    throw error
  }
  if (tape.chainAt(tape.count - 1) !== chain) throw resumeErrors.changed(file)
  return tape
}

function check(tape: Tape): void {
  const { problem } = tape.verify()
  if (problem !== undefined) throw resumeErrors.corrupt(tape.path, problem.seq, problem.message)
  const isLossy = readGuards(tape).guards.some(({ durability }) => durability === 'memory')
  if (isLossy && tape.status === 'truncated') throw resumeErrors.notDurable(tape.path)
}
