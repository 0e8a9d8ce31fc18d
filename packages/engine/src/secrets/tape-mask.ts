import type { NewEvent, RecordedError } from '@retake/tape/format'
import type { GuardFacts } from '@retake/tape/guards'
import { HIDDEN, isSecretHeader } from '../kernel/headers.js'
import type { MaskNote, Origin, RecordingMask } from '../kernel/mask.js'
import { proofOf } from './machine-key.js'
import { ReadableStreams } from './readable-streams.js'
import { redactionNote, sealedNotes, sealedValues } from './redacted-tape.js'
import type { Redactor } from './redactor.js'
import { endedStream, SecretMask, streamOf } from './secrets.js'

const LINE_FEED = 0x0a

/**
 * Masks everything that a recording writes. If personal data is redacted, it also adds the notes
 * that restore it for those who have the key, and what becomes readable when a stream ends.
 */
export class TapeMask implements RecordingMask {
  readonly values: SecretMask
  /** Notes to write before the next event. */
  readonly #notes: MaskNote[] = []
  readonly #streams: ReadableStreams | undefined
  /** A piece of a stream whose number is not known yet. */
  #piece: { readonly original: Uint8Array; readonly written: Uint8Array } | undefined

  constructor(readonly redactor?: Redactor) {
    this.values = new SecretMask(redactor)
    if (redactor !== undefined) this.#streams = new ReadableStreams(this.values, redactor)
    this.values.addProcessEnvironment()
  }

  /** If redaction cannot be undone, the original is written before its event. */
  body(event: NewEvent, body: Uint8Array, origin?: Origin): Uint8Array {
    const masked = this.values.body(event, body, origin)
    if (this.redactor === undefined || body.length === 0) return masked
    const original = this.values.unredacted.body(event, body)
    this.#notes.push(...sealedNotes(this.redactor, event, { original, masked }))
    this.#piece = { original, written: masked }
    return masked
  }

  proofOf(body: Uint8Array): string | undefined {
    return proofOf('', body, true)
  }

  written(event: NewEvent, seq: number): void {
    const piece = this.#piece
    this.#piece = undefined
    if (this.#streams === undefined || piece === undefined) return
    const stream = streamOf(event)
    if (stream === undefined) return
    this.#streams.add(stream, { seq, ...piece })
    if (event.type === 'output' && piece.original.at(-1) === LINE_FEED)
      this.#noteReadable(this.#streams.endLine(stream))
  }

  /** Shows content that had to be blanked while the stream could still continue. */
  #noteReadable(pieces: Uint8Array | undefined): void {
    if (pieces !== undefined) this.#notes.unshift(redactionNote('readable', pieces))
  }

  notesBefore(event: NewEvent): readonly MaskNote[] {
    if (this.redactor === undefined || this.#streams === undefined) return NONE
    const ended = event.type === 'end' ? this.#streams.open : [endedStream(event) ?? '']
    for (const stream of ended) this.#noteReadable(this.#streams.end(stream))
    // The values come first, because the other notes contain them.
    this.#notes.unshift(...sealedValues(this.redactor))
    return this.#notes.splice(0)
  }

  fingerprinted(event: NewEvent): NewEvent {
    if (!this.values.hasUnwritten) return event
    const hides = this.values.takeFingerprints()
    return hides.length === 0 ? event : Object.assign({}, event, { hides })
  }

  /** Errors may contain the failed request with its headers, and messages may contain anything. */
  members<E extends object>(given: E): E {
    let event = given
    if ('guard' in event) event = { ...event, guard: this.#facts(event.guard as GuardFacts) }
    if ('error' in event) return { ...event, error: this.#error(event.error as RecordedError) }
    if (!('value' in event) || event.value === undefined) return event
    const json = JSON.stringify(event.value)
    const masked = this.values.text(json)
    return masked === json ? event : { ...event, value: JSON.parse(masked) as unknown }
  }

  /** Masks the facts that quote arguments, results or people. */
  #facts(facts: GuardFacts): GuardFacts {
    const { approval, blocked, drift } = facts
    if (approval === undefined && blocked === undefined && drift === undefined) return facts
    if (this.redactor?.hidesContent) this.values.said(JSON.stringify(blocked ?? []))
    const masked = this.values.text(JSON.stringify({ approval, blocked, drift }))
    return { ...facts, ...(JSON.parse(masked) as Partial<GuardFacts>) }
  }

  #error(error: RecordedError): RecordedError {
    const json = JSON.stringify(error, (key, value: unknown) =>
      isSecretHeader(key) && typeof value === 'string' ? HIDDEN : value,
    )
    const { message, stack } = error
    if (this.redactor?.hidesContent) this.values.said(JSON.stringify([message, stack]))
    return JSON.parse(this.values.text(json)) as RecordedError
  }
}

const NONE: readonly MaskNote[] = []
