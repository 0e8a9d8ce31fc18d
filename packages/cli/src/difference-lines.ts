import type { ValueDiff } from '@retake/diagnose'
import type { DiffLook } from './diff-lines.js'
import { printable } from './printable.js'
import { cutTo } from './table.js'
import type { Style } from './terminal.js'
import { excerpts } from './text-diff.js'
import type { Excerpt } from './text-diff.js'

/** How two values that differ are printed: the first run's with `-`, the second's with `+`. */
export class DifferenceLines {
  readonly #look: DiffLook

  constructor(look: DiffLook) {
    this.#look = look
  }

  /** The path, then both values. */
  field(diff: ValueDiff): string[] {
    const { paint, width } = this.#look
    const path = cutTo(printable(diff.path), width - 2)
    return [`  ${paint('cyan', path)}`, ...this.sides(diff.a, diff.b)]
  }

  /** A line for each value that is there; two values are cut to where they differ. */
  sides(a: unknown, b: unknown): string[] {
    if (this.#look.full) return [...this.#inFull('-', 'red', a), ...this.#inFull('+', 'green', b)]
    const [left, right] = [shownValue(a), shownValue(b)]
    const [before, now] = excerpts(left ?? '', right ?? '', this.#look.width - 4)
    return [
      ...(left === undefined ? [] : [this.#line('-', 'red', before)]),
      ...(right === undefined ? [] : [this.#line('+', 'green', now)]),
    ]
  }

  #inFull(sign: string, style: Style, value: unknown): string[] {
    const text = shownValue(value)
    if (text === undefined) return []
    return printable(text)
      .split('\n')
      .map((line) => `  ${this.#look.paint(style, `${sign} ${line}`)}`)
  }

  #line(sign: string, style: Style, { before, differs, after }: Excerpt): string {
    const { paint } = this.#look
    const marked = differs && paint('bold', paint(style, differs))
    return `  ${paint(style, `${sign} ${before}`)}${marked}${after && paint(style, after)}`
  }
}

/** A value as text: a message with its role, everything else as JSON. */
function shownValue(value: unknown): string | undefined {
  if (value === undefined || typeof value === 'string') return value
  return shownMessage(value) ?? JSON.stringify(value)
}

/** What a message says, after who says it; undefined when the value is none. */
export const shownMessage = (value: unknown): string | undefined =>
  isMessage(value) ? `${value.role}: ${value.parts.map(partText).join('\n')}` : undefined

interface ShownMessage {
  readonly role: string
  readonly parts: readonly Readonly<Record<string, unknown>>[]
}

const isMessage = (value: unknown): value is ShownMessage =>
  typeof value === 'object' && value !== null && 'role' in value && 'parts' in value

function partText({ text, name, args, content, ...rest }: ShownMessage['parts'][number]): string {
  if (typeof text === 'string') return text
  if (typeof name === 'string') return `→ ${name}(${JSON.stringify(args)})`
  if (content === undefined) return JSON.stringify(rest)
  return `← ${typeof content === 'string' ? content : JSON.stringify(content)}`
}
