import { KnownValues } from '@retake/tape/secrets'
import type { Tape } from '@retake/tape/format'
import { maskCompressed, mayBeCompressed } from './compressed-bytes.js'
import { bufferOf, latin1, maskEachModelText } from './stream-mask.js'

/**
 * The secrets that a served program got, because they are those of the recording. Recorded answers
 * have placeholders instead, so a program that compares the two would behave differently: in its
 * answers, the program gets the same secrets. Not promised: if two of the secrets have the same
 * placeholder, neither is put back; placeholders of fewer than 16 characters, which do not contain
 * a name, are only found unencoded.
 */
export class GivenSecrets {
  readonly #values = new KnownValues()
  readonly #short = new Map<string, string>()
  readonly #owners = new Map<string, string>()
  readonly #streams = new WeakMap<Tape, Map<string, readonly number[]>>()
  readonly #pieces = new Map<number, Uint8Array>()

  get isEmpty(): boolean {
    return this.#owners.size === 0
  }

  add(value: string, placeholder: string): void {
    const owner = this.#owners.get(placeholder)
    if (owner === value || value === placeholder || !placeholder.includes('retake-h')) return
    const revealed = owner === undefined ? value : placeholder
    this.#owners.set(placeholder, value)
    this.#pieces.clear()
    if (placeholder.length < NAMED_MIN) this.#short.set(placeholder, revealed)
    else this.#values.set(placeholder, revealed)
  }

  takeOver(other: GivenSecrets): void {
    for (const [placeholder, value] of other.#owners) this.add(value, placeholder)
  }

  text(text: string): string {
    let revealed = this.#values.size === 0 ? text : this.#values.replace(text)
    for (const [placeholder, value] of this.#short)
      revealed = revealed.replaceAll(wholeWord(placeholder), () => value)
    return revealed
  }

  /** An event of an answer, without its body. */
  event<E extends object>(event: E): E {
    if (this.isEmpty) return event
    const json = JSON.stringify(event)
    const revealed = this.text(json)
    return revealed === json ? event : (JSON.parse(revealed) as E)
  }

  /** The body of an event of an answer. */
  body(tape: Tape, seq: number): Uint8Array {
    const body = tape.body(seq)
    if (this.isEmpty || body.length === 0) return body
    const pieces = this.#streamOf(tape, seq)
    if (pieces === undefined) return this.#bytes(body)
    if (!this.#pieces.has(seq)) this.#revealStream(tape, pieces)
    return this.#pieces.get(seq) ?? body
  }

  #bytes(bytes: Uint8Array): Uint8Array {
    const given = bufferOf(bytes)
    if (mayBeCompressed(given, ANSWER))
      return maskCompressed(given, ANSWER, (inner) => Buffer.from(this.#bytes(inner)))
    const text = latin1(given)
    const revealed = this.text(text)
    return revealed === text ? bytes : Buffer.from(revealed, 'latin1')
  }

  /** A placeholder may be split between the pieces of a stream, or spread over its events. */
  #revealStream(tape: Tape, seqs: readonly number[]): void {
    const bodies = seqs.map((seq) => tape.body(seq))
    const [first] = bodies
    if (first !== undefined && mayBeCompressed(bufferOf(first), ANSWER)) {
      for (const [index, seq] of seqs.entries())
        this.#pieces.set(seq, this.#bytes(bodies[index] ?? first))
      return
    }
    const text = bodies.map((body) => latin1(body)).join('')
    const whole = this.text(text)
    const spread =
      whole.length === text.length
        ? (maskEachModelText(text, (modelText) => this.text(modelText), whole) ?? whole)
        : whole
    let from = 0
    for (const [index, seq] of seqs.entries()) {
      const body = bodies[index] ?? new Uint8Array(0)
      const piece = spread.slice(from, from + body.length)
      from += body.length
      // With other lengths, the borders between the pieces are unknown.
      this.#pieces.set(
        seq,
        spread.length === text.length ? Buffer.from(piece, 'latin1') : this.#bytes(body),
      )
    }
  }

  /** All pieces of the stream that an event is a part of; undefined for a single body. */
  #streamOf(tape: Tape, seq: number): readonly number[] | undefined {
    const event = tape.event(seq)
    if (event.type !== 'deliver' || event.part !== 'chunk') return undefined
    let streams = this.#streams.get(tape)
    if (streams === undefined) {
      const found = new Map<string, number[]>()
      for (const each of tape.events()) {
        if (each.type !== 'deliver' || each.part !== 'chunk') continue
        const key = `${each.op} ${each.pipe ?? ''}`
        const seqs = found.get(key)
        if (seqs === undefined) found.set(key, [each.seq])
        else seqs.push(each.seq)
      }
      this.#streams.set(tape, (streams = found))
    }
    return streams.get(`${event.op} ${event.pipe ?? ''}`)
  }
}

const ANSWER = { isSameLength: true } as const
/** Shorter placeholders are the same for every name. */
const NAMED_MIN = 16

const wholeWord = (text: string): RegExp =>
  new RegExp(String.raw`(?<![\w-])${text.replaceAll(/[^\w\s-]/g, String.raw`\$&`)}(?![\w-])`, 'g')
