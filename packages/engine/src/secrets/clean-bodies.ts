/**
 * Bodies without a secret. Each request of a conversation starts like the previous one, so only the
 * rest has to be searched. Valid for one set of known secrets, whose longest form has `longest`
 * characters. Texts have one character per byte.
 */
export class CleanBodies {
  /** The newest last. */
  readonly #bodies: CleanBody[] = []

  add(bytes: Buffer): void {
    if (bytes.length < LENGTH_MIN || bytes.length > LENGTH_MAX) return
    const text = bytes.toString('latin1')
    if (maySpanWords(text)) return
    const oldest = this.#bodies.length < COUNT_MAX ? undefined : this.#bodies[0]
    this.#remember(new CleanBody(text), this.#like(bytes) ?? oldest)
  }

  /** True if a body starts like a known one and `isClean` finds nothing in the rest. */
  has(bytes: Buffer, longest: number, isClean: (rest: string) => boolean): boolean {
    const known = this.#like(bytes)
    if (known === undefined) return false
    const common = known.commonStart(bytes)
    const word = startOfWord(bytes, common)
    const start = startOfWord(bytes, Math.min(word - BEFORE_VALUE, common - longest))
    if (start < bytes.length / 2) return false
    const rest = bytes.toString('latin1', start)
    if (maySpanWords(rest) || !isClean(rest)) return false
    if (bytes.length - common > UNKNOWN_MAX) known.replaceFrom(common, bytes)
    this.#remember(known, known)
    return true
  }

  #like(bytes: Buffer): CleanBody | undefined {
    if (bytes.length < LENGTH_MIN || bytes.length > LENGTH_MAX) return undefined
    return this.#bodies.findLast((body) => body.isLike(bytes))
  }

  #remember(body: CleanBody, replaced: CleanBody | undefined): void {
    if (this.#bodies.at(-1) === body) return
    if (replaced !== undefined) this.#bodies.splice(this.#bodies.indexOf(replaced), 1)
    this.#bodies.push(body)
  }
}

const LENGTH_MIN = 2048
const LENGTH_MAX = 1 << 19
/** Number of interleaved conversations to remember. */
const COUNT_MAX = 4
/** More than the characters before a value that decide if it is a secret: its name, quotes and signs. */
const BEFORE_VALUE = 300
/** Number of new bytes after which a known body is replaced by a longer one, because copying takes time. */
const UNKNOWN_MAX = 1024

/** True if a secret may consist of several words: a private key, or bytes of a value on the tape. */
const maySpanWords = (text: string): boolean =>
  text.includes('-----BEGIN') || (text.includes('$') && text.includes('"$":"'))

class CleanBody {
  /** A copy, because a program may change its bytes. */
  #copy: Buffer | undefined
  #length: number

  constructor(readonly text: string) {
    this.#length = text.length
  }

  /** Copied on first use, because most bodies are never continued. */
  get #bytes(): Buffer {
    return (this.#copy ??= Buffer.from(this.text, 'latin1'))
  }

  isLike(bytes: Buffer): boolean {
    return this.#isSame(bytes, 0, Math.min(this.#length, bytes.length) >> 1)
  }

  /** Number of equal bytes at the start, or slightly fewer, if the first half is equal. */
  commonStart(bytes: Buffer): number {
    const length = Math.min(this.#length, bytes.length)
    let common = length >> 1
    // Usually, only the last message is new.
    const beforeLast = length - COMPARED_MIN * 2
    if (this.#isSame(bytes, common, beforeLast)) return beforeLast
    for (let size = common >> 1; size >= COMPARED_MIN;) {
      if (common + size <= length && this.#isSame(bytes, common, common + size)) common += size
      else size >>= 1
    }
    return common
  }

  #isSame(bytes: Buffer, from: number, to: number): boolean {
    return this.#bytes.compare(bytes, from, to, from, to) === 0
  }

  replaceFrom(start: number, bytes: Buffer): void {
    if (bytes.length > this.#bytes.length) {
      const larger = Buffer.alloc(bytes.length * 2)
      this.#bytes.copy(larger, 0, 0, start)
      this.#copy = larger
    }
    bytes.copy(this.#bytes, start, start)
    this.#length = bytes.length
  }
}

const COMPARED_MIN = 128

/**
 * Position after the last white space, double quote or angle bracket before `at`, none of which a
 * key contains.
 */
function startOfWord(bytes: Buffer, at: number): number {
  let start = at
  while (start > 0 && !isBreak(bytes[start - 1] ?? 0)) start -= 1
  return start
}

const isBreak = (code: number): boolean => code <= 32 || code === 34 || code === 60 || code === 62
