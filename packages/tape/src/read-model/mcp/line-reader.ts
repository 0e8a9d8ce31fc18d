import type { EventMark } from '../run-index.js'

/** A line with the events that carry it. */
export interface ReadLine {
  readonly text: string
  readonly first: EventMark
  /** Where its newline stands; for the rest of a stream without one, its last piece. */
  readonly last: EventMark
  /** All events that carry a part of it. */
  readonly seqs: readonly number[]
  /** False for text after the last newline. */
  readonly whole: boolean
}

/** Puts lines together from pieces that are cut anywhere, in the middle of a character too. */
export class LineReader {
  readonly #decoder = new TextDecoder()
  #pending = ''
  #marks: EventMark[] = []

  push(mark: EventMark, bytes: Uint8Array): ReadLine[] {
    const pieces = this.#decoder.decode(bytes, { stream: true }).split('\n')
    const lines: ReadLine[] = []
    for (const [index, piece] of pieces.entries()) {
      if (this.#marks.at(-1) !== mark && bytes.length > 0) this.#marks.push(mark)
      this.#pending += piece
      if (index < pieces.length - 1) lines.push(this.#take(true))
    }
    // A piece that ends with a newline has no part of the next line.
    if (this.#pending === '' && lines.length > 0) this.#marks = []
    return lines
  }

  /** What came after the last newline. */
  rest(): ReadLine | undefined {
    this.#pending += this.#decoder.decode()
    return this.#pending === '' || this.#marks.length === 0 ? undefined : this.#take(false)
  }

  #take(whole: boolean): ReadLine {
    const marks = this.#marks
    const [first] = marks as [EventMark]
    const last = marks.at(-1) as EventMark
    const line = {
      text: this.#pending.replace(/\r$/, ''),
      first,
      last,
      seqs: marks.map(({ seq }) => seq),
      whole,
    }
    this.#pending = ''
    this.#marks = []
    return line
  }
}
