import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { checkIntact } from '@retake/engine/runs'
import { reason, RetakeError } from '@retake/engine/errors'
import { cliErrors } from '@retake/runner/errors'
import { foldersUp } from '@retake/runner/package-root'
import type { MaskedRange } from '@retake/runner/privacy'
import { RunStore } from '@retake/runner/runs'
import { CONTENT_BYTES_MAX, parseSourceList, SourceStore } from '@retake/runner/sources'
import { temporaryFolder } from '@retake/runner/temporary-folder'
import { attempt, type SourceList, type Tape } from '@retake/tape/format'
import { openOwnTape, openTape } from '@retake/tape/node'
import { filesOfTape, maskedLines, maskNames, projectOf } from './capsule-code.js'
import { type CapsuleEntry, readCapsule } from './capsule-file.js'
import { capsuleTapes, shaOf } from './pack-capsule.js'

export interface UnpackedCapsule {
  readonly run: string
  readonly outcome: 'imported' | 'exists'
  /** The folder in which the run can be replayed, relative to the current one; empty if it is that. */
  readonly folder: string
  /** Source files of the program, relative to the current folder. */
  readonly files: readonly string[]
  /** Lines whose secrets are still masked, as `file:line`. */
  readonly masked: readonly string[]
  /** Another folder in which replays run, because it is the recorded one and on this machine. */
  readonly replaysIn?: string
}

export interface UnpackOptions {
  /** Values of masked secrets, by `file:line`. */
  readonly secrets?: ReadonlyMap<string, string>
  /** Runs are written here (default: `.retake/runs` in the folder of the program). */
  readonly runs?: string | undefined
}

/**
 * Unpacks a capsule: source files into a folder, tapes and recorded contents beside them. Checks
 * everything first, and writes nothing over a file with another content. Starts nothing, and the run
 * stays untrusted.
 */
export async function unpackCapsule(
  file: string,
  into: string,
  { secrets = new Map(), runs }: UnpackOptions = {},
): Promise<UnpackedCapsule> {
  using temporary = temporaryFolder('capsule')
  const unpacked = temporary.path
  const { run, files } = await readCapsule(file, unpacked)
  const invalid = (why: string): Error => cliErrors.CAPSULE_INVALID(file, why)
  const names = files.map(({ name }) => name)
  const { own, started, all } = checkedTapes(path.join(unpacked, 'runs', `${run}.tape`), {
    names: names.filter((name) => name.startsWith('runs/')),
    invalid,
  })
  const lists = new Map<string, SourceList>()
  for (const { details } of all)
    if (details.code !== undefined) {
      const list = checkedList(details.code.list, files, unpacked, invalid)
      if (list !== undefined) lists.set(details.code.list, list)
    }
  const project = projectOf([own, ...started], lists)
  if (project.refused !== undefined)
    throw invalid(`It has code at the path ${JSON.stringify(project.refused)}.`)
  const sources = new Map<string, Source>()
  const onTapes = new Set([
    ...all.flatMap((tape) => Object.values(filesOfTape(tape, lists))),
    ...lists.keys(),
  ])
  for (const entry of files)
    if (entry.name.startsWith('sources/'))
      sources.set(...checkedSource(entry, unpacked, onTapes, invalid))
  const missing = [...project.files].find(([, sha]) => !sources.has(sha))
  if (project.files.size === 0 || missing !== undefined)
    throw invalid(`It does not contain ${missing?.[0] ?? 'the code of the run'}.`)
  fillSecrets(project.files, sources, secrets)

  const store = new RunStore(
    runs ??
      (project.cwd === '' && path.relative(into, '.') === ''
        ? undefined
        : path.join(into, project.cwd, '.retake', 'runs')),
  )
  const plan = new Plan(into)
  for (const [relative, sha] of project.files) {
    const { bytes, packed } = sources.get(sha) as Source
    plan.addSource(relative, bytes, packed)
  }
  for (const name of names)
    if (name.startsWith('runs/'))
      plan.addTape(path.join(store.folder, name.slice('runs/'.length)), path.join(unpacked, name))
  const { isNew } = plan
  store.prepare()
  const contents = [...sources]
    .flatMap(([sha, { bytes, isRecorded }]) => (isRecorded ? [[sha, bytes] as const] : []))
    // Lists come last: where they are, their contents are.
    .toSorted(([a], [b]) => Number(lists.has(a)) - Number(lists.has(b)))
  SourceStore.besideRuns(store.folder).keep(new Map(contents))
  plan.execute()
  const { cwd = '' } = own.details
  const isElsewhere =
    existsSync(cwd) && realpathSync(cwd) !== realpathSync(path.join(into, project.cwd))
  return {
    run,
    outcome: isNew ? 'imported' : 'exists',
    folder: project.cwd,
    files: [...project.files.keys()],
    masked: maskedLines(project.files, sources),
    ...(isElsewhere && { replaysIn: cwd }),
  }
}

/** Opens all tapes, which must be intact and belong to the run. */
function checkedTapes(
  file: string,
  { names, invalid }: { names: readonly string[]; invalid: (why: string) => Error },
): { own: Tape; started: Tape[]; all: Tape[] } {
  try {
    const tape = openTape(file)
    checkIntact(tape)
    const expected = capsuleTapes(file)
    const foreign = names.find((name) => !expected.has(name))
    if (foreign !== undefined) throw invalid(`${foreign} does not belong to its run.`)
    const tapes = Array.from(expected, ([name, each]) => [name, openOwnTape(each)] as const)
    for (const [name, each] of tapes) {
      checkIntact(each)
      if (each.run.id !== path.posix.basename(name, '.tape'))
        throw invalid(`${name} is the tape of another run.`)
      if (each.details.imported !== undefined) throw invalid(`${name} is not a recording.`)
    }
    const all = tapes.map(([, each]) => each)
    const own = openOwnTape(file)
    const isStarted = ({ path: each }: Tape): boolean =>
      path.dirname(each) === file.replace(/\.tape$/, '.children')
    return { own, started: all.filter((each) => isStarted(each)), all }
  } catch (error) {
    if (error instanceof RetakeError && error.code === 'CAPSULE_INVALID') throw error
    throw invalid(error instanceof RetakeError ? `${error.what} ${error.why}` : reason(error))
  }
}

/** The list of a tape's source files, if it is in the capsule. A list has no masked secrets. */
function checkedList(
  sha: string,
  files: readonly CapsuleEntry[],
  folder: string,
  invalid: (why: string) => Error,
): SourceList | undefined {
  const name = `sources/${sha}`
  const entry = files.find((each) => each.name === name)
  if (entry === undefined) return undefined
  if (entry.bytes > CONTENT_BYTES_MAX) throw invalid(`${name} is too large for a list of files.`)
  const bytes = readFileSync(path.join(folder, name))
  if (shaOf(bytes) !== sha) throw invalid(`${name} is not the list that its tape names.`)
  const list = parseSourceList(bytes)
  if (list === undefined) throw invalid(`${name} is not a list of source files.`)
  return list
}

interface Source {
  /** The content to write, with the secrets that are known. */
  bytes: Buffer
  /** The content in the capsule. */
  readonly packed: Buffer
  /** The ranges that were masked, and those that still are. */
  readonly ranges: readonly MaskedRange[]
  masked: readonly MaskedRange[]
  /** True if the content is the recorded one. */
  isRecorded: boolean
}

function checkedSource(
  { name, bytes: size, masked = [] }: CapsuleEntry,
  folder: string,
  onTapes: ReadonlySet<string>,
  invalid: (why: string) => Error,
): [sha: string, Source] {
  const sha = path.posix.basename(name)
  if (!onTapes.has(sha)) throw invalid(`${name} is not on its tapes.`)
  if (size > CONTENT_BYTES_MAX) throw invalid(`${name} is too large for a source file.`)
  const packed = readFileSync(path.join(folder, name))
  const isRecorded = shaOf(packed) === sha
  if (!isRecorded && masked.length === 0)
    throw invalid(`${name} has another content than the one that was recorded.`)
  const ranges = isRecorded ? [] : masked
  return [sha, { bytes: packed, packed, ranges, masked: ranges, isRecorded }]
}

/** Puts secrets back. A file without masks is then exactly the recorded one, or the values are wrong. */
function fillSecrets(
  files: ReadonlyMap<string, string>,
  sources: ReadonlyMap<string, Source>,
  secrets: ReadonlyMap<string, string>,
): void {
  const unknown = new Set(secrets.keys())
  for (const [file, sha] of files) {
    const source = sources.get(sha) as Source
    const names = maskNames(file, source.packed, source.ranges)
    for (const name of names) unknown.delete(name)
    // Two files may have the same content.
    const wanted = source.ranges.flatMap((range, index) => {
      const value = secrets.get(names[index] ?? '')
      return value !== undefined && source.masked.includes(range)
        ? [{ range, value, name: names[index] ?? '' }]
        : []
    })
    if (wanted.length === 0) continue
    for (const { range, value, name } of wanted)
      source.bytes = withValue(source.bytes, range, Buffer.from(value), name)
    source.masked = source.masked.filter((range) => !wanted.some((each) => each.range === range))
    source.isRecorded = shaOf(source.bytes) === sha
    if (source.masked.length === 0 && !source.isRecorded)
      throw cliErrors.CAPSULE_SECRET_WRONG(
        wanted.map(({ name }) => name).join(', '),
        'With it, the file is not the recorded one.',
      )
  }
  const [name] = unknown
  if (name !== undefined)
    throw cliErrors.CAPSULE_SECRET_WRONG(name, 'The capsule has no masked secret there.')
}

/** The ends of a value may be equal to those of its placeholder, and so outside of the range. */
function withValue(bytes: Buffer, [start, length]: MaskedRange, value: Buffer, at: string): Buffer {
  const end = start + length
  for (let from = start; from >= Math.max(0, end - value.length); from--) {
    const to = from + value.length
    if (to > bytes.length) continue
    const isBefore = bytes.subarray(from, start).equals(value.subarray(0, start - from))
    const isAfter = bytes.subarray(end, to).equals(value.subarray(end - from))
    if (to >= end && isBefore && isAfter)
      return Buffer.concat([bytes.subarray(0, from), value, bytes.subarray(to)])
  }
  throw cliErrors.CAPSULE_SECRET_WRONG(at, 'Its length or its beginning is another one.')
}

/** Files to write. Nothing is written before all are checked, and a failure removes what was. */
class Plan {
  readonly #writes = new Map<string, () => void>()
  readonly #replaced = new Map<string, Buffer>()
  readonly #folder: string
  isNew = false

  constructor(folder: string) {
    this.#folder = realpathSync(folder)
  }

  /** `packed`: a content that `bytes` may replace, because it is the same with masked secrets. */
  addSource(relative: string, bytes: Buffer, packed: Buffer): void {
    const file = path.join(this.#folder, relative)
    const above = foldersUp(path.dirname(file)).find((each) => existsSync(each)) ?? this.#folder
    const inside = path.relative(
      this.#folder,
      attempt(() => realpathSync(above), '/'),
    )
    if (inside.startsWith('..') || path.isAbsolute(inside))
      throw cliErrors.CAPSULE_CONFLICT(above, 'It is a link to another folder.')
    if (!statSync(above).isDirectory())
      throw cliErrors.CAPSULE_CONFLICT(above, 'It is a file, not a folder.')
    const found = lstatSync(file, { throwIfNoEntry: false })
    if (found !== undefined && !found.isFile())
      throw cliErrors.CAPSULE_CONFLICT(file, 'It is a link or a folder, not a file.')
    const before = found === undefined ? undefined : readFileSync(file)
    if (before?.equals(bytes) === true) return
    if (before !== undefined && !before.equals(packed))
      throw cliErrors.CAPSULE_CONFLICT(file, 'It has another content than the recorded file.')
    if (before !== undefined) this.#replaced.set(file, before)
    const flag = before === undefined ? 'wx' : 'w'
    this.#writes.set(file, () => writeFileSync(file, bytes, { flag }))
  }

  addTape(file: string, from: string): void {
    const found = lstatSync(file, { throwIfNoEntry: false })
    if (found === undefined) {
      this.isNew = true
      this.#writes.set(file, () => copyFileSync(from, file))
    } else if (!found.isFile() || !readFileSync(file).equals(readFileSync(from)))
      throw cliErrors.CAPSULE_CONFLICT(file, 'There is another run with the same name.')
  }

  execute(): void {
    const written: string[] = []
    let failing = ''
    try {
      for (const [file, write] of this.#writes) {
        failing = file
        const folder = path.dirname(file)
        // The first new folder is removed with everything in it.
        const above = foldersUp(folder).findLast((each) => !existsSync(each))
        mkdirSync(folder, { recursive: true })
        if (above !== undefined) written.push(above)
        written.push(file)
        write()
      }
    } catch (error) {
      for (const each of written.toReversed()) {
        const before = this.#replaced.get(each)
        if (before === undefined) rmSync(each, { recursive: true, force: true })
        else attempt(() => writeFileSync(each, before))
      }
      throw cliErrors.FILE_NOT_WRITABLE(failing, error)
    }
  }
}
