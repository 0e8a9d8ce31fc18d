import { GuardError, type Denial } from '../guard-error.js'
import type { Command, FileAccess, Scopes } from './scopes.js'

/**
 * What one guarded call may touch. The boundaries ask it before anything native
 * happens on behalf of the call; it throws when a scope forbids it, and always
 * once the call is over, so that a tool that was given up on does nothing more.
 */
export class CallBounds {
  /** What was refused, also when the tool made nothing of it. */
  readonly blocked: GuardError[] = []
  readonly #held = new Set<() => void>()
  #over: Denial | undefined

  constructor(
    readonly tool: string,
    readonly scopes: readonly Scopes[],
  ) {}

  file(access: FileAccess, path: string): void {
    this.#refuse((scopes) => scopes.files?.check(access, path))
  }

  request(method: string, url: URL): void {
    this.#refuse((scopes) => scopes.network?.checkRequest(method, url))
  }

  host(host: string, port: number, raw: boolean): void {
    this.#refuse((scopes) => scopes.network?.checkHost(host, port, raw))
  }

  address(address: string, port: number, host: string): void {
    this.#refuse((scopes) => scopes.network?.checkAddress(address, port, host))
  }

  process(command: Command): void {
    this.#refuse((scopes) => scopes.shell?.check(command))
  }

  /** Something the call has opened, to be ended with it. Returns how to let go of it. */
  hold(release: () => void): () => void {
    this.#held.add(release)
    return () => void this.#held.delete(release)
  }

  /** The call has its answer. What it left running loses its way out. */
  end(over: Denial): void {
    this.#over = over
    for (const release of this.#held) release()
    this.#held.clear()
  }

  #refuse(ask: (scopes: Scopes) => Denial | undefined): void {
    let denial = this.#over
    for (const scopes of this.scopes) denial ??= ask(scopes)
    if (denial === undefined) return
    const error = new GuardError(denial)
    this.blocked.push(error)
    throw error
  }
}
