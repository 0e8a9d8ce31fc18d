import { textMembers } from '@retake/tape/format'

/** Masks a whole text, or a single piece; see `SecretMask`. */
interface PieceMask {
  text(text: string): string
  piece(bytes: Uint8Array): Uint8Array
  /** True if a piece, together with the text before it, contains nothing to mask. Learns nothing. */
  isClean(piece: Uint8Array, all: string): boolean
}

/**
 * Masks the pieces of a stream, such as the chunks of an answer or the output of a program. A
 * secret may be split between two pieces, or spread over the events of a model's answer, each with
 * a few letters. So the end of the previous text is checked again together with each piece. A
 * placeholder has the length of the secret, so its parts have the right positions. A piece is
 * written before the agent sees it and never waits for the next one. Not promised: up to seven
 * characters at the start of a split secret may stay, because nothing else shows that a secret
 * begins there.
 */
export class StreamMask {
  #previous = ''
  #previousModelText = ''
  /** The end of the text before the last piece, as far as it may belong to something in that piece. */
  before = ''
  /** The same for the texts of a model's answer. */
  modelTextBefore = ''

  constructor(readonly mask: PieceMask) {}

  /** For the live part of a run whose first part was served. */
  continuedBy(mask: PieceMask): StreamMask {
    const next = new StreamMask(mask)
    next.#previous = this.#previous
    next.#previousModelText = this.#previousModelText
    return next
  }

  /**
   * Returns the same object if it contains no secret. `isEvent`: treats the piece as an event,
   * whatever its form.
   */
  bytes(bytes: Uint8Array, isEvent = false): Uint8Array {
    if (bytes.length === 0) return bytes
    const raw = latin1(bytes)
    const previous = (this.before = this.#previous)
    const all = previous === '' ? raw : previous + raw
    this.#previous = all.slice(unfinishedFrom(all))
    // Most pieces are lines without a secret. If a word ends between two pieces, everything in the
    // second one is also found in both together.
    const isWhole = previous === '' || isBreak(previous.charCodeAt(previous.length - 1))
    const isClean = isWhole && raw.length <= HEAD_MAX && this.mask.isClean(bytes, all)
    const whole = isClean ? bytes : this.mask.piece(bytes)
    const given = whole === bytes ? raw : latin1(whole)
    const joined = isClean ? raw : this.#acrossPieces(given, previous)
    const masked = this.#acrossEvents(joined, isEvent)
    return masked === given ? whole : Buffer.from(masked, 'latin1')
  }

  #acrossPieces(masked: string, previous: string): string {
    if (previous === '') return masked
    const head = masked.slice(0, HEAD_MAX)
    const both = this.mask.text(previous + head)
    // The length changed, because the secret was escaped: the positions of its parts are unknown.
    if (both.length !== previous.length + head.length) return masked
    const until = head.length === masked.length ? head.length : HEAD_MAX / 2
    return both.slice(previous.length, previous.length + until) + masked.slice(until)
  }

  /** Masks the texts of a model's answer together. */
  #acrossEvents(piece: string, isEvent: boolean): string {
    if (!isEvent && !hasEvents(piece)) return piece
    const previous = (this.modelTextBefore = this.#previousModelText)
    return maskModelText(piece, (modelText) => {
      const all = previous + modelText
      this.#previousModelText = all.slice(Math.max(unfinishedFrom(all), all.length - HEAD_MAX))
      const masked = this.mask.text(all)
      return masked.length === all.length ? masked.slice(previous.length) : modelText
    })
  }
}

/** Masks the texts of a model's answer as one text. A text whose length would change stays unmasked. */
export function maskModelText(piece: string, mask: (modelText: string) => string): string {
  const parts = modelTextIn(piece)
  const all = parts.map(({ text }) => text).join('')
  const masked = parts.length === 0 ? all : mask(all)
  return masked === all || masked.length !== all.length
    ? piece
    : withModelText(piece, parts, masked)
}

interface ModelTextPart {
  readonly start: number
  readonly text: string
  readonly name: string
}

const modelTextIn = (answer: string): ModelTextPart[] =>
  Array.from(answer.matchAll(TEXTS), ({ 0: all, 1: name = '', 2: text = '', index }) => ({
    start: index + all.length - 1 - text.length,
    text,
    name,
  }))

/** A key shared by the parts of one text. */
function channelOf(answer: string, { start, name }: ModelTextPart): string {
  const end = answer.indexOf('\n', start)
  const line = answer.slice(answer.lastIndexOf('\n', start) + 1, end < 0 ? undefined : end)
  return [name, ...Array.from(line.matchAll(INDEX), ([found]) => found)].join(' ')
}

export const hasModelText = (bytes: Uint8Array): boolean => latin1(bytes).search(TEXTS) >= 0

/** Replaces the parts with as many characters of `modelText`. */
function withModelText(answer: string, parts: readonly ModelTextPart[], modelText: string): string {
  let result = ''
  let [from, at] = [0, 0]
  for (const { start, text } of parts) {
    result += answer.slice(from, start) + modelText.slice(at, at + text.length)
    from = start + text.length
    at += text.length
  }
  return result + answer.slice(from)
}

/**
 * Masks each text of a complete answer separately; `into` is the rest of the answer, if it is
 * masked, too. Undefined if several texts are interleaved, or if a length would change.
 */
export function maskEachModelText(
  answer: string,
  mask: (modelText: string) => string,
  into = answer,
): string | undefined {
  const texts = new Map<string, ModelTextPart[]>()
  let [current, masked] = ['', into]
  for (const part of modelTextIn(answer)) {
    const channel = channelOf(answer, part)
    const parts = texts.get(channel) ?? []
    if (channel !== current && parts.length > 0) return undefined
    texts.set(channel, parts)
    parts.push(part)
    current = channel
  }
  for (const parts of texts.values()) {
    const modelText = mask(parts.map(({ text }) => text).join(''))
    masked = withModelText(masked, parts, modelText)
    if (masked.length !== answer.length) return undefined
  }
  return masked
}

/** Number of characters of a piece that are checked together with the previous text. */
const HEAD_MAX = 8192
/** Maximum length of a name before a value. */
const NAME_MAX = 80

/** True for events of a stream, as sent by providers or logged by programs. */
const hasEvents = (piece: string): boolean =>
  piece.startsWith('data:') ||
  piece.startsWith('event:') ||
  piece.includes('\ndata:') ||
  piece.includes('"delta"') ||
  (piece.endsWith('\n') && piece.includes('":') && piece.search(TEXTS) >= 0)

/** True if a piece consists of whole events, so that only the text of the model may be cut. */
export const isWholeEvents = (piece: string): boolean => hasEvents(piece) && piece.endsWith('\n')

const TEXTS = textMembers()
/** Members that show which text a part belongs to. */
const INDEX = /"(?:index|output_index|content_index|contentBlockIndex|item_id)"\s*:\s*"?[\w-]+/g

/** Position from which a text may contain the start of something that continues in the next piece. */
function unfinishedFrom(text: string): number {
  const key = text.lastIndexOf('-----BEGIN ')
  if (key >= 0 && text.length - key < HEAD_MAX && !text.includes('-----END ', key)) return key
  const from = Math.max(0, text.length - HEAD_MAX)
  let at = text.length
  while (at > from && !isBreak(text.charCodeAt(at - 1))) at -= 1
  return Math.max(0, at - NAME_MAX)
}

/** White space, quotes and brackets, which are not part of any token. */
const isBreak = (code: number): boolean =>
  code <= 32 || code === 34 || code === 39 || code === 60 || code === 62

export const bufferOf = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** Bytes as a text with one character per byte. */
export const latin1 = (bytes: Uint8Array): string => bufferOf(bytes).toString('latin1')
