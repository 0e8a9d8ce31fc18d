import type { Message, MessagePart } from '@retake/tape'

/**
 * Ids of tool calls are new in every run and say nothing but which result
 * belongs to which call. Two conversations are compared with their ids numbered
 * in order of appearance.
 */
export const numberIds = (messages: readonly Message[], value: unknown): string => {
  const names = new Map<string, string>()
  for (const { parts } of messages) {
    for (const part of parts) {
      if (!('id' in part) || part.id === '' || names.has(part.id)) continue
      names.set(part.id, `call ${names.size + 1}`)
    }
  }
  const replace = (_key: string, member: unknown): unknown =>
    typeof member === 'string' ? (names.get(member) ?? member) : member
  return JSON.stringify(value, names.size === 0 ? undefined : replace)
}

/** Messages for reading, where ids do not matter. */
export const withoutIds = (messages: readonly Message[]): Message[] =>
  messages.map(({ role, parts }) => ({
    role,
    parts: parts.map((part): MessagePart => ('id' in part ? { ...part, id: '' } : part)),
  }))
