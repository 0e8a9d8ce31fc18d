const CR = 13
const LF = 10
const COLON = 58
const SEMICOLON = 59
const EQUALS = 61
const LOWER_X = 120
const NAME_LIMIT = 64

const isBlank = (byte: number): boolean => byte === 32 || byte === 9

/**
 * Overwrites the cookie values of some header lines with as many `x`, byte by
 * byte, so that a line may be cut anywhere. Names, attributes, lengths and
 * framing stay as they were: a client can still parse what is left.
 */
export class HeaderMask {
  readonly #names: ReadonlySet<string>
  #name = ''
  #part: 'name' | 'cookie' | 'masked' | 'open' = 'name'
  #lineLength = 0
  #value = ''

  /** `onMasked` is told every value that was hidden. */
  constructor(
    names: Iterable<string>,
    readonly onMasked: (value: string) => void = () => {},
  ) {
    this.#names = new Set(Array.from(names, (name) => name.toLowerCase()))
  }

  /** Gives the byte to keep in place of the next byte of a head. */
  next(byte: number): number {
    if (byte === LF) this.#lineLength = 0
    if (byte === LF || byte === CR) {
      this.#report()
      return byte
    }
    if (this.#lineLength++ === 0) {
      // A line that begins with a blank continues the value above it.
      if (isBlank(byte)) return byte
      this.#startLine()
    }
    if (this.#part === 'masked' && byte !== SEMICOLON) {
      this.#value += String.fromCharCode(byte)
      return LOWER_X
    }
    if (this.#part === 'masked') {
      this.#report()
      this.#part = 'open'
    } else if (this.#part === 'cookie' && byte === EQUALS) this.#part = 'masked'
    else if (this.#part === 'name') this.#readName(byte)
    return byte
  }

  #report(): void {
    if (this.#value !== '') this.onMasked(this.#value)
    this.#value = ''
  }

  #startLine(): void {
    this.#part = 'name'
    this.#name = ''
  }

  #readName(byte: number): void {
    if (byte === COLON) {
      this.#part = this.#names.has(this.#name.trim().toLowerCase()) ? 'cookie' : 'open'
    } else if (this.#name.length < NAME_LIMIT) {
      this.#name += String.fromCharCode(byte)
    }
  }
}
