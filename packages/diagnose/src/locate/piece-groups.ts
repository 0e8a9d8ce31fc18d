import type { TapeLike } from '@retake/tape'
import type { Place } from './place.js'
import { searchPieces } from './search-pieces.js'

type Whose = Omit<Place, 'seq' | 'search'>

/** Contents that come in pieces over several events: a stream, a pipe, a file read bit by bit. */
export class PieceGroups {
  readonly #tape: TapeLike
  readonly #groups = new Map<string, { readonly whose: Whose; readonly seqs: number[] }>()
  #closed = 0

  constructor(tape: TapeLike) {
    this.#tape = tape
  }

  /** Adds the body of an event to a content. */
  add(key: string, seq: number, whose: Whose): void {
    const group = this.#groups.get(key)
    if (group === undefined) this.#groups.set(key, { whose, seqs: [seq] })
    else group.seqs.push(seq)
  }

  /** What comes under this key from here on is another content. */
  close(key: string): void {
    const group = this.#groups.get(key)
    if (group === undefined) return
    this.#groups.delete(key)
    this.#groups.set(`${key} ${this.#closed++}`, group)
  }

  places(): Place[] {
    return [...this.#groups.values()].map(({ whose, seqs }) => ({
      ...whose,
      seq: seqs[0] ?? 0,
      search: (matcher) =>
        searchPieces(
          seqs.map((seq) => ({ seq, bytes: this.#tape.body(seq) })),
          matcher,
        ),
    }))
  }
}
