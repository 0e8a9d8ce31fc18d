import { isUtf8 } from 'node:buffer'
import type { SecretMask } from './secrets.js'
import { hasModelText, maskEachModelText } from './stream-mask.js'
import { blankString, ContentMask } from './content-mask.js'
import { StreamFrames } from './stream-frames.js'

/** A piece of a stream: its event, the original without secrets, and the written form. */
interface Piece {
  readonly seq: number
  readonly original: Uint8Array
  readonly written: Uint8Array
}

const STREAM_BYTES_MAX = 1 << 22

/**
 * The open streams of a redacted run. A piece is written before it is known how it continues, so
 * its end may be blanked. When the stream ends, all of it is masked again, and the pieces that have
 * become readable are written in a note. Not promised: streams that are longer than 4 MB, or that
 * interleave several texts, keep their blanked form.
 */
export class ReadableStreams {
  readonly #streams = new Map<string, { readonly pieces: Piece[]; size: number }>()

  constructor(
    readonly mask: Pick<SecretMask, 'complete' | 'isUnreadable'>,
    readonly redactor: { readonly hidesContent: boolean },
  ) {}

  add(name: string, piece: Piece): void {
    // Nothing of other streams may be shown.
    if (this.redactor.hidesContent && !name.startsWith('answer ')) return
    const stream = this.#streams.get(name) ?? { pieces: [], size: 0 }
    this.#streams.set(name, stream)
    stream.size += piece.original.length
    if (stream.size <= STREAM_BYTES_MAX) stream.pieces.push(piece)
    else stream.pieces.length = 0
  }

  get open(): readonly string[] {
    return [...this.#streams.keys()]
  }

  /**
   * Calls `end` after a line, unless the program logs events, because a value may be spread over
   * several events.
   */
  endLine(name: string): Uint8Array | undefined {
    const { pieces = [] } = this.#streams.get(name) ?? {}
    return pieces.some(({ original }) => hasModelText(original)) ? undefined : this.end(name)
  }

  /**
   * Pieces of an ended stream that have become readable, as the body of a note; undefined if there
   * are none.
   */
  end(name: string): Uint8Array | undefined {
    const { pieces = [] } = this.#streams.get(name) ?? {}
    this.#streams.delete(name)
    if (this.mask.isUnreadable(name)) return undefined
    if (pieces.every(({ original, written }) => Buffer.compare(original, written) === 0))
      return undefined
    const masked = this.#masked(Buffer.concat(pieces.map(({ original }) => original)))
    const numbers: [seq: number, length: number][] = []
    const bodies: Uint8Array[] = []
    let at = 0
    for (const { seq, original, written } of pieces) {
      const body = masked?.subarray(at, at + original.length)
      at += original.length
      if (body === undefined || written.length !== body.length) continue
      if (Buffer.compare(body, written) === 0) continue
      numbers.push([seq, body.length])
      bodies.push(body)
    }
    if (bodies.length === 0) return undefined
    return Buffer.concat([Buffer.from(`${JSON.stringify(numbers)}\n`), ...bodies])
  }

  #masked(whole: Buffer): Buffer | undefined {
    // A connection may carry several answers.
    const answers: string[][] = [[]]
    new StreamFrames().map(whole, (text, kind) => {
      if (kind === 'head') answers.push([], [])
      answers.at(kind === 'head' ? -2 : -1)?.push(text.toString('latin1'))
      return text
    })
    const masked = answers.map((texts, index) => this.#maskedTexts(texts, index % 2 === 1))
    if (masked.some((texts) => texts === undefined)) return undefined
    const rest = masked.flat()
    return new StreamFrames().map(whole, () => Buffer.from(rest.shift() ?? '', 'latin1'))
  }

  /** Masks the texts of one answer, or a head; undefined if it is unclear how they belong together. */
  #maskedTexts(texts: readonly string[], isHead: boolean): readonly string[] | undefined {
    const joined = texts.join('\n')
    if (!isUtf8(Buffer.from(joined, 'latin1'))) return undefined
    const plain = this.mask.complete(joined)
    const masked =
      this.redactor.hidesContent && !isHead
        ? maskEachModelText(joined, blankString, new ContentMask('said').piece(plain))
        : maskEachModelText(plain, (text) => this.mask.complete(text))
    if (masked?.length !== joined.length) return undefined
    let at = 0
    return texts.map(({ length }) => {
      at += length + 1
      return masked.slice(at - length - 1, at - 1)
    })
  }
}
