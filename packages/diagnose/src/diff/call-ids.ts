import type { Message, MessagePart } from '@retake/tape'

/**
 * Ids of tool calls are new in every run and say nothing but which result
 * belongs to which call. Here they become numbers in order of appearance, so
 * that two runs can be compared.
 */
export class CallIds {
  readonly #names = new Map<string, string>()

  constructor(messages: readonly Message[]) {
    for (const { parts } of messages) {
      for (const part of parts) if ('id' in part) this.#add(part.id)
    }
  }

  /** Messages with numbered ids. */
  number(messages: readonly Message[]): Message[] {
    return messages.map(({ role, parts }) => ({
      role,
      parts: parts.map((part): MessagePart =>
        'id' in part ? { ...part, id: this.#nameOf(part.id) } : part,
      ),
    }))
  }

  /** JSON text of a value in which every string that is an id is numbered. */
  stringify(value: unknown): string {
    if (this.#names.size === 0) return JSON.stringify(value) ?? ''
    return (
      JSON.stringify(value, (_key, member: unknown) =>
        typeof member === 'string' ? this.#nameOf(member) : member,
      ) ?? ''
    )
  }

  #add(id: string): void {
    if (id !== '' && !this.#names.has(id)) this.#names.set(id, `call ${this.#names.size + 1}`)
  }

  #nameOf(id: string): string {
    return this.#names.get(id) ?? id
  }
}
