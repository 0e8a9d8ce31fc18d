import type { HeaderPair } from '../format/events.js'

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
class HeaderMask {
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

export type Http1Side = 'request' | 'response'

export interface Http1RequestHead {
  readonly method: string
  readonly target: string
  readonly httpVersion: string
  readonly headers: readonly HeaderPair[]
}

export interface Http1ResponseHead {
  readonly status: number
  readonly statusText: string
  readonly httpVersion: string
  readonly headers: readonly HeaderPair[]
}

export type Http1Head<S extends Http1Side = Http1Side> = S extends 'request'
  ? Http1RequestHead
  : Http1ResponseHead

export const HEAD_LIMIT_BYTES = 65_536
const METHOD_LIMIT = 32
const RESPONSE_PREFIX = 'HTTP/1.'
const METHOD = /^[!#$%&'*+\-.^_`|~\w]*$/

/** Collects the lines up to the first empty one, masking values on the way. */
export class HeadReader {
  readonly #mask: HeaderMask | undefined
  #text = ''
  #lineLength = 0

  constructor(maskValuesOf: Iterable<string> = [], onMasked?: (value: string) => void) {
    const names = [...maskValuesOf]
    this.#mask = names.length === 0 ? undefined : new HeaderMask(names, onMasked)
  }

  /** What was read so far, or the whole head once it is complete. */
  get text(): string {
    return this.#text
  }

  get isTooLarge(): boolean {
    return this.#text.length > HEAD_LIMIT_BYTES
  }

  /** Reads on from `at`, writing masked values back; gives where it stopped and whether the head is complete. */
  read(bytes: Uint8Array, at: number): { at: number; complete: boolean } {
    for (let index = at; index < bytes.length; index++) {
      let byte = bytes[index] as number
      if (this.#mask !== undefined) {
        byte = this.#mask.next(byte)
        bytes[index] = byte
      }
      this.#text += String.fromCharCode(byte)
      if (byte === 10) {
        if (this.#lineLength === 0) return { at: index + 1, complete: true }
        this.#lineLength = 0
      } else if (byte !== 13) {
        this.#lineLength++
      }
      if (this.isTooLarge) return { at: index + 1, complete: false }
    }
    return { at: bytes.length, complete: false }
  }

  reset(): void {
    this.#text = ''
    this.#lineLength = 0
  }
}

/** False as soon as bytes cannot be the beginning of a message. */
export const mayBeHttp = (side: Http1Side, text: string): boolean => {
  const start = text.replace(/^[\r\n]+/, '')
  if (side === 'response') {
    const length = Math.min(start.length, RESPONSE_PREFIX.length)
    return start.slice(0, length) === RESPONSE_PREFIX.slice(0, length)
  }
  const space = start.slice(0, METHOD_LIMIT + 1).indexOf(' ')
  if (space === 0 || (space < 0 && start.length > METHOD_LIMIT)) return false
  const method = space < 0 ? start : start.slice(0, space)
  if (!METHOD.test(method)) return false
  const line = start.slice(0, start.indexOf('\n') + 1)
  return line === '' || REQUEST_LINE.test(line.trimEnd())
}

const REQUEST_LINE = /^(\S+) (\S+) HTTP\/(1\.[01])$/
const STATUS_LINE = /^HTTP\/(1\.[01]) (\d{3})(?: (.*))?$/

/** The head of a message, or `undefined` when its first line is no such line. */
export const parseHead = <S extends Http1Side>(side: S, text: string): Http1Head<S> | undefined =>
  (side === 'request' ? parseRequestHead(text) : parseResponseHead(text)) as
    | Http1Head<S>
    | undefined

const parseRequestHead = (text: string): Http1RequestHead | undefined => {
  const [first = '', ...lines] = headLines(text)
  const [, method, target, httpVersion] = REQUEST_LINE.exec(first) ?? []
  if (method === undefined || target === undefined || httpVersion === undefined) return undefined
  return { method, target, httpVersion, headers: parseHeaders(lines) }
}

const parseResponseHead = (text: string): Http1ResponseHead | undefined => {
  const [first = '', ...lines] = headLines(text)
  const [, httpVersion, status, statusText = ''] = STATUS_LINE.exec(first) ?? []
  if (httpVersion === undefined || status === undefined) return undefined
  return { status: Number(status), statusText, httpVersion, headers: parseHeaders(lines) }
}

const headLines = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line))
    .filter((line) => line !== '')

/** Header lines as pairs, in order; continuation lines are joined to the line above. */
export const parseHeaders = (lines: readonly string[]): HeaderPair[] => {
  const pairs: [string, string][] = []
  for (const line of lines) {
    const last = pairs.at(-1)
    if (/^[ \t]/.test(line) && last !== undefined) {
      last[1] = `${last[1]} ${line.trim()}`
      continue
    }
    const colon = line.indexOf(':')
    if (colon > 0) pairs.push([line.slice(0, colon).trimEnd(), line.slice(colon + 1).trim()])
  }
  return pairs
}

/** Pairs of a block of trailer lines. */
export const parseTrailers = (text: string): HeaderPair[] => parseHeaders(headLines(text))
