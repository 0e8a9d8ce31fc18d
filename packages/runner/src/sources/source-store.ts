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
import { attempt, type RecordedCode, type Tape } from '@retake/tape/format'
import { foldersUp } from '../package-root.js'

/**
 * Contents of source files, once each, shared by all runs of a folder. A content is named by its
 * SHA-256 and verified when it is read. Readable for its owner only, like a tape: sources may
 * contain keys.
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
        const file = path.join(this.folder, start, name)
        const ageMs = ageOf(file)
        if (ageMs === undefined || ageMs < FRESH_MS) continue
        bytes += attempt(() => statSync(file).size, 0)
        if (!isDry) rmSync(file, { force: true })
      }
    return bytes
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

function ageOf(file: string): number | undefined {
  const found = statSync(file, { throwIfNoEntry: false })
  return found && Date.now() - found.mtimeMs
}

/** All files of recorded code, by their path: sources, and files that say how they are loaded. */
export const filesOfCode = (code: RecordedCode): Readonly<Record<string, string>> => ({
  ...code.settings,
  ...code.files,
})

/** Contents of the code of a run, by path; undefined for one that is missing or damaged. */
export function* recordedSources(
  tape: Tape,
): Generator<readonly [file: string, content: Buffer | undefined]> {
  const { code, cwd = '.' } = tape.details
  if (code === undefined) return
  for (const [file, sha] of Object.entries(filesOfCode(code)))
    yield [path.resolve(cwd, file), storedContent(tape, sha)]
}

/**
 * The recorded content of one source file, also of one that was compiled; undefined if it is
 * missing, damaged or not part of the code.
 */
export function recordedSource(tape: Tape, file: string): Buffer | undefined {
  const { code, cwd = '.' } = tape.details
  const name = path.relative(cwd, path.resolve(cwd, file))
  const sha = code && filesOfCode(code)[name]
  return sha === undefined ? undefined : storedContent(tape, sha)
}

/** A content by its digest; undefined if it is missing or damaged. */
export function storedContent({ path: file, details: { cwd = '.' } }: Tape, sha: string) {
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
