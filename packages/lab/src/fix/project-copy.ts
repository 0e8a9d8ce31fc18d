import {
  constants,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import type { FileEdit, SourceFile } from '../proof/candidates.js'
import type { MovedRoot } from '@retake/engine'
import type { Tape } from '@retake/tape'
import { recordedRoot, readCode, entryOf, movedHere, sourceFiles } from '@retake/runner/agent'
import { attempt } from '@retake/tape/format'
import { cliErrors } from '@retake/runner/errors'
import { foldersUp } from '@retake/runner/package-root'
import { linkModules, makeTwinFolder } from '../worktree/checkout.js'
import { viewRun } from '@retake/runner/runs'

/** Folders that are not copied: installed packages are linked, the others are not code. */
export const SKIPPED = new Set(['node_modules', '.git', '.retake', '.hg', '.svn'])
/** Files with secrets. The tape serves what the run read from them. */
export const SECRET_FILE = /^\.env(?:\..+)?$|^\.npmrc$/
const FILES_MAX = 20_000
const BYTES_MAX = 1024 ** 3
const DATA_FILE =
  /(?<!package|package-lock|tsconfig)\.(?:json|jsonl|ndjson|csv|tsv|txt|md|ya?ml|xml|html?|eml)$/
/** Larger files are data, not source. */
const SOURCE_BYTES_MAX = 512 * 1024

export class AgentProject {
  /** The recorded folder, and where it is now. They differ only for a tape from elsewhere. */
  readonly recorded: string
  readonly folder: string

  constructor(readonly tape: Tape) {
    const moved = movedHere(tape)
    const { cwd = process.cwd() } = tape.details
    const found = recordedRoot(tape)
    // The program runs in its working directory, so the copy must contain that.
    const isInside = !path.relative(found, cwd).startsWith('..')
    this.recorded = isInside ? found : cwd
    this.folder = moved
      ? path.resolve(moved.current, path.relative(moved.recorded, this.recorded))
      : this.recorded
  }

  /** The agent's code, and the text files that the run read, relative to the project. */
  sources(): SourceFile[] {
    const { folder } = this
    const { code, read } = this.#files()
    return [...new Set([...code, ...read])].flatMap((file) => {
      const relative = path.relative(folder, file)
      const isOwn =
        !relative.startsWith('..') &&
        !relative.split(path.sep).some((part) => SKIPPED.has(part) || SECRET_FILE.test(part))
      const bytes = attempt(() => {
        const stats = isOwn ? lstatSync(file) : undefined
        return stats?.isFile() && stats.size <= SOURCE_BYTES_MAX ? readFileSync(file) : undefined
      })
      const text = bytes?.toString()
      const isText = text?.includes('\0') === false && Buffer.from(text).equals(bytes!)
      return isText ? [{ path: relative.replaceAll('\\', '/'), text }] : []
    })
  }

  /** Paths of files that the run read as data. */
  dataFiles(): ReadonlySet<string> {
    const { code, read } = this.#files()
    const data = read.filter((file) => !code.includes(file) && DATA_FILE.test(file))
    return new Set(data.map((file) => path.relative(this.folder, file).replaceAll('\\', '/')))
  }

  /** Absolute paths of the code, and of the files that the run read. */
  #files(): { readonly code: readonly string[]; readonly read: readonly string[] } {
    const { tape, folder } = this
    const entry = entryOf(tape)
    const here = (file: string): string => path.resolve(folder, path.relative(this.recorded, file))
    const { cwd = this.recorded } = tape.details
    const started = sourceFiles(tape).map(here)
    const code =
      entry === undefined
        ? []
        : Object.keys(readCode(here(path.resolve(cwd, entry.file)), folder).list.files).map(
            (file) => path.resolve(folder, file),
          )
    const read = viewRun(tape)
      .fileCalls.filter(({ call }) => /readFile|openAsBlob/.test(call.name))
      .map(({ call }) => here(path.resolve(cwd, (call.title ?? '').replace(/ \[.*\]$/s, ''))))
    return { code: [...started, ...code], read }
  }
}

/** A copy of a project with some edits. The original is only read. */
export class ProjectCopy {
  readonly folder: string
  readonly files: readonly string[]

  constructor(
    readonly project: AgentProject,
    edits: readonly FileEdit[],
  ) {
    this.folder = makeTwinFolder(project.folder)
    try {
      this.files = copyFolder(project.folder, this.folder)
      const manifests = this.files.filter((file) => path.basename(file) === 'package.json')
      linkAll(project.folder, this.folder, manifests)
      for (const edit of edits) {
        const { path: relative, before, after } = edit
        const file = insideOf(this.folder, relative)
        const now = attempt(() => readFileSync(file, 'utf8'))
        if (now !== before) throw cliErrors.FIX_SOURCE_CHANGED(relative)
        mkdirSync(path.dirname(file), { recursive: true })
        writeFileSync(file, after)
      }
    } catch (error) {
      this.remove()
      throw error
    }
  }

  /** Maps the recorded folder to this copy, for plans. */
  rootOf = (tape: Tape): MovedRoot => {
    const own = new AgentProject(tape)
    return { recorded: own.recorded, current: this.folder }
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 3 })
  }
}

/** Path of a file in a folder. Throws if it is outside, even through a link. */
export function insideOf(folder: string, relative: string): string {
  const file = path.resolve(folder, relative)
  const parts = path.relative(folder, file).split(path.sep)
  const isInside = !path.isAbsolute(relative) && parts[0] !== '..' && parts[0] !== ''
  const above = foldersUp(path.dirname(file)).find((each) => existsSync(each)) ?? folder
  const real = realpathSync(folder)
  const isReal = !path.relative(real, realpathSync(above)).startsWith('..')
  const isLink = lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true
  if (!isInside || !isReal || isLink || parts.some((part) => SKIPPED.has(part)))
    throw cliErrors.FIX_OUTSIDE_PROJECT(relative)
  return file
}

/** Copies files and links. Returns the relative paths of the files. */
function copyFolder(from: string, to: string): string[] {
  const files: string[] = []
  let bytes = 0
  const waiting = ['']
  for (let inner = waiting.pop(); inner !== undefined; inner = waiting.pop()) {
    mkdirSync(path.join(to, inner), { recursive: true })
    for (const entry of readdirSync(path.join(from, inner), { withFileTypes: true })) {
      const relative = path.join(inner, entry.name)
      const source = path.join(from, relative)
      if (SKIPPED.has(entry.name) || SECRET_FILE.test(entry.name)) continue
      if (entry.isDirectory()) waiting.push(relative)
      else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), path.join(to, relative))
      else if (entry.isFile()) {
        bytes += lstatSync(source).size
        files.push(relative)
        if (bytes > BYTES_MAX || files.length > FILES_MAX)
          throw cliErrors.FIX_PROJECT_TOO_LARGE(from)
        copyFileSync(source, path.join(to, relative), constants.COPYFILE_FICLONE)
      }
    }
  }
  return files
}

/** Links the installed packages of the project or of a folder above it. */
function linkAll(from: string, to: string, manifests: readonly string[]): void {
  const own = path.join(from, 'node_modules')
  // Relative links in a linked folder resolve elsewhere, and a link may be broken.
  if (lstatSync(own, { throwIfNoEntry: false })?.isSymbolicLink() === true && existsSync(own))
    symlinkSync(realpathSync(own), path.join(to, 'node_modules'), 'junction')
  linkModules(from, to, manifests)
  if (existsSync(path.join(to, 'node_modules'))) return
  const above = foldersUp(path.dirname(from)).find((each) =>
    existsSync(path.join(each, 'node_modules')),
  )
  if (above !== undefined)
    symlinkSync(path.join(above, 'node_modules'), path.join(to, 'node_modules'), 'junction')
}

/** Folders of installed packages, and the real folders of linked ones. */
export function importedFolders(folder: string): string[] {
  const found = new Set<string>()
  const add = (real: string): void => {
    const at = real.lastIndexOf(`${path.sep}node_modules${path.sep}`)
    // A package finds its own dependencies beside it.
    if (at >= 0) return void found.add(real.slice(0, at + '/node_modules'.length))
    found.add(real)
    for (const above of foldersUp(real)) {
      const modules = path.join(above, 'node_modules')
      if (existsSync(modules)) found.add(realpathSync(modules))
    }
  }
  for (const above of foldersUp(folder)) {
    const modules = attempt(() => realpathSync(path.join(above, 'node_modules')))
    if (modules === undefined) continue
    found.add(modules)
    for (const name of readdirSync(modules)) {
      const names = name.startsWith('@')
        ? attempt(() => readdirSync(path.join(modules, name)), []).map((each) =>
            path.join(name, each),
          )
        : [name]
      for (const each of names) {
        const link = path.join(modules, each)
        if (lstatSync(link).isSymbolicLink()) attempt(() => add(realpathSync(link)))
      }
    }
  }
  return [...found]
}
