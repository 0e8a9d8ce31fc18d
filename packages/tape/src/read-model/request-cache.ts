import type { Message } from '../providers/message.js'

/**
 * The request that was read last. Conversations are long and are looked at
 * several times in a row, but keeping them all would keep the square of a run.
 */
export class RequestCache {
  #seq = -1
  #text: { readonly value: string | undefined } | undefined
  #messages: readonly Message[] | undefined

  text(seq: number, read: () => string | undefined): string | undefined {
    this.#turnTo(seq)
    this.#text ??= { value: read() }
    return this.#text.value
  }

  messages(seq: number, read: () => readonly Message[]): readonly Message[] {
    this.#turnTo(seq)
    return (this.#messages ??= read())
  }

  #turnTo(seq: number): void {
    if (seq === this.#seq) return
    this.#seq = seq
    this.#text = undefined
    this.#messages = undefined
  }
}
