import { createHash, randomBytes } from 'node:crypto'
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { attempt, type SourceList, sourceListProblem, type Tape } from '@retake/tape/format'
import { foldersUp } from '../package-root.js'

/**
 * Contents of source files, and lists of the files of programs, once each, shared by all runs of a
 * folder. Both are named by their SHA-256 and verified when they are read. Readable for their owner
 * only, like a tape: sources may contain keys.
 *
 * Not promised: contents are not synced. After a power failure, one may be missing or damaged, and
 * the run is then shown with today's code.
 */
export class SourceStore {
  constructor(readonly folder: string) {}

  /**
   * The store of the runs in this folder, or of what commands and child processes made of them in
   * folders below: `.retake/sources`, or inside of a folder elsewhere.
   */
  static besideRuns(folder: string): SourceStore {
    const shared = foldersUp(path.resolve(folder)).find((each) => path.basename(each) === '.retake')
    if (shared !== undefined) return new SourceStore(path.join(shared, 'sources'))
    let runs = path.resolve(folder)
    while (/\.(?:children|compare)$/.test(runs)) runs = path.dirname(runs)
    return new SourceStore(path.join(runs, '.sources'))
  }

  /** Writes the contents that are missing. Throws if it cannot; a recording then continues without them. */
  keep(contents: ReadonlyMap<string, Uint8Array>): void {
    for (const [sha, content] of contents) {
      const file = this.#fileOf(sha)
      const ageMs = ageOf(file)
      if (ageMs !== undefined) {
        // The run that used it may be removed before the tape of this one exists.
        if (ageMs > FRESH_MS / 2) attempt(() => utimesSync(file, new Date(), new Date()))
        continue
      }
      mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
      // Another process may keep the same content at this moment.
      const written = `${file}.${randomBytes(6).toString('hex')}`
      try {
        writeFileSync(written, gzipSync(content), { mode: 0o600 })
        renameSync(written, file)
      } catch (error) {
        rmSync(written, { force: true })
        throw error
      }
    }
  }

  /** Undefined if the content is missing or damaged. */
  read(sha: string): Buffer | undefined {
    if (!SHA.test(sha)) return undefined
    const content = attempt(() =>
      gunzipSync(readFileSync(this.#fileOf(sha)), { maxOutputLength: CONTENT_BYTES_MAX }),
    )
    return content !== undefined && shaOf(content) === sha ? content : undefined
  }

  /** Undefined if the list is missing or damaged. */
  list(sha: string): SourceList | undefined {
    const bytes = this.read(sha)
    return bytes && parseSourceList(bytes)
  }

  /**
   * Makes a list new, so that neither it nor its contents are removed before the run that names them
   * has a tape. False if it is missing.
   */
  renew(sha: string): boolean {
    const file = this.#fileOf(sha)
    const ageMs = ageOf(file)
    if (ageMs === undefined || ageMs <= FRESH_MS / 2) return ageMs !== undefined
    return attempt(() => {
      utimesSync(file, new Date(), new Date())
      return true
    }, false)
  }

  /**
   * Removes the contents that no run names, except new ones: a run that is starting keeps its
   * sources before it has a tape. Returns how many bytes that were.
   */
  removeUnused(used: ReadonlySet<string>, isDry = false): number {
    let bytes = 0
    for (const start of attempt(() => readdirSync(this.folder), []))
      for (const name of attempt(() => readdirSync(path.join(this.folder, start)), [])) {
        const [sha = '', ...unfinished] = name.split('.')
        // Other files are not from here.
        if (!SHA.test(sha) || sha.slice(0, 2) !== start) continue
        if (used.has(sha) && unfinished.length === 0) continue
        bytes += removeOld(path.join(this.folder, start, name), isDry) ?? 0
      }
    return bytes
  }

  /** Removes one content unless it is new. Returns its bytes; undefined if it stays. */
  remove(sha: string, isDry: boolean): number | undefined {
    return removeOld(this.#fileOf(sha), isDry)
  }

  #fileOf(sha: string): string {
    return path.join(this.folder, sha.slice(0, 2), sha)
  }
}

export const shaOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

const SHA = /^[\da-f]{64}$/
/** Larger files are not written by hand. */
export const CONTENT_BYTES_MAX = 16 * 1024 * 1024
/** An unused content is not removed before this age. */
export const FRESH_MS = 60 * 60 * 1000

function removeOld(file: string, isDry: boolean): number | undefined {
  const ageMs = ageOf(file)
  if (ageMs === undefined) return 0
  if (ageMs < FRESH_MS) return undefined
  const bytes = attempt(() => statSync(file).size, 0)
  if (!isDry) rmSync(file, { force: true })
  return bytes
}

function ageOf(file: string): number | undefined {
  const found = statSync(file, { throwIfNoEntry: false })
  return found && Date.now() - found.mtimeMs
}

/** All files of recorded code, by their path: sources, and files that say how they are loaded. */
export const filesOfCode = (list: SourceList): Readonly<Record<string, string>> => ({
  ...list.settings,
  ...list.files,
})

/** Undefined if these bytes are not a list. They may come from a stranger. */
export function parseSourceList(bytes: Uint8Array): SourceList | undefined {
  const value = attempt(() => JSON.parse(Buffer.from(bytes).toString()) as unknown)
  return sourceListProblem(value) === undefined ? (value as SourceList) : undefined
}

const lists = new WeakMap<Tape, SourceList>()

/** The list that a run names; undefined if it names none, or if it is missing or damaged. */
export function sourceListOf(tape: Tape): SourceList | undefined {
  const { code } = tape.details
  if (code === undefined || lists.has(tape)) return lists.get(tape)
  const bytes = storedContent(tape, code.list)
  const list = bytes && parseSourceList(bytes)
  if (list !== undefined) lists.set(tape, list)
  return list
}

/** Contents of the code of a run, by path; undefined for one that is missing or damaged. None without its list. */
export function* recordedSources(
  tape: Tape,
): Generator<readonly [file: string, content: Buffer | undefined]> {
  const { cwd = '.' } = tape.details
  const list = sourceListOf(tape)
  if (list === undefined) return
  for (const [file, sha] of Object.entries(filesOfCode(list)))
    yield [path.resolve(cwd, file), storedContent(tape, sha)]
}

/**
 * The recorded content of one source file, also of one that was compiled; undefined if it is
 * missing, damaged or not part of the code.
 */
export function recordedSource(tape: Tape, file: string): Buffer | undefined {
  const { cwd = '.' } = tape.details
  const name = path.relative(cwd, path.resolve(cwd, file))
  const list = sourceListOf(tape)
  const sha = list && filesOfCode(list)[name]
  return sha === undefined ? undefined : storedContent(tape, sha)
}

/** A content by its digest; undefined if it is in none of the stores that this run may have. */
export function storedContent(
  { path: file, details: { cwd = '.' } }: Tape,
  sha: string,
): Buffer | undefined {
  const stores = [
    SourceStore.besideRuns(path.dirname(file)),
    new SourceStore(path.join(cwd, '.retake', 'sources')),
    new SourceStore(path.resolve('.retake', 'sources')),
  ]
  let content: Buffer | undefined
  for (const store of stores) content ??= store.read(sha)
  return content
}

/** True if the code of a run can be executed again: all of its contents were kept. */
export const hasRecordedCode = (tape: Tape): boolean => {
  const contents = Array.from(recordedSources(tape), ([, content]) => content)
  return contents.length > 0 && contents.every((content) => content !== undefined)
}
