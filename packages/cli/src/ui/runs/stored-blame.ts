import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { attempt } from '../../attempt.js'
import { readIfPresent } from '../../runs/run-store.js'
import { type CapturedState, type Tape, setNewest } from '@retake/tape'
import { readRunBlame, type RunBlame } from '@retake/web'
import { findingsPath } from '../../blame/findings.js'
import { cliErrors } from '../../errors.js'
import { stampOf } from '../../runs/run-index.js'
import { stampText } from './run-models.js'
import { readStates, stateFileOf } from '../../debug/state-file.js'

/** The states that `retake snapshot` wrote beside tapes. Caches those of the last requested run. */
export class CapturedStates {
  #cached: { readonly key: string; readonly states: readonly CapturedState[] } | undefined

  /** Throws when they cannot be read. */
  of(tape: Tape): readonly CapturedState[] {
    const file = stateFileOf(tape)
    const stamp = stampOf(file)
    if (stamp === undefined) return []
    const key = `${file} ${stamp.text}`
    if (this.#cached?.key !== key) this.#cached = { key, states: readStates(tape) ?? [] }
    return this.#cached.states
  }

  /** Empty if they cannot be read: requests for a single state get the error. */
  readable(tape: Tape): readonly CapturedState[] {
    return attempt(() => this.of(tape), [])
  }
}

/** Findings of `retake blame` about a run; undefined if there are none. Throws if they cannot be read. */
export const storedBlame = (tape: Tape): RunBlame | undefined =>
  readIfPresent(
    findingsPath(tape.path, tape.run.id),
    (text) => readRunBlame(JSON.parse(text) as unknown, tape.run.id),
    cliErrors.FINDINGS_UNREADABLE,
  )

/** Maximum number of runs that are watched. */
const REQUESTED_MAX = 8

/**
 * Findings about runs, read again only if their files change; those of the last requested
 * run are cached. Knows which runs have newer findings than were handed out.
 */
export class StoredFindings<T> {
  #cached: { readonly key: string; readonly findings: T | undefined } | undefined
  /** By run, least recently requested first: the files and their stamps. */
  readonly #requested = new Map<
    string,
    { readonly files: readonly string[]; readonly stamp: string }
  >()

  constructor(
    readonly filesOf: (tape: Tape) => readonly string[],
    readonly read: (tape: Tape) => T | undefined,
  ) {}

  /** Throws when they cannot be read. */
  of(tape: Tape): T | undefined {
    const files = this.filesOf(tape)
    const stamp = stampsText(files)
    this.#note(tape.run.id, files, stamp)
    const key = `${files.join(' ')} ${stamp}`
    if (this.#cached?.key !== key) this.#cached = { key, findings: this.read(tape) }
    return this.#cached.findings
  }

  /** Runs with newer findings than were handed out. Each change is reported once. */
  changed(): string[] {
    return [...this.#requested].flatMap(([run, { files, stamp }]) => {
      const now = stampsText(files)
      if (now === stamp) return []
      this.#requested.set(run, { files, stamp: now })
      return [run]
    })
  }

  /** Earlier readers still have the old state: they were not notified yet. */
  #note(run: string, files: readonly string[], stamp: string): void {
    const noted = this.#requested.get(run) ?? { files, stamp }
    setNewest(this.#requested, run, noted, REQUESTED_MAX)
  }
}

const stampsText = (files: readonly string[]): string => files.map(stampText).join(' ')

/** Findings of blame, and the runs that have some. */
export class StoredBlame extends StoredFindings<RunBlame> {
  readonly #readable = new Map<string, { readonly stamp: string; readonly isReadable: boolean }>()

  constructor() {
    super((tape) => [findingsPath(tape.path, tape.run.id)], storedBlame)
  }

  mark<Card extends { readonly id: string }>(
    folder: string,
    cards: readonly Card[],
  ): readonly (Card & { readonly failedCheck?: true })[] {
    const blames = path.dirname(findingsPath(path.join(folder, 'any.tape'), 'any'))
    const names = new Set(attempt(() => readdirSync(blames), []))
    return cards.map((card) => {
      const name = `${card.id}.json`
      const isMarked = names.has(name) && this.#isReadable(path.join(blames, name), card.id)
      return isMarked ? { ...card, failedCheck: true } : card
    })
  }

  #isReadable(file: string, run: string): boolean {
    const stamp = stampText(file)
    const known = this.#readable.get(file)
    if (known?.stamp === stamp) return known.isReadable
    const text = attempt(() => readFileSync(file, 'utf8'), '')
    const isReadable = attempt(() => readRunBlame(JSON.parse(text) as unknown, run)) !== undefined
    this.#readable.set(file, { stamp, isReadable })
    return isReadable
  }
}
