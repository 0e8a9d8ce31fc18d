import { openSync, readdirSync, readSync, closeSync } from 'node:fs'
import path from 'node:path'
import { readGuards, TapeError, type Tape } from '@retake/tape/format'
import { openOwnTape, openTape } from '@retake/tape/node'

/**
 * The tape of the run that is to be resumed; undefined when there is none to resume. `true`: the
 * latest of this name, unless it came to its end. A text: id or path of any run.
 */
export function findRun(dir: string, name: string, resume: true | string): string | undefined {
  if (resume !== true) {
    const isPath = resume.endsWith('.tape') || path.basename(resume) !== resume
    return isPath ? path.resolve(resume) : path.join(dir, `${resume}.tape`)
  }
  const [latest] = runsOf(dir, name)
  return latest === undefined || isComplete(latest) ? undefined : latest.path
}

/** Runs of a folder with this name in which a guard of this name was used, the latest first. */
export function runsOf(dir: string, name: string, since = ''): readonly Tape[] {
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
