/**
 * How a body is built, piece by piece. On tape a recipe is a flat list of numbers: a literal is its
 * negative length; a copy is offset and length, preceded by the event number if there is no common
 * base.
 */
export type Recipe = readonly Piece[]

/** `source`: the event whose body is copied; missing for bytes stored with the record. */
export interface Piece {
  readonly source?: number
  /** Position in the source's body; unused for literals. */
  readonly offset: number
  readonly length: number
}

export const literal = (length: number): Piece => ({ offset: 0, length })

/** `ops` for a recipe that copies from one base only. */
export const toOps = (recipe: Recipe): number[] =>
  recipe.flatMap(({ source, offset, length }) =>
    source === undefined ? [-length] : [offset, length],
  )

/** `parts` for any recipe. */
export const toParts = (recipe: Recipe): number[] =>
  recipe.flatMap(({ source, offset, length }) =>
    source === undefined ? [-length] : [source, offset, length],
  )

export function fromOps(base: number, ops: readonly number[]): Recipe {
  const recipe: Piece[] = []
  for (let i = 0; i < ops.length;) {
    const first = ops[i] ?? 0
    if (first < 0) {
      recipe.push(literal(-first))
      i++
    } else {
      recipe.push({ source: base, offset: first, length: ops[i + 1] ?? 0 })
      i += 2
    }
  }
  return recipe
}

export function fromParts(parts: readonly number[]): Recipe {
  const recipe: Piece[] = []
  for (let i = 0; i < parts.length;) {
    const first = parts[i] ?? 0
    if (first < 0) {
      recipe.push(literal(-first))
      i++
    } else {
      recipe.push({ source: first, offset: parts[i + 1] ?? 0, length: parts[i + 2] ?? 0 })
      i += 3
    }
  }
  return recipe
}
