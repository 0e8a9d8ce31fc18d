/** So many calls at once. */
export class Places {
  taken = 0

  constructor(readonly cap: number) {}

  /**
   * A free place, or that of a call around this one: the tool waits for what it
   * calls, and if that had to wait for the tool, both would forever.
   */
  take(around: readonly Place[]): Place | undefined {
    if (this.taken < this.cap) {
      this.taken += 1
      return new Place(this)
    }
    return around.find((place) => place.of === this && place.canBeLent)?.lend()
  }
}

/** One call's place. It can be lent to one call at a time that is made inside of it. */
export class Place {
  #lender: Place | undefined
  #borrower: Place | undefined
  #isOver = false

  constructor(readonly of: Places) {}

  get canBeLent(): boolean {
    return !this.#isOver && this.#borrower === undefined
  }

  lend(): Place {
    const place = new Place(this.of)
    place.#lender = this
    this.#borrower = place
    return place
  }

  giveBack(): void {
    if (this.#isOver) return
    this.#isOver = true
    const [lender, borrower] = [this.#lender, this.#borrower]
    // Who outlives the lender goes on in its place.
    if (borrower !== undefined) borrower.#lender = lender
    if (lender !== undefined) lender.#borrower = borrower
    else if (borrower === undefined) this.of.taken -= 1
  }
}
