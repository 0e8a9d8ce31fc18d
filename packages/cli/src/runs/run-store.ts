import { attempt } from '../attempt.js'
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { prepareRunsFolder } from '@retake/engine/runs'
import { isLocked, openTape } from '@retake/tape/node'
import { project } from '../config/define-config.js'
import { cliErrors } from '../errors.js'
import { errors } from '@retake/engine/errors'
import type { RunEvent } from '@retake/tape'

/** A run inside a program has no mark: it counts as going on while its tape is locked, or grows. */
const FRESH_MS = 5000

const markOf = (tape: string): string => `${tape}.pid`

/**
 * Leaves a note beside the tape that this process is recording it; the answer
 * removes it. Throws where the folder cannot be written to, before anything ran.
 */
export function markRecording(tape: string): () => void {
  try {
    writeFileSync(markOf(tape), String(process.pid))
  } catch (error) {
    throw errors.RUNS_FOLDER_NOT_WRITABLE(path.dirname(tape), error)
  }
  return () => rmSync(markOf(tape), { force: true })
}

/** Guesses whether an unfinished tape is still being written. */
export function isRecording(tape: string, scope: RunEvent['scope']): boolean {
  const marked = markedAlive(tape)
  if (marked !== undefined) return marked
  if (scope === 'process') return false
  if (isLocked(tape)) return true
  const found = statSync(tape, { throwIfNoEntry: false })
  return found !== undefined && Date.now() - found.mtimeMs < FRESH_MS
}

/** Undefined without a mark. */
const markedAlive = (tape: string): boolean | undefined =>
  attempt(() => isAlive(Number(readFileSync(markOf(tape), 'utf8'))))

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

const EXTENSION = '.tape'

/** The folder of the tapes of a project. */
export class RunStore {
  readonly folder: string
  readonly #isDefault: boolean

  /** `.retake/runs` under the working directory, unless `folder` or the project's configuration says otherwise. */
  constructor(folder: string | undefined = project().runs) {
    this.#isDefault = folder === undefined
    this.folder = path.resolve(folder ?? path.join('.retake', 'runs'))
  }

  pathOf(id: string): string {
    return path.join(this.folder, id + EXTENSION)
  }

  /** Makes the folder and excludes it from version control: tapes contain whole conversations. */
  prepare(): void {
    try {
      prepareRunsFolder(this.#isDefault ? undefined : this.folder)
    } catch (error) {
      throw errors.RUNS_FOLDER_NOT_WRITABLE(this.folder, error)
    }
  }

  unsortedIds(): string[] {
    return attempt(() => readdirSync(this.folder), [])
      .filter((name) => name.endsWith(EXTENSION))
      .map((name) => name.slice(0, -EXTENSION.length))
  }

  /** Ids of all runs, newest first. */
  ids(): string[] {
    const started = new Map<string, number>()
    const startOf = (id: string): number => {
      const known = started.get(id) ?? startedAt(this.pathOf(id))
      started.set(id, known)
      return known
    }
    // An id begins with its date and second; within one second the tape knows.
    return this.unsortedIds().toSorted(
      (a, b) =>
        compareText(secondOf(b), secondOf(a)) || startOf(b) - startOf(a) || compareText(b, a),
    )
  }

  /** Path of the tape that `name` means: an id, the start of one, a path, or `last`. */
  find(name: string): string {
    if (name === '') throw cliErrors.UNKNOWN_RUN(name, this.folder)
    if (name === 'last') return this.#last()
    if (/[\\/]/.test(name) || name.endsWith(EXTENSION) || isFile(name)) return name
    const ids = this.ids()
    const matches = ids.includes(name) ? [name] : ids.filter((id) => id.startsWith(name))
    const [match] = matches
    if (match === undefined) throw cliErrors.UNKNOWN_RUN(name, this.folder)
    if (matches.length > 1) throw cliErrors.AMBIGUOUS_RUN(name, matches)
    return this.pathOf(match)
  }

  #last(): string {
    const [id] = this.ids()
    if (id === undefined) throw cliErrors.NO_RUNS(this.folder)
    return this.pathOf(id)
  }
}

const secondOf = (id: string): string => id.slice(0, '20261115-093012'.length)
const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
const isFile = (name: string): boolean =>
  statSync(name, { throwIfNoEntry: false })?.isFile() ?? false

const startedAt = (file: string): number => attempt(() => openTape(file).run.startedAt, 0)

/** Reads a file that need not exist. Throws `unreadable` if it cannot be read or parsed. */
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
