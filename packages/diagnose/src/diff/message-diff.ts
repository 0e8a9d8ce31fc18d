import type { Message, MessagePart } from '@retake/tape'
import { hashText } from '../hash.js'
import { asJson, parsedText } from '../json-value.js'
import { align } from './align.js'
import { lazySketch, type Alignable } from './alignable.js'
import { diffJson, type ValueDiff } from './json-diff.js'

/** A difference between two conversations, and what tells it from others. */
export interface MessageDiff extends ValueDiff {
  /** Equal when the same difference shows again, further on in a conversation. */
  readonly key: string
}

/**
 * Differences between two lists of messages: messages put in or left out, and
 * what differs in those that are two versions of one. Numbers in paths count
 * in the first list, or in the second for what only stands there.
 */
export const diffMessages = (
  a: readonly Message[],
  b: readonly Message[],
  path: string,
): MessageDiff[] =>
  align(a.map(alignable), b.map(alignable)).flatMap((pair) => {
    const [left, right] = [pair.a, pair.b]
    const at = `${path}[${left ?? right ?? 0}]`
    if (left === undefined || right === undefined) {
      const message = left === undefined ? b[right ?? 0] : a[left]
      return message === undefined ? [] : [oneSided(message, at, left === undefined ? 'b' : 'a')]
    }
    const [one, other] = [a[left], b[right]]
    return one === undefined || other === undefined ? [] : diffParts(one, other, at)
  })

const oneSided = (message: Message, path: string, side: 'a' | 'b'): MessageDiff => ({
  path,
  [side]: message,
  key: `${side} ${message.parts.map(contentKey).join(' ')}`,
})

/** Parts are compared by place: a message has few. */
const diffParts = (a: Message, b: Message, path: string): MessageDiff[] => {
  const count = Math.max(a.parts.length, b.parts.length)
  return Array.from({ length: count }, (_, index) => index).flatMap((index) => {
    const [left, right] = [a.parts[index], b.parts[index]]
    const at = count === 1 ? path : `${path}.parts[${index}]`
    const key = `${keyOf(left)} → ${keyOf(right)}`
    return diffJson(partJson(left), partJson(right), at).map((diff) => ({ ...diff, key }))
  })
}

const keyOf = (part: MessagePart | undefined): string => (part ? contentKey(part) : 'nothing')

/** What a part says, whoever says it: the result of a tool and the message that reports it are the same news. */
const contentKey = (part: MessagePart): string => {
  switch (part.type) {
    case 'text':
      return newsKey(part.text)
    case 'tool_result':
      return newsKey(part.content)
    case 'tool_call':
      return newsKey([part.name, part.args])
    case 'reasoning':
    case 'image':
    case 'other':
      return newsKey(part)
  }
}

/** A short name for some content; JSON text and the value it stands for have the same. */
export const newsKey = (content: unknown): string => {
  const value = typeof content === 'string' ? (parsedText(content) ?? content) : asJson(content)
  return hashText(JSON.stringify(value) ?? '').toString(36)
}

const partJson = (part: MessagePart | undefined): unknown => {
  if (part === undefined) return undefined
  const { type, ...rest } = part
  return type === 'other' || type === 'image' ? { type, ...rest } : rest
}

const alignable = (message: Message): Alignable => {
  const text = JSON.stringify(message.parts)
  return {
    digest: hashText(message.role + text),
    family: message.role,
    sketch: lazySketch(() => text),
  }
}
