import { nodePlatform } from '@retake/tape/node'
import { blankText } from './content-mask.js'

/** The head of an answer, its content, or a whole message of an event stream. */
export type FramedText = 'head' | 'content' | 'message'

/** Masks a text; the result has the same length. */
export type MaskText = (text: Buffer, kind: FramedText) => Uint8Array

/**
 * Finds the text in the pieces of an answer, which may be cut anywhere: between the chunk lengths
 * of HTTP/1.1, and in the messages of an AWS event stream, whose checksums are recomputed. Not
 * promised: a message of an event stream that is split over two pieces is blanked.
 */
export class StreamFrames {
  #state: 'start' | 'head' | 'length' | 'chunk' | 'after chunk' | 'trailer' | 'body' | 'rest' =
    'start'
  /** Bytes until the end of the chunk or body. */
  #left = 0
  /** An incomplete line or head. */
  #pending = ''
  #messages: EventMessages | 'none' | undefined

  /** `mask` gets the heads, and the content of each body in this piece. */
  map(piece: Buffer, mask: MaskText): Buffer {
    if (this.#state !== 'chunk' && piece.toString('latin1', 0, 7) === 'HTTP/1.')
      this.#state = 'head'
    else if (this.#state === 'start') this.#state = 'rest'
    const masked = Buffer.from(piece)
    let content: Range[] = []
    const flush = (): void => {
      if (content.length > 0) this.#maskContent(masked, content, mask)
      content = []
    }
    for (let at = 0; at < piece.length;) {
      const isHead = this.#state === 'head'
      if (isHead) flush()
      const [isContent, end] = this.#next(piece, at)
      if (isContent) content.push([at, end])
      else if (isHead) masked.set(mask(piece.subarray(at, end), 'head'), at)
      at = end
    }
    flush()
    return masked
  }

  /** Reads the next section: whether it is content, and where it ends. */
  #next(piece: Buffer, at: number): [isContent: boolean, end: number] {
    switch (this.#state) {
      case 'start':
      case 'rest':
        return [true, piece.length]
      case 'chunk':
      case 'body': {
        const end = Math.min(piece.length, at + this.#left)
        this.#left -= end - at
        if (this.#left === 0) this.#state = this.#state === 'chunk' ? 'after chunk' : 'head'
        return [true, end]
      }
      case 'head': {
        const [head, end] = this.#until('\r\n\r\n', piece, at)
        if (head !== undefined) this.#startBody(head)
        return [false, end]
      }
      case 'length':
      case 'after chunk':
      case 'trailer': {
        const [line, end] = this.#until('\r\n', piece, at)
        if (line !== undefined) this.#afterLine(line)
        return [false, end]
      }
    }
  }

  /** Text up to `mark`; undefined if the mark is not in this piece. */
  #until(mark: string, piece: Buffer, at: number): [text: string | undefined, end: number] {
    const before = this.#pending.length
    const text = this.#pending + piece.toString('latin1', at)
    const found = text.indexOf(mark)
    this.#pending = found < 0 ? text.slice(-HEAD_MAX) : ''
    if (found < 0) return [undefined, piece.length]
    return [text.slice(0, found), at + found + mark.length - before]
  }

  #startBody(head: string): void {
    this.#messages = undefined
    const length = /^content-length:\s*(\d+)/im.exec(head)?.[1]
    this.#left = Number(length ?? 0)
    if (/^transfer-encoding:.*chunked/im.test(head)) this.#state = 'length'
    else if (/^HTTP\/1\.\d (?:1\d\d|204|304)/.test(head) || length === '0') this.#state = 'head'
    else this.#state = length === undefined ? 'rest' : 'body'
  }

  #afterLine(line: string): void {
    if (this.#state === 'after chunk') this.#state = 'length'
    else if (this.#state === 'trailer') this.#state = line === '' ? 'head' : 'trailer'
    else {
      this.#left = Number.parseInt(line, 16)
      if (Number.isNaN(this.#left)) this.#state = 'rest'
      else this.#state = this.#left === 0 ? 'trailer' : 'chunk'
    }
  }

  #maskContent(piece: Buffer, ranges: readonly Range[], mask: MaskText): void {
    const content = Buffer.concat(ranges.map(([from, to]) => piece.subarray(from, to)))
    this.#messages ??= isEventStream(content) ? new EventMessages() : 'none'
    const masked =
      this.#messages === 'none' ? mask(content, 'content') : this.#messages.map(content, mask)
    let taken = 0
    for (const [from, to] of ranges) {
      piece.set(masked.subarray(taken, taken + to - from), from)
      taken += to - from
    }
  }
}

type Range = readonly [from: number, to: number]
const HEAD_MAX = 1 << 16
const PRELUDE_BYTES = 12
const CHECKSUM_BYTES = 4
const MESSAGE_MAX = 1 << 25

/** The first message begins with its length, the length of its headers, and a checksum of both. */
const isEventStream = (content: Buffer): boolean =>
  content.length >= PRELUDE_BYTES &&
  content.readUInt32BE(0) <= MESSAGE_MAX &&
  nodePlatform.crc32(content.subarray(0, 8)) === content.readUInt32BE(8)

/** Messages of an AWS event stream: prelude, headers, payload, checksum. */
class EventMessages {
  /** The incomplete message at the end of the last piece, as masked. */
  #open = Buffer.alloc(0)

  map(content: Buffer, mask: MaskText): Buffer {
    const before = this.#open.length
    const all = Buffer.concat([this.#open, content])
    let at = 0
    while (at < all.length) {
      const hasPrelude = all.length - at >= PRELUDE_BYTES
      // From here on, the content is something else.
      if (hasPrelude && !isEventStream(all.subarray(at))) {
        const rest = Math.max(at, before)
        all.set(mask(Buffer.from(all.subarray(rest)), 'content'), rest)
        break
      }
      const length = hasPrelude ? all.readUInt32BE(at) : Infinity
      const end = Math.min(at + length, all.length)
      const message = all.subarray(at, end)
      if (at >= before && message.length === length) maskPayload(message, mask)
      else blankPayload(message, before - at)
      if (message.length === length) {
        const checked = message.subarray(0, -CHECKSUM_BYTES)
        const isCut = before - at > checked.length
        // A part of the checksum is already on the tape.
        if (!isCut) message.writeUInt32BE(nodePlatform.crc32(checked), checked.length)
        this.#open = Buffer.alloc(0)
      } else this.#open = Buffer.from(message)
      at = end
    }
    return all.subarray(before)
  }
}

const payloadOf = (message: Buffer): Buffer => {
  const start = PRELUDE_BYTES + message.readUInt32BE(4)
  return message.subarray(Math.min(start, message.length), message.readUInt32BE(0) - CHECKSUM_BYTES)
}

function maskPayload(message: Buffer, mask: MaskText): void {
  const payload = payloadOf(message)
  // Bedrock wraps the events of other providers.
  const [, wrapped = ''] = /"bytes":"([A-Za-z0-9+/]+=*)"/.exec(payload.toString('latin1')) ?? []
  if (wrapped === '') payload.set(mask(Buffer.from(payload), 'message'))
  else {
    const masked = Buffer.from(mask(Buffer.from(wrapped, 'base64'), 'message')).toString('base64')
    payload.set(Buffer.from(masked), payload.indexOf(wrapped))
  }
}

/** Blanks the part of a payload that has not been written yet. */
function blankPayload(message: Buffer, written: number): void {
  if (message.length < PRELUDE_BYTES) return
  const payload = payloadOf(message)
  const from = Math.max(0, written - (payload.byteOffset - message.byteOffset))
  const rest = payload.subarray(from)
  rest.set(Buffer.from(blankText(rest.toString('latin1')), 'latin1'))
}
