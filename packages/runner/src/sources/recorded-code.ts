import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { MovedRoot } from '@retake/engine'
import type { RetakeError } from '@retake/engine/errors'
import { attempt, type Tape } from '@retake/tape/format'
import { changedSources, entryOf, movedHere } from './source-code.js'
import { replacesRecorded } from './code-loading.js'
import { cliErrors } from '../errors.js'
import { foldersUp } from '../package-root.js'
import { fromHere } from '../terminal/terminal.js'
import { installPackages, type RecordedPackages, recordedPackages } from './install-packages.js'
import { recordedSources, sourceListOf, SourceStore } from './source-store.js'
import { UnchangedCode } from './unchanged-code.js'

/**
 * A copy of the project in which the source files are those of the recording, and everything else
 * is a link to what is there today. Programs run in it as in a project that was moved, so nothing
 * on disk changes, and every loader, thread and version of Node sees the same files. Removed when
 * it is disposed, or when this process ends.
 *
 * Not promised: files that the program loads by a computed name are today's, and so are installed
 * packages, unless those of the recorded lock file are installed into the copy.
 */
export class RecordedCode implements Disposable {
  readonly #folder: string
  /** The folder of the project when it was recorded, and its copy. */
  readonly root: MovedRoot

  /** `changed`: files of today's code that differ. */
  private constructor(
    tape: Tape,
    top: string,
    contents: ReadonlyMap<string, Buffer>,
    readonly changed: readonly string[],
    packages?: RecordedPackages,
  ) {
    const { cwd = '.' } = tape.details
    const today = movedHere(tape)?.current ?? cwd
    this.#folder = mkdtempSync(path.join(realpathSync(tmpdir()), 'retake-code-'))
    open.add(this)
    // Programs may print the name of their folder.
    const copy = path.join(this.#folder, path.basename(top))
    const inCopy = (file: string): string => path.join(copy, path.relative(top, file))
    const hereOf = (folder: string): string => path.resolve(today, path.relative(cwd, folder))
    const recordedAt = (here: string): string => path.join(top, path.relative(hereOf(top), here))
    const links = new Map<string, string>()
    for (const [name, to] of Object.entries(sourceListOf(tape)?.links ?? {})) {
      const [from, target] = [path.resolve(cwd, name), path.resolve(cwd, to)]
      // A list from elsewhere may name any path.
      if (!from.startsWith(top + path.sep)) continue
      const isSame = attempt(() => realpathSync(hereOf(from)) === realpathSync(hereOf(target)))
      if (isSame !== true && contents.has(target)) links.set(from, target)
    }
    const own = new Set([top])
    for (const file of [...contents.keys(), ...links.keys()])
      for (const folder of foldersUp(path.dirname(file))) {
        if (folder === top) break
        own.add(folder)
      }
    const addFolders = (folder: string): void => {
      if (!folder.startsWith(top + path.sep)) return
      let at = top
      for (const name of path.relative(top, folder).split(path.sep)) {
        at = path.join(at, name)
        if (own.has(at)) continue
        const here = hereOf(at)
        if (lstatSync(here, { throwIfNoEntry: false })?.isSymbolicLink() === true) {
          at = recordedAt(attempt(() => realpathSync(here), here))
          addFolders(at)
        } else own.add(at)
      }
    }
    addFolders(cwd)
    addFolders(path.dirname(path.resolve(cwd, entryOf(tape)?.file ?? '')))
    // Programs may start such a file, and branches compare the modes of folders.
    const modeOf = (at: string, own: number): number =>
      (statSync(hereOf(at), { throwIfNoEntry: false })?.mode ?? 0) | own
    for (const folder of own) {
      mkdirSync(inCopy(folder), { recursive: true })
      chmodSync(inCopy(folder), modeOf(folder, 0o700) & 0o777)
    }
    for (const [file, content] of contents) {
      writeFileSync(inCopy(file), content)
      chmodSync(inCopy(file), modeOf(file, 0o600) & 0o777)
    }
    for (const [file, target] of links) link(inCopy(target), inCopy(file))
    // Links to something with recorded code lead into the copy.
    const copyOf = (target: string): string | undefined => {
      const inProject = recordedAt(target)
      return own.has(inProject) || contents.has(inProject) ? inCopy(inProject) : undefined
    }
    const namesIn = new Map(Array.from(own, (folder) => [folder, new Set<string>()] as const))
    for (const file of [...own, ...contents.keys(), ...links.keys()])
      namesIn.get(path.dirname(file))?.add(path.basename(file))
    for (const [folder, names] of namesIn) {
      const here = hereOf(folder)
      for (const entry of attempt(() => readdirSync(here, { withFileTypes: true }), [])) {
        const { name } = entry
        const file = path.join(folder, name)
        if (name === '.git' || names.has(name) || replacesRecorded(name, names)) continue
        if (name === 'node_modules') linkPackages(path.join(here, name), inCopy(file), copyOf)
        else linkEntry(path.join(here, name), inCopy(file), entry.isSymbolicLink(), copyOf)
      }
    }
    this.root = { recorded: top, current: copy }
    if (packages) installPackages(packages, inCopy(packages.folder))
  }

  /** Undefined if the code is today's, or if not all of it was kept. */
  static ofChanged(tape: Tape): RecordedCode | undefined {
    if (sourceListOf(tape) === undefined) return undefined
    const changed = changedSources(tape)
    return changed.length === 0 ? undefined : RecordedCode.of(tape, changed)
  }

  /** Undefined if not all of the code was kept. */
  static of(
    tape: Tape,
    changed = changedSources(tape),
    { installs = false } = {},
  ): RecordedCode | undefined {
    if (entryOf(tape) === undefined) return undefined
    const contents = new Map<string, Buffer>()
    for (const [file, content] of recordedSources(tape)) {
      if (content === undefined) return undefined
      contents.set(file, content)
    }
    const top = topOf([
      tape.details.cwd ?? '.',
      ...[...contents.keys()].map((file) => path.dirname(file)),
    ])
    if (contents.size === 0 || top === path.parse(top).root) return undefined
    const code = new RecordedCode(
      tape,
      top,
      contents,
      changed,
      installs ? recordedPackages(tape, contents) : undefined,
    )
    const { file } = entryOf(tape) ?? { file: '' }
    const entry = path.resolve(tape.details.cwd ?? '.', file)
    // An entry in a folder elsewhere, or behind a link that is gone, would be today's.
    const copy = code.fileOf(entry)
    const real = copy === undefined ? undefined : attempt(() => realpathSync(copy))
    if (real?.startsWith(code.root.current + path.sep) === true) return code
    code[Symbol.dispose]()
    return undefined
  }

  /** Throws if not all of the code was kept. `installs`: with the packages of its lock file. */
  static required(tape: Tape, options?: { readonly installs: boolean }): RecordedCode {
    const code = RecordedCode.of(tape, undefined, options)
    if (code === undefined) throw codeNotStored(tape)
    return code
  }

  /** The copy of a file; undefined for a file that is not in it. */
  fileOf(file: string): string | undefined {
    const { recorded, current } = this.root
    if (!file.startsWith(withSeparator(recorded))) return undefined
    const copy = path.join(current, path.relative(recorded, file))
    return isThere(copy) ? copy : undefined
  }

  [Symbol.dispose](): void {
    open.delete(this)
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

const open = new Set<RecordedCode>()
process.once('exit', () => {
  for (const code of open) code[Symbol.dispose]()
})

/** The file that has the text of a source file, which is another one while recorded code is in use. */
export function sourceFile(file: string): string {
  for (const code of open) {
    const copy = code.fileOf(file)
    if (copy !== undefined) return copy
  }
  return file
}

/**
 * The folder that contains all these folders, and everything from which they may import: the
 * outermost one above them that has packages or a manifest.
 */
function topOf(all: readonly string[]): string {
  const [first = '.', ...others] = all
  const shared = foldersUp(first).filter((folder) =>
    others.every((each) => each === folder || each.startsWith(withSeparator(folder))),
  )
  const outermost = shared.findLast((folder) =>
    ['node_modules', 'package.json'].some((name) => isThere(path.join(folder, name))),
  )
  return outermost ?? shared[0] ?? first
}

const withSeparator = (folder: string): string =>
  folder.endsWith(path.sep) ? folder : folder + path.sep
const isThere = (file: string): boolean => statSync(file, { throwIfNoEntry: false }) !== undefined

/** Links to installed packages. Packages of the workspace are links themselves. */
function linkPackages(
  from: string,
  to: string,
  copyOf: (folder: string) => string | undefined,
): void {
  const names = attempt(() => readdirSync(from, { withFileTypes: true }), [])
  mkdirSync(to)
  for (const entry of names) {
    const [source, target] = [path.join(from, entry.name), path.join(to, entry.name)]
    if (entry.name.startsWith('@') && entry.isDirectory()) linkPackages(source, target, copyOf)
    else linkEntry(source, target, entry.isSymbolicLink(), copyOf)
  }
}

function linkEntry(
  source: string,
  file: string,
  isLink: boolean,
  copyOf: (target: string) => string | undefined,
): void {
  const real = isLink ? attempt(() => realpathSync(source)) : undefined
  link((real && copyOf(real)) ?? source, file)
}

function link(target: string, file: string): void {
  const isFolder = statSync(target, { throwIfNoEntry: false })?.isDirectory() === true
  // Links to files need a privilege on Windows.
  if (process.platform === 'win32' && !isFolder) writeFileSync(file, readFileSync(target))
  else symlinkSync(target, file, isFolder ? 'junction' : 'file')
}

/** Says what is missing of the code of a run. The next recording of this code stores it again. */
export function codeNotStored(tape: Tape): RetakeError {
  const { code } = tape.details
  if (code === undefined) return cliErrors.CODE_NOT_STORED(tape.run.id)
  new UnchangedCode(SourceStore.besideRuns(path.dirname(tape.path)).folder).forget(code.list)
  if (sourceListOf(tape) === undefined)
    return cliErrors.CODE_NOT_STORED(tape.run.id, `the list of its ${code.files} source files`)
  const missing = [...recordedSources(tape)].find(([, content]) => content === undefined)
  return cliErrors.CODE_NOT_STORED(tape.run.id, missing && fromHere(missing[0]))
}
