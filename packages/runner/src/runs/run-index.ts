import { attempt } from '@retake/tape/format'
import { appendFileSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { replacePrivateFile } from '@retake/tape/node'

/** Inode, size and time of a tape. Its row is valid while they do not change. */
export interface TapeStamp {
  readonly text: string
  readonly bytes: number
  readonly modifiedAt: number
}

export function stampOf(file: string): TapeStamp | undefined {
  const found = statSync(file, { throwIfNoEntry: false })
  if (found === undefined || !found.isFile()) return undefined
  const { ino, size, mtimeMs } = found
  return { text: `${ino} ${size} ${mtimeMs}`, bytes: size, modifiedAt: mtimeMs }
}

export interface IndexReading<Row> {
  readonly row: Row
  /** Runs whose tapes were read with it: the ancestors of a branch. */
  readonly ancestors?: readonly string[]
  /** False if the row may change without the tape, so that it must be read again. */
  readonly isFinal: boolean
}

interface IndexLine<Row> {
  readonly id: string
  readonly stamp: string
  readonly ancestors?: readonly string[]
  readonly row: Row
}

/** Version of the lines. Increase it when fields or their meaning change. */
const LAYOUT = 5
/** Reading fewer bytes is fast, so no index file is written. */
const WORTH_BYTES = 1 << 20
/** The file is rewritten once outdated lines exceed current ones by this many. */
const OUTDATED_MAX = 200

/**
 * Cached list rows for the runs of a folder, in a file beside the tapes, so that each tape is read
 * once. The first line identifies the reader that made the rows. Every other line is a row, and
 * later rows replace earlier ones.
 *
 * The tapes are the truth: the file can be deleted at any time, and a row is only valid while the
 * tape and its ancestors have their recorded stamps. Torn or invalid lines are ignored. Processes
 * may add rows concurrently; one that rewrites the file may drop rows of another, whose tapes are
 * then read again.
 */
export class RunIndexFile<Row extends object> {
  readonly #folder: string
  readonly #extension: string
  readonly #reader: () => string
  #lines: Map<string, IndexLine<Row>> | undefined
  /** True if the file has rows of this reader. */
  #isThere = false
  /** Number of lines in the file; undefined if none can be appended. */
  #written: number | undefined
  readonly #added = new Map<string, IndexLine<Row>>()
  #bytesRead = 0

  /** `reader`: identifies everything besides the tape that rows depend on. */
  constructor(folder: string, extension: string, reader: () => string) {
    this.#folder = folder
    this.#extension = extension
    this.#reader = reader
  }

  get path(): string {
    return path.join(this.#folder, 'index.jsonl')
  }

  /** The row of a run, from the file if it is current, else through `read`. */
  rowOf(id: string, read: () => IndexReading<Row>): Row {
    const known = this.#load().get(id)
    const own = stampOf(this.#tapeOf(id))
    if (known !== undefined && known.stamp === this.#stampText(own, known.ancestors))
      return known.row
    // Stamped before reading, so that later writes make the row outdated.
    const { row, ancestors, isFinal } = read()
    if (own === undefined || !isFinal) return row
    const stamp = this.#stampText(own, ancestors)
    const line = { id, stamp, ...(ancestors && { ancestors }), row }
    this.#load().set(id, line)
    this.#added.set(id, line)
    this.#bytesRead += own.bytes
    return row
  }

  /** The last read row; the tape may have changed since. */
  lastRowOf(id: string): Row | undefined {
    return this.#load().get(id)?.row
  }

  /** Writes the rows that were read. `ids`: existing runs. Does nothing in a read-only folder. */
  save(ids: ReadonlySet<string>): void {
    const lines = this.#load()
    for (const id of lines.keys()) if (!ids.has(id)) lines.delete(id)
    const lineCount = (this.#written ?? 0) + this.#added.size
    const isFresh = this.#written !== undefined && lineCount <= 2 * lines.size + OUTDATED_MAX
    if (isFresh && this.#added.size === 0) return
    if (!this.#isThere && this.#bytesRead < WORTH_BYTES) return
    const isSaved = attempt(() => {
      if (isFresh) appendFileSync(this.path, textOf(this.#added.values()))
      else replacePrivateFile(this.path, this.#header() + textOf(lines.values()))
      return true
    })
    if (isSaved !== true) return
    this.#written = isFresh ? lineCount : lines.size
    this.#isThere = true
    this.#added.clear()
    this.#bytesRead = 0
  }

  #load(): Map<string, IndexLine<Row>> {
    if (this.#lines !== undefined) return this.#lines
    const lines = (this.#lines = new Map<string, IndexLine<Row>>())
    const text = attempt(() => readFileSync(this.path, 'utf8'), '')
    const header = this.#header()
    if (!text.startsWith(header)) return lines
    this.#isThere = true
    const rows = text.slice(header.length).split('\n')
    // Nothing can be appended after a torn line.
    if (text.endsWith('\n')) this.#written = rows.length - 1
    for (const each of rows) {
      const line = parseLine<Row>(each)
      if (line !== undefined) lines.set(line.id, line)
    }
    return lines
  }

  #header(): string {
    return `${JSON.stringify({ layout: LAYOUT, reader: this.#reader() })}\n`
  }

  #tapeOf(id: string): string {
    return path.join(this.#folder, id + this.#extension)
  }

  #stampText(own: TapeStamp | undefined, ancestors: readonly string[] = []): string {
    const above = ancestors.map((id) => stampOf(this.#tapeOf(id))?.text ?? 'gone')
    return [own?.text ?? 'gone', ...above].join(', ')
  }
}

const textOf = (lines: Iterable<unknown>): string => {
  let text = ''
  for (const line of lines) text += `${JSON.stringify(line)}\n`
  return text
}

function parseLine<Row extends object>(text: string): IndexLine<Row> | undefined {
  if (text === '') return undefined
  const line = attempt(() => JSON.parse(text) as Partial<IndexLine<Row>> | null)
  if (typeof line?.id !== 'string' || typeof line.stamp !== 'string') return undefined
  if (typeof line.row !== 'object' || line.row === null) return undefined
  if (line.ancestors !== undefined && !Array.isArray(line.ancestors)) return undefined
  return line as IndexLine<Row>
}
