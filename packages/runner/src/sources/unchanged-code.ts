import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createHash, randomBytes } from 'node:crypto'
import path from 'node:path'
import { attempt, type RecordedCode } from '@retake/tape/format'
import { foldersUp } from '../package-root.js'

/** The code of a program, as it was kept the last time. */
export interface KnownCode {
  readonly code: RecordedCode
  /** Files that are not kept because of their size. */
  readonly tooLarge: readonly string[]
}

/** Size, times and number of a file. A file that was changed has another stamp, unless it was just written. */
type Stamp = readonly [size: number, mtimeMs: number, ctimeMs: number, ino: number]

interface Snapshot extends KnownCode {
  readonly format: typeof FORMAT
  /** Everything that was read or found. */
  readonly files: readonly (readonly [file: string, stamp: Stamp])[]
  /** Names that were looked for in vain. Without a stamp, the folder had just been changed. */
  readonly missing: readonly (readonly [folder: string, names: readonly string[], stamp?: Stamp])[]
}

/** Must change when the code of a program is read in another way. */
const FORMAT = 1
/** Within the coarsest time of common file systems, two changes may have the same one. */
const SETTLED_MS = 2000

/**
 * What is known about the programs of a store: which paths decided what their code is. While none of
 * them has changed, a recording needs no contents. A snapshot that cannot be read or written costs
 * only time.
 *
 * Not promised: a program that reads its packages from Yarn's archives has none.
 */
export class UnchangedCode {
  readonly #folder: string

  constructor(storeFolder: string) {
    this.#folder = path.join(storeFolder, 'known')
  }

  /** Undefined if something has changed, or if nothing is known. */
  find(program: string): KnownCode | undefined {
    return attempt(() => {
      const snapshot = this.#read(this.#fileOf(program))
      if (snapshot?.format !== FORMAT) return undefined
      const isSame =
        snapshot.files.every(([file, stamp]) =>
          // Of a folder that was found in place of a file, only that it is one.
          isFolder(stamp) ? isFolder(stampOf(file)) : hasStamp(file, stamp),
        ) &&
        snapshot.missing.every(
          ([folder, names, stamp]) =>
            (stamp !== undefined && hasStamp(folder, stamp)) || hasNone(folder, names),
        )
      return isSame ? snapshot : undefined
    })
  }

  /** `paths`: all that was looked at; `since`: when that began. Does nothing if one is too new. */
  remember(program: string, known: KnownCode, paths: Iterable<string>, since: number): void {
    const isSettled = ([, mtimeMs, ctimeMs]: Stamp): boolean =>
      Math.max(mtimeMs, ctimeMs) < since - SETTLED_MS
    const files: [string, Stamp][] = []
    const missing = new Map<string, Set<string>>()
    for (const file of paths) {
      const stamp = stampOf(file)
      if (stamp === undefined) {
        const [folder, name] = firstMissing(file)
        missing.set(folder, (missing.get(folder) ?? new Set()).add(name))
      } else if (isFolder(stamp) || isSettled(stamp)) files.push([file, stamp])
      else return
    }
    const snapshot: Snapshot = {
      format: FORMAT,
      ...known,
      files,
      missing: Array.from(missing, ([folder, names]) => {
        const stamp = stampOf(folder)
        return stamp && isSettled(stamp) ? [folder, [...names], stamp] : [folder, [...names]]
      }),
    }
    const target = this.#fileOf(program)
    const written = `${target}.${randomBytes(6).toString('hex')}`
    attempt(() => {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
      writeFileSync(written, JSON.stringify(snapshot), { mode: 0o600 })
      renameSync(written, target)
    })
    attempt(() => rmSync(written, { force: true }))
  }

  /** Lists of the programs that are known. */
  lists(): Set<string> {
    return new Set(this.#snapshots().flatMap(({ list }) => list ?? []))
  }

  /** Forgets the programs with this list, and snapshots that cannot be read. */
  forget(forgotten: string): void {
    for (const { file, list = forgotten } of this.#snapshots())
      if (list === forgotten) attempt(() => rmSync(file, { force: true }))
  }

  #snapshots(): { readonly file: string; readonly list: string | undefined }[] {
    return attempt(() => readdirSync(this.#folder), []).map((name) => {
      const file = path.join(this.#folder, name)
      return { file, list: attempt(() => this.#read(file)?.code.list) }
    })
  }

  #fileOf(program: string): string {
    const name = createHash('sha256').update(program).digest('hex').slice(0, 32)
    return path.join(this.#folder, `${name}.json`)
  }

  #read(file: string): Snapshot | undefined {
    return JSON.parse(readFileSync(file, 'utf8')) as Snapshot
  }
}

function stampOf(file: string): Stamp | undefined {
  const stats = attempt(() => statSync(file, { throwIfNoEntry: false }))
  if (stats === undefined) return undefined
  return [stats.isFile() ? stats.size : FOLDER, stats.mtimeMs, stats.ctimeMs, stats.ino]
}

/** In place of a size. */
const FOLDER = -1
const isFolder = (stamp: Stamp | undefined): boolean => stamp?.[0] === FOLDER

function hasStamp(file: string, stamp: Stamp): boolean {
  const now = stampOf(file)
  return now !== undefined && now.every((value, index) => value === stamp[index])
}

/** The nearest folder that is there, and the name that it does not have. */
function firstMissing(file: string): [folder: string, name: string] {
  const folder = foldersUp(path.dirname(file)).find((each) => stampOf(each) !== undefined) ?? '/'
  const [name = ''] = path.relative(folder, file).split(path.sep)
  return [folder, name]
}

/** True if the folder has none of these names, however they are spelt. */
function hasNone(folder: string, names: readonly string[]): boolean {
  const present = new Set(readdirSync(folder).map((name) => name.toLowerCase()))
  return !names.some((name) => present.has(name.toLowerCase()))
}
