import path from 'node:path'
import type { SourceList, Tape } from '@retake/tape/format'
import { lineAt, type MaskedSource } from '@retake/runner/privacy'
import { filesOfCode } from '@retake/runner/sources'
import { isSourcePath } from './capsule-file.js'

/** The recorded project of a run, below the folder that contains all of its files. */
export interface CapsuleProject {
  /** The working directory of the run in that folder; empty if it is the folder. */
  readonly cwd: string
  /** Digest on the tape, by path in that folder. */
  readonly files: ReadonlyMap<string, string>
  /** A path that cannot be part of a capsule. */
  readonly refused?: string
}

/**
 * Reads paths from tapes, which may be those of a stranger. `tapes`: the run, and processes that it
 * started; the first tape that names a path decides.
 */
export function projectOf(tapes: readonly [Tape, ...Tape[]], lists: SourceLists): CapsuleProject {
  const [{ details }] = tapes
  const folder = slashed(details.cwd ?? '')
  const named = new Map<string, string>()
  const linked: string[] = []
  for (const tape of tapes) {
    const from = path.posix.relative(folder, slashed(tape.details.cwd ?? ''))
    for (const [file, sha] of Object.entries(filesOfTape(tape, lists))) {
      const relative = path.posix.join(from, slashed(file))
      if (!named.has(relative)) named.set(relative, sha)
    }
    const { links = {} } = lists.get(tape.details.code?.list ?? '') ?? {}
    for (const file of Object.entries(links).flat())
      linked.push(path.posix.join(from, slashed(file)))
  }
  const above = Math.max(0, ...Array.from(named.keys(), stepsUp))
  const cwd = above === 0 ? '' : folder.split('/').slice(-above).join('/')
  const files = new Map(
    Array.from(named, ([file, sha]) => [path.posix.join(cwd, file), sha] as const),
  )
  const isWithin = above < folder.split('/').length && (cwd === '' || isSourcePath(cwd))
  const written = [...files.keys(), ...linked.map((file) => path.posix.join(cwd, file))]
  const refused = isWithin ? written.find((file) => !isSourcePath(file)) : folder
  return { cwd, files, ...(refused !== undefined && { refused }) }
}

/** Lists of source files, by their digest. */
export type SourceLists = ReadonlyMap<string, SourceList>

/** Digests of the code of a tape, by path; none without its list. */
export function filesOfTape(
  { details: { code } }: Tape,
  lists: SourceLists,
): Readonly<Record<string, string>> {
  const list = lists.get(code?.list ?? '')
  return list === undefined ? {} : filesOfCode(list)
}

const slashed = (file: string): string => file.replaceAll('\\', '/')
const stepsUp = (file: string): number => file.split('/').filter((part) => part === '..').length

/** Names of masked secrets: `file:line`, and the column if there are several in a line. */
export function maskNames(file: string, bytes: Buffer, ranges: MaskedSource['masked']): string[] {
  const lines = ranges.map(([start]) => lineAt(bytes, start))
  return ranges.map(([start], index) => {
    const line = lines[index]
    if (lines.filter((each) => each === line).length === 1) return `${file}:${line}`
    return `${file}:${line}:${start - bytes.lastIndexOf(10, start)}`
  })
}

/** Everything that is masked in these files. */
export const maskedLines = (
  files: ReadonlyMap<string, string>,
  sources: ReadonlyMap<string, MaskedSource>,
): string[] =>
  Array.from(files, ([file, sha]) => {
    const source = sources.get(sha)
    return source === undefined ? [] : maskNames(file, source.bytes, source.masked)
  }).flat()
