/** The head of an HTTP/1 request, as it was written. */
export interface WrittenHead {
  readonly method: string
  readonly target: string
  readonly hosts: readonly string[]
  /** Methods that headers such as `X-HTTP-Method-Override` name. */
  readonly overrides: readonly string[]
}

/**
 * Why bytes cannot be followed. `beyond`: more than the request has by its headers. `within`: a
 * request begins inside the body of the previous one. `length`: its headers leave its length open.
 * `syntax`: its head or its chunks can be read in different ways.
 */
export type FramingProblem = 'beyond' | 'within' | 'length' | 'syntax'

interface Head {
  readonly line: RegExpExecArray
  readonly fields: Map<string, string[]>
}

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
/** Some HTTP servers also answer requests with the protocols of streams, such as `GET / RTSP/1.0`. */
const REQUEST_LINE = new RegExp(
  `^(${TOKEN}) ([\\x21-\\xff]+) (HTTP/1\\.[01]|(?:RTSP|ICE)/\\d\\.\\d)$`,
)
const HEADER_LINE = new RegExp(`^(${TOKEN}):([^\\r\\0]*)$`)
/** The beginning of a request line that is not complete. */
const MAYBE_REQUEST = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,40}(?:[ \t]|$)/
const LONGEST_METHOD = 41
const OVERRIDES = /^x[-_](?:http[-_]method(?:[-_]override)?|method[-_]override)$/i
/** Fields that a proxy would remove before the server sees them. */
const UNFRAMED = /(?:^|[\s,])(?:content-length|transfer-encoding|host)(?:$|[\s,])/i
/** Fields of trailers that some servers read as if they were headers. */
const NO_TRAILER = /^(?:content-length|transfer-encoding|host)$/
const LONGEST_HEAD = 1 << 20

/** True for a header that names another method. Servers with CGI variables read `_` as `-`. */
export const overridesMethod = (name: string): boolean => OVERRIDES.test(name)

const LF = 10
const CR = 13

/**
 * Follows what a client writes to a connection as HTTP/1, more strictly than any server, so that a
 * server cannot find a request in it that this does not find. Bytes of other protocols are opaque.
 */
export class HttpWrites {
  /** `start`: another protocol may begin here. `next`: only a request may. */
  #at: 'start' | 'next' | 'line' | 'head' | 'body' | 'size' | 'chunk' | 'trailers' | 'opaque' =
    'start'
  /** The line that is incomplete. */
  #line = ''
  /** Bytes left of a body or chunk, including the line break after a chunk. */
  #left = 0
  #headLength = 0
  #head: Head | undefined
  #mayBeOther = true
  /** Requests that a client has announced and not written. Undefined if no client announces any. */
  #announced: number | undefined
  /** The problem of an announcement, reported with the next bytes. */
  #early: FramingProblem | undefined

  /** `onHead` may throw. `onOpaque` gets the first byte of another protocol. */
  constructor(
    readonly onHead: (head: WrittenHead) => void,
    readonly onOpaque: (first: number) => void,
  ) {}

  /** A client is about to write one request. */
  announce(): void {
    if (!['start', 'next', 'opaque'].includes(this.#at)) this.#early = 'within'
    else this.#at = 'next'
    this.#mayBeOther = false
    this.#announced = (this.#announced ?? 0) + 1
  }

  /** Returns the problem with these bytes, if there is one. They must not be sent then. */
  push(bytes: Uint8Array): FramingProblem | undefined {
    if (this.#early !== undefined) return this.#early
    for (let from = 0; from < bytes.length;) {
      const at = this.#at
      if (at === 'opaque') return undefined
      if (at === 'body' || at === 'chunk') {
        const taken = Math.min(this.#left, bytes.length - from)
        if (at === 'chunk' && !this.#endsChunk(bytes, from, taken)) return 'syntax'
        from += taken
        this.#left -= taken
        if (this.#left === 0) this.#at = at === 'body' ? this.#afterMessage() : 'size'
        continue
      }
      if (at === 'start' || at === 'next') {
        const first = bytes[from] ?? 0
        // Servers skip line breaks before a request.
        if (first === CR || first === LF) {
          from += 1
          continue
        }
        if (this.#announced === 0 && !this.#mayBeOther) return 'beyond'
        this.#at = 'line'
        this.#headLength = 0
      }
      const end = bytes.indexOf(LF, from)
      const until = end === -1 ? bytes.length : end
      this.#line += Buffer.from(bytes.buffer, bytes.byteOffset + from, until - from).toString(
        'latin1',
      )
      this.#headLength += until - from
      from = until + 1
      if (this.#at === 'line' && this.#mayBeOther) {
        const isOther = !MAYBE_REQUEST.test(this.#line.slice(0, LONGEST_METHOD))
        if (isOther || this.#headLength > LONGEST_HEAD) {
          this.#becomeOpaque()
          continue
        }
      }
      if (this.#headLength > LONGEST_HEAD) return 'syntax'
      if (end === -1) continue
      const line = this.#line
      this.#line = ''
      const problem = this.#onLine(line)
      if (problem !== undefined) return problem
    }
    return undefined
  }

  /** False if the bytes at the end of a chunk are not a line break. */
  #endsChunk(bytes: Uint8Array, from: number, taken: number): boolean {
    for (let index = Math.max(0, this.#left - 2); index < taken; index += 1)
      if (bytes[from + index] !== (this.#left - index === 2 ? CR : LF)) return false
    return true
  }

  #becomeOpaque(): void {
    const first = this.#line.charCodeAt(0)
    this.#at = 'opaque'
    this.#line = ''
    this.onOpaque(first)
  }

  #onLine(given: string): FramingProblem | undefined {
    const line = given.endsWith('\r') ? given.slice(0, -1) : undefined
    if (this.#at === 'line') return this.#onRequestLine(line, given)
    if (line === undefined) return 'syntax'
    if (this.#at === 'size') {
      if (!/^[\da-f]{1,12}$/i.test(line)) return 'syntax'
      const size = Number.parseInt(line, 16)
      this.#left = size + 2
      this.#headLength = 0
      this.#at = size === 0 ? 'trailers' : 'chunk'
      return undefined
    }
    const isTrailer = this.#at === 'trailers'
    if (line === '') {
      if (!isTrailer) return this.#onHeadEnd()
      this.#at = this.#afterMessage()
      return undefined
    }
    const [, name = '', value = ''] = HEADER_LINE.exec(line) ?? []
    if (
      name === '' ||
      (isTrailer && (NO_TRAILER.test(name.toLowerCase()) || overridesMethod(name)))
    )
      return 'syntax'
    const fields = this.#head?.fields
    const key = name.toLowerCase()
    const values = fields?.get(key)
    const trimmed = value.replace(/^[ \t]+|[ \t]+$/g, '')
    if (values === undefined) fields?.set(key, [trimmed])
    else values.push(trimmed)
    return undefined
  }

  #onRequestLine(line: string | undefined, given: string): FramingProblem | undefined {
    const found = line === undefined ? null : REQUEST_LINE.exec(line)
    if (found === null) {
      // Lenient servers accept other blanks and line ends.
      if (line === 'PRI * HTTP/2.0') {
        this.#at = 'opaque'
        return undefined
      }
      if (!this.#mayBeOther || /\sHTTP\/\d/i.test(given)) return 'syntax'
      this.#line = given
      this.#becomeOpaque()
      return undefined
    }
    if (this.#announced === 0) return 'beyond'
    const isHttp = found[3]?.startsWith('HTTP') === true
    if (!isHttp && !this.#mayBeOther) return 'syntax'
    this.#head = { line: found, fields: new Map() }
    this.#at = 'head'
    return undefined
  }

  #onHeadEnd(): FramingProblem | undefined {
    const { line, fields } = this.#head as Head
    const [, method = '', target = '', protocol = ''] = line
    const isHttp = protocol.startsWith('HTTP')
    const lengths = fields.get('content-length') ?? []
    const encodings = fields.get('transfer-encoding') ?? []
    if (lengths.length + encodings.length > 1) return 'length'
    if (lengths.some((length) => !/^\d{1,15}$/.test(length))) return 'length'
    if (encodings.some((encoding) => encoding.toLowerCase() !== 'chunked')) return 'length'
    if (encodings.length > 0 && protocol !== 'HTTP/1.1') return 'length'
    if (fields.get('connection')?.some((names) => UNFRAMED.test(names)) === true) return 'length'
    const overrides = [...fields].flatMap(([name, values]) => (overridesMethod(name) ? values : []))
    const hosts = fields.get('host') ?? []
    if (!isHttp) this.onOpaque(method.charCodeAt(0))
    if (isHttp || hosts.length > 0) this.onHead({ method, target, hosts, overrides })
    // Clients write by hand into a tunnel that they have opened.
    if (method === 'CONNECT') this.#announced = undefined
    else if (this.#announced !== undefined) this.#announced -= 1
    this.#left = Number(lengths[0] ?? 0)
    this.#mayBeOther = !isHttp || method === 'CONNECT' || fields.has('upgrade')
    if (encodings.length > 0) this.#at = 'size'
    else this.#at = this.#left > 0 ? 'body' : this.#afterMessage()
    return undefined
  }

  #afterMessage(): 'start' | 'next' {
    this.#head = undefined
    return this.#mayBeOther ? 'start' : 'next'
  }
}
