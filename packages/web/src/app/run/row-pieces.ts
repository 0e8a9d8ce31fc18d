import type { RowColumns } from '@retake/tape/present'

/** One piece of the recorded rows, as it came. */
export interface RowPiece {
  /** The recorded row that it begins with. */
  readonly from: number
  readonly rows: RowColumns
}

/** The recorded rows of a run in the pieces they came in; a later piece replaces what it overlaps. */
export class RowPieces {
  #pieces: RowPiece[] = []

  /** Puts a piece in place of everything from its first row on. */
  put(piece: RowPiece): void {
    this.#pieces = this.#pieces.filter(({ from }) => from < piece.from)
    this.#pieces.push(piece)
  }

  /** The last piece that begins at or before a recorded row. */
  of(row: number): RowPiece | undefined {
    let [low, high] = [0, this.#pieces.length - 1]
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((this.#pieces[middle]?.from ?? 0) <= row) low = middle
      else high = middle - 1
    }
    return this.#pieces[low]
  }

  clear(): void {
    this.#pieces = []
  }
}
