import { parseJson, pushTo } from '@retake/tape/format'
import { textMembers } from '@retake/tape/secrets'
import { blankText } from './content-mask.js'

/** Masks a whole text, or a single piece; see `SecretMask`. */
export interface PieceMask {
  text(text: string): string
  piece(bytes: Uint8Array): Uint8Array
  /** True if a piece, together with the text before it, contains nothing to mask. Learns nothing. */
  isClean(piece: Uint8Array, all: string): boolean
  /**
   * Set if personal data is hidden: position from which the end of a text may belong to a value
   * that is not complete yet.
   */
  unfinishedFrom?(text: string): number
  /** Masks a key at the end of a text that is cut there; undefined if such keys stay. */
  readonly cut?: CutMask
}

interface CutMask {
  text(text: string): string
  /** Learns the secrets of a text that does not continue. */
  finish(text: string): void
  /** A word was written as the start of a key, and is none: it must be written like that again. */
  learn(word: string, written: string): void
}

/** The start of a key at the end of a text, and how it was written. */
interface CutWord {
  readonly word: string
  readonly written: string
}

/**
 * Masks the pieces of a stream, such as the chunks of an answer or the output of a program. A
 * secret may be split between two pieces, or spread over the events of a model's answer, each with
 * a few letters. So the end of the previous text is checked again together with each piece. A
 * placeholder has the length of the secret, so its parts have the right positions. A piece is
 * written before the agent sees it and never waits for the next one, so a word at its end that
 * begins like a key is hidden as if it was one. Not promised: up to seven characters at the start of
 * another split secret may stay, because nothing else shows that a secret begins there.
 */
export class StreamMask {
  #previous = ''
  /** True if the text that `#previous` is the end of contains no secret, so it has none to learn. */
  #isClean = false
  /** The end of each text of a model's answer, by its channel. */
  #modelTexts: Map<string, string> | undefined
  #hasEvents = false
  /** The line that is not complete yet. */
  #line = ''
  /** True inside a line that is too long to be read as an event. */
  #isLongLine = false
  /** Words that the last piece cut, by channel; that of a stream without events has no name. */
  #cutWords: Map<string, CutWord> | undefined

  constructor(readonly mask: PieceMask) {}

  /** For the live part of a run whose first part was served. */
  continuedBy(mask: PieceMask): StreamMask {
    const next = new StreamMask(mask)
    next.#previous = this.#previous
    next.#isClean = this.#isClean
    if (this.#modelTexts !== undefined) next.#modelTexts = new Map(this.#modelTexts)
    next.#hasEvents = this.#hasEvents
    next.#line = this.#line
    next.#isLongLine = this.#isLongLine
    if (this.#cutWords !== undefined) next.#cutWords = new Map(this.#cutWords)
    return next
  }

  /**
   * Returns the same object if it contains no secret. `isEvent`: treats the piece as an event,
   * whatever its form.
   */
  bytes(bytes: Uint8Array, isEvent = false): Uint8Array {
    if (bytes.length === 0) return bytes
    const raw = latin1(bytes)
    const previous = this.#previous
    const all = previous === '' ? raw : previous + raw
    this.#previous = all.slice(unfinishedFrom(all))
    // Most pieces are lines without a secret. If a word ends between two pieces, everything in the
    // second one is also found in both together.
    const isWhole = previous === '' || isBreak(previous.charCodeAt(previous.length - 1))
    const isClean = isWhole && raw.length <= HEAD_MAX && this.mask.isClean(bytes, all)
    this.#isClean = isClean
    const whole = isClean ? bytes : this.mask.piece(bytes)
    const given = whole === bytes ? raw : latin1(whole)
    if (isClean && this.#isWholeJson(raw, all)) return bytes
    const joined = isClean ? raw : this.#acrossPieces(given, previous)
    const masked = joined.length === raw.length ? this.#finished(joined, raw, all, isEvent) : joined
    return masked === given ? whole : Buffer.from(masked, 'latin1')
  }

  /** True for JSON that ends where the piece ends, and is no event: nothing in it can be cut. */
  #isWholeJson(raw: string, all: string): boolean {
    if (this.#hasEvents || this.#line !== '' || this.#isLongLine || this.#cutWords !== undefined)
      return false
    if (!raw.startsWith('{') || !raw.endsWith('}') || raw.length > LINE_MAX) return false
    if (raw.includes('\n') || raw.includes('"delta"')) return false
    if (this.mask.cut !== undefined && this.mask.cut.text(all) !== all) return false
    this.#line = raw
    return true
  }

  #acrossPieces(masked: string, previous: string): string {
    if (previous === '') return masked
    const head = masked.slice(0, HEAD_MAX)
    const both = this.mask.text(previous + head)
    // The length changed, because the secret was escaped: the positions of its parts are unknown.
    if (both.length !== previous.length + head.length) return this.#unreadable(masked)
    const until = head.length === masked.length ? head.length : HEAD_MAX / 2
    return both.slice(previous.length, previous.length + until) + masked.slice(until)
  }

  /** Also masks what only the other pieces show; `all` is the piece with the text before it. */
  #finished(piece: string, raw: string, all: string, isEvent: boolean): string {
    const masked = this.#acrossEvents(piece, raw, isEvent)
    return this.#hasEvents
      ? masked
      : this.#withoutUnfinished(all.slice(0, -raw.length) + masked, all, {
          channel: '',
          before: all.length - raw.length,
          until: all.length,
        }).slice(-raw.length)
  }

  /** Masks each text of a model's answer as one. An event may be cut anywhere. */
  #acrossEvents(piece: string, raw: string, isEvent: boolean): string {
    const skipped = this.#isLongLine && !isEvent ? raw.indexOf('\n') + 1 || raw.length : 0
    const before = isEvent ? '' : this.#line
    const all = before + raw.slice(skipped)
    const lines = all.includes('\n') ? all.lastIndexOf('\n') + 1 : 0
    const isCut = lines > 0 && lines < all.length
    this.#hasEvents ||= isEvent || hasEvents(all) || (isCut && hasEvents(all.slice(0, lines)))
    const end = isEvent ? all.length : this.#hasEvents ? endOfEvents(all) : lines
    this.#isLongLine = all.length - end > LINE_MAX || (skipped > 0 && raw[skipped - 1] !== '\n')
    this.#line = this.#isLongLine ? '' : all.slice(end)
    if (!this.#hasEvents) return piece
    const channels = new Map<string, ModelTextPart[]>()
    for (const part of modelTextIn(all, CUT_TEXTS)) pushTo(channels, channelOf(all, part), part)
    let masked = before + piece.slice(skipped)
    for (const [channel, parts] of channels) {
      const modelText = this.#acrossParts(channel, parts, end)
      const current = parts.map(({ start, text }) => masked.slice(start, start + text.length))
      const original = parts.map(({ text }) => text).join('')
      masked = withModelText(masked, parts, withChanges(current.join(''), original, modelText))
    }
    const open = Math.max(end, before.length)
    return (
      this.#unreadable(piece.slice(0, skipped)) +
      masked.slice(before.length, open) +
      this.#unreadable(masked.slice(open))
    )
  }

  /** Masks the parts of one text. Those from `end` on are read again with the rest of their line. */
  #acrossParts(channel: string, parts: readonly ModelTextPart[], end: number): string {
    const modelTexts = (this.#modelTexts ??= new Map<string, string>())
    const previous = modelTexts.get(channel) ?? ''
    const textOf = (some: readonly ModelTextPart[]): string =>
      previous + some.map(({ text }) => text).join('')
    const all = textOf(parts)
    const whole = textOf(parts.filter(({ start }) => start < end))
    // The newest last.
    modelTexts.delete(channel)
    modelTexts.set(channel, whole.slice(Math.max(unfinishedFrom(whole), whole.length - HEAD_MAX)))
    const [oldest = channel] = modelTexts.keys()
    if (modelTexts.size > CHANNELS_MAX) modelTexts.delete(oldest)
    const masked = this.mask.text(all)
    const sameLength = masked.length === all.length ? masked : this.#unreadable(all)
    const positions = { channel, before: previous.length, until: whole.length }
    return this.#withoutUnfinished(sameLength, all, positions).slice(previous.length)
  }

  #withoutUnfinished(masked: string, original: string, positions: TextPositions): string {
    const cut = this.#withoutCutKey(masked, original, positions)
    const from = this.mask.unfinishedFrom?.(original) ?? original.length
    return from >= cut.length ? cut : cut.slice(0, from) + blankText(cut.slice(from))
  }

  #withoutCutKey(
    masked: string,
    original: string,
    { channel, before, until }: TextPositions,
  ): string {
    const cut = this.mask.cut?.text(original) ?? original
    const last = this.#cutWords?.get(channel)
    if (last !== undefined) {
      const start = before - last.word.length
      const end = endOfWord(original, before)
      const isSame = start >= 0 && original.startsWith(last.word, start)
      if (!isSame || original.slice(start, end) !== masked.slice(start, end)) {
        // The whole key was found, or the text was not read again.
        this.#cutWords?.delete(channel)
      } else if (end < original.length) {
        this.#cutWords?.delete(channel)
        this.mask.cut?.learn(original.slice(start, end), last.written + masked.slice(before, end))
      }
    }
    if (cut === original) return masked
    let from = 0
    while (cut[from] === original[from]) from += 1
    // What is known by its value is hidden already.
    if (masked.slice(from) !== original.slice(from)) return masked
    const hidden = masked.slice(0, from) + cut.slice(from)
    const start = startOfWord(original, from)
    const cutWords = (this.#cutWords ??= new Map<string, CutWord>())
    const open = cutWords.get(channel)
    const known = open === undefined ? original.slice(start, before) : open.written
    // A part from `until` on is read again.
    if (until === original.length)
      cutWords.set(channel, {
        word: original.slice(start),
        written: start < before ? known + hidden.slice(before) : hidden.slice(start),
      })
    return hidden
  }

  /** Nothing follows. */
  end(): void {
    if (!this.#isClean) this.mask.cut?.finish(this.#previous)
    for (const text of this.#modelTexts?.values() ?? []) this.mask.cut?.finish(text)
    for (const { word, written } of this.#cutWords?.values() ?? [])
      this.mask.cut?.learn(word, written)
    this.#cutWords = undefined
  }

  /** A text that cannot be judged. */
  #unreadable(text: string): string {
    return this.mask.unfinishedFrom === undefined ? text : blankText(text)
  }
}

/** Positions in a text: of the piece, and of what is read again. */
interface TextPositions {
  readonly channel: string
  readonly before: number
  readonly until: number
}

const IN_WORD = /[^\s"'`<>\\,;(){}[\]]/

function startOfWord(text: string, at: number): number {
  let start = at
  while (start > 0 && IN_WORD.test(text[start - 1] ?? '')) start -= 1
  return start
}

function endOfWord(text: string, at: number): number {
  let end = at
  while (end < text.length && IN_WORD.test(text[end] ?? '')) end += 1
  return end
}

/** Applies the differences between two texts to a third one of the same length. */
function withChanges(text: string, from: string, to: string): string {
  if (text === from) return to
  return Array.from({ length: text.length }, (_, at) => (from[at] === to[at] ? text : to)[at]).join(
    '',
  )
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

/** `texts` is global; an iterator of its matches would compile a copy of it for each call. */
function modelTextIn(answer: string, texts = TEXTS): ModelTextPart[] {
  const parts: ModelTextPart[] = []
  texts.lastIndex = 0
  for (let match = texts.exec(answer); match !== null; match = texts.exec(answer)) {
    const [all, name = '', text = '', end = '"'] = match
    parts.push({ start: match.index + all.length - end.length - text.length, text, name })
  }
  return parts
}

/** A key shared by the parts of one text. */
function channelOf(answer: string, { start, name }: ModelTextPart): string {
  const from =
    Math.max(answer.lastIndexOf('\n', start), answer.lastIndexOf(NEXT_MESSAGE, start)) + 1
  const ends = [answer.indexOf('\n', start), answer.indexOf(NEXT_MESSAGE, start)]
  const line = answer.slice(from, Math.min(...ends.map((at) => (at < 0 ? answer.length : at))))
  return [name, ...(line.match(INDEX) ?? [])].join(' ')
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
/** Maximum length of an event that is cut. */
const LINE_MAX = 1 << 16
/** Number of texts of a model's answer that may be interleaved. */
const CHANNELS_MAX = 64
/** Maximum length of a name before a value. */
const NAME_MAX = 80

/** End of the last complete event: a line, or a message of a WebSocket, which is JSON. */
function endOfEvents(text: string): number {
  const start = Math.max(text.lastIndexOf('\n'), text.lastIndexOf(NEXT_MESSAGE)) + 1
  if (!text.endsWith('}') || text.length - start > LINE_MAX) return start
  const last = text.slice(text.indexOf('{', start))
  return parseJson(last) === undefined ? start : text.length
}

/** The end of JSON, and the first byte of a WebSocket frame, which is not UTF-8 here. */
const NEXT_MESSAGE = '}\x81'

/** True for events of a stream, as sent by providers or logged by programs. */
const hasEvents = (piece: string): boolean =>
  piece.startsWith('data:') ||
  piece.startsWith('event:') ||
  piece.includes('\ndata:') ||
  piece.includes('"delta"') ||
  (piece.endsWith('\n') && piece.includes('":') && piece.search(TEXTS) >= 0)

const TEXTS = textMembers()
/** The last text may be incomplete. */
const CUT_TEXTS = new RegExp(String.raw`${TEXTS.source.slice(0, -1)}("|\\?$)`, 'g')
/** Members that show which text a part belongs to. */
const INDEX = /"(?:index|output_index|content_index|contentBlockIndex|item_id)"\s*:\s*"?[\w-]+/g

/** Position from which a text may contain the start of something that continues in the next piece. */
function unfinishedFrom(text: string): number {
  // Searching from the end is slow.
  const key = text.includes('-----BEGIN ') ? text.lastIndexOf('-----BEGIN ') : -1
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
