/** An anchor between characters: start or end of the text, edge of a word or not. */
export type Anchor = 'start' | 'end' | 'edge' | 'no edge'

/** A regular expression, taken apart. */
export type PatternNode =
  | { readonly kind: 'char'; readonly test: (code: number, dotIsAll: boolean) => boolean }
  | { readonly kind: 'assert'; readonly where: Anchor }
  | { readonly kind: 'sequence'; readonly items: readonly PatternNode[] }
  | { readonly kind: 'choice'; readonly items: readonly PatternNode[] }
  | {
      readonly kind: 'repeat'
      readonly item: PatternNode
      readonly min: number
      readonly max: number
    }

/** Throws an error that says what is wrong with it. Syntax is checked by JavaScript itself first. */
export function parsePattern(source: string, ignoreCase: boolean): PatternNode {
  const flags = ignoreCase ? 'iu' : 'u'
  try {
    void new RegExp(source, flags)
  } catch (error) {
    const reason =
      error instanceof Error ? error.message.replace(/^.*\/[a-z]*: /s, '') : 'It is none'
    throw new Error(`${reason}.`, { cause: error })
  }
  return new PatternParser(source, flags).parse()
}

class PatternParser {
  #at = 0

  constructor(
    readonly source: string,
    readonly flags: string,
  ) {}

  parse(): PatternNode {
    return this.#choice()
  }

  #choice(): PatternNode {
    const items = [this.#sequence()]
    while (this.#eat('|')) items.push(this.#sequence())
    return items.length === 1 ? (items[0] as PatternNode) : { kind: 'choice', items }
  }

  #sequence(): PatternNode {
    const items: PatternNode[] = []
    while (this.#at < this.source.length && !'|)'.includes(this.source.charAt(this.#at)))
      items.push(this.#quantified(this.#atom()))
    return { kind: 'sequence', items }
  }

  #quantified(item: PatternNode): PatternNode {
    const found = /^(?:[*+?]|\{(\d+)(,?)(\d*)\})\??/.exec(
      this.source.slice(this.#at, this.#at + 40),
    )
    if (found === null) return item
    this.#at += found[0].length
    const [text, from, comma, to] = found
    if (from === undefined) {
      const sign = text.charAt(0)
      return {
        kind: 'repeat',
        item,
        min: sign === '+' ? 1 : 0,
        max: sign === '?' ? 1 : Infinity,
      }
    }
    const min = Number(from)
    return {
      kind: 'repeat',
      item,
      min,
      max: comma === '' ? min : to === '' ? Infinity : Number(to),
    }
  }

  #atom(): PatternNode {
    const start = this.#at
    const char = String.fromCodePoint(this.source.codePointAt(start) ?? 0)
    this.#at += char.length
    switch (char) {
      case '^':
        return { kind: 'assert', where: 'start' }
      case '$':
        return { kind: 'assert', where: 'end' }
      case '.':
        return {
          kind: 'char',
          test: (code, dotIsAll) =>
            dotIsAll || !(code === 10 || code === 13 || code === 0x2028 || code === 0x2029),
        }
      case '(':
        return this.#group()
      case '[': {
        for (; this.source.charAt(this.#at) !== ']'; this.#at += 1)
          if (this.source.charAt(this.#at) === '\\') this.#at += 1
        this.#at += 1
        return this.#oneOf(this.source.slice(start, this.#at))
      }
      case '\\':
        return this.#escape(start)
      default:
        return this.#oneOf(char)
    }
  }

  #group(): PatternNode {
    if (/^\?<?[=!]/.test(this.source.slice(this.#at, this.#at + 3)))
      throw new Error('It looks ahead or behind, which can take for ever.')
    const open = /^\?(?::|<[^>]*>)/.exec(this.source.slice(this.#at))
    if (open !== null) this.#at += open[0].length
    else if (this.source.charAt(this.#at) === '?')
      throw new Error('It sets flags for a group; write ignoreCase: true beside it.')
    const inside = this.#choice()
    this.#at += 1
    return inside
  }

  #escape(start: number): PatternNode {
    const rest = this.source.slice(start)
    if (/^\\(?:[1-9]|k<)/.test(rest))
      throw new Error('It refers back to a group, which can take for ever.')
    const isBoundary = /^\\[bB]/.exec(rest)
    if (isBoundary !== null) {
      this.#at = start + 2
      return { kind: 'assert', where: rest.charAt(1) === 'b' ? 'edge' : 'no edge' }
    }
    const long =
      /^\\(?:u\{[^}]*\}|u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|[pP]\{[^}]*\}|c[a-zA-Z])/.exec(
        rest,
      )
    const text = long?.[0] ?? rest.slice(0, 2)
    this.#at = start + text.length
    return this.#oneOf(text)
  }

  /** A part of the source that stands for one character; JavaScript says for which. */
  #oneOf(part: string): PatternNode {
    if (!part.startsWith('\\') && !part.startsWith('[') && !this.flags.includes('i')) {
      const only = part.codePointAt(0)
      return { kind: 'char', test: (code) => code === only }
    }
    const native = new RegExp(`^(?:${part})$`, this.flags)
    const known = Array.from({ length: 128 }, (_, code) => native.test(String.fromCodePoint(code)))
    return {
      kind: 'char',
      test: (code) => (code < 128 ? known[code] === true : native.test(String.fromCodePoint(code))),
    }
  }

  #eat(char: string): boolean {
    if (this.source.charAt(this.#at) !== char) return false
    this.#at += 1
    return true
  }
}
