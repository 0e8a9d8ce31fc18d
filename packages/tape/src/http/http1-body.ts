import type { HeaderPair } from '../format/events.js'
import {
  HeadReader,
  HEAD_LIMIT_BYTES,
  parseTrailers,
  type Http1ResponseHead,
} from './http1-head.js'

/** Takes the bytes of one body out of a connection. */
export interface BodyReader {
  /** Reads on from `at` and gives where it stopped; hands every piece of content to `onPart`. */
  read(bytes: Uint8Array, at: number, onPart: (part: Uint8Array) => void): number
  readonly complete: boolean
  /** Whether the end of the connection is the end of this body. */
  readonly endsWithConnection: boolean
  readonly trailers: readonly HeaderPair[]
  readonly failure: string | undefined
}

/** How the body of a message ends, from its head: `undefined` means that it has none. */
export const bodyReaderFor = (
  headers: readonly HeaderPair[],
  untilClose: boolean,
): BodyReader | undefined => {
  const coding = headerValue(headers, 'transfer-encoding')?.toLowerCase()
  if (coding !== undefined) {
    if (/(^|,)\s*chunked$/.test(coding)) return new ChunkedBody()
    return untilClose ? new OpenBody() : undefined
  }
  const length = headerValue(headers, 'content-length')
  if (length === undefined) return untilClose ? new OpenBody() : undefined
  const [first, ...others] = length.split(',').map((text) => text.trim())
  if (!/^\d{1,15}$/.test(first ?? '') || others.some((other) => other !== first)) {
    return new BrokenBody(`content-length ${JSON.stringify(length)} is no length`)
  }
  return Number(first) === 0 ? undefined : new SizedBody(Number(first))
}

/** Whether a response to `method` has no body whatever its headers say. */
export const hasNoBody = ({ status }: Http1ResponseHead, method: string | undefined): boolean =>
  status < 200 || status === 204 || status === 304 || method === 'HEAD'

/** The values of a header, joined as HTTP joins them. */
export const headerValue = (headers: readonly HeaderPair[], name: string): string | undefined => {
  const values = headers.filter((pair) => pair[0].toLowerCase() === name).map((pair) => pair[1])
  return values.length === 0 ? undefined : values.join(', ')
}

/** A copy even of a Buffer, whose own `slice` shares memory. */
const copyOf = (bytes: Uint8Array, from: number, to: number): Uint8Array =>
  new Uint8Array(bytes.subarray(from, to))

class SizedBody implements BodyReader {
  readonly endsWithConnection = false
  readonly trailers: readonly HeaderPair[] = []
  readonly failure = undefined
  #left: number

  constructor(length: number) {
    this.#left = length
  }

  get complete(): boolean {
    return this.#left === 0
  }

  read(bytes: Uint8Array, at: number, onPart: (part: Uint8Array) => void): number {
    const end = Math.min(bytes.length, at + this.#left)
    this.#left -= end - at
    onPart(copyOf(bytes, at, end))
    return end
  }
}

class OpenBody implements BodyReader {
  readonly endsWithConnection = true
  readonly complete = false
  readonly trailers: readonly HeaderPair[] = []
  readonly failure = undefined

  read(bytes: Uint8Array, at: number, onPart: (part: Uint8Array) => void): number {
    onPart(copyOf(bytes, at, bytes.length))
    return bytes.length
  }
}

class BrokenBody implements BodyReader {
  readonly endsWithConnection = false
  readonly complete = false
  readonly trailers: readonly HeaderPair[] = []

  readonly failure: string

  constructor(failure: string) {
    this.failure = failure
  }

  read(bytes: Uint8Array): number {
    return bytes.length
  }
}

const SIZE_LINE_LIMIT = 4_096

class ChunkedBody implements BodyReader {
  readonly endsWithConnection = false
  complete = false
  trailers: readonly HeaderPair[] = []
  failure: string | undefined
  readonly #trailerLines = new HeadReader()
  #state: 'size' | 'data' | 'after data' | 'trailers' = 'size'
  #sizeLine = ''
  #left = 0

  read(bytes: Uint8Array, from: number, onPart: (part: Uint8Array) => void): number {
    let at = from
    while (at < bytes.length && !this.complete && this.failure === undefined) {
      if (this.#state === 'trailers') at = this.#readTrailers(bytes, at)
      else if (this.#state === 'data') at = this.#readData(bytes, at, onPart)
      else this.#readLine(bytes[at++] as number)
    }
    return at
  }

  #readData(bytes: Uint8Array, at: number, onPart: (part: Uint8Array) => void): number {
    const end = Math.min(bytes.length, at + this.#left)
    this.#left -= end - at
    onPart(copyOf(bytes, at, end))
    if (this.#left === 0) this.#state = 'after data'
    return end
  }

  #readLine(byte: number): void {
    if (byte !== 10) {
      if (byte !== 13) this.#sizeLine += String.fromCharCode(byte)
      if (this.#state === 'after data' && this.#sizeLine !== '')
        this.#fail('does not end where it said')
      if (this.#sizeLine.length > SIZE_LINE_LIMIT) this.#fail('has a size line without end')
      return
    }
    if (this.#state === 'size') this.#startChunk(this.#sizeLine)
    else this.#state = 'size'
    this.#sizeLine = ''
  }

  #startChunk(line: string): void {
    const [size] = /^[0-9a-f]{1,12}(?=\s*(;|$))/i.exec(line) ?? []
    if (size === undefined) {
      this.#fail(`has no size in ${JSON.stringify(line.slice(0, 40))}`)
      return
    }
    this.#left = Number.parseInt(size, 16)
    this.#state = this.#left === 0 ? 'trailers' : 'data'
  }

  #readTrailers(bytes: Uint8Array, from: number): number {
    const { at, complete } = this.#trailerLines.read(bytes, from)
    if (this.#trailerLines.isTooLarge) this.#fail(`has trailers of over ${HEAD_LIMIT_BYTES} bytes`)
    if (complete) {
      this.complete = true
      this.trailers = parseTrailers(this.#trailerLines.text)
    }
    return at
  }

  #fail(what: string): void {
    this.failure = `a chunk ${what}`
  }
}
