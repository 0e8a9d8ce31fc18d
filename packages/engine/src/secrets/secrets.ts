import { isUtf8 } from 'node:buffer'
import { pathToFileURL } from 'node:url'
import {
  hasKeyShape,
  isWordsAndNumber,
  looksGenerated,
  strengthOf,
  KnownValues,
  maskCutKey,
  maskKeys,
  redactText,
} from '@retake/tape/secrets'
import { attempt, parseJson } from '@retake/tape/format'
import {
  type CompressionOptions,
  maskCompressed,
  mayBeCompressed,
  NOT_COMPRESSED,
  unreadableFrom,
} from './compressed-bytes.js'
import { natives } from '../kernel/natives.js'
import { outsideRuns } from '../kernel/scope.js'
import { disk } from '../overlay/disk.js'
import { CleanBodies } from './clean-bodies.js'
import { blankText, ContentMask } from './content-mask.js'
import { CUT_CHARACTER, type Redactor } from './redactor.js'
import { type MaskText, StreamFrames } from './stream-frames.js'
import { bufferOf, latin1, type PieceMask, StreamMask } from './stream-mask.js'
import { HIDDEN_MAX, HIDDEN_MIN } from './hidden-values.js'
import { fingerprintOf } from './machine-key.js'
import { GivenSecrets } from './given-secrets.js'
import { maskedArguments } from './secret-arguments.js'
import { secretsOfEnvFile, secretsOfFile } from './secret-files.js'
import { containsSecret, SETTING_VALUE, urlOf } from './secret-values.js'
import { PostgresRows } from './postgres-rows.js'
import { maskedParameters } from './sql-parameters.js'
import type { NewEvent } from '@retake/tape/format'
import { contentEncoding } from '../kernel/headers.js'
import type { Mask, Origin } from '../kernel/mask.js'

/**
 * Keeps secret values off the tape. A secret is replaced by a placeholder that names it. A replayed
 * process gets the placeholder as the variable's value, so its requests still match the stored ones
 * byte for byte. Secrets that are recognisable by their text are also replaced, wherever they come
 * from. An encoded secret (base64, hex, escapes, gzip) becomes the encoded placeholder.
 *
 * Not promised: a secret of fewer than eight characters is only hidden as the value of its
 * variable: replacing every `1234` would damage unrelated text.
 */
export class SecretMask implements Mask {
  readonly #own = new KnownValues()
  /** Secrets in the variables of this process, shared by all runs. */
  #shared: KnownValues | undefined
  readonly #streams = new Map<string, StreamMask>()
  #answerPieces: PieceMask | undefined
  #otherPieces: PieceMask | undefined
  #harmless = new Harmless()
  #cleanBodies = new CleanBodies()
  /** True while a text is masked that may continue: a value at its end is not complete. */
  #isOpenText = false
  /** Streams whose current answer is compressed and comes in pieces, so that it cannot be searched. */
  readonly #unreadable = new Set<string>()
  /** Streams that have had such an answer. */
  readonly #hadUnreadable = new Set<string>()
  /** Answers that were compressed, and unpacked by `fetch`. */
  readonly #encoded = new Set<string>()
  readonly #contents = new Map<string, ContentMask>()
  readonly #frames = new Map<string, StreamFrames>()
  readonly #rows = new Map<string, PostgresRows>()
  /** Values that were hidden, and those whose fingerprints are not on the tape yet. */
  readonly #noted = new Set<string>()
  readonly #unwritten: string[] = []
  /** Those of the recording that a served program got. */
  readonly given = new GivenSecrets()
  #learned = 0
  /** The last value of each header that was learned: most clients send the same with each request. */
  readonly #lastHeaders = new Map<string, string>()
  /** Masks only secrets: the view of a redacted tape for those who have the key. */
  readonly unredacted: SecretMask
  /**
   * Added to digests of data that a redacted run sends, so that nobody can verify a guess without
   * the key.
   */
  digestKey: Uint8Array | undefined
  /** True if the program gets pseudonyms, so that digests differ from the recorded ones. */
  isStructural = false
  /** True if the tape has no readable output to compare. */
  hidesOutput = false
  /** Called for each newly hidden value. */
  onHidden: ((value: string, placeholder: string) => void) | undefined

  /** `redactor`: also finds personal data. */
  constructor(readonly redactor?: Redactor) {
    this.unredacted = redactor === undefined ? this : new SecretMask()
    this.digestKey = redactor?.key.derive('digests')
    for (const [value, pseudonym] of redactor?.known ?? []) this.#own.setWord(value, pseudonym)
  }

  add(name: string, value: string): void {
    const placeholder = placeholderFor(name, value)
    if (value.length < SHORTEST_SECRET || value === placeholder) return
    this.hideAs(value, placeholder)
    const { password } = urlOf(value) ?? {}
    if (password) this.add(`${name}_PASSWORD`, decodeURIComponent(password))
  }

  /** Hides a value behind its placeholder on a tape, which may also stand for another value. */
  usePlaceholder(value: string, placeholder: string, name: string): void {
    this.add(name, value)
    if (this.#own.has(value)) this.hideAs(value, placeholder)
    this.given.add(value, placeholder)
  }

  /** A served program got this content instead of the recorded one. */
  giveContent(content: string): void {
    for (const [value, placeholder] of this.#own.entries())
      if (content.includes(value)) this.given.add(value, placeholder)
  }

  /** Hides a value behind this placeholder, whatever its length. */
  hideAs(value: string, placeholder: string): void {
    if (this.unredacted !== this) this.unredacted.hideAs(value, placeholder)
    this.#own.set(value, placeholder)
    this.#forgetHarmless()
    if (isPlaceholder(placeholder)) this.noteHidden(value)
    this.onHidden?.(value, placeholder)
  }

  /** For a value that is hidden only where it was found. */
  noteHidden(value: string): void {
    const { length } = value
    if (length >= HIDDEN_MIN && length <= HIDDEN_MAX && this.#noted.size < LEARNED_MAX)
      if (!this.#noted.has(value)) this.#unwritten.push(value)
    this.#noted.add(value)
  }

  get hasUnwritten(): boolean {
    return this.#unwritten.length > 0
  }

  /** Fingerprints of the values that were hidden since the last call, for the tape. */
  takeFingerprints(): readonly string[] {
    return this.#unwritten.splice(0).flatMap((value) => fingerprintOf(value, true) ?? [])
  }

  /** Hides a header that is not written at all wherever else its value occurs. */
  learnHeader(name: string, value: string): void {
    if (this.#lastHeaders.get(name) === value) return
    this.#lastHeaders.set(name, value)
    if (name === 'cookie')
      for (const pair of value.split(';')) this.noteHidden(pair.slice(pair.indexOf('=') + 1))
    const secret = value.replace(/^(?:bearer|basic|token|apikey|api-key|key)\s+/i, '')
    if (secret.includes(HIDDEN)) return
    this.noteHidden(secret)
    if (isSpecific(secret) && this.#noted.size < LEARNED_MAX) this.learn(name, secret)
  }

  /**
   * Like `hideAs`, for personal data, which may be as short as a name: a short value is only hidden
   * as a whole word.
   */
  hideWordAs(value: string, pseudonym: string): void {
    this.#own.setWord(value, pseudonym)
    this.#forgetHarmless()
  }

  #forgetHarmless(): void {
    this.#harmless = new Harmless()
    this.#cleanBodies = new CleanBodies()
  }

  /** Hides the secrets of a served part of the same run behind the same placeholders. */
  takeOver(served: SecretMask): void {
    const shared = new Map(this.#shared?.entries())
    for (const [value, placeholder] of served.#known())
      if (shared.get(value) !== placeholder && !this.redactor?.known.has(value))
        this.hideAs(value, placeholder)
    this.given.takeOver(served.given)
    for (const [name, stream] of served.#streams)
      this.#streams.set(name, stream.continuedBy(this.#pieceMask(name)))
    if (this.unredacted !== this) this.unredacted.takeOver(served.unredacted)
  }

  /** Like `add`, but does not change a value that already has a placeholder, or is one. */
  learn(name: string, value: string): void {
    if (this.#withoutKnown(value) === value && !/retake-h|x{8}/.test(value)) this.add(name, value)
  }

  /** Registers secrets in the environment of a child process, given as `NAME=value`. */
  learnEnvironment(pairs: readonly string[]): void {
    for (const pair of pairs) {
      const at = pair.indexOf('=')
      const [name, value] = [pair.slice(0, at), pair.slice(at + 1)]
      if (at > 0 && containsSecret(name, value)) this.learn(name, value)
    }
  }

  /** Hides a value without a name, such as a cookie, behind `x` of the same length. */
  hide(value: string): void {
    if (value.length < SHORTEST_SECRET) return
    const placeholder = 'x'.repeat(value.length)
    if (value !== placeholder) this.hideAs(value, placeholder)
  }

  /** Not for a secret: in a replay in another folder, paths are replaced by the recorded ones. */
  nameAsRecorded({
    recorded,
    current,
  }: {
    readonly recorded: string
    readonly current: string
  }): void {
    const url = (folder: string): string => pathToFileURL(folder).href
    const pairs = [
      [url(current), url(recorded)],
      [current, recorded],
    ] as const
    for (const [value, placeholder] of pairs) this.hideAs(value, placeholder)
  }

  /** Adds the variables of this process. They are checked again only if they may have changed. */
  addProcessEnvironment(): void {
    if (this.unredacted !== this) this.unredacted.addProcessEnvironment()
    const nowMs = natives.performanceNow()
    const ageMs = nowMs - processSecrets.readAtMs
    if (!processSecrets.isRead || ageMs < 0 || ageMs > VARIABLES_FRESH_MS) {
      const mask = new SecretMask()
      mask.addEnvironment(natives.env)
      // Prepared values are reused.
      const known = processSecrets.prepared
      if (known === undefined || !isSameValues(known.#own, mask.#own))
        processSecrets.prepared = mask
      processSecrets.isRead = true
      processSecrets.readAtMs = nowMs
    }
    if (processSecrets.prepared === undefined) return
    if (this.#shared !== processSecrets.prepared.#own) this.#cleanBodies = new CleanBodies()
    this.#shared = processSecrets.prepared.#own
    // A text without secrets may still contain personal data, which only some runs hide.
    const isShared = this.#own.size === 0 && this.redactor === undefined
    this.#harmless = isShared ? processSecrets.prepared.#harmless : new Harmless()
  }

  addEnvironment(env: NodeJS.ProcessEnv): void {
    for (const [name, value] of Object.entries(env)) {
      if (value !== undefined && isSecretVariable(name, value)) this.add(name, value)
    }
  }

  text(text: string): string {
    if (this.#harmless.texts.has(text)) return text
    if (!this.#findPersonal(text)) this.#hideTexts(text)
    const redacted = this.#redacted(text)
    if (redacted === text) this.#harmless.add(text)
    return redacted
  }

  /** Learns the personal data in a text. False if a rule failed, so that none of the text may be shown. */
  #findPersonal(text: string): boolean {
    const found = this.redactor?.discover(text) ?? (this.redactor === undefined ? [] : undefined)
    for (const [value, pseudonym] of found ?? []) this.hideWordAs(value, pseudonym)
    return found !== undefined
  }

  /** Hides a whole text, or each text in it if it is JSON. */
  #hideTexts(text: string): void {
    for (const each of textsIn(text))
      if (each.length >= 2 && !this.redactor?.known.has(each))
        this.hideWordAs(...(this.redactor as Redactor).hideWhole(each))
  }

  /**
   * A complete text of a stream, with one character per byte. If masking changes the length, the
   * text cannot be shown.
   */
  complete(text: string): string {
    return this.#redactedBytes(text, REPACKED)
  }

  /** True if part of the stream was compressed, and so not searched. */
  isUnreadable(stream: string): boolean {
    return this.#hadUnreadable.has(stream)
  }

  /** A digest that the program sends or receives; hidden if the recording hides the data behind it. */
  digest(value: string): string {
    if (this.redactor !== undefined && /\d/.test(value))
      this.hideWordAs(...this.redactor.hideWhole(value))
    return this.text(value)
  }

  /** A text of the run record or of an error; completely hidden if the recording hides content. */
  said(text: string): string {
    if (this.redactor?.hidesContent === true) this.#hideTexts(text)
    return this.text(text)
  }

  /** Like `#redacted`, for a text with one character per byte. */
  #redactedBytes(text: string, compression: CompressionOptions): string {
    if (this.redactor !== undefined && !this.#findPersonal(decodedText(text)))
      return blankText(text)
    return this.#redacted(text, compression, true)
  }

  #redacted(
    text: string,
    compression: CompressionOptions = REPACKED,
    /** The text has one character per byte. */
    isBytes = false,
  ): string {
    const escapes = mayHaveEscapes(text) ? decodedEscapes(text) : undefined
    if (escapes !== undefined) {
      const masked = this.#redacted(escapes.text, compression, isBytes)
      if (masked !== escapes.text) return escapes.encode(masked) ?? text
    }
    const learned = this.#learned
    // Bytes inside a value are base64 on the tape, which is Retake's encoding, not the program's.
    const unwrapped = mayContainBytes(text)
      ? text.replaceAll(WIRE_BYTES, (_, before: string, base64: string) => {
          const bytes = Buffer.from(base64, 'base64')
          const masked = this.#maskedBytes(bytes, compression)
          return before + (masked === bytes ? base64 : Buffer.from(masked).toString('base64'))
        })
      : text
    const known = this.#withoutKnown(unwrapped)
    const redacted = redactText(known, (name, found) => {
      const value = isBytes && !isAscii(found) ? utf8Of(found) : found
      // Bytes that are not text.
      if (value === undefined) return found
      const isCut = this.#isOpenText && known.endsWith(found)
      if (!isCut) this.noteHidden(value)
      if (!isCut && this.#learned < LEARNED_MAX && isSpecific(value)) {
        this.#learned += 1
        this.learn(name, value)
      }
      const placeholder = placeholderFor(name, value)
      return value === found ? placeholder : latin1(Buffer.from(placeholder))
    })
    return learned === this.#learned ? redacted : this.#withoutKnown(redacted)
  }

  /**
   * True for a body without a secret that continues an earlier one. Always false with rules for
   * personal data, which need the whole body.
   */
  #isKnownClean(bytes: Buffer, compression: CompressionOptions): boolean {
    if (this.redactor !== undefined || mayBeCompressed(bytes, compression)) return false
    const longest = Math.max(this.#own.longest, this.#shared?.longest ?? 0)
    return this.#cleanBodies.has(bytes, longest, (rest) => this.#isClean(rest))
  }

  /** True for a text without a secret; learns nothing. */
  #isClean(text: string): boolean {
    return !mayHaveEscapes(text) && this.#withoutKnown(text) === text && redactText(text) === text
  }

  #withoutKnown(text: string): string {
    const masked = this.#own.size === 0 ? text : this.#own.replace(text)
    return this.#shared?.replace(masked) ?? masked
  }

  /** Values of this run take precedence over equal ones of the process. */
  #known(): Map<string, string> {
    return new Map([...(this.#shared?.entries() ?? []), ...this.#own.entries()])
  }

  /**
   * Inserts the secrets of this process into a text of a tape. A placeholder that could mean two
   * secrets stays, because no secret may be disclosed in place of another.
   */
  reveal(text: string): string {
    if (!text.includes(HIDDEN)) return text
    const known = [...this.#known()].filter(([, placeholder]) => placeholder.includes(HIDDEN))
    let revealed = text
    for (const [value, placeholder] of known) {
      const isAmbiguous = known.some(
        ([otherValue, other]) => otherValue !== value && other.includes(placeholder),
      )
      if (!isAmbiguous) revealed = revealed.replaceAll(placeholder, () => value)
    }
    return revealed
  }

  /**
   * The body of an event as stored on the tape. Pieces of a stream must come in order. `origin`:
   * for an answer, the operation that it answers.
   */
  body(event: NewEvent, bytes: Uint8Array, origin?: Origin): Uint8Array {
    const stream = streamOf(event)
    if (stream !== undefined) return this.#streamed(stream, bytes)
    if (event.type === 'response' && contentEncoding(event.headers) !== undefined)
      this.#encoded.add(answerStream(event.op))
    const ended = endedStream(event)
    if (ended !== undefined) this.#streams.get(ended)?.end()
    if (ended !== undefined)
      for (const open of [this.#streams, this.#contents, this.#frames, this.#rows])
        open.delete(ended)
    const masked = this.part(event, bytes)
    return this.#withoutContent(masked, contentIn(event, origin), undefined)
  }

  /** Like `body`, for one piece of a stream without the others. */
  part(event: NewEvent, bytes: Uint8Array): Uint8Array {
    if (event.type === 'deliver' || event.type === 'result' || event.type === 'response')
      return this.#answer(bytes)
    return this.bytes(bytes, event.type === 'request' ? contentEncoding(event.headers) : undefined)
  }

  #withoutContent(bytes: Uint8Array, content: Content, stream: string | undefined): Uint8Array {
    if (this.redactor?.hidesContent !== true || content === 'none' || bytes.length === 0)
      return bytes
    const text = latin1(bytes)
    if (content === 'text') return Buffer.from(blankText(text), 'latin1')
    const known = stream === undefined ? undefined : this.#contents.get(stream)
    const mask = known ?? new ContentMask(content === 'everything' ? 'texts' : 'said')
    if (stream !== undefined) this.#contents.set(stream, mask)
    const blanked = mask.piece(text)
    return blanked === text ? bytes : Buffer.from(blanked, 'latin1')
  }

  /**
   * Compares only the structure if a redacted tape is replayed without its key, because the tape
   * contains pseudonyms.
   */
  isSame(recorded: Uint8Array, current: Uint8Array): boolean {
    if (recorded.length !== current.length) return false
    if (Buffer.compare(recorded, current) === 0) return true
    return this.isStructural && structureOf(recorded) === structureOf(current)
  }

  /** A value as it may be shown after its name, which is certain, such as that of a header. */
  named(name: string, value: string): string {
    if (this.#harmless.lastByName.get(name) === value) return value
    const strength = strengthOf(name)
    if (strength === 'password' || (strength === 'secret' && looksGenerated(value, 8)))
      return this.option(name, value)
    const before = `${name}: `
    const masked = this.text(before + value).slice(before.length)
    if (masked === value) this.#harmless.addNamed(name, value)
    return masked
  }

  /** Arguments of a program. An argument may be the name of the next one. */
  arguments(given: readonly string[], program = ''): string[] {
    return maskedArguments(program, given, (name, value) => this.option(name, value)).map((each) =>
      this.text(each),
    )
  }

  /** The value of an option, or of anything else whose name is certain, as it may be shown. */
  option(name: string, value: string): string {
    if (value === '' || value.includes('retake-h') || SETTING_VALUE.test(value)) return value
    this.noteHidden(value)
    if (this.#learned < LEARNED_MAX) {
      this.#learned += 1
      this.learn(name, value)
    }
    const known = this.#withoutKnown(value)
    return known === value ? placeholderFor(name, value) : known
  }

  /** The values that a program passes to a statement, as they may be written to the tape. */
  parameters(sql: string, values: unknown): unknown {
    return maskedParameters(sql, values, (column, value) => this.option(column, value))
  }

  /** Registers the secrets of a file that is known to contain some. */
  learnFile(file: string, text: string): void {
    for (const { name, value, context } of secretsOfFile(file, text)) {
      this.learn(name, value)
      if (context !== undefined && !this.#own.has(context) && !context.includes('retake'))
        this.hideAs(
          context,
          context.replace(value, () => placeholderFor(name, value)),
        )
    }
  }

  /**
   * Bytes that the program made, as stored on the tape. Returns the same object if they contain no
   * secret. Compressed bytes with a secret are stored in a form that does not depend on how they
   * were compressed.
   */
  bytes(bytes: Uint8Array, encoding?: string): Uint8Array {
    const compression = encoding ? { encoding, isSameLength: false } : REPACKED
    const given = bufferOf(bytes)
    if (this.#isKnownClean(given, compression)) return bytes
    const masked = this.#maskedBytes(bytes, compression)
    if (masked === bytes) this.#cleanBodies.add(given)
    return masked
  }

  /** Like `bytes`, for bytes that the program receives: their length does not change, even if compressed. */
  #answer(bytes: Uint8Array): Uint8Array {
    return this.#maskedBytes(bytes, { isSameLength: true })
  }

  #streamed(name: string, bytes: Uint8Array): Uint8Array {
    let stream = this.#streams.get(name)
    if (stream === undefined)
      this.#streams.set(name, (stream = new StreamMask(this.#pieceMask(name))))
    const piece = name.startsWith(ANSWER) ? this.#withoutSecretRows(name, bytes) : bytes
    return this.redactor === undefined
      ? stream.bytes(piece)
      : this.#redactedPiece(name, piece, stream)
  }

  /** Returns the same object if it has no rows with secrets. */
  #withoutSecretRows(name: string, bytes: Uint8Array): Uint8Array {
    const piece = bufferOf(bytes)
    let rows = this.#rows.get(name)
    if (rows === undefined && !PostgresRows.mayBegin(piece)) return bytes
    if (rows === undefined) this.#rows.set(name, (rows = new PostgresRows()))
    const values = rows.find(piece)
    if (values.length === 0) return bytes
    const masked = Buffer.from(piece)
    for (const { column, start, end } of values) {
      const placeholder = Buffer.from(this.option(column, piece.toString('utf8', start, end)))
      if (placeholder.length === end - start) placeholder.copy(masked, start)
    }
    return masked
  }

  /** Also hides what cannot be judged yet: partial compressed content and messages. */
  #redactedPiece(name: string, bytes: Uint8Array, stream: StreamMask): Uint8Array {
    const isAnswer = name.startsWith(ANSWER)
    const from = isAnswer ? this.#unreadableFrom(name, bytes) : undefined
    const readable = Buffer.from(bytes.buffer, bytes.byteOffset, from ?? bytes.byteLength)
    const hideText: MaskText = (text, kind) => {
      const masked = stream.bytes(text, kind === 'message')
      if (masked.length !== text.length) return Buffer.from(blankText(latin1(text)), 'latin1')
      const content =
        kind === 'head' ? 'none' : isAnswer || name.startsWith('input') ? 'said' : 'text'
      return this.#withoutContent(masked, content, name)
    }
    if (!isAnswer) return hideText(readable, 'content')
    const frames = this.#frames.get(name) ?? new StreamFrames()
    this.#frames.set(name, frames)
    const masked = frames.map(readable, hideText)
    return from === undefined ? masked : Buffer.concat([masked], bytes.length)
  }

  #unreadableFrom(name: string, bytes: Uint8Array): number | undefined {
    const given = bufferOf(bytes)
    const isHead = given.subarray(0, 5).toString('latin1') === 'HTTP/'
    if (isHead) this.#unreadable.delete(name)
    if (this.#unreadable.has(name)) return 0
    const isPacked = this.#encoded.has(name) && !isUtf8(given)
    const from = isPacked ? 0 : unreadableFrom(given)
    if (from !== undefined) {
      this.#unreadable.add(name)
      this.#hadUnreadable.add(name)
    }
    return from
  }

  #pieceMask(name: string): PieceMask {
    return name.startsWith(ANSWER)
      ? (this.#answerPieces ??= this.#newPieceMask((bytes) => this.#answer(bytes)))
      : (this.#otherPieces ??= this.#newPieceMask((bytes) => this.bytes(bytes)))
  }

  #newPieceMask(mask: (bytes: Uint8Array) => Uint8Array): PieceMask {
    const inOpenText = <T>(mask: () => T): T => {
      this.#isOpenText = true
      try {
        return mask()
      } finally {
        this.#isOpenText = false
      }
    }
    const text = (all: string): string => inOpenText(() => this.#redactedBytes(all, REPACKED))
    const isClean = (piece: Uint8Array, all: string): boolean =>
      this.redactor === undefined &&
      !mayBeCompressed(bufferOf(piece), REPACKED) &&
      !mayContainBytes(all) &&
      this.#isClean(all)
    const { redactor } = this
    return {
      text,
      isClean,
      piece: (bytes) => inOpenText(() => mask(bytes)),
      ...(redactor && { unfinishedFrom: (all: string) => redactor.unfinishedFrom(all) }),
      cut: {
        text: withoutCutSecret,
        finish: (all: string) => void this.#redactedBytes(all, REPACKED),
        learn: (word: string, written: string) => {
          if (word.length >= SHORTEST_SECRET && this.#withoutKnown(word) === word)
            this.hideAs(word, written)
        },
      },
    }
  }

  #maskedBytes(bytes: Uint8Array, compression: CompressionOptions): Uint8Array {
    if (bytes.length < (this.redactor === undefined ? SHORTEST_SECRET : SHORTEST_VALUE))
      return bytes
    let given = bufferOf(bytes)
    let current = bytes
    if (mayBeCompressed(given, compression)) {
      const unpacked = maskCompressed(given, compression, (inner) =>
        Buffer.from(this.#maskedBytes(inner, NOT_COMPRESSED)),
      )
      if (unpacked !== given) current = given = unpacked
    }
    // In latin1 every byte is one character, so bytes that are not text stay unchanged.
    const text = given.toString('latin1')
    if (text.length <= REPEATED_MAX && this.#harmless.texts.has(text)) return current
    const masked = this.#redactedBytes(text, compression)
    if (masked !== text) return Buffer.from(masked, 'latin1')
    this.#harmless.add(text)
    return current
  }
}

/** The structure of a text; the same for two texts that differ only in redacted values. */
const structureOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    .toString('latin1')
    .replaceAll(/[A-Za-z0-9+/=_\x80-\xff-]/g, 'x')

const mayHaveEscapes = (text: string): boolean => text.includes('\\u00') && /\\u00[2-7]/.test(text)
/** Letters, digits and signs that JSON escapes without need, but not quotes and backslashes. */
const ESCAPES = /\\+u00(?:2[013-9a-f]|[3467][\da-f]|5[\dabd-f])/gi

interface DecodedEscapes {
  readonly text: string
  /** Escapes the characters again that were escaped; undefined if the length is another one. */
  encode(masked: string): string | undefined
}

function decodedEscapes(text: string): DecodedEscapes | undefined {
  /** Each escape, with its position in the decoded text. */
  const escapes: { readonly at: number; readonly escape: string }[] = []
  let removed = 0
  const decoded = text.replaceAll(ESCAPES, (escape: string, offset: number) => {
    escapes.push({ at: offset - removed, escape })
    removed += escape.length - 1
    return String.fromCharCode(Number.parseInt(escape.slice(-2), 16))
  })
  if (escapes.length === 0) return undefined
  const encode = (masked: string): string | undefined => {
    if (masked.length !== decoded.length) return undefined
    let [encoded, from] = ['', 0]
    for (const { at, escape } of escapes) {
      const code = masked.charCodeAt(at).toString(16).padStart(2, '0')
      const isSame = masked[at] === decoded[at]
      encoded += masked.slice(from, at) + (isSame ? escape : escape.slice(0, -2) + code)
      from = at + 1
    }
    return encoded + masked.slice(from)
  }
  return { text: decoded, encode }
}

/** `"token": "…` at the end of a text. */
const OPEN_VALUE = /[:=]\s{0,4}(\\*["'])([\w+/=.~-]{8,512})$/
const IN_OPEN_VALUE = /[\w+/=.~-]/
const NAME_BEFORE = 100

/** Hides the start of a key, or of a generated value after a name, at the end of a text. */
function withoutCutSecret(text: string): string {
  const masked = maskCutKey(text)
  if (masked !== text || !IN_OPEN_VALUE.test(text.at(-1) ?? '')) return masked
  const [, quote = '', value = ''] = OPEN_VALUE.exec(text.slice(-VALUE_AT_END)) ?? []
  if (!looksGenerated(value, SHORTEST_SECRET) || value.includes('retake')) return text
  const start = text.length - value.length
  const before = text.slice(Math.max(0, start - NAME_BEFORE), start)
  const closed = redactText(before + value + quote, placeholderFor)
  if (closed.length !== before.length + value.length + quote.length) return text
  return text.slice(0, start) + closed.slice(before.length, closed.length - quote.length)
}

const VALUE_AT_END = 600

const ANSWER = 'answer '
const answerStream = (op: number, pipe?: number): string => `${ANSWER}${op} ${pipe ?? ''}`

const ENDS = new Set(['end', 'close', 'error', 'abort', 'cancel'])

/** Name of the stream that this part of an answer ends; undefined for every other event. */
export const endedStream = (event: NewEvent): string | undefined =>
  event.type === 'deliver' && ENDS.has(event.part) ? answerStream(event.op, event.pipe) : undefined

/** Name of the stream that an event is a piece of; undefined for a whole body. */
export function streamOf(event: NewEvent): string | undefined {
  if (event.type === 'output') return event.stream
  // Bytes are pieces of a stream, messages are whole.
  if (event.type === 'write' && event.as === undefined) return `input ${event.op}`
  if (event.type === 'deliver' && event.part === 'chunk') return answerStream(event.op, event.pipe)
  return undefined
}

/** How much of a body is conversation content; `text` has no structure to preserve. */
type Content = 'none' | 'said' | 'everything' | 'text'

/** Files, modules and the like are not content, nor are notes of the recorder itself. */
function contentIn(event: NewEvent, origin: Origin | undefined): Content {
  const { type, kind }: Origin = origin ?? event
  if (type === 'call')
    return kind === 'tool' || kind === 'process' || kind === 'database' ? 'everything' : 'none'
  if (type === 'end') return 'everything'
  return type === 'note' || type === 'draw' ? 'none' : 'said'
}

const strictText = new TextDecoder('utf-8', { fatal: true })

const isAscii = (text: string): boolean => !/[^\0-\x7f]/.test(text)

/** Decodes a text with one character per byte; undefined if it is not UTF-8. */
const utf8Of = (text: string): string | undefined =>
  attempt(() => strictText.decode(Buffer.from(text, 'latin1')))

/**
 * Decodes a text with one character per byte; unchanged if it is not UTF-8. Characters may be cut
 * at its ends.
 */
function decodedText(text: string): string {
  if (!/[\x80-\xff]/.test(text)) return text
  const whole = text.replace(/^[\x80-\xbf]{1,3}/, '').replace(CUT_CHARACTER, '')
  return attempt(() => strictText.decode(Buffer.from(whole, 'latin1')), text)
}

/** The texts in JSON, or the text itself. */
function textsIn(text: string): string[] {
  const parsed = parseJson(text)
  if (parsed === undefined) return [text]
  const texts: string[] = []
  const collect = (value: unknown): void => {
    if (typeof value === 'string') texts.push(value)
    else if (typeof value === 'object' && value !== null) Object.values(value).forEach(collect)
  }
  collect(parsed)
  return texts
}

/** False for a value that may also be an ordinary word, such as a weak password. */
const isSpecific = (value: string): boolean =>
  value.length >= SPECIFIC_MIN || looksGenerated(value, SHORTEST_SECRET) || isWordsAndNumber(value)
const SPECIFIC_MIN = 20

const isPlaceholder = (text: string): boolean => /retake-h|^x+$/.test(text)

const REPEATED_MAX = 200
const HARMLESS_MAX = 1000

/** Short texts without a secret, such as headers and addresses, which are often the same. */
class Harmless {
  readonly texts = new Set<string>()
  /** The last value after each name. */
  readonly lastByName = new Map<string, string>()

  add(text: string): void {
    if (text.length <= REPEATED_MAX && this.texts.size < HARMLESS_MAX) this.texts.add(text)
  }

  addNamed(name: string, value: string): void {
    if (value.length > REPEATED_MAX) return
    if (this.lastByName.has(name) || this.lastByName.size < HARMLESS_MAX)
      this.lastByName.set(name, value)
  }
}

const REPACKED: CompressionOptions = { isSameLength: false }
const mayContainBytes = (text: string): boolean => text.includes('$') && text.includes('"$":"')
/** How `toWire` of the tape writes a Buffer or another array of bytes. */
const WIRE_BYTES =
  /("\$":"(?:ArrayBuffer|Buffer|DataView|\w+Array)","v":")([A-Za-z0-9+/]{8,}=*)(?=")/g
/** Maximum number of values learned from names in bodies; if there are more, they are not secrets. */
const LEARNED_MAX = 512

function isSameValues(one: KnownValues, other: KnownValues): boolean {
  if (one.size !== other.size) return false
  const known = new Map(one.entries())
  for (const [value, placeholder] of other.entries())
    if (known.get(value) !== placeholder) return false
  return true
}

/** Native code, and code that copied `process.env` before Retake was loaded, change variables unnoticed. */
const VARIABLES_FRESH_MS = 1000
const processSecrets: { isRead: boolean; prepared: SecretMask | undefined; readAtMs: number } = {
  isRead: false,
  prepared: undefined,
  readAtMs: 0,
}

/** Call after a variable of this process was changed. */
export function variablesChanged(): void {
  processSecrets.isRead = false
}

const SHORTEST_SECRET = 8
/** For personal data, such as a name. */
const SHORTEST_VALUE = 2
const HIDDEN = 'retake-hidden'
/** Every text that may be a placeholder; the name in it is cut to the length of the secret. */
export const PLACEHOLDER = /retake-h[\w.-]*|x{8,}/g

/**
 * Placeholder for a secret variable, on the tape and in a replayed environment. It preserves the
 * shape that programs check: a URL stays a URL, JSON stays JSON, a short prefix like `sk-` stays.
 * It also preserves the length, so that lengths in protocols such as HTTP stay correct.
 */
export function placeholderFor(name: string, value: string): string {
  const hidden = `retake-hidden-${name}`
  const whole = fit(hidden, value)
  if (value === whole) return value
  const url = urlOf(value)
  if (url?.password) return hidePart(value, url.password, hidden) ?? whole
  if (url) return hidePart(value, /:\/\/[^/?#]*[/?#](.*)/s.exec(value)?.[1] ?? '', hidden) ?? whole
  // A private key keeps its lines.
  if (value.trimStart().startsWith('-----BEGIN ') && hasKeyShape(value)) return maskKeys(value)
  if (value.startsWith('{')) return hideLeaves(value, hidden) ?? whole
  const prefix = /^[a-z]{2,6}[-_]/i.exec(value)?.[0] ?? ''
  return prefix + fit(hidden, value.slice(prefix.length))
}

/**
 * `hidden`, with the length of the secret in bytes. Characters that JSON or a URL would escape stay
 * in place, so that escaped lengths are equal, too.
 */
function fit(hidden: string, secret: string): string {
  const length = Buffer.byteLength(secret)
  const words = /^[\t\n\r\x20-\x7e]*$/.test(secret) ? (secret.match(WORDS) ?? []) : []
  const longest = words.toSorted((a, b) => b.length - a.length)[0] ?? ''
  const filled = (count: number): string => hidden.slice(0, count).padEnd(count, 'x')
  if (longest.length < SHORTEST_SECRET) return filled(length)
  return secret.replaceAll(WORDS, (word) => {
    if (word.startsWith('\\')) return word
    return word.length === longest.length ? filled(word.length) : 'x'.repeat(word.length)
  })
}

/** Words, and escapes, which must stay. */
const WORDS = /\\.|[\w.-]+/g

/** Undefined if the part does not occur unchanged in the text. */
function hidePart(text: string, part: string, hidden: string): string | undefined {
  if (part === '') return text
  return text.includes(part) ? text.replaceAll(part, fit(hidden, part)) : undefined
}

function hideLeaves(json: string, hidden: string): string | undefined {
  const leaves = new Set<string>()
  try {
    JSON.parse(json, (_, leaf: unknown) => {
      if (typeof leaf === 'string' && leaf.length >= SHORTEST_SECRET)
        leaves.add(JSON.stringify(leaf).slice(1, -1))
      return leaf
    })
  } catch {
    return undefined
  }
  let masked: string | undefined = json
  for (const leaf of leaves) masked &&= hidePart(masked, leaf, hidden)
  return masked
}

export { looksSecret } from '@retake/tape/secrets'
export { containsSecret } from './secret-values.js'

const verdicts = new Map<string, { readonly value: string; readonly isSecret: boolean }>()

/**
 * `containsSecret` for a variable of this process, cached because every run checks all of them and
 * they rarely change. A variable from `node --env-file` is judged like a line of that file.
 */
export function isSecretVariable(name: string, value: string): boolean {
  const known = verdicts.get(name)
  if (known?.value === value) return known.isSecret
  envFileSecrets ??= secretsOfEnvFiles()
  const isSecret = containsSecret(name, value) || envFileSecrets.has(`${name}=${value}`)
  verdicts.set(name, { value, isSecret })
  return isSecret
}

let envFileSecrets: ReadonlySet<string> | undefined

/**
 * Secrets in the files that Node loaded before any code ran, as `NAME=value`. A file that is gone
 * has none.
 */
function secretsOfEnvFiles(): ReadonlySet<string> {
  const { execArgv } = process
  const found = new Set<string>()
  for (const [at, flag] of execArgv.entries()) {
    const option = /^--env-file(?:-if-exists)?(?:=(.*))?$/s.exec(flag)
    const file = option === null ? undefined : (option[1] ?? execArgv[at + 1])
    if (file === undefined) continue
    const text = attempt(() => outsideRuns(() => disk.readFileSync(file, 'utf8')), '')
    for (const secret of secretsOfEnvFile(text)) found.add(`${secret.name}=${secret.value}`)
  }
  return found
}

/** The environment to record: secret values are replaced by placeholders. */
export function maskedEnvironment(env: NodeJS.ProcessEnv): Record<string, string> {
  const masked: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || name.startsWith('RETAKE_')) continue
    masked[name] = maskVariable(name, value)
  }
  return masked
}

/** The value of a variable as it may appear on a tape. */
export const maskVariable = (name: string, value: string): string =>
  value !== '' && isSecretVariable(name, value) ? placeholderFor(name, value) : value
