import { findingsPath } from '@retake/runner/runs'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { type Tape, setNewest, attempt, readRunBlame } from '@retake/tape'

import { FileCache, stampText } from './run-models.js'

/** Maximum number of watched runs. */
const REQUESTED_MAX = 8

/**
 * Findings for runs, read again only if their files change; caches those of the last requested run.
 * Knows which runs have newer findings than were returned.
 */
export class StoredFindings<T> {
  readonly #cached = new FileCache<T | undefined>(1)
  /** By run, least recently requested first: the files and their stamps. */
  readonly #requested = new Map<
    string,
    { readonly files: readonly string[]; readonly stamp: string }
  >()

  constructor(
    readonly filesOf: (tape: Tape) => readonly string[],
    readonly read: (tape: Tape) => T | undefined,
  ) {}

  /** Throws if they cannot be read. */
  of(tape: Tape): T | undefined {
    const files = this.filesOf(tape)
    // Earlier readers still have the old state: they were not notified yet.
    const noted = this.#requested.get(tape.run.id) ?? { files, stamp: stampText(...files) }
    setNewest(this.#requested, tape.run.id, noted, REQUESTED_MAX)
    return this.#cached.get(tape.path, files, () => this.read(tape))
  }

  /** Runs with newer findings than were returned. Reports each change once. */
  changed(): string[] {
    return [...this.#requested].flatMap(([run, { files, stamp }]) => {
      const now = stampText(...files)
      if (now === stamp) return []
      this.#requested.set(run, { files, stamp: now })
      return [run]
    })
  }
}

/** Marks runs that failed the check of a blame search. */
export class FailedChecks {
  readonly #readable = new FileCache<boolean>()

  mark<Card extends { readonly id: string }>(
    folder: string,
    cards: readonly Card[],
  ): readonly (Card & { readonly failedCheck?: true })[] {
    const blames = path.dirname(findingsPath(path.join(folder, 'any.tape'), 'any'))
    const names = new Set(attempt(() => readdirSync(blames), []))
    return cards.map((card) => {
      const name = `${card.id}.json`
      const file = path.join(blames, name)
      const read = () => readRunBlame(JSON.parse(readFileSync(file, 'utf8')) as unknown, card.id)
      const isMarked =
        names.has(name) && this.#readable.get(file, [file], () => attempt(read) !== undefined)
      return isMarked ? { ...card, failedCheck: true } : card
    })
  }
}
