import { createHash } from 'node:crypto'
import {
  closeSync,
  createReadStream,
  createWriteStream,
  mkdirSync,
  openSync,
  writeSync,
} from 'node:fs'
import path from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip, gunzipSync, constants } from 'node:zlib'
import { RUN_FILE } from '@retake/engine/runs'
import { attempt, isRecord, recordOf } from '@retake/tape/format'
import { cliErrors } from '@retake/runner/errors'
import type { MaskedRange } from '@retake/runner/privacy'
import { readPart } from '@retake/runner/read-part'

/**
 * A capsule is one gzip stream: a line of JSON with the names, sizes and digests of its files, then
 * their contents in the same order. `runs/<id>.tape` and `runs/<id>.children/<id>.tape` are tapes,
 * with all events. `sources/<digest>` is the list of source files that a tape names, or a source file
 * under the digest that a list has for it; its path is in the list only. `masked` are bytes of a source file that were replaced by others.
 */
export interface CapsuleHeader {
  readonly capsule: typeof CAPSULE_FORMAT
  /** The run that the capsule was made for. */
  readonly run: string
  readonly files: readonly CapsuleEntry[]
}

export interface CapsuleEntry {
  readonly name: string
  readonly bytes: number
  readonly sha256: string
  readonly masked?: readonly MaskedRange[]
}

export const CAPSULE_FORMAT = 1
const START = '{"capsule":'
const HEADER_BYTES_MAX = 4 << 20
const FILES_MAX = 10_000
const NAME_MAX = 255
/** Size of everything inside of a capsule. */
export const CAPSULE_BYTES_MAX = 1 << 30

/** `parts`: the contents, in order. Throws unless they are as the header says. */
export async function writeCapsule(
  out: string,
  header: CapsuleHeader,
  parts: (entry: CapsuleEntry) => Iterable<Uint8Array>,
): Promise<void> {
  const content = function* (): Generator<Uint8Array> {
    yield Buffer.from(`${JSON.stringify(header)}\n`)
    for (const entry of header.files) {
      const hash = createHash('sha256')
      for (const part of parts(entry)) {
        hash.update(part)
        yield part
      }
      // A tape that grows meanwhile.
      if (hash.digest('hex') !== entry.sha256) throw new Error(`${entry.name} has changed`)
    }
  }
  await pipeline(Readable.from(content()), createGzip(), createWriteStream(out, { mode: 0o600 }))
}

/** True if a file begins like a capsule, whatever its name. */
export const isCapsule = (file: string): boolean =>
  attempt(() => {
    const start = gunzipSync(readPart(file, 0, 4096), { finishFlush: constants.Z_SYNC_FLUSH })
    return start.subarray(0, START.length).toString() === START
  }, false)

/**
 * Unpacks a capsule into an empty folder, and returns its header. Whoever made it is not trusted:
 * only names that the format has are written, and never more bytes than announced. Not checked:
 * what is in the tapes.
 */
export async function readCapsule(file: string, folder: string): Promise<CapsuleHeader> {
  const invalid = (why: string): Error => cliErrors.CAPSULE_INVALID(file, why)
  const unpacker = new Unpacker(folder, invalid)
  const content = createGunzip()
  const packed = createReadStream(file).on('error', (error) => content.destroy(error))
  try {
    for await (const chunk of packed.pipe(content) as AsyncIterable<Buffer>) unpacker.push(chunk)
    return unpacker.end()
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException
    if (code?.startsWith('Z_') === true) throw invalid('It is not complete, or damaged.')
    if (syscall !== undefined) throw cliErrors.IMPORT_UNREADABLE(file, error)
    throw error
  } finally {
    packed.destroy()
    unpacker.close()
  }
}

class Unpacker {
  #header: CapsuleHeader | undefined
  #start: Buffer[] = []
  #startBytes = 0
  #at = 0
  #left = 0
  #hash = createHash('sha256')
  #open: number | undefined

  constructor(
    readonly folder: string,
    readonly invalid: (why: string) => Error,
  ) {}

  push(chunk: Buffer): void {
    let rest = chunk
    if (this.#header === undefined) {
      const end = rest.indexOf(10)
      this.#start.push(end < 0 ? rest : rest.subarray(0, end))
      this.#startBytes += rest.length
      if (end < 0 && this.#startBytes > HEADER_BYTES_MAX) throw this.invalid('It has no header.')
      if (end < 0) return
      this.#header = checkedHeader(Buffer.concat(this.#start).toString(), this.invalid)
      this.#start = []
      rest = rest.subarray(end + 1)
      this.#next()
    }
    while (rest.length > 0) {
      if (this.#open === undefined) throw this.invalid('It has more content than it announces.')
      const own = rest.subarray(0, this.#left)
      this.#hash.update(own)
      writeSync(this.#open, own)
      this.#left -= own.length
      rest = rest.subarray(own.length)
      if (this.#left === 0) this.#finish()
    }
  }

  end(): CapsuleHeader {
    if (this.#header === undefined || this.#open !== undefined)
      throw this.invalid('It is not complete.')
    return this.#header
  }

  close(): void {
    if (this.#open !== undefined) closeSync(this.#open)
    this.#open = undefined
  }

  #next(): void {
    const entry = this.#header?.files[this.#at]
    if (entry === undefined) return
    const file = path.join(this.folder, entry.name)
    mkdirSync(path.dirname(file), { recursive: true })
    this.#open = openSync(file, 'wx', 0o600)
    this.#left = entry.bytes
    this.#hash = createHash('sha256')
    if (entry.bytes === 0) this.#finish()
  }

  #finish(): void {
    this.close()
    const entry = this.#header?.files[this.#at++]
    if (entry !== undefined && this.#hash.digest('hex') !== entry.sha256)
      throw this.invalid(`The content of ${entry.name} does not match its digest.`)
    this.#next()
  }
}

function checkedHeader(text: string, invalid: (why: string) => Error): CapsuleHeader {
  const header = attempt(() => JSON.parse(text) as unknown)
  const { capsule, run, files } = recordOf(header)
  if (!isRecord(header) || typeof capsule !== 'number') throw invalid('It has no header.')
  if (capsule !== CAPSULE_FORMAT)
    throw invalid(`Its format is ${capsule}, and this version of Retake reads ${CAPSULE_FORMAT}.`)
  if (!Array.isArray(files) || files.length > FILES_MAX || !files.every(isEntry))
    throw invalid('Its header does not list files with names, sizes and digests.')
  if (new Set(files.map(({ name }) => name.toLowerCase())).size < files.length)
    throw invalid('It contains a file twice.')
  if (files.reduce((sum, { bytes }) => sum + bytes, 0) > CAPSULE_BYTES_MAX)
    throw invalid('Its content is larger than 1 GB.')
  if (typeof run !== 'string' || !files.some(({ name }) => name === `runs/${run}.tape`))
    throw invalid('It does not contain the tape of its run.')
  return { capsule: CAPSULE_FORMAT, run, files }
}

const isEntry = (value: unknown): value is CapsuleEntry => {
  const { name, bytes, sha256, masked = [] } = recordOf(value)
  return (
    typeof name === 'string' &&
    (isTapeName(name) || SOURCE_NAME.test(name)) &&
    typeof sha256 === 'string' &&
    SHA.test(sha256) &&
    isCount(bytes) &&
    Array.isArray(masked) &&
    areRanges(masked, bytes)
  )
}

/** Sorted ranges inside of a content, which do not overlap. */
const areRanges = (ranges: readonly unknown[], bytes: number): ranges is MaskedRange[] => {
  let end = 0
  return ranges.every((range) => {
    const [start, length, ...more] = Array.isArray(range) ? (range as unknown[]) : []
    if (!isCount(start) || !isCount(length) || more.length > 0) return false
    const isNext = start >= end && length > 0 && start + length <= bytes
    end = start + length
    return isNext
  })
}

const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0

const isTapeName = (name: string): boolean => {
  const [folder, first = '', second, ...more] = name.split('/')
  const tape = second ?? first
  const isOwn = second === undefined || RUN_FILE.test(first.replace(/\.children$/, '.tape'))
  const isChild = second === undefined || first.endsWith('.children')
  return (
    folder === 'runs' &&
    more.length === 0 &&
    isOwn &&
    isChild &&
    RUN_FILE.test(tape) &&
    name.length <= NAME_MAX
  )
}
const SHA = /^[\da-f]{64}$/
const SOURCE_NAME = /^sources\/[\da-f]{64}$/

/**
 * True for a path of a source file that may be written into a folder, on every platform. Excludes
 * installed packages, and files that programs such as git, npm or Retake itself obey when they are
 * there. Programs that Retake copied into its own folder are source files.
 */
export const isSourcePath = (file: string): boolean =>
  file.length < 1024 &&
  file
    .replace(SHIPPED, '')
    .split('/')
    .every((part) => PART.test(part) && !RESERVED.test(part) && part.length < NAME_MAX)

const SHIPPED = /^\.retake\/(?:demo|sample)\/(?=.)/
/** No backslash, colon or control character, and no dot at the start or end. */
// oxlint-disable-next-line no-control-regex
const PART = /^(?![. ])[^\\/:*?"<>|\x00-\x1f\x7f]*[^\\/:*?"<>|\x00-\x1f\x7f. ]$/
const RESERVED = /^(?:node_modules|retake\.config\..*|(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?)$/i
