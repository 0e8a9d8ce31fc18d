import { createHash, randomBytes } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { attempt, type RecordedCode, type Tape } from '@retake/tape/format'

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

  /** The store of the runs in this folder. */
  static besideRuns(runsFolder: string): SourceStore {
    return new SourceStore(path.join(path.dirname(path.resolve(runsFolder)), 'sources'))
  }

  /** The store of a run, or of a process that it started, or of a fork that a command made of it. */
  static ofTape(tape: string): SourceStore {
    let folder = path.dirname(path.resolve(tape))
    while (/\.(?:children|compare)$/.test(folder)) folder = path.dirname(folder)
    return SourceStore.besideRuns(folder)
  }

  /** Writes the contents that are missing. Throws if that is impossible; a recording goes on without. */
  keep(contents: ReadonlyMap<string, Uint8Array>): void {
    for (const [sha, content] of contents) {
      const file = this.#fileOf(sha)
      if (existsSync(file)) continue
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

  /** Removes every content that no run names, and returns how many bytes that were. */
  removeUnused(used: ReadonlySet<string>): number {
    let bytes = 0
    for (const start of attempt(() => readdirSync(this.folder), []))
      for (const name of attempt(() => readdirSync(path.join(this.folder, start)), [])) {
        const file = path.join(this.folder, start, name)
        const found = statSync(file, { throwIfNoEntry: false })
        // A run that is starting keeps its sources before it has a tape.
        const isFresh = found !== undefined && Date.now() - found.mtimeMs < FRESH_MS
        if (found === undefined || isFresh || used.has(name)) continue
        rmSync(file, { force: true })
        bytes += found.size
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
const FRESH_MS = 60 * 60 * 1000

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
  const stores = [
    SourceStore.ofTape(tape.path),
    new SourceStore(path.join(cwd, '.retake', 'sources')),
    new SourceStore(path.resolve('.retake', 'sources')),
  ]
  for (const [file, sha] of Object.entries(filesOfCode(code))) {
    let content: Buffer | undefined
    for (const store of stores) content ??= store.read(sha)
    yield [path.resolve(cwd, file), content]
  }
}

/** True if the code of a run can be executed again: all of its contents were kept. */
export const hasRecordedCode = (tape: Tape): boolean => {
  const contents = Array.from(recordedSources(tape), ([, content]) => content)
  return contents.length > 0 && contents.every((content) => content !== undefined)
}
