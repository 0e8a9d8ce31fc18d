/** Bases and extra bits of deflate's length codes 257–285 and distance codes 0–29 (RFC 1951, 3.2.5). */
const LENGTH_EXTRA = [
  0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0,
]
const DISTANCE_EXTRA = [0, 0, ...Array.from({ length: 28 }, (_, i) => i >> 1)]
const LENGTH_BASE = [...basesOf(3, LENGTH_EXTRA.slice(0, 28)), 258]
const DISTANCE_BASE = basesOf(1, DISTANCE_EXTRA)
const CODE_LENGTH_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

function basesOf(first: number, extra: readonly number[]): number[] {
  let base = first
  return extra.map((bits) => {
    const here = base
    base += 1 << bits
    return here
  })
}

/** A prefix code as a table: indexed by the next `bits` input bits, with symbol × 16 + code length. */
interface PrefixCode {
  readonly bits: number
  readonly table: Uint16Array
}

function prefixCode(lengths: readonly number[]): PrefixCode {
  const bits = Math.max(1, ...lengths)
  const table = new Uint16Array(1 << bits)
  let code = 0
  for (let length = 1; length <= bits; length++) {
    lengths.forEach((symbolLength, symbol) => {
      if (symbolLength !== length) return
      // The stream stores the first bit of a code in the lowest bit.
      for (let at = reverse(code, length); at < table.length; at += 1 << length) {
        table[at] = symbol * 16 + length
      }
      code++
    })
    code <<= 1
  }
  return { bits, table }
}

function reverse(code: number, length: number): number {
  let reversed = 0
  for (let bit = 0; bit < length; bit++) reversed |= ((code >> bit) & 1) << (length - 1 - bit)
  return reversed
}

const FIXED_LITERALS = prefixCode(
  Array.from({ length: 288 }, (_, i) => (i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8)),
)
const FIXED_DISTANCES = prefixCode(Array.from({ length: 32 }, () => 5))

class Inflater {
  readonly #input: Uint8Array
  readonly #maxBytes: number
  #at: number
  #buffered = 0
  #bufferedBits = 0
  #output: Uint8Array
  #size = 0

  constructor(input: Uint8Array, at: number, maxBytes: number) {
    this.#input = input
    this.#maxBytes = maxBytes
    this.#at = at
    this.#output = new Uint8Array(Math.min(Math.max(1024, input.length * 4), maxBytes))
  }

  /** The first byte after the stream. */
  get end(): number {
    return this.#at - (this.#bufferedBits >> 3)
  }

  run(): Uint8Array {
    for (let last = false; !last;) {
      last = this.#bits(1) === 1
      const kind = this.#bits(2)
      if (kind === 0) this.#storedBlock()
      else if (kind === 1) this.#codedBlock(FIXED_LITERALS, FIXED_DISTANCES)
      else if (kind === 2) this.#codedBlock(...this.#codes())
      else throw new Error('unknown kind of deflate block')
    }
    return this.#output.slice(0, this.#size)
  }

  #fill(count: number): void {
    while (this.#bufferedBits < count) {
      // Codes are looked up with more bits than they have, so the last lookups may pass the end.
      if (this.#at > this.#input.length + 4) throw new Error('deflate data ends early')
      this.#buffered |= (this.#input[this.#at++] ?? 0) << this.#bufferedBits
      this.#bufferedBits += 8
    }
  }

  #drop(count: number): void {
    this.#buffered >>>= count
    this.#bufferedBits -= count
  }

  #bits(count: number): number {
    this.#fill(count)
    const value = this.#buffered & ((1 << count) - 1)
    this.#drop(count)
    return value
  }

  #symbol({ bits, table }: PrefixCode): number {
    this.#fill(bits)
    const entry = table[this.#buffered & ((1 << bits) - 1)] ?? 0
    if (entry === 0) throw new Error('bad code in deflate data')
    this.#drop(entry & 15)
    return entry >> 4
  }

  #storedBlock(): void {
    this.#at = this.end
    this.#buffered = this.#bufferedBits = 0
    const length = this.#bits(16)
    if ((length ^ this.#bits(16)) !== 0xffff) throw new Error('bad length in deflate data')
    const bytes = this.#input.subarray(this.#at, this.#at + length)
    if (bytes.length < length) throw new Error('deflate data ends early')
    this.#reserve(length)
    this.#output.set(bytes, this.#size)
    this.#size += length
    this.#at += length
  }

  #codes(): [PrefixCode, PrefixCode] {
    const literals = this.#bits(5) + 257
    const distances = this.#bits(5) + 1
    const count = this.#bits(4) + 4
    const order = CODE_LENGTH_ORDER.slice(0, count)
    const codeLengths: number[] = Array.from({ length: 19 }, () => 0)
    for (const index of order) codeLengths[index] = this.#bits(3)
    const code = prefixCode(codeLengths)
    const lengths: number[] = []
    while (lengths.length < literals + distances) {
      const symbol = this.#symbol(code)
      if (symbol < 16) lengths.push(symbol)
      else {
        const value = symbol === 16 ? (lengths.at(-1) ?? 0) : 0
        const repeat =
          symbol === 16 ? 3 + this.#bits(2) : symbol === 17 ? 3 + this.#bits(3) : 11 + this.#bits(7)
        for (let i = 0; i < repeat; i++) lengths.push(value)
      }
    }
    return [prefixCode(lengths.slice(0, literals)), prefixCode(lengths.slice(literals))]
  }

  #codedBlock(literals: PrefixCode, distances: PrefixCode): void {
    for (;;) {
      const symbol = this.#symbol(literals)
      if (symbol === 256) return
      if (symbol < 256) {
        this.#reserve(1)
        this.#output[this.#size++] = symbol
        continue
      }
      const length = (LENGTH_BASE[symbol - 257] ?? 0) + this.#bits(LENGTH_EXTRA[symbol - 257] ?? 0)
      const code = this.#symbol(distances)
      const distance = (DISTANCE_BASE[code] ?? Infinity) + this.#bits(DISTANCE_EXTRA[code] ?? 0)
      if (distance > this.#size) throw new Error('deflate data points before its start')
      this.#reserve(length)
      // Byte by byte, because a copy may overlap its own output.
      for (let i = 0; i < length; i++, this.#size++) {
        this.#output[this.#size] = this.#output[this.#size - distance] ?? 0
      }
    }
  }

  #reserve(length: number): void {
    const least = this.#size + length
    if (least <= this.#output.length) return
    if (least > this.#maxBytes) throw new Error('deflate data is longer than its stated size')
    const larger = new Uint8Array(
      Math.min(Math.max(this.#output.length * 2, least), this.#maxBytes),
    )
    larger.set(this.#output.subarray(0, this.#size))
    this.#output = larger
  }
}

/** Inflates the raw deflate data that starts at `at`; `end` is the first byte after it. */
export function inflateAt(
  bytes: Uint8Array,
  at: number,
  maxBytes: number,
): { readonly output: Uint8Array; readonly end: number } {
  const inflater = new Inflater(bytes, at, maxBytes)
  const output = inflater.run()
  if (inflater.end > bytes.length) throw new Error('deflate data ends early')
  return { output, end: inflater.end }
}

/** Inflates raw deflate data (RFC 1951). Throws if it is damaged, too long, or ends early. */
export const inflateRaw = (bytes: Uint8Array, maxBytes: number): Uint8Array =>
  inflateAt(bytes, 0, maxBytes).output
