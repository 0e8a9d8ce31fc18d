import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { childTapePath, newRunId, prepareRunsFolder, RUN_FILE } from '@retake/engine/runs'
import { isBeingWritten, openOwnTape } from '@retake/tape/node'
import { project } from '../config/define-config.js'
import { cliErrors } from '../errors.js'
import { errors } from '@retake/engine/errors'
import {
  attempt,
  type EndEvent,
  isStoppedNote,
  type RunEvent,
  type Tape,
  tapeErrors,
} from '@retake/tape/format'
import { runStatus, type RunStatus } from '@retake/tape/present'
import { shellWord } from '../terminal/shell-word.js'
import { fromHere } from '../terminal/terminal.js'
import { version } from '../package-root.js'
import { RunIndexFile } from './run-index.js'
import type { StoredSummary } from './run-summary.js'

/** A run without a mark counts as recording if its tape is locked or grew this recently. */
const FRESH_MS = 5000

const markOf = (tape: string): string => `${tape}.pid`

/**
 * Marks the tape as being recorded by this process, and which run it continues, until disposed.
 * Throws before anything runs if the folder is not writable.
 */
export function markRecording(tape: string, parent = ''): Disposable {
  try {
    writeFileSync(markOf(tape), `${process.pid} ${parent}`.trimEnd())
  } catch (error) {
    throw errors.RUNS_FOLDER_NOT_WRITABLE(path.dirname(tape), error)
  }
  return { [Symbol.dispose]: () => rmSync(markOf(tape), { force: true }) }
}

/** Guesses whether an unfinished tape is still being written. */
export function isRecording(tape: string, scope: RunEvent['scope']): boolean {
  const marked = markedAlive(tape)
  if (marked !== undefined) return marked
  if (scope === 'process') return false
  if (isBeingWritten(tape)) return true
  const found = statSync(tape, { throwIfNoEntry: false })
  return found !== undefined && Date.now() - found.mtimeMs < FRESH_MS
}

/** True if the end of a tape is missing, and no process is writing it. */
export const isCutOff = (tape: Tape): boolean => !tape.isComplete && !isBeingWritten(tape.path)

/** Undefined without a mark. */
const markedAlive = (tape: string): boolean | undefined =>
  attempt(() => isAlive(Number.parseInt(readFileSync(markOf(tape), 'utf8'), 10)))

export const isMarkedAlive = (tape: string): boolean => markedAlive(tape) === true

export const markedParent = (tape: string): string | undefined =>
  attempt(() => readFileSync(markOf(tape), 'utf8').split(' ')[1])

/** Forks and results of `retake compare`. */
export const comparisonFolderOf = (tape: string): string =>
  path.resolve(tape.replace(/(?:\.tape)?$/, '.compare'))

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

const EXTENSION = '.tape'

export class RunStore {
  readonly folder: string
  readonly index: RunIndexFile<StoredSummary>
  readonly #isDefault: boolean

  /** Default folder: `.retake/runs` in the working directory, or as configured by the project. */
  constructor(folder: string | undefined = project().runs) {
    this.#isDefault = folder === undefined
    this.folder = path.resolve(folder ?? path.join('.retake', 'runs'))
    // Costs depend on the prices of the project.
    this.index = new RunIndexFile(
      this.folder,
      EXTENSION,
      () => `${version()} ${JSON.stringify(project().prices)}`,
    )
  }

  pathOf(id: string): string {
    return path.join(this.folder, id + EXTENSION)
  }

  /** Creates the folder, excluded from version control: tapes contain conversations. */
  prepare(): void {
    try {
      prepareRunsFolder(this.#isDefault ? undefined : this.folder)
    } catch (error) {
      throw errors.RUNS_FOLDER_NOT_WRITABLE(this.folder, error)
    }
  }

  /** Id and tape of a new run. `out`: required path of the tape; throws if it exists. */
  newRun(out?: string): { readonly id: string; readonly tape: string } {
    if (out === undefined) {
      this.prepare()
      const id = newRunId()
      return { id, tape: this.pathOf(id) }
    }
    const tape = path.resolve(out)
    if (!RUN_FILE.test(path.basename(tape))) throw cliErrors.TAPE_NAME_INVALID(out)
    if (existsSync(tape)) throw tapeErrors.TAPE_EXISTS(tape)
    const store = new RunStore(path.dirname(tape))
    store.prepare()
    return { id: path.basename(tape, EXTENSION), tape }
  }

  /** Names of the files in the folder; empty if there is no folder. */
  fileNames(): string[] {
    return attempt(() => readdirSync(this.folder), [])
  }

  unsortedIds(names = this.fileNames()): string[] {
    return names
      .filter((name) => name.endsWith(EXTENSION))
      .map((name) => name.slice(0, -EXTENSION.length))
  }

  ids(): string[] {
    return [...this.newestFirst(this.unsortedIds())]
  }

  /**
   * Sorts runs lazily. An id begins with its start in seconds, so tapes are read only for runs of
   * the same second and for custom names.
   */
  *newestFirst(ids: readonly string[]): Generator<string> {
    const bySecond = new Map<string, string[]>()
    const starts = new Map<string, number>()
    const startOf = (id: string): number => {
      const known =
        starts.get(id) ??
        this.index.lastRowOf(id)?.startedAt ??
        attempt(() => openOwnTape(this.pathOf(id)).run.startedAt, 0)
      starts.set(id, known)
      return known
    }
    for (const id of ids) {
      const second =
        SECOND.exec(id)?.[0] ??
        new Date(startOf(id))
          .toISOString()
          .replaceAll(/[-:]|\..*/g, '')
          .replace('T', '-')
      const others = bySecond.get(second)
      if (others === undefined) bySecond.set(second, [id])
      else others.push(id)
    }
    for (const second of [...bySecond.keys()].toSorted((a, b) => compareText(b, a))) {
      const group = bySecond.get(second) ?? []
      yield* group.length === 1
        ? group
        : group.toSorted((a, b) => startOf(b) - startOf(a) || compareText(b, a))
    }
  }

  /** Tape path for an id or its beginning, a path, `last`, `last~1` or `last:failed`. */
  find(name: string): string {
    if (name === '') throw cliErrors.UNKNOWN_RUN(name, this.folder)
    const { status, back } = LAST.exec(name)?.groups ?? {}
    if (LAST.test(name)) return this.#last(name, status as RunStatus | undefined, Number(back ?? 0))
    if (/[\\/]/.test(name) || name.endsWith(EXTENSION) || isFile(name)) return name
    const ids = this.unsortedIds()
    const matches = ids.includes(name) ? [name] : ids.filter((id) => id.startsWith(name))
    const [match] = matches
    if (match === undefined) {
      // Tape path of a child process, named by the id of the run and the event that started it.
      const { run, event } = CHILD.exec(name)?.groups ?? {}
      const parent = run === undefined ? undefined : attempt(() => this.find(run))
      const file = parent === undefined ? undefined : childTapePath(parent, Number(event))
      if (file === undefined || !isFile(file)) throw cliErrors.UNKNOWN_RUN(name, this.folder)
      return file
    }
    if (matches.length > 1) throw cliErrors.AMBIGUOUS_RUN(name, [...this.newestFirst(matches)])
    return this.pathOf(match)
  }

  #last(name: string, status: RunStatus | undefined, back: number): string {
    const ids = this.unsortedIds()
    if (ids.length === 0) throw cliErrors.NO_RUNS(this.folder)
    let left = back
    for (const id of this.newestFirst(ids)) {
      if (status !== undefined && endedAs(this.pathOf(id)) !== status) continue
      if (left === 0) return this.pathOf(id)
      left -= 1
    }
    throw cliErrors.NO_SUCH_LAST_RUN(name, status, back - left, this.folder)
  }
}

/** Refers to a run by its id, or by the path of a tape outside of the default folder. */
export function runName({ run, path: file }: Tape): string {
  return path.resolve(file) === new RunStore().pathOf(run.id) ? run.id : shellWord(fromHere(file))
}

const LAST = /^last(?::(?<status>done|failed|killed|stopped|recording))?(?:~(?<back>\d{1,9}))?$/
const CHILD = /^(?<run>.+)-(?<event>\d{1,9})$/s
/** The start time in an id such as `20261115-093012-kqzt`. */
const SECOND = /^\d{8}-\d{6}/
const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
const isFile = (name: string): boolean =>
  statSync(name, { throwIfNoEntry: false })?.isFile() ?? false

/** At most the seal follows the end of a run. */
const AFTER_END = 2

/** Status of a run, from the end of its tape; undefined if unreadable. */
function endedAs(file: string): RunStatus | undefined {
  return attempt(() => {
    const tape = openOwnTape(file)
    const events = [...tape.events(tape.count - AFTER_END)]
    const end = events.find((event): event is EndEvent => event.type === 'end')
    const exit = end && { ...end, ...(end.exitCode !== undefined && { code: end.exitCode }) }
    const isStopped = events.slice(-1).some(isStoppedNote)
    return runStatus(
      { exit, isStopped },
      { isCutOff: isCutOff(tape), isRecording: () => isRecording(file, tape.run.scope) },
    )
  })
}

/** Reads a file that may not exist. Throws `unreadable` if it cannot be read or parsed. */
export function readIfPresent<T>(
  file: string,
  parse: (text: string) => T,
  unreadable: (file: string, cause: unknown) => Error,
): T | undefined {
  try {
    return parse(readFileSync(file, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw unreadable(file, error)
  }
}

/** `.retake/blame` for `.retake/runs`; inside of a tape folder with another name. */
export function folderBesideRuns(runs: string, name: string): string {
  const folder = path.resolve(runs)
  return path.join(path.basename(folder) === 'runs' ? path.dirname(folder) : folder, name)
}

/** Files of `retake fix` for one run, by kind. */
export const fixFolderOf = (tapeFile: string, kind: string, run: string): string =>
  path.join(folderBesideRuns(path.dirname(tapeFile), 'fix'), kind, run)

export const fixPathOf = (tapeFile: string, run: string): string =>
  `${fixFolderOf(tapeFile, 'results', run)}.json`
