/**
 * Parses HTTP/1.1 from raw bytes of either direction of a connection. Used by the recorder, which
 * sees only a socket, and by the read model, which sees only what was recorded. It is a lenient
 * parser: it accepts more than a server should.
 */
import { joinBytes } from '../format/values/bytes.js'
import type { HeaderPair } from '../format/events.js'

const CR = 13
const LF = 10
const COLON = 58
const SEMICOLON = 59
const EQUALS = 61
const LOWER_X = 120
const NAME_LIMIT = 64

/**
 * Overwrites cookie values of some header lines with `x`, byte by byte, so that a line may be split
 * anywhere. Names, attributes, lengths and framing stay, so a client can still parse the rest.
 */
class HeaderMask {
  readonly #names: ReadonlySet<string>
  #name = ''
  #part: 'name' | 'cookie' | 'masked' | 'open' = 'name'
  #lineLength = 0
  #value = ''

  /** `onMasked` gets every hidden value. */
  constructor(
    names: Iterable<string>,
    readonly onMasked: (value: string) => void = () => {},
  ) {
    this.#names = new Set(Array.from(names, (name) => name.toLowerCase()))
  }

  /** Returns the byte to store for the next byte of a head. */
  next(byte: number): number {
    if (byte === LF) this.#lineLength = 0
    if (byte === LF || byte === CR) {
      this.#report()
      return byte
    }
    if (this.#lineLength++ === 0) {
      // A line that begins with white space continues the previous value.
      if (byte === 32 || byte === 9) return byte
      this.#part = 'name'
      this.#name = ''
    }
    if (this.#part === 'masked' && byte !== SEMICOLON) {
      this.#value += String.fromCharCode(byte)
      return LOWER_X
    }
    if (this.#part === 'masked') {
      this.#report()
      this.#part = 'open'
    } else if (this.#part === 'cookie' && byte === EQUALS) this.#part = 'masked'
    else if (this.#part === 'name' && byte === COLON)
      this.#part = this.#names.has(this.#name.trim().toLowerCase()) ? 'cookie' : 'open'
    else if (this.#part === 'name' && this.#name.length < NAME_LIMIT)
      this.#name += String.fromCharCode(byte)
    return byte
  }

  #report(): void {
    if (this.#value !== '') this.onMasked(this.#value)
    this.#value = ''
  }
}

type Http1Side = 'request' | 'response'

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

const HEAD_LIMIT_BYTES = 65_536
const METHOD_LIMIT = 32
const RESPONSE_PREFIX = 'HTTP/1.'
const METHOD = /^[!#$%&'*+\-.^_`|~\w]*$/

/** Collects the lines up to the first empty one, and masks values. */
class HeadReader {
  readonly #mask: HeaderMask | undefined
  #text = ''
  #lineLength = 0

  constructor(maskValuesOf: Iterable<string> = [], onMasked?: (value: string) => void) {
    const names = [...maskValuesOf]
    this.#mask = names.length === 0 ? undefined : new HeaderMask(names, onMasked)
  }

  get text(): string {
    return this.#text
  }

  get isTooLarge(): boolean {
    return this.#text.length > HEAD_LIMIT_BYTES
  }

  /**
   * Reads from `at`, overwriting values to mask. Returns where it stopped, and whether the head is
   * complete.
   */
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

/** False as soon as the bytes cannot be the beginning of a message. */
const mayBeHttp = (side: Http1Side, text: string): boolean => {
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

/** The head of a message; `undefined` if its first line is invalid. */
const parseHead = (side: Http1Side, text: string): Http1Head | undefined => {
  const [first = '', ...lines] = headLines(text)
  if (side === 'request') {
    const [, method, target, httpVersion] = REQUEST_LINE.exec(first) ?? []
    if (method === undefined || target === undefined || httpVersion === undefined) return undefined
    return { method, target, httpVersion, headers: parseHeaders(lines) }
  }
  const [, httpVersion, status, statusText = ''] = STATUS_LINE.exec(first) ?? []
  if (httpVersion === undefined || status === undefined) return undefined
  return { status: Number(status), statusText, httpVersion, headers: parseHeaders(lines) }
}

const headLines = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line))
    .filter((line) => line !== '')

/** Header lines as pairs, in order; continuation lines are joined to the previous line. */
const parseHeaders = (lines: readonly string[]): HeaderPair[] => {
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

/** Reads one body from a connection. This base class is for a broken body and reads nothing. */
class BodyReader {
  complete = false
  trailers: readonly HeaderPair[] = []

  constructor(
    public failure?: string,
    /** True if the body ends with the connection. */
    readonly endsWithConnection = false,
  ) {}

  /** Reads from `at` and returns where it stopped; passes every piece of content to `onPart`. */
  read(bytes: Uint8Array, _at: number, _onPart: (part: Uint8Array) => void): number {
    return bytes.length
  }
}

/** Copies even a Buffer, whose own `slice` shares memory. */
const copyOf = (bytes: Uint8Array, from: number, to: number): Uint8Array =>
  new Uint8Array(bytes.subarray(from, to))

/** A body of known length, or one that ends with the connection. */
class PlainBody extends BodyReader {
  constructor(private left = Infinity) {
    super(undefined, left === Infinity)
  }

  override read(bytes: Uint8Array, at: number, onPart: (part: Uint8Array) => void): number {
    const end = Math.min(bytes.length, at + this.left)
    this.left -= end - at
    this.complete = this.left === 0
    onPart(copyOf(bytes, at, end))
    return end
  }
}

const SIZE_LINE_LIMIT = 4_096

class ChunkedBody extends BodyReader {
  readonly #trailerLines = new HeadReader()
  #state: 'size' | 'data' | 'after data' | 'trailers' = 'size'
  #sizeLine = ''
  #left = 0

  override read(bytes: Uint8Array, from: number, onPart: (part: Uint8Array) => void): number {
    let at = from
    while (at < bytes.length && !this.complete && this.failure === undefined) {
      if (this.#state === 'trailers') at = this.#readTrailers(bytes, at)
      else if (this.#state === 'data') {
        const end = Math.min(bytes.length, at + this.#left)
        this.#left -= end - at
        onPart(copyOf(bytes, at, end))
        if (this.#left === 0) this.#state = 'after data'
        at = end
      } else this.#readLine(bytes[at++] as number)
    }
    return at
  }

  #readLine(byte: number): void {
    if (byte !== 10) {
      if (byte !== 13) this.#sizeLine += String.fromCharCode(byte)
      if (this.#state === 'after data' && this.#sizeLine !== '')
        this.#fail('does not end where it said')
      if (this.#sizeLine.length > SIZE_LINE_LIMIT) this.#fail('has a size line without end')
      return
    }
    const line = this.#sizeLine
    this.#sizeLine = ''
    if (this.#state !== 'size') {
      this.#state = 'size'
      return
    }
    const [size] = /^[0-9a-f]{1,12}(?=\s*(;|$))/i.exec(line) ?? []
    if (size === undefined) return this.#fail(`has no size in ${JSON.stringify(line.slice(0, 40))}`)
    this.#left = Number.parseInt(size, 16)
    this.#state = this.#left === 0 ? 'trailers' : 'data'
  }

  #readTrailers(bytes: Uint8Array, from: number): number {
    const { at, complete } = this.#trailerLines.read(bytes, from)
    if (this.#trailerLines.isTooLarge) this.#fail(`has trailers of over ${HEAD_LIMIT_BYTES} bytes`)
    if (complete) {
      this.complete = true
      this.trailers = parseHeaders(headLines(this.#trailerLines.text))
    }
    return at
  }

  #fail(what: string): void {
    this.failure = `a chunk ${what}`
  }
}

/** Reader for the body of a message, from its head; `undefined` if it has no body. */
const bodyReaderFor = (
  headers: readonly HeaderPair[],
  untilClose: boolean,
): BodyReader | undefined => {
  const coding = headerValue(headers, 'transfer-encoding')?.toLowerCase()
  if (coding !== undefined) {
    if (/(^|,)\s*chunked$/.test(coding)) return new ChunkedBody()
    return untilClose ? new PlainBody() : undefined
  }
  const length = headerValue(headers, 'content-length')
  if (length === undefined) return untilClose ? new PlainBody() : undefined
  const [first, ...others] = length.split(',').map((text) => text.trim())
  if (!/^\d{1,15}$/.test(first ?? '') || others.some((other) => other !== first)) {
    return new BodyReader(`content-length ${JSON.stringify(length)} is not a length`)
  }
  return Number(first) === 0 ? undefined : new PlainBody(Number(first))
}

/** The values of a header, joined with commas. */
export const headerValue = (headers: readonly HeaderPair[], name: string): string | undefined => {
  const values = headers.filter((pair) => pair[0].toLowerCase() === name).map((pair) => pair[1])
  return values.length === 0 ? undefined : values.join(', ')
}

interface MessageTail {
  /** The content without chunk framing; empty if bodies are dropped. */
  readonly body: Uint8Array
  readonly trailers: readonly HeaderPair[]
  /** False if the connection ended before the message did. */
  readonly complete: boolean
}
export interface Http1Request extends Http1RequestHead, MessageTail {}
export interface Http1Response extends Http1ResponseHead, MessageTail {}
export type Http1Message<S extends Http1Side = Http1Side> = S extends 'request'
  ? Http1Request
  : Http1Response

export interface Http1Hooks<S extends Http1Side = Http1Side> {
  /** Header names whose cookie values are overwritten with `x`, in the pushed bytes themselves. */
  readonly maskValuesOf?: Iterable<string>
  readonly onMasked?: (value: string) => void
  /** Called with every head, including interim responses, before its body. */
  readonly onHead?: (head: Http1Head<S>) => void
  /** Called with every piece of content of the current message. */
  readonly onBody?: (part: Uint8Array) => void
  /** Passes bodies only to `onBody`, and leaves those of messages empty. */
  readonly dropBodies?: boolean
}

/**
 * Splits one direction of a connection into messages. Bytes may be pushed in any pieces. Never
 * throws because of its input: bytes that are not HTTP set `notHttp`, broken framing sets
 * `failure`, and then nothing more is read.
 */
export class Http1Scanner<S extends Http1Side = Http1Side> {
  readonly #side: S
  readonly #hooks: Http1Hooks<S>
  readonly #headReader: HeadReader
  readonly #methods: string[] = []
  #head: Http1Head<S> | undefined
  #reader: BodyReader | undefined
  #parts: Uint8Array[] = []
  #messages = 0
  #notHttp = false
  #upgraded = false
  #failure: string | undefined

  constructor(side: S, hooks: Http1Hooks<S> = {}) {
    this.#side = side
    this.#hooks = hooks
    this.#headReader = new HeadReader(hooks.maskValuesOf, hooks.onMasked)
  }

  /** True once it is certain that this connection does not use HTTP/1. */
  get notHttp(): boolean {
    return this.#notHttp
  }

  /** True after a 101 or a CONNECT: the following bytes are not HTTP. */
  get upgraded(): boolean {
    return this.#upgraded
  }

  get failure(): string | undefined {
    return this.#failure
  }

  /** True between messages, if no byte of the next one has arrived. */
  get idle(): boolean {
    return this.#head === undefined && this.#headReader.text === ''
  }

  /** For responses: a request with this method was sent and needs an answer. */
  expect(method: string): void {
    this.#methods.push(method)
  }

  /** The other direction agreed to leave HTTP. */
  upgrade(): void {
    this.#upgraded = true
  }

  /** Parses the next bytes; returns the messages they complete. */
  push(bytes: Uint8Array): Http1Message<S>[] {
    const done: Http1Message<S>[] = []
    let at = 0
    while (at < bytes.length && !this.#notHttp && !this.#upgraded && this.#failure === undefined) {
      at = this.#head === undefined ? this.#readHead(bytes, at) : this.#readBody(bytes, at)
      if (this.#head !== undefined && (this.#reader === undefined || this.#reader.complete)) {
        done.push(this.#finish(this.#head, true))
      }
    }
    return done
  }

  /** Handles the end of the connection; returns the message that it completes or cuts off, if any. */
  end(): Http1Message<S>[] {
    if (this.#head === undefined) return []
    const complete = this.#failure === undefined && this.#reader?.endsWithConnection === true
    return [this.#finish(this.#head, complete)]
  }

  #readHead(bytes: Uint8Array, from: number): number {
    const { at, complete } = this.#headReader.read(bytes, from)
    const { text } = this.#headReader
    // Empty lines between messages are allowed and ignored.
    if (complete && text.trim() === '') {
      this.#headReader.reset()
      return at
    }
    const isHttp = mayBeHttp(this.#side, text)
    const head = isHttp && complete ? parseHead(this.#side, text) : undefined
    if (isHttp && complete) this.#headReader.reset()
    if (head !== undefined) this.#startMessage(head as Http1Head<S>)
    else if (!isHttp || complete) {
      // Invalid bytes mean another protocol before the first message, and broken HTTP after it.
      if (this.#messages === 0) this.#notHttp = true
      else this.#failure = `${JSON.stringify(text.slice(0, 40))} is not an HTTP ${this.#side}`
    } else if (this.#headReader.isTooLarge)
      this.#failure = `a head is larger than ${HEAD_LIMIT_BYTES} bytes`
    return at
  }

  #startMessage(head: Http1Head<S>): void {
    this.#head = head
    this.#reader = 'status' in head ? this.#responseBody(head) : bodyReaderFor(head.headers, false)
    this.#failure = this.#reader?.failure
    if ('method' in head && head.method === 'CONNECT') this.#upgraded = true
    this.#hooks.onHead?.(head)
  }

  #responseBody({ status, headers }: Http1ResponseHead): BodyReader | undefined {
    const isInterim = status < 200 && status !== 101
    const method = isInterim ? undefined : this.#methods.shift()
    if (status === 101 || (method === 'CONNECT' && status < 300)) {
      this.#upgraded = true
      return undefined
    }
    // Whatever its headers say.
    const hasNoBody = status < 200 || status === 204 || status === 304 || method === 'HEAD'
    return hasNoBody ? undefined : bodyReaderFor(headers, true)
  }

  #readBody(bytes: Uint8Array, from: number): number {
    const reader = this.#reader as BodyReader
    const at = reader.read(bytes, from, (part) => {
      this.#hooks.onBody?.(part)
      if (this.#hooks.dropBodies !== true) this.#parts.push(part)
    })
    this.#failure = reader.failure
    return at
  }

  #finish(head: Http1Head<S>, complete: boolean): Http1Message<S> {
    const trailers = this.#reader?.trailers ?? []
    const body = joinBytes(this.#parts)
    this.#head = undefined
    this.#reader = undefined
    this.#parts = []
    this.#messages++
    return { ...head, body, trailers, complete } as unknown as Http1Message<S>
  }
}
