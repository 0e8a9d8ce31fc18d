import { gunzipSync } from 'node:zlib'
import type { PastCall } from './call-history.js'
import { nameTest, type NameTest } from './name-pattern.js'
import type { Names } from './policy.js'
import { textForms } from './text-forms.js'
import { TextIndex } from './text-index.js'

/** The rest of a longer trusted result counts as untrusted. */
const FOLLOWED_LIMIT = 1_000_000
const SOURCE_LIMIT = 10_000

/** Where untrusted text came from. */
export interface TaintSource {
  readonly tool: string
  /** The trusted tool that passed it on, if any. */
  readonly by?: string
}

/**
 * Tracks text from the results of untrusted tools into arguments, and through results of other tools.
 * Text that an untrusted tool was given and only repeats is ignored.
 *
 * Not promised: text that was translated, summarised, reversed, encrypted or cut into short pieces.
 */
export class TaintTracker {
  readonly #isUntrusted: NameTest
  readonly #index: TextIndex
  readonly #sources: TaintSource[] = []

  constructor(
    from: Names,
    readonly minLength: number,
    limit?: number,
  ) {
    this.#isUntrusted = nameTest(from)
    this.#index = new TextIndex(minLength, limit)
  }

  /** There was more untrusted text than is tracked, so that all text counts as untrusted. */
  get isFull(): boolean {
    return this.#index.isFull
  }

  add({ tool, args, output, error }: PastCall): void {
    if (this.#isUntrusted(tool)) {
      const given = new TextIndex(this.minLength)
      eachLeaf(args, (text) => {
        this.#addForms(given, text, 0)
      })
      const source = this.#newSource({ tool })
      const take = (text: string): void => this.#addForms(this.#index, text, source, given)
      eachLeaf(output, take)
      eachLeaf(error, take)
    } else if (!this.#index.isEmpty) {
      let left = FOLLOWED_LIMIT
      const follow = (text: string): void => {
        left -= text.length
        const from = left < 0 ? this.#sources[0] : this.find(text)
        if (from !== undefined)
          this.#addForms(this.#index, text, this.#newSource({ tool: from.tool, by: tool }))
      }
      eachLeaf(output, follow)
      eachLeaf(error, follow)
    }
  }

  /** The source of a text or a part of it; undefined if it was not copied. */
  find(text: string): TaintSource | undefined {
    if (this.#index.isEmpty || text.length < this.minLength) return undefined
    const { forms, isComplete } = textForms(text)
    for (const form of forms) {
      const source = this.#index.find(form)
      if (source !== undefined) return this.#sources[source]
    }
    return isComplete ? undefined : this.#sources[0]
  }

  #addForms(index: TextIndex, text: string, source: number, except?: TextIndex): void {
    if (text.length < this.minLength) return
    for (const form of textForms(text).forms) index.add(form, source, except)
  }

  /** Once there are too many, later sources share the last one. */
  #newSource(source: TaintSource): number {
    if (this.#sources.length < SOURCE_LIMIT) this.#sources.push(source)
    return this.#sources.length - 1
  }
}

/** Visits every text and number in a value, including keys, until `visit` returns something. */
export function eachLeaf<T>(value: unknown, visit: (text: string) => T | undefined): T | undefined {
  switch (typeof value) {
    case 'string':
      return visit(value)
    case 'number':
    case 'bigint':
      return visit(String(value))
    case 'symbol':
      return visit(value.description ?? '')
    case 'object':
      break
    case 'boolean':
    case 'undefined':
    case 'function':
      return undefined
  }
  if (value === null) return undefined
  const text = textIn(value)
  if (text !== undefined) return visit(text)
  const pieces = Array.isArray(value) ? joinedPieces(value) : undefined
  if (pieces !== undefined) {
    const found = visit(pieces)
    if (found !== undefined) return found
  }
  if (Array.isArray(value) || value instanceof Set) {
    for (const each of value) {
      const found = eachLeaf(each, visit)
      if (found !== undefined) return found
    }
    return undefined
  }
  for (const [key, member] of membersOf(value)) {
    const found = eachLeaf(key, visit) ?? eachLeaf(member, visit)
    if (found !== undefined) return found
  }
  return undefined
}

/** A text in pieces, or the codes of its characters. */
function joinedPieces(list: readonly unknown[]): string | undefined {
  if (list.length < 2) return undefined
  if (list.every((each) => typeof each === 'string')) return list.join('')
  return list.every((each) => typeof each === 'number') ? list.join(' ') : undefined
}

/** The text of an object that is written as one. */
function textIn(value: object): string | undefined {
  if (value instanceof URL) return value.href
  if (value instanceof RegExp) return value.source
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? '' : value.toISOString()
  if (ArrayBuffer.isView(value))
    return textOf(Buffer.from(value.buffer, value.byteOffset, value.byteLength))
  return value instanceof ArrayBuffer ? textOf(Buffer.from(value)) : undefined
}

/** Unpacks gzip, up to a limit. */
function textOf(bytes: Buffer): string {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes.toString()
  try {
    return gunzipSync(bytes, { maxOutputLength: FOLLOWED_LIMIT }).toString()
  } catch {
    return bytes.toString()
  }
}

function membersOf(value: object): Iterable<readonly [unknown, unknown]> {
  if (value instanceof Map) return value as Map<unknown, unknown>
  if (!(value instanceof Error)) return Object.entries(value)
  const { message, cause, errors } = value as AggregateError
  return [['', message], ['', cause], ['', errors], ...Object.entries(value)]
}
