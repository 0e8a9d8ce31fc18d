const CR = 13
const LF = 10
const COLON = 58
const LOWER_X = 120
const NAME_LIMIT = 64

const isBlank = (byte: number): boolean => byte === 32 || byte === 9

/**
 * Overwrites the values of some header lines with as many `x`, byte by byte,
 * so that a line may be cut anywhere. Lengths and framing stay as they were.
 */
export class HeaderMask {
  readonly #names: ReadonlySet<string>
  #name = ''
  #part: 'name' | 'gap' | 'masked' | 'open' = 'name'
  #lineLength = 0

  constructor(names: Iterable<string>) {
    this.#names = new Set(Array.from(names, (name) => name.toLowerCase()))
  }

  /** Gives the byte to keep in place of the next byte of a head. */
  next(byte: number): number {
    if (byte === LF) {
      this.#lineLength = 0
      return byte
    }
    if (byte === CR) return byte
    // A line that begins with a blank continues the value above it.
    if (this.#lineLength++ === 0 && !isBlank(byte)) this.#startLine()
    if (this.#part === 'masked') return LOWER_X
    if (this.#part === 'gap' && !isBlank(byte)) {
      this.#part = 'masked'
      return LOWER_X
    }
    if (this.#part === 'name') this.#readName(byte)
    return byte
  }

  #startLine(): void {
    this.#part = 'name'
    this.#name = ''
  }

  #readName(byte: number): void {
    if (byte === COLON) {
      this.#part = this.#names.has(this.#name.trim().toLowerCase()) ? 'gap' : 'open'
    } else if (this.#name.length < NAME_LIMIT) {
      this.#name += String.fromCharCode(byte)
    }
  }
}
