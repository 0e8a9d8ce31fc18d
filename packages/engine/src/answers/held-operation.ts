import { Operation } from '../sessions/session.js'

/** Work that really runs, but whose outcome waits until its turn is chosen. */
export class HeldOperation extends Operation {
  readonly outcomes: { readonly native: unknown }[] = []

  constructor(
    of: Operation,
    readonly onFinished: () => void,
  ) {
    super(of.id, of.action, of.session)
  }

  override complete(_event: unknown, _body?: Uint8Array, native?: unknown): void {
    this.outcomes.push({ native })
    this.onFinished()
  }
}
