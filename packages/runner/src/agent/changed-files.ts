import { foldersUp } from '../package-root.js'
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import { attempt, parseJson } from '@retake/tape/format'
import { readsFile, pathsOfCall } from '@retake/engine/plans'
import { PLACEHOLDER } from '@retake/engine/runs'
import type { IndexedFileCall, Tape } from '@retake/tape'
import { printableLine } from '../terminal/terminal.js'
import { viewRun } from '../runs/view-run.js'
import { movedHere } from '../sources/source-code.js'

export interface ChangedFile {
  /** Relative to the project's root. */
  readonly path: string
  readonly change: 'changed' | 'deleted' | 'created'
}

/** Larger files are not compared, because a check must not take longer than the replay. */
const COMPARED_BYTES_MAX = 16 * 1024 * 1024

/**
 * Project files that the run read whole or in order, and whose content on disk differs from the
 * tape. Other packages of a workspace belong to the project. Not compared: files that the run wrote,
 * very large files, installed packages, and files outside of the project. `moved`: where the
 * project is now.
 */
export function changedFiles(tape: Tape, moved = movedHere(tape)): ChangedFile[] {
  const { cwd } = tape.details
  if (cwd === undefined) return []
  const recordedFolder = rootOf(tape, cwd)
  const root = moved
    ? path.resolve(moved.current, path.relative(moved.recorded, recordedFolder))
    : recordedFolder
  // The folder above a package that declares a workspace for npm, Yarn or pnpm, or else its own.
  const declares = (each: string): boolean =>
    existsSync(path.join(each, 'pnpm-workspace.yaml')) ||
    attempt(() => readFileSync(path.join(each, 'package.json'), 'utf8'))?.includes(
      '"workspaces"',
    ) === true
  const workspace = foldersUp(root).find(declares) ?? root
  const { reads, isWritten } = readsOf(tape)
  const found: ChangedFile[] = []
  for (const [file, parts] of reads) {
    const relative = path.relative(recordedFolder, file)
    const here = path.join(root, relative)
    if (!isOfProject(path.relative(workspace, here)) || isWritten(file)) continue
    const change = changeOf(here, workspace, parts)
    if (change !== undefined) found.push({ path: relative, change })
  }
  return found
}

/** The first event at which the run touches one of these files. */
export function firstTouchOf(tape: Tape, files: readonly ChangedFile[]): number | undefined {
  const { cwd } = tape.details
  if (cwd === undefined || files.length === 0) return undefined
  const root = rootOf(tape, cwd)
  const changed = new Set(files.map((file) => path.join(root, file.path)))
  return viewRun(tape).fileCalls.find(({ call }) =>
    pathsOfCall(tape, call).some((file) => changed.has(file)),
  )?.call.seq
}

/** One line per changed file, for stderr; `used` says which content the run got. */
export const changedFileLines = (
  files: readonly ChangedFile[],
  used = 'served as recorded',
): string[] =>
  files.map(
    ({ path: file, change }) =>
      `${printableLine(file)} ${change === 'changed' ? '' : 'was '}${change} since the recording; ${used}`,
  )

export function recordedRoot(tape: Tape): string {
  return rootOf(tape, tape.details.cwd ?? process.cwd())
}

function rootOf({ details: { root, entry } }: Tape, cwd: string): string {
  if (root !== undefined) return root
  const start = path.resolve(cwd, entry ?? 'index.js')
  const found = projectRoot(start)
  // Without a package.json, the working directory is the best guess.
  const isGuess = found === path.dirname(start) && !path.relative(cwd, start).startsWith('..')
  return isGuess ? cwd : found
}

const isOfProject = (relative: string): boolean =>
  relative !== '' &&
  !path.isAbsolute(relative) &&
  !relative.split(path.sep).some((part) => part === '..' || SKIPPED.has(part))
const SKIPPED = new Set(['node_modules', '.git', '.retake'])

interface Served {
  readonly bytes: () => Uint8Array
  /** How bytes on disk were decoded for the tape. */
  readonly encoding?: BufferEncoding
  readonly from: number
  /** True if the file ended there. */
  readonly isEnd: boolean
}

function readsOf(tape: Tape) {
  /** By path. No parts: the file did not exist. */
  const reads = new Map<string, Served[]>()
  const written = new Set<string>()
  const offsets = new Map<string, number>()
  for (const { call, result } of viewRun(tape).fileCalls) {
    const name = call.name.slice(call.name.lastIndexOf('.') + 1).replace(/Sync$/, '')
    const [first = '', ...others] = pathsOfCall(tape, call)
    if (CHANGES.test(name)) for (const each of [first, ...others]) written.add(each)
    if (name === 'open') {
      if (!readsFile(call, tape.body(call.seq))) written.add(first)
      // Concurrent readers each have a position, and the tape does not say which is which.
      offsets.set(first, offsets.has(first) ? Number.NaN : 0)
    }
    if (name === 'close') offsets.delete(first)
    const known = reads.get(first)
    const isMissing = WHOLE.test(name) && result?.error?.code === 'ENOENT'
    // A URL that was passed as a string, as Prisma does, is a relative path for Node. With a URL
    // object, the message has the path.
    const isUrlAsPath = result?.error?.message.includes("'file:") === true
    if (isMissing && known === undefined && !isUrlAsPath) reads.set(first, [])
    if (result === undefined || result.error !== undefined) continue
    const bytes = (): Uint8Array => tape.body(result.seq)
    if (WHOLE.test(name)) {
      const encoding = result.as === 'text' ? encodingOf(inputOf(tape, call)) : undefined
      const parts = [{ bytes, from: 0, isEnd: true, ...(encoding && { encoding }) }]
      reads.set(first, parts)
    } else if (name === 'read' && result.as === 'bytes') {
      const [, position] = inputOf(tape, call)
      const from = typeof position === 'number' ? position : (offsets.get(first) ?? Number.NaN)
      const size = tape.bodySize(result.seq)
      if (Number.isNaN(from)) continue
      if (typeof position !== 'number') offsets.set(first, from + size)
      const parts = from === 0 ? [] : (known ?? [])
      parts.push({ bytes, from, isEnd: size === 0 })
      reads.set(first, parts)
    }
  }
  return {
    reads,
    /** Also true if a parent folder was removed or replaced. */
    isWritten: (file: string): boolean => {
      return foldersUp(file).some((each) => written.has(each))
    },
  }
}

const WHOLE = /^(readFile|openAsBlob)$/
const CHANGES =
  /^(writeFile|appendFile|writev?|createWriteStream|rm|rmdir|unlink|copyFile|cp|rename|link|symlink|f?truncate)$/

function inputOf(tape: Tape, { seq, as }: IndexedFileCall['call']): unknown[] {
  if (as !== 'json') return []
  const input = parseJson(Buffer.from(tape.body(seq)).toString())
  return Array.isArray(input) ? input : []
}

function encodingOf([options]: readonly unknown[]): BufferEncoding {
  const { encoding } = (
    typeof options === 'object' && options !== null ? options : { encoding: options }
  ) as { encoding?: unknown }
  return typeof encoding === 'string' && Buffer.isEncoding(encoding) ? encoding : 'utf8'
}

function changeOf(
  file: string,
  root: string,
  parts: readonly Served[],
): ChangedFile['change'] | undefined {
  try {
    const real = realpathSync(file)
    const stats = statSync(real)
    // A link may lead out of the project, and a pipe would block.
    if (path.relative(realpathSync(root), real).startsWith('..') || !stats.isFile())
      return undefined
    if (parts.length === 0) return 'created'
    if (stats.size > COMPARED_BYTES_MAX) return undefined
    const disk = readFileSync(real)
    return parts.every((part) => {
      const { bytes, encoding, from, isEnd } = part
      const served = Buffer.from(bytes())
      const whole = encoding === undefined ? disk : Buffer.from(disk.toString(encoding))
      const now = isEnd ? whole.subarray(from) : whole.subarray(from, from + served.length)
      return now.equals(served) || equalsBehindPlaceholders(now, served)
    })
      ? undefined
      : 'changed'
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    return isMissing && parts.length > 0 ? 'deleted' : undefined
  }
}

/** Placeholders have the length of the secrets they hide. Secrets are not compared. */
function equalsBehindPlaceholders(now: Buffer, served: Buffer): boolean {
  if (now.length !== served.length) return false
  const hidden = served.toString('latin1')
  const shown = now.toString('latin1')
  let from = 0
  for (const match of hidden.matchAll(PLACEHOLDER)) {
    if (shown.slice(from, match.index) !== hidden.slice(from, match.index)) return false
    from = match.index + match[0].length
  }
  return from > 0 && shown.slice(from) === hidden.slice(from)
}

/** The nearest folder with a package.json at or above a file, or else the folder of the file. */
export function projectRoot(file: string): string {
  const start = path.dirname(path.resolve(file))
  return foldersUp(start).find((each) => existsSync(path.join(each, 'package.json'))) ?? start
}
