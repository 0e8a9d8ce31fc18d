/**
 * Something of which there is only so much. What calls have reserved and what is
 * spent together never pass the cap, unless a call uses more than it reserved.
 */
export class Budget {
  spent = 0
  reserved = 0
  /** What of it was spent by the runs that this one goes on from. */
  earlier = 0

  constructor(readonly cap: number) {}

  fits(amount: number): boolean {
    return this.spent + this.reserved + amount <= this.cap
  }

  /** More was used than there was. */
  get isOverdrawn(): boolean {
    return !this.fits(0)
  }

  get left(): number {
    return Math.max(0, this.cap - this.spent - this.reserved)
  }

  reserve(amount: number): void {
    this.reserved += amount
  }

  /** An earlier run has spent it. */
  restore(amount: number): void {
    this.spent += amount
    this.earlier += amount
  }

  /** What was reserved is free again; what was used of it is not. */
  settle(reserved: number, used: number): void {
    this.reserved -= reserved
    this.spent += used
  }
}
