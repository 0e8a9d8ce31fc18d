/**
 * Knows which texts in a request come from chance or from a clock, so that two
 * requests can be compared without them. Knows the usual forms of a value only:
 * what a program computes from it in another way counts as a difference.
 */
export class DrawnValues {
  readonly #texts = new Set<string>()
  /** Digits of `Math.random().toString(36)`, which programs cut to some length, by the first of them. */
  readonly #base36 = new Map<string, string[]>()

  add(kind: string, value: unknown): void {
    for (const text of formsOf(kind, value)) if (text.length >= 8) this.#texts.add(text)
    if (kind === 'Math.random' && typeof value === 'number')
      this.#addDigits(value.toString(36).slice(2))
  }

  #addDigits(digits: string): void {
    const key = digits.slice(0, SHORTEST_CUT)
    const known = this.#base36.get(key)
    if (known === undefined) this.#base36.set(key, [digits])
    else if (!known.includes(digits)) known.push(digits)
  }

  /** The text of a body with a mark in place of each drawn value. */
  without(body: Uint8Array): string {
    const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('latin1')
    return text.replaceAll(WORD, (word) => (this.#isDrawn(word) ? '\u0000' : word))
  }

  differsOnlyInDrawn(recorded: unknown, current: unknown): boolean {
    if (typeof recorded !== 'string' || typeof current !== 'string') return false
    return this.without(Buffer.from(recorded)) === this.without(Buffer.from(current))
  }

  #isDrawn(word: string): boolean {
    if (this.#texts.has(word)) return true
    if (!/^[0-9a-z]{5,}$/.test(word)) return false
    const alike = this.#base36.get(word.slice(0, SHORTEST_CUT)) ?? []
    return alike.some((digits) => digits.startsWith(word))
  }
}

/** Fewer digits could be any word. */
const SHORTEST_CUT = 5

/** Runs of characters that ids, numbers and dates are made of; a prefix like `req_` is not part of one. */
const WORD =
  /\d{4}-\d\d-\d\dT[\d:.]+Z|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d+\.\d+(?:e-?\d+)?|[0-9A-Za-z]{5,}/g

function formsOf(kind: string, value: unknown): string[] {
  const [source = kind] = kind.split(' ')
  if (source === 'Date.now' && typeof value === 'number')
    return [value, Math.floor(value / 1000), new Date(value).toISOString(), value.toString(36)].map(
      String,
    )
  if (typeof value === 'number') return [String(value)]
  if (typeof value !== 'string') return []
  if (source === 'crypto.randomUUID') return [value, value.replaceAll('-', '')]
  if (!source.startsWith('crypto.')) return [value]
  const raw = Buffer.from(value, 'base64')
  return [value, raw.toString('hex'), raw.toString('base64url')]
}
