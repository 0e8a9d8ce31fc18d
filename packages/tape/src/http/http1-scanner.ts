import type { HeaderPair } from '../format/events.js'
import { bodyReaderFor, hasNoBody, type BodyReader } from './http1-body.js'
import {
  HEAD_LIMIT_BYTES,
  HeadReader,
  mayBeHttp,
  parseHead,
  type Http1Head,
  type Http1RequestHead,
  type Http1ResponseHead,
  type Http1Side,
} from './http1-head.js'
import { joinBytes } from '../format/bytes.js'

interface MessageTail {
  /** The content, without the framing of chunks; empty when bodies are dropped. */
  readonly body: Uint8Array
  readonly trailers: readonly HeaderPair[]
  /** False when the connection ended before the message did. */
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
  /** Told every value that was overwritten. */
  readonly onMasked?: (value: string) => void
  /** Called with every head, interim responses too, before its body. */
  readonly onHead?: (head: Http1Head<S>) => void
  /** Called with every piece of content of the current message. */
  readonly onBody?: (part: Uint8Array) => void
  /** Bodies are for `onBody` only; messages come with an empty one. */
  readonly dropBodies?: boolean
}

/**
 * Cuts one direction of a connection into messages. Bytes may be pushed in any
 * pieces. Never throws on what it reads: bytes that are no HTTP set `notHttp`,
 * broken framing sets `failure`, and from then on nothing more is read.
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

  /** True once it is certain that this connection does not speak HTTP/1. */
  get notHttp(): boolean {
    return this.#notHttp
  }

  /** True after a 101 or a CONNECT: the bytes that follow are not HTTP. */
  get upgraded(): boolean {
    return this.#upgraded
  }

  /** Why reading stopped in the middle, in words. */
  get failure(): string | undefined {
    return this.#failure
  }

  /** True between messages: nothing of a next one has been seen. */
  get idle(): boolean {
    return this.#head === undefined && this.#headReader.text === ''
  }

  /** For responses: a request with this method was sent and is to be answered. */
  expect(method: string): void {
    this.#methods.push(method)
  }

  /** Says that the other direction agreed to leave HTTP. */
  upgrade(): void {
    this.#upgraded = true
  }

  /** Reads the next bytes; gives the messages they complete. */
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

  /** The connection is closed; gives the message that this ends or cuts off, if there is one. */
  end(): Http1Message<S>[] {
    if (this.#head === undefined) return []
    const complete = this.#failure === undefined && this.#reader?.endsWithConnection === true
    return [this.#finish(this.#head, complete)]
  }

  #readHead(bytes: Uint8Array, from: number): number {
    const { at, complete } = this.#headReader.read(bytes, from)
    const { text } = this.#headReader
    // Empty lines between messages are allowed and mean nothing.
    if (complete && text.trim() === '') this.#headReader.reset()
    else if (!mayBeHttp(this.#side, text))
      this.#stop(`${JSON.stringify(text.slice(0, 40))} is no ${this.#side}`)
    else if (complete) this.#startMessage(text)
    else if (this.#headReader.isTooLarge)
      this.#failure = `a head is larger than ${HEAD_LIMIT_BYTES} bytes`
    return at
  }

  #startMessage(text: string): void {
    const head = parseHead(this.#side, text)
    this.#headReader.reset()
    if (head === undefined) {
      this.#stop(`${JSON.stringify(text.slice(0, 40))} is no ${this.#side}`)
      return
    }
    this.#head = head
    this.#reader = 'status' in head ? this.#responseBody(head) : bodyReaderFor(head.headers, false)
    this.#failure = this.#reader?.failure
    if ('method' in head && head.method === 'CONNECT') this.#upgraded = true
    this.#hooks.onHead?.(head)
  }

  #responseBody(head: Http1ResponseHead): BodyReader | undefined {
    const isInterim = head.status < 200 && head.status !== 101
    const method = isInterim ? undefined : this.#methods.shift()
    if (head.status === 101 || (method === 'CONNECT' && head.status < 300)) {
      this.#upgraded = true
      return undefined
    }
    return hasNoBody(head, method) ? undefined : bodyReaderFor(head.headers, true)
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

  /** Before the first message it is another protocol; after one it is broken HTTP. */
  #stop(what: string): void {
    if (this.#messages === 0) this.#notHttp = true
    else this.#failure = what
  }
}
