/** How to treat a value: return it whole, descend into it, or skip it. */
export type JsonAction = 'take' | 'enter' | 'skip'

export interface JsonVisitor {
  /** Decides about a value by its path: keys, and `*` for an element of an array. */
  decide(path: string): JsonAction
  /** Called at the start of an object or array that is entered. */
  entered(path: string): void
  /** Called with a taken value, as text. */
  taken(path: string, text: string): void
  /** Called if the text is not JSON. Reading continues on the next line. */
  broken(): void
}

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a]
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d]
const NEWLINE = 0x0a
const isSpace = (byte: number): boolean => byte <= 0x20

interface Level {
  readonly path: string
  readonly isArray: boolean
  /** Key of the value that follows. */
  key: string
}

/** Maximum size of a value, key or span in bytes. */
export const VALUE_MAX = 64 << 20
/** Maximum nesting of a value that is returned whole. Traces are a few dozen levels deep. */
const DEPTH_MAX = 1000

/**
 * Reads JSON, or lines of JSON, in pieces, and returns the values that a visitor takes. Memory is
 * bounded by the largest of these, not by the input. Checks the structure only as far as needed to
 * find values; callers parse the values they take.
 */
export class JsonStream {
  readonly #levels: Level[] = []
  #state: 'value' | 'key' | 'colon' | 'next' | 'inside' | 'resync' = 'value'
  /** State inside of a taken or skipped value. */
  #depth = 0
  #isTooDeep = false
  #isText = false
  #isEscaped = false
  #isScalar = false
  #wanted = false
  #path = ''
  #parts: Buffer[] = []
  #size = 0
  /** True if something was broken, and no value was found since. */
  #isLost = false

  constructor(private readonly visitor: JsonVisitor) {}

  write(chunk: Buffer): void {
    let from = 0
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] ?? 0
      if (this.#state === 'inside') {
        const isOver = this.#inside(byte)
        if (isOver === undefined) continue
        const end = isOver === 'with this byte' ? at + 1 : at
        this.#keep(chunk.subarray(from, end))
        this.#finish()
        if (isOver === 'with this byte') continue
      } else if (this.#state === 'key') {
        if (this.#isText) {
          if (!this.#text(byte)) continue
          this.#keep(chunk.subarray(from, at))
          const level = this.#levels.at(-1)
          if (level !== undefined) level.key = this.#takeText() ?? ''
          this.#state = 'colon'

          continue
        }
      }
      if (this.#state === 'resync') {
        if (byte === NEWLINE) this.#state = 'value'
        continue
      }
      if (isSpace(byte)) continue
      if (this.#begin(byte)) from = this.#state === 'key' ? at + 1 : at
    }
    if (this.#state === 'inside' || (this.#state === 'key' && this.#isText))
      this.#keep(chunk.subarray(from))
  }

  /** Reports a value that the end of the input cuts off. */
  end(): void {
    if (this.#state === 'inside' && this.#isScalar) this.#finish()
    if (this.#levels.length > 0 || this.#state === 'inside') this.visitor.broken()
  }

  /** Handles a byte between values. Returns true if the bytes from here on are needed. */
  #begin(byte: number): boolean {
    const level = this.#levels.at(-1)
    switch (this.#state) {
      case 'key':
        if (byte === CLOSE_OBJECT) this.#leave(false)
        else if (byte === QUOTE) {
          this.#isText = true
          return true
        } else this.#fail()
        return false
      case 'colon':
        if (byte === COLON) this.#state = 'value'
        else this.#fail()
        return false
      case 'next':
        if (level === undefined) {
          this.#state = 'value'
          return this.#begin(byte)
        }
        if (byte === COMMA) this.#state = level.isArray ? 'value' : 'key'
        else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) this.#leave(byte === CLOSE_ARRAY)
        else this.#fail()
        return false
      case 'value':
        if (byte === CLOSE_ARRAY && level?.isArray === true) {
          this.#leave(true)
          return false
        }
        return this.#beginValue(byte, level)
      case 'inside':
      case 'resync':
        return false
    }
  }

  #beginValue(byte: number, level: Level | undefined): boolean {
    const name = level === undefined ? '' : level.isArray ? '*' : level.key
    const path = level === undefined || level.path === '' ? name : `${level.path}.${name}`
    const isObject = byte === OPEN_OBJECT
    const isArray = byte === OPEN_ARRAY
    if (!isObject && !isArray && byte !== QUOTE && !/[-\dtfn]/.test(String.fromCharCode(byte))) {
      this.#fail()
      return false
    }
    const action = this.visitor.decide(path)
    if (action === 'enter' && (isObject || isArray)) {
      this.#levels.push({ path, isArray, key: '' })
      this.#state = isArray ? 'value' : 'key'
      this.visitor.entered(path)
      return false
    }
    this.#path = path
    this.#wanted = action === 'take'
    this.#state = 'inside'
    this.#isText = byte === QUOTE
    this.#isScalar = !isObject && !isArray && byte !== QUOTE
    this.#depth = isObject || isArray ? 1 : 0
    this.#isTooDeep = false
    return true
  }

  /** Handles a byte of a value that is not entered. Says when the value ends. */
  #inside(byte: number): 'with this byte' | 'before this byte' | undefined {
    if (this.#isText) {
      if (!this.#text(byte)) return undefined
      return this.#depth === 0 ? 'with this byte' : undefined
    }
    if (this.#isScalar) {
      const isOver =
        isSpace(byte) || byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_ARRAY
      return isOver ? 'before this byte' : undefined
    }
    if (byte === QUOTE) this.#isText = true
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY)
      this.#isTooDeep ||= ++this.#depth > DEPTH_MAX
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      this.#depth -= 1
      if (this.#depth === 0) return 'with this byte'
    }
    return undefined
  }

  /** Handles a byte of a string. Returns true at its end. */
  #text(byte: number): boolean {
    if (this.#isEscaped) this.#isEscaped = false
    else if (byte === BACKSLASH) this.#isEscaped = true
    else if (byte === QUOTE) {
      this.#isText = false
      return true
    }
    return false
  }

  #keep(part: Buffer): void {
    if (this.#state === 'inside' && !this.#wanted) return
    this.#size += part.length
    if (this.#size <= VALUE_MAX) this.#parts.push(Buffer.from(part))
    else this.#parts = []
  }

  #takeText(): string | undefined {
    const text = this.#size > VALUE_MAX ? undefined : Buffer.concat(this.#parts).toString()
    this.#parts = []
    this.#size = 0
    return text
  }

  #finish(): void {
    const text = this.#takeText()
    this.#state = 'next'
    if (!this.#wanted) return
    this.#isLost = false
    if (text === undefined || this.#isTooDeep) this.visitor.broken()
    else this.visitor.taken(this.#path, text)
  }

  #leave(isArray: boolean): void {
    const level = this.#levels.pop()
    if (level?.isArray !== isArray) this.#fail()
    else this.#state = 'next'
  }

  #fail(): void {
    this.#levels.length = 0
    this.#parts = []
    this.#size = 0
    this.#isText = false
    this.#isEscaped = false
    this.#state = 'resync'
    if (!this.#isLost) this.visitor.broken()
    this.#isLost = true
  }
}
