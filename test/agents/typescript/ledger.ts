export class Ledger {
  #line = 0

  constructor(private readonly name: string) {}

  log(...words: unknown[]): void {
    console.log(this.name, this.#line++, Date.now(), ...words)
  }

  fail(): never {
    throw new Error('on purpose')
  }
}
