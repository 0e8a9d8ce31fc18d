import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { isRecord } from '@retake/tape'
import { cliErrors } from '../errors.js'
import type { VerifiedTape } from './verify-tape.js'

const VERSION = 'retake manifest 1'

/** Digests of tapes by relative path. Detects a tape replaced by another intact one. */
export class DigestManifest {
  readonly #folder: string
  readonly #digests: ReadonlyMap<string, string>

  private constructor(file: string, digests: ReadonlyMap<string, string>) {
    this.#folder = path.dirname(path.resolve(file))
    this.#digests = digests
  }

  static read(file: string): DigestManifest {
    try {
      const value: unknown = JSON.parse(readFileSync(file, 'utf8'))
      if (!isRecord(value) || value['version'] !== VERSION || !isRecord(value['tapes']))
        throw new Error(`it is not a "${VERSION}"`)
      const entries = Object.entries(value['tapes'])
      if (
        !entries.every(([, digest]) => typeof digest === 'string' && /^[\da-f]{64}$/.test(digest))
      )
        throw new Error('one of its digests is not a sha256')
      return new DigestManifest(file, new Map(entries as [string, string][]))
    } catch (error) {
      throw cliErrors.MANIFEST_UNREADABLE(file, error)
    }
  }

  static write(file: string, results: readonly VerifiedTape[]): void {
    const folder = path.dirname(path.resolve(file))
    const digests = new Map(results.map(({ tape, digest }) => [nameIn(folder, tape), digest]))
    const names = [...digests.keys()].toSorted((a, b) => (a < b ? -1 : 1))
    const tapes = Object.fromEntries(names.map((name) => [name, digests.get(name)] as const))
    writeFileSync(file, `${JSON.stringify({ version: VERSION, tapes }, null, 2)}\n`)
  }

  /** Adds a finding if the manifest has another digest for the tape, or none. */
  compare(result: VerifiedTape): VerifiedTape {
    if (!result.ok) return result
    const expected = this.#digests.get(nameIn(this.#folder, result.tape))
    if (expected === result.digest) return result
    const detail =
      expected === undefined
        ? 'not in the manifest'
        : `not the run in the manifest, which has digest ${expected}`
    return { ...result, ok: false, detail }
  }

  /** Findings for tapes of these folders that are in the manifest but were not found. */
  missing(folders: readonly string[], results: readonly VerifiedTape[]): VerifiedTape[] {
    const found = new Set(results.map(({ tape }) => nameIn(this.#folder, tape)))
    const searched = new Set(folders.map((folder) => path.resolve(folder)))
    return [...this.#digests.keys()]
      .filter((name) => !found.has(name))
      .map((name) => path.resolve(this.#folder, name))
      .filter((tape) => searched.has(path.dirname(tape)))
      .map((tape) => ({
        tape,
        integrity: 'missing',
        replay: 'not tried',
        notReplayed: 'missing',
        detail: 'in the manifest, but not in the folder',
        ok: false,
      }))
  }
}

/** With slashes on every platform. */
const nameIn = (folder: string, tape: string): string =>
  path.relative(folder, path.resolve(tape)).split(path.sep).join('/')
