import { attempt } from '@retake/tape/format'
import { appendFileSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { replacePrivateFile } from '@retake/tape/node'

/** Inode, size and time of a tape: while they are the same, the row is valid. */
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
  /** Runs whose tapes were read with it: the parents of a branch. */
  readonly ancestors?: readonly string[]
  /** False while the row may change although the tape does not: it is read again next time. */
  readonly isFinal: boolean
}

interface IndexLine<Row> {
  readonly id: string
  readonly stamp: string
  readonly ancestors?: readonly string[]
  readonly row: Row
}

/** Layout of the lines. Raise it when rows get other fields or another meaning. */
const LAYOUT = 2
/** Reading fewer bytes than this takes a moment: no file is left for it. */
const WORTH_BYTES = 1 << 20
/** The file is rewritten when it has this many outdated lines more than current ones. */
const OUTDATED_MAX = 200

/**
 * Rows of lists for the runs of a folder, in a file beside the tapes, so that each tape is read
 * once. The first line identifies the reader that made the rows; every other line is a row, and a
 * later row of a run replaces an earlier one.
 *
 * The tapes are the truth, and the file can be deleted at any time. A row is only valid while the
 * tape and its ancestors have the stamps with which they were read. Lines that are torn or not rows
 * are ignored. Processes may add rows concurrently; one that rewrites the file may drop rows of
 * another, whose tapes are then read again.
 */
export class RunIndexFile<Row extends object> {
  readonly #folder: string
  readonly #extension: string
  readonly #reader: () => string
  #lines: Map<string, IndexLine<Row>> | undefined
  /** The file has rows of this reader. */
  #isThere = false
  /** Lines of the file; undefined if none can be appended. */
  #written: number | undefined
  readonly #added = new Map<string, IndexLine<Row>>()
  #bytesRead = 0

  /** `reader` names everything besides the tape that a row depends on. */
  constructor(folder: string, extension: string, reader: () => string) {
    this.#folder = folder
    this.#extension = extension
    this.#reader = reader
  }

  get path(): string {
    return path.join(this.#folder, 'index.jsonl')
  }

  /** The row of a run: from the file if it is current, else through `read`. */
  rowOf(id: string, read: () => IndexReading<Row>): Row {
    const known = this.#load().get(id)
    const own = stampOf(this.#tapeOf(id))
    if (known !== undefined && known.stamp === this.#stampText(own, known.ancestors))
      return known.row
    // Stamped before it is read: later writes make the row outdated.
    const { row, ancestors, isFinal } = read()
    if (own === undefined || !isFinal) return row
    const stamp = this.#stampText(own, ancestors)
    const line = { id, stamp, ...(ancestors && { ancestors }), row }
    this.#load().set(id, line)
    this.#added.set(id, line)
    this.#bytesRead += own.bytes
    return row
  }

  /** The row at the last read; the tape may have changed since. */
  lastRowOf(id: string): Row | undefined {
    return this.#load().get(id)?.row
  }

  /** Writes the rows that were read. `ids` are the runs that exist. A folder that is read-only stays without a file. */
  save(ids: ReadonlySet<string>): void {
    const lines = this.#load()
    for (const id of lines.keys()) if (!ids.has(id)) lines.delete(id)
    const lineCount = (this.#written ?? 0) + this.#added.size
    const isFresh = this.#written !== undefined && lineCount <= 2 * lines.size + OUTDATED_MAX
    if (isFresh && this.#added.size === 0) return
    if (!this.#isThere && this.#bytesRead < WORTH_BYTES) return
    const isSaved = attempt(() => {
      if (isFresh) appendFileSync(this.path, textOf(this.#added.values()))
      else this.#rewrite(lines)
      return true
    })
    if (isSaved !== true) return
    this.#written = isFresh ? lineCount : lines.size
    this.#isThere = true
    this.#added.clear()
    this.#bytesRead = 0
  }

  #rewrite(lines: ReadonlyMap<string, IndexLine<Row>>): void {
    replacePrivateFile(this.path, this.#header() + textOf(lines.values()))
  }

  #load(): Map<string, IndexLine<Row>> {
    if (this.#lines !== undefined) return this.#lines
    const lines = (this.#lines = new Map<string, IndexLine<Row>>())
    const text = attempt(() => readFileSync(this.path, 'utf8'), '')
    const header = this.#header()
    if (!text.startsWith(header)) return lines
    this.#isThere = true
    const rows = text.slice(header.length).split('\n')
    // Nothing can be appended to a line that is torn.
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
