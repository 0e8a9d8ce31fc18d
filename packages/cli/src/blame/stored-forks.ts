import { createHash } from 'node:crypto'
import { appendFileSync, mkdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { Coalition, ForkOutcome } from '@retake/diagnose'
import { stepRanges } from './step-ranges.js'
import { blameFolder } from './findings-file.js'

/** What one fork came to, as it is kept. */
export interface StoredFork {
  readonly outcome: ForkOutcome
  /** Why it came to no verdict. */
  readonly why?: string
  /** What each step came to; null where it did not happen. */
  readonly values: readonly (string | null)[]
  /** Steps that were run again. */
  readonly liveSteps: number
  /** Recorded answers that were given to a changed question. */
  readonly forced: number
  readonly tokens?: number
  readonly costUsd?: number
  /** The tape of the fork, where it was kept. */
  readonly tape?: string
}

/**
 * The forks of one question about one run, by what was held and the number of the draw. A fork is on
 * disk before the search sees it, so a search that is stopped loses nothing. Those that came to
 * no verdict are not found by a later search: a provider that was down then may be up now.
 */
export class StoredForks {
  readonly file: string
  readonly #known = new Map<string, StoredFork>()

  constructor(tapeFile: string, run: string, question: string) {
    this.file = path.join(blameFolder(tapeFile), `${run}.${question}.jsonl`)
    for (const line of linesOf(this.file)) {
      const read = parsed(line)
      // Nothing is known of a fork without a verdict: what kept it from one may be over.
      if (read !== undefined && read.fork.outcome !== 'undefined')
        this.#known.set(read.key, read.fork)
    }
  }

  get size(): number {
    return this.#known.size
  }

  /** `key` as `coalitionKey` makes it, or any other that names what was forked. */
  find(key: string): StoredFork | undefined {
    return this.#known.get(key)
  }

  add(key: string, fork: StoredFork): void {
    mkdirSync(path.dirname(this.file), { recursive: true })
    // The line end stands first: what was torn off by a crash spoils only itself.
    appendFileSync(this.file, `\n${JSON.stringify({ key, fork })}`)
    this.#known.set(key, fork)
  }
}

export const coalitionKey = ({ kept, mode }: Coalition, draw: number): string =>
  `${mode} ${stepRanges(kept)} #${draw}`

/** What is asked, as a short name: forks of another question say nothing about this one. */
export const questionOf = (asked: unknown): string =>
  createHash('sha256').update(JSON.stringify(asked)).digest('hex').slice(0, 12)

function linesOf(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n')
  } catch {
    return []
  }
}

function parsed(line: string): { key: string; fork: StoredFork } | undefined {
  try {
    const read = JSON.parse(line) as { key?: unknown; fork?: StoredFork }
    const isWhole = typeof read.key === 'string' && Array.isArray(read.fork?.values)
    return isWhole ? (read as { key: string; fork: StoredFork }) : undefined
  } catch {
    return undefined
  }
}
