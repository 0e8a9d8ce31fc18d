/** Stands for bytes that are no UTF-8; somebody may also have written it. */
const REPLACEMENT = '\uFFFD'

/**
 * Reads a stream of bytes as UTF-8, piece by piece: a character that is cut in two
 * comes with the second piece. What is no UTF-8 becomes replacement characters, and
 * is told.
 */
export class LossyText {
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })

  read(bytes: Uint8Array): { readonly text: string; readonly isLossy: boolean } {
    const text = this.#decoder.decode(bytes, { stream: true })
    const isLossy = text.includes(REPLACEMENT) && countIn(text) > countWritten(bytes)
    return { text, isLossy }
  }
}

const countIn = (text: string): number => text.split(REPLACEMENT).length - 1

/** Replacement characters that stand in the bytes themselves. */
function countWritten(bytes: Uint8Array): number {
  let count = 0
  for (let at = bytes.indexOf(0xef); at >= 0; at = bytes.indexOf(0xef, at + 1))
    if (bytes[at + 1] === 0xbf && bytes[at + 2] === 0xbd) count++
  return count
}
