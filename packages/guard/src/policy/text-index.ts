/** Number of tracked characters. */
export const TEXT_INDEX_LIMIT = 2_000_000

const FIRST_SLOTS = 1024

/**
 * Finds pieces of a certain length that a text shares with the added texts. Stores a 64-bit hash of
 * every piece instead of the texts, so that a search takes time in proportion to the searched text.
 */
export class TextIndex {
  /** More was added than the limit. */
  isFull = false
  #slots = FIRST_SLOTS
  #used = 0
  #low = new Int32Array(FIRST_SLOTS)
  #high = new Int32Array(FIRST_SLOTS)
  /** From 1; 0 is a free slot. */
  #source = new Int32Array(FIRST_SLOTS)

  constructor(
    readonly length: number,
    readonly limit = TEXT_INDEX_LIMIT,
  ) {}

  get isEmpty(): boolean {
    return this.#used === 0 && !this.isFull
  }

  /** `find` returns `source`. Pieces in `except` are skipped. */
  add(text: string, source: number, except?: TextIndex): void {
    eachPiece(text, this.length, (low, high) => {
      if (except !== undefined && except.#at(low, high) > 0) return false
      if (this.#used >= this.limit) {
        this.isFull = true
        return true
      }
      this.#put(low, high, source + 1)
      return false
    })
  }

  /** The source of the first known piece; undefined if there is none. */
  find(text: string): number | undefined {
    if (this.#used === 0) return undefined
    let found = 0
    eachPiece(text, this.length, (low, high) => {
      found = this.#at(low, high)
      return found > 0
    })
    return found > 0 ? found - 1 : undefined
  }

  #at(low: number, high: number): number {
    const mask = this.#slots - 1
    for (let slot = spread(low, high) & mask; ; slot = (slot + 1) & mask) {
      const source = this.#source[slot] ?? 0
      if (source === 0 || (this.#low[slot] === low && this.#high[slot] === high)) return source
    }
  }

  #put(low: number, high: number, source: number): void {
    if (this.#used * 2 >= this.#slots) this.#grow()
    const mask = this.#slots - 1
    let slot = spread(low, high) & mask
    for (; this.#source[slot] !== 0; slot = (slot + 1) & mask)
      if (this.#low[slot] === low && this.#high[slot] === high) return
    this.#low[slot] = low
    this.#high[slot] = high
    this.#source[slot] = source
    this.#used += 1
  }

  #grow(): void {
    const [low, high, source] = [this.#low, this.#high, this.#source]
    this.#slots *= 2
    this.#low = new Int32Array(this.#slots)
    this.#high = new Int32Array(this.#slots)
    this.#source = new Int32Array(this.#slots)
    this.#used = 0
    for (const [slot, from] of source.entries())
      if (from !== 0) this.#put(low[slot] ?? 0, high[slot] ?? 0, from)
  }
}

const LOW_BASE = 0x01000193
const HIGH_BASE = 0x5bd1e995

const spread = (low: number, high: number): number => {
  const mixed = Math.imul(low ^ (high >>> 15), 0x85ebca6b)
  return mixed ^ (mixed >>> 13)
}

/** Visits the rolling hash of every piece, until `visit` returns true. */
function eachPiece(
  text: string,
  length: number,
  visit: (low: number, high: number) => boolean,
): void {
  if (text.length < length) return
  let low = 0
  let high = 0
  let lowFirst = 1
  let highFirst = 1
  for (let at = 0; at < length; at += 1) {
    lowFirst = Math.imul(lowFirst, LOW_BASE)
    highFirst = Math.imul(highFirst, HIGH_BASE)
  }
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at) + 1
    low = (Math.imul(low, LOW_BASE) + code) | 0
    high = (Math.imul(high, HIGH_BASE) + Math.imul(code, 0x9e3779b1)) | 0
    if (at >= length) {
      const gone = text.charCodeAt(at - length) + 1
      low = (low - Math.imul(gone, lowFirst)) | 0
      high = (high - Math.imul(Math.imul(gone, 0x9e3779b1), highFirst)) | 0
    }
    if (at >= length - 1 && visit(low, high)) return
  }
}
