/** Cuts a text into the pieces that are streamed. */
export type CutText = (text: string) => readonly string[]

/** Upper limit, whatever the length of the text. */
const PIECES_MAX = 200

/** A text in pieces of a word or so, as a model streams it; never cut inside a character. */
export const textPieces = (text: string): string[] => {
  const size = Math.max(1, Math.ceil(text.length / PIECES_MAX))
  const pieces: string[] = []
  let piece = ''
  for (const word of text.match(/\s*\S{1,12}|\s+/gu) ?? []) {
    piece += word
    if (piece.length < size) continue
    pieces.push(piece)
    piece = ''
  }
  return piece === '' ? pieces : [...pieces, piece]
}
