import path from 'node:path'
import { readGuards, type ResumedRun, type Tape, TapeError } from '@retake/tape/format'
import { openOwnTape, openTape, TapeLock } from '@retake/tape/node'
import { outsideRuns, type Session } from '@retake/engine/hook'
import { CallLedger, type EarlierCall, type EarlierCalls } from './call-ledger.js'
import type { Spent } from '../limits/amount.js'
import { resumeErrors } from './resume-errors.js'
import { SpendingOnTape } from './spending-on-tape.js'
import { closeSync, openSync, readdirSync, readSync } from 'node:fs'

/**
 * The tape of the run that is to be resumed; undefined when there is none to resume. `true`: the
 * latest of this name, unless it came to its end. A text: id or path of any run.
 */
function findRun(dir: string, name: string, resume: true | string): string | undefined {
  if (resume !== true) {
    const isPath = resume.endsWith('.tape') || path.basename(resume) !== resume
    return isPath ? path.resolve(resume) : path.join(dir, `${resume}.tape`)
  }
  const [latest] = runsOf(dir, name)
  return latest === undefined || isComplete(latest) ? undefined : latest.path
}

/** Runs of a folder with this name in which a guard of this name was used, the latest first. */
function runsOf(dir: string, name: string, since = ''): readonly Tape[] {
  const found: Tape[] = []
  // Ids sort by their time, to the second.
  for (const file of tapesIn(dir)) {
    const second = secondOf(file)
    if (second < secondOf(since)) break
    const last = found.at(-1)
    if (since === '' && last !== undefined && second !== secondOf(path.basename(last.path))) break
    const tape = openNamed(path.join(dir, file), name)
    if (tape !== undefined) found.push(tape)
  }
  return found.toSorted((a, b) => b.run.startedAt - a.run.startedAt)
}

function tapesIn(dir: string): string[] {
  try {
    return readdirSync(dir)
      .filter((file) => file.endsWith('.tape'))
      .toSorted()
      .toReversed()
  } catch {
    return []
  }
}

const secondOf = (id: string): string => id.slice(0, '20261115-093012'.length)

/** A tape that is damaged and may be the one looked for is not passed over. */
function openNamed(file: string, name: string): Tape | undefined {
  // Most runs of a folder are others': their start tells.
  if (!startOf(file).includes(`"name":${JSON.stringify(name)}`)) return undefined
  try {
    if (openOwnTape(file).run.name !== name) return undefined
    const tape = openTape(file)
    // Killed before its first call it has done nothing, and does not even say what it resumes.
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

function startOf(file: string): string {
  try {
    const fd = openSync(file, 'r')
    try {
      const bytes = Buffer.alloc(4096)
      return bytes.toString('utf8', 0, readSync(fd, bytes, 0, bytes.length, 0))
    } finally {
      closeSync(fd)
    }
  } catch {
    return ''
  }
}

/**
 * True if a run came to its own end, and not to an error. Without a seal it was killed while
 * it ended: nobody was told that it had, and whoever starts it again wants none of it twice.
 */
function isComplete(tape: Tape): boolean {
  if (tape.status !== 'sealed') return false
  const end = tape.event(tape.count - 2)
  return end.type === 'end' && end.error === undefined && (end.exitCode ?? 0) === 0
}

/** Something that must not outlive the process: a lock, a tape that is buffered in memory. */
interface ExitResource {
  release(): void
}

const resources = new Set<ExitResource>()

/** Lets go of it when the process exits, if nobody did before. */
export function releaseAtExit(one: ExitResource): void {
  if (resources.size === 0) outsideRuns(() => process.on('exit', releaseAll))
  resources.add(one)
}

export function released(one: ExitResource): void {
  if (resources.delete(one) && resources.size === 0) process.off('exit', releaseAll)
}

function releaseAll(): void {
  for (const one of resources) {
    try {
      one.release()
    } catch {
      // The process is about to end: what is on the tape is what there is.
    }
  }
}

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

  /** All calls of a guard that were started in them, in order. */
  callsOf(guard: string): readonly EarlierCall[] {
    return this.#ledger.callsOf(guard)
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
