import type { Permit, Semaphore } from './semaphore.js'

interface Waiting {
  readonly number: number
  readonly needs: readonly Semaphore[]
  readonly around: readonly Permit[]
  start(permits: readonly Permit[]): void
}

/** Calls that wait for permits, in the order of their arrival. One that cannot start does not block others. */
export class CallQueue {
  /** By what they need: those that need the same start in order. */
  readonly #waiting = new Map<readonly Semaphore[], Set<Waiting>>()
  /** Nested calls, which may borrow the permits of the calls around them. */
  readonly #inside = new Set<Waiting>()
  #number = 0

  /** Takes all permits a call needs, as soon as they are free. Undefined when it was aborted. */
  enter(
    needs: readonly Semaphore[],
    around: readonly Permit[],
    signal: AbortSignal | undefined,
  ): readonly Permit[] | Promise<readonly Permit[] | undefined> {
    const permits = takeAll(needs, around)
    if (permits !== undefined) return permits
    const line = around.length > 0 ? this.#inside : this.#lineFor(needs)
    return new Promise((resolve) => {
      const start = (taken: readonly Permit[]): void => {
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

  leave(permits: readonly Permit[]): void {
    for (const permit of permits) permit.giveBack()
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

  #lineFor(needs: readonly Semaphore[]): Set<Waiting> {
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

const isFull = ({ taken, cap }: Semaphore): boolean => taken >= cap

function takeAll(
  needs: readonly Semaphore[],
  around: readonly Permit[],
): readonly Permit[] | undefined {
  const taken: Permit[] = []
  for (const semaphore of needs) {
    const permit = semaphore.take(around)
    if (permit === undefined) {
      for (const back of taken) back.giveBack()
      return undefined
    }
    taken.push(permit)
  }
  return taken
}
