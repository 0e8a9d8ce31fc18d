import { DESCRIBED_WORDS } from '@retake/tape'

/**
 * A value of a program that JSON has no form for, such as a function, or that a limit
 * cut: one line of a tree, in words. Copied, it is what was captured.
 */
export class SpokenValue {
  readonly #text: string
  readonly #captured: unknown

  constructor(text: string, captured: unknown) {
    this.#text = text
    this.#captured = captured
  }

  toString(): string {
    return this.#text
  }

  toJSON(): unknown {
    return this.#captured
  }
}

/**
 * A captured value as a tree shows it: what stands for something else, an object with
 * `$type`, is put into words; what has members stays as it is. Captured values have a
 * limited depth. Not for JSON of others, where `$type` is a name like any other.
 */
export function spokenTree(json: unknown): unknown {
  if (typeof json !== 'object' || json === null) return json
  if (Array.isArray(json)) return json.map(spokenTree)
  const text = wordsFor(json as Readonly<Record<string, unknown>>)
  if (text !== undefined) return new SpokenValue(text, json)
  return Object.fromEntries(
    Object.entries(json).map(([name, member]) => [name, spokenTree(member)]),
  )
}

/** A captured value in one line: JSON, with words where JSON has no form for it. */
export function spokenLine(json: unknown): string {
  if (typeof json !== 'object' || json === null) return JSON.stringify(json) ?? ''
  if (Array.isArray(json)) return `[${json.map(spokenLine).join(',')}]`
  const text = wordsFor(json as Readonly<Record<string, unknown>>)
  if (text !== undefined) return text
  const members = Object.entries(json).map(
    ([name, member]) => `${JSON.stringify(name)}:${spokenLine(member)}`,
  )
  return `{${members.join(',')}}`
}

function wordsFor(json: Readonly<Record<string, unknown>>): string | undefined {
  const { $type: type, ...rest } = json
  if (typeof type !== 'string') return undefined
  if (Object.hasOwn(DESCRIBED_WORDS, type)) return DESCRIBED_WORDS[type]?.(rest)
  return Object.keys(rest).length === 0 ? `${type} {}` : undefined
}
