export class Semaphore {
  taken = 0

  constructor(readonly cap: number) {}

  /** A free permit, or one borrowed from an enclosing call, which could otherwise wait forever. */
  take(around: readonly Permit[]): Permit | undefined {
    if (this.taken < this.cap) {
      this.taken += 1
      return new Permit(this)
    }
    return around.find((permit) => permit.of === this && permit.canBeLent)?.lend()
  }
}

/** Allows one call to run. Can be lent to one nested call at a time. */
export class Permit {
  #lender: Permit | undefined
  #borrower: Permit | undefined
  #isOver = false

  constructor(readonly of: Semaphore) {}

  get canBeLent(): boolean {
    return !this.#isOver && this.#borrower === undefined
  }

  lend(): Permit {
    const permit = new Permit(this.of)
    permit.#lender = this
    this.#borrower = permit
    return permit
  }

  giveBack(): void {
    if (this.#isOver) return
    this.#isOver = true
    const [lender, borrower] = [this.#lender, this.#borrower]
    // A borrower that outlives its lender takes over the permit.
    if (borrower !== undefined) borrower.#lender = lender
    if (lender !== undefined) lender.#borrower = borrower
    else if (borrower === undefined) this.of.taken -= 1
  }
}

interface Waiting {
  readonly number: number
  readonly needs: readonly Semaphore[]
  readonly around: readonly Permit[]
  start(permits: readonly Permit[]): void
}

/** Calls that wait for permits, in order. A call that cannot start does not block others. */
export class CallQueue {
  /** Waiting calls by the semaphores that they need. */
  readonly #waiting = new Map<readonly Semaphore[], Set<Waiting>>()
  /** Waiting nested calls, which may borrow permits of enclosing calls. */
  readonly #inside = new Set<Waiting>()
  #number = 0

  /** Resolves when the call has all permits that it needs; undefined if it was aborted. */
  enter(
    needs: readonly Semaphore[],
    around: readonly Permit[],
    signal: AbortSignal | undefined,
  ): readonly Permit[] | Promise<readonly Permit[] | undefined> {
    const permits = takeAll(needs, around)
    if (permits !== undefined) return permits
    let line = around.length > 0 ? this.#inside : this.#waiting.get(needs)
    if (line === undefined) this.#waiting.set(needs, (line = new Set()))
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
    // Nested calls go first, because enclosing calls wait for them.
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

  /** The first call that can start now. */
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
