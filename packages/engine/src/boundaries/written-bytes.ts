import { createHash } from 'node:crypto'
import type { Session } from '../sessions/session.js'

/**
 * How much the agent has written to something, and what. Writes to connections and
 * threads are not events: their exact moments are Node's own business. Each delivery carries
 * this stamp instead, and replay holds it back until as much was written.
 */
export class WrittenBytes {
  readonly #digest = createHash('sha256')
  #count = 0

  constructor(readonly session: Session) {}

  add(bytes: Uint8Array): void {
    this.#count += bytes.length
    this.#digest.update(this.session.secrets.bytes(bytes))
  }

  get count(): number {
    return this.#count
  }

  stamp(): { written: number; digest: string } {
    return {
      written: this.#count,
      digest: this.#count === 0 ? '' : this.#digest.copy().digest('hex'),
    }
  }
}
