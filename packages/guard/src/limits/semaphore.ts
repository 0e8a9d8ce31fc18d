/** Limits how many calls run concurrently. */
export class Semaphore {
  taken = 0

  constructor(readonly cap: number) {}

  /**
   * A free permit, or one lent by a call around this one: the tool waits for what it
   * calls, and if that had to wait for the tool, both would wait forever.
   */
  take(around: readonly Permit[]): Permit | undefined {
    if (this.taken < this.cap) {
      this.taken += 1
      return new Permit(this)
    }
    return around.find((permit) => permit.of === this && permit.canBeLent)?.lend()
  }
}

/** Lets one call run. It can be lent to one nested call at a time. */
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
