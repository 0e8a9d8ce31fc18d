import type { Command } from './command.js'

/** The commands of what is on the screen now. Those added last come first for a key. */
class CommandRegistry {
  #groups: (readonly Command[])[] = []
  #all: readonly Command[] = []
  readonly #listeners = new Set<() => void>()

  add(commands: readonly Command[]): () => void {
    this.#groups = [...this.#groups, commands]
    this.#changed()
    return () => {
      this.#groups = this.#groups.filter((group) => group !== commands)
      this.#changed()
    }
  }

  /** Of two with one id the later counts. */
  readonly all = (): readonly Command[] => this.#all

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #changed(): void {
    const byId = new Map(this.#groups.flat().map((command) => [command.id, command]))
    this.#all = [...byId.values()]
    for (const listener of this.#listeners) listener()
  }
}

export const registry = new CommandRegistry()
