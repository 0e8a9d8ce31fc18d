import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import path from 'node:path'
import { createHash } from 'node:crypto'
import { maskKeys, attempt } from '@retake/tape'
import { openOwnTape } from '@retake/tape/node'
import type { RunStore } from '@retake/runner/runs'
import { entryOfSpan, ImportedRun, type SpanEntry } from './imported-run.js'
import type { SpanSink } from './read-spans.js'
import { epochMsOf, type Span } from './span.js'

export interface ImportedTrace {
  readonly run: string
  readonly trace: string
  readonly spans: number
  /** Set if it was imported before, with as many spans. */
  readonly isKnown?: true
}

const OUT_OF_ORDER = 'spans out of order'
const WITHOUT_PARENT = 'spans whose parent is missing'

/** Problems in words: `left out: 2 spans without a valid id`. */
export function describeProblems(problems: ReadonlyMap<string, number>): string[] {
  const describe = (title: string, isPart: (why: string) => boolean): string[] => {
    const parts = [...problems].filter(([why]) => isPart(why))
    const words = parts.map(([why, count]) => {
      const one = (noun: string): string => (noun === 'entries' ? 'entry' : noun.slice(0, -1))
      return `${count} ${count === 1 ? why.replace(/^\w+/, one) : why}`
    })
    return words.length === 0 ? [] : [`${title}: ${words.join(', ')}`]
  }
  const isImported = (why: string): boolean => why === OUT_OF_ORDER || why === WITHOUT_PARENT
  return [...describe('imported', isImported), ...describe('left out', (why) => !isImported(why))]
}

interface Trace {
  readonly entries: SpanEntry[]
  readonly ids: Set<string>
  lastStart: bigint
}

/**
 * Collects spans in a file until their traces are complete, because spans come in any order and a
 * trace may be larger than memory. Keeps only an index entry per span in memory. Masks keys of
 * known shape before writing.
 */
export class SpanSpool implements SpanSink {
  /** Things left out or suspicious, named in the plural, with counts. */
  readonly problems = new Map<string, number>()
  readonly #folder: string
  readonly #file: number
  readonly #traces = new Map<string, Trace>()
  readonly #groups = new Map<string, Pick<Span, 'resource' | 'scope'>>()
  #size = 0

  constructor(private readonly store: RunStore) {
    store.prepare()
    this.#folder = mkdtempSync(path.join(store.folder, '.import-'))
    this.#file = openSync(path.join(this.#folder, 'spans'), 'wx+', 0o600)
  }

  get spans(): number {
    let sum = 0
    for (const { entries } of this.#traces.values()) sum += entries.length
    return sum
  }

  problem(why: string, count = 1): void {
    this.problems.set(why, (this.problems.get(why) ?? 0) + count)
  }

  span(given: Span): void {
    const { resource, scope, ...rest } = given
    const group = maskKeys(JSON.stringify({ resource, scope }))
    const groups =
      this.#groups.get(group) ?? (JSON.parse(group) as Pick<Span, 'resource' | 'scope'>)
    this.#groups.set(group, groups)
    const trace = this.#traceOf(given.traceId)
    if (trace.ids.has(given.spanId)) {
      this.problem('spans with the id of another')
      return
    }
    trace.ids.add(given.spanId)
    const text = maskKeys(JSON.stringify(rest))
    const bytes = Buffer.from(text)
    const at = this.#size
    // `load` must not capture `bytes`, which would keep every span in memory.
    const { length } = bytes
    writeSync(this.#file, bytes, 0, length, at)
    this.#size += length
    const load = (): Span => {
      const read = Buffer.alloc(length)
      readSync(this.#file, read, 0, read.length, at)
      return { ...(JSON.parse(read.toString()) as Omit<Span, 'resource' | 'scope'>), ...groups }
    }
    const entry = entryOfSpan(given, load)
    if (entry.start < trace.lastStart) this.problem(OUT_OF_ORDER)
    trace.lastStart = entry.start
    trace.entries.push(entry)
  }

  #traceOf(traceId: string): Trace {
    const known = this.#traces.get(traceId)
    if (known !== undefined) return known
    const trace: Trace = { entries: [], ids: new Set(), lastStart: 0n }
    this.#traces.set(traceId, trace)
    return trace
  }

  get traces(): readonly string[] {
    return [...this.#traces.keys()]
  }

  /** Writes a trace as a run. Replaces an earlier run of this trace with fewer spans. */
  write(
    traceId: string,
    about: { readonly from: string; readonly source?: string },
  ): ImportedTrace {
    const { entries, ids } = this.#traceOf(traceId)
    const orphans = entries.filter(
      ({ parentSpanId }) => parentSpanId !== undefined && !ids.has(parentSpanId),
    ).length
    if (orphans > 0) this.problem(WITHOUT_PARENT, orphans)
    const first = entries.reduce(
      (least, { start }) => (start < least ? start : least),
      entries[0]?.start ?? 0n,
    )
    // Start time, and letters derived from the trace, so that it is imported only once.
    const startedAt = epochMsOf(String(first))
    const time = new Date(startedAt).toISOString().replace(/[-:]/g, '')
    const digest = createHash('sha256').update(traceId).digest()
    const letters = Array.from(
      digest.subarray(0, 6),
      (byte) => 'abcdefghijkmnpqrstuvwxyz'[byte % 24],
    )
    const id = `${time.slice(0, 8)}-${time.slice(9, 15)}-${letters.join('')}`
    const file = this.store.pathOf(id)
    const imported = { run: id, trace: traceId, spans: entries.length }
    const known = existsSync(file) ? attempt(() => openOwnTape(file).details.imported) : undefined
    if (known?.trace === traceId && known.spans >= entries.length)
      return { ...imported, isKnown: true }
    const draft = path.join(this.#folder, `${id}.tape`)
    new ImportedRun(draft, entries, {
      id,
      details: {
        ...about,
        trace: traceId,
        spans: entries.length,
        ...(orphans > 0 && { problems: { [WITHOUT_PARENT]: orphans } }),
      },
    }).write()
    renameSync(draft, file)
    return imported
  }

  /** Removes the file in which spans were collected. */
  dispose(): void {
    closeSync(this.#file)
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
