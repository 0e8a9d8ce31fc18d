import type { PastCall } from './call-history.js'
import { nameTest, type NameTest } from './name-pattern.js'
import type { Names } from './policy.js'
import { textForms } from './text-forms.js'
import { TextIndex } from './text-index.js'

/** How much of a trusted result is searched for untrusted text. */
const FOLLOWED_LIMIT = 1_000_000
const SOURCE_LIMIT = 10_000

/** Where untrusted text came from. */
export interface TaintSource {
  readonly tool: string
  /** The trusted tool whose result had it last, if it came by way of one. */
  readonly by?: string
}

/**
 * Follows text out of the results of untrusted tools: into arguments, and through
 * results of other tools that hold some of it. What such a tool was given itself, and
 * only repeats, is not taken for its own.
 *
 * Not promised: text that was changed beyond its form (translated, summed up,
 * reversed, encrypted, cut into pieces shorter than the least length).
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

  /** More untrusted text came in than is followed: nothing can be trusted any more. */
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
        const from = left < 0 ? undefined : this.find(text)
        if (from !== undefined)
          this.#addForms(this.#index, text, this.#newSource({ tool: from.tool, by: tool }))
      }
      eachLeaf(output, follow)
      eachLeaf(error, follow)
    }
  }

  /** Where a text, or a part of it, was copied from; undefined when it was not. */
  find(text: string): TaintSource | undefined {
    if (this.#index.isEmpty || text.length < this.minLength) return undefined
    for (const form of textForms(text)) {
      const source = this.#index.find(form)
      if (source !== undefined) return this.#sources[source]
    }
    return undefined
  }

  #addForms(index: TextIndex, text: string, source: number, except?: TextIndex): void {
    if (text.length < this.minLength) return
    for (const form of textForms(text)) index.add(form, source, except)
  }

  /** The last one stands for all that come after, once there are too many. */
  #newSource(source: TaintSource): number {
    if (this.#sources.length < SOURCE_LIMIT) this.#sources.push(source)
    return this.#sources.length - 1
  }
}

/** Every text and number in a value, keys included, until `visit` returns something. */
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

/** Of an object that is one text, or would be written as one. */
function textIn(value: object): string | undefined {
  if (value instanceof URL) return value.href
  if (value instanceof RegExp) return value.source
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? '' : value.toISOString()
  if (ArrayBuffer.isView(value))
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString()
  return value instanceof ArrayBuffer ? Buffer.from(value).toString() : undefined
}

function membersOf(value: object): Iterable<readonly [unknown, unknown]> {
  if (value instanceof Map) return value as Map<unknown, unknown>
  if (!(value instanceof Error)) return Object.entries(value)
  const { message, cause, errors } = value as AggregateError
  return [['', message], ['', cause], ['', errors], ...Object.entries(value)]
}
