import type { Place, Places } from './places.js'

interface Waiting {
  readonly number: number
  readonly needs: readonly Places[]
  readonly around: readonly Place[]
  start(places: readonly Place[]): void
}

/** Calls that wait for a place, in the order in which they came. One that fits nowhere holds up no other. */
export class CallQueue {
  /** By what they need: those that need the same start in order. */
  readonly #waiting = new Map<readonly Places[], Set<Waiting>>()
  /** Made inside of calls whose places they may use. */
  readonly #inside = new Set<Waiting>()
  #number = 0

  /** Takes all the places a call needs, at once or when they are free. Undefined when it was aborted. */
  enter(
    needs: readonly Places[],
    around: readonly Place[],
    signal: AbortSignal | undefined,
  ): readonly Place[] | Promise<readonly Place[] | undefined> {
    const places = takeAll(needs, around)
    if (places !== undefined) return places
    const line = around.length > 0 ? this.#inside : this.#lineFor(needs)
    return new Promise((resolve) => {
      const start = (taken: readonly Place[]): void => {
        signal?.removeEventListener('abort', leave)
        line.delete(waiting)
        resolve(taken)
      }
      const leave = (): void => {
        if (line.delete(waiting)) resolve(undefined)
      }
      const waiting: Waiting = { number: this.#number++, needs, around, start }
      line.add(waiting)
      signal?.addEventListener('abort', leave, { once: true })
    })
  }

  leave(places: readonly Place[]): void {
    for (const place of places) place.giveBack()
    // Calls around them wait for these, so they go first.
    for (const waiting of this.#inside) {
      const taken = takeAll(waiting.needs, waiting.around)
      if (taken !== undefined) waiting.start(taken)
    }
    let next = this.#next()
    while (next !== undefined) {
      next.start(takeAll(next.needs, next.around) ?? [])
      next = this.#next()
    }
  }

  #lineFor(needs: readonly Places[]): Set<Waiting> {
    const line = this.#waiting.get(needs) ?? new Set()
    this.#waiting.set(needs, line)
    return line
  }

  /** Who came first of those that can start now. */
  #next(): Waiting | undefined {
    let next: Waiting | undefined
    for (const [needs, line] of this.#waiting) {
      const [first] = line
      if (first === undefined || needs.some(isFull)) continue
      if (next === undefined || first.number < next.number) next = first
    }
    return next
  }
}

const isFull = ({ taken, cap }: Places): boolean => taken >= cap

function takeAll(needs: readonly Places[], around: readonly Place[]): readonly Place[] | undefined {
  const taken: Place[] = []
  for (const places of needs) {
    const place = places.take(around)
    if (place === undefined) {
      for (const back of taken) back.giveBack()
      return undefined
    }
    taken.push(place)
  }
  return taken
}
