import type { Message, MessagePart } from '../providers/specification/message.js'
import { hashText } from '../format/values/hash-text.js'
import { asJson, parseContainer } from './json-value.js'
import { align } from './align.js'
import { lazySketch, type Alignable } from './align.js'
import { diffJson, type ValueDiff } from './json-diff.js'

export interface MessageDiff {
  readonly news: readonly ValueDiff[]
  /** Paths of messages whose difference was already reported. */
  readonly carried: readonly string[]
}

/**
 * Compares growing conversations, in which a difference reappears in every later request. Reports
 * each difference once, and remembers matching and unmatched messages.
 */
export class ConversationDiffer {
  readonly #reported = new Set<string>()
  /** Maps digests of messages in the second run to their counterparts in the first. */
  readonly #partners = new Map<number, number>()
  readonly #alone = { a: new Set<number>(), b: new Set<number>() }

  /** Marks a difference as reported elsewhere; see `pairKey` and `aloneKey`. */
  report(key: string): void {
    this.#reported.add(key)
  }

  /** Indexes in paths refer to the first list, or to the second for items that exist only there. */
  diff(a: readonly Message[], b: readonly Message[], path: string): MessageDiff {
    const news: ValueDiff[] = []
    const carried: string[] = []
    const [left, right] = [a.map(positioned), b.map(positioned)]
    const inB = new Set(right.map(({ digest }) => this.#partners.get(digest) ?? digest))
    const inA = new Set(left.map(({ digest }) => digest))
    const isAloneInA = ({ digest }: PositionedMessage): boolean =>
      this.#alone.a.has(digest) && !inB.has(digest)
    const isAloneInB = ({ digest }: PositionedMessage): boolean =>
      this.#alone.b.has(digest) && !inA.has(this.#partners.get(digest) ?? digest)
    const at = ({ index }: PositionedMessage): string => `${path}[${index}]`
    carried.push(...left.filter(isAloneInA).map(at), ...right.filter(isAloneInB).map(at))
    const [ones, others] = [
      left.filter((each) => !isAloneInA(each)),
      right.filter((each) => !isAloneInB(each)),
    ]
    for (const pair of align(
      ones,
      others.map((each) => {
        const partner = this.#partners.get(each.digest)
        return partner === undefined ? each : { ...each, digest: partner }
      }),
    )) {
      const one = pair.a === undefined ? undefined : ones[pair.a]
      const other = pair.b === undefined ? undefined : others[pair.b]
      if (one?.digest === other?.digest) continue
      const entry = (one ?? other) as PositionedMessage
      const found =
        one && other
          ? this.#pair(one, other, at(one))
          : this.#single(entry, one === undefined ? 'b' : 'a', at(entry))
      if (found.length === 0) carried.push(at(entry))
      else news.push(...found)
    }
    return { news, carried }
  }

  /** Differences between two versions of a message, unless already reported. */
  #pair(one: PositionedMessage, other: PositionedMessage, path: string): ValueDiff[] {
    if (this.#partners.get(other.digest) === one.digest) return []
    this.#partners.set(other.digest, one.digest)
    const [a, b] = [one.message.parts, other.message.parts]
    const count = Math.max(a.length, b.length)
    const keys = new Set<string>()
    const news = Array.from({ length: count }, (_, index) => index).flatMap((index) => {
      const key = pairKey(keyOf(a[index]), keyOf(b[index]))
      keys.add(key)
      if (this.#reported.has(key)) return []
      const at = count === 1 ? path : `${path}.parts[${index}]`
      return diffJson(partJson(a[index]), partJson(b[index]), at)
    })
    for (const key of keys) this.#reported.add(key)
    return news
  }

  /** A message on one side only, unless already reported. */
  #single({ digest, message }: PositionedMessage, side: 'a' | 'b', path: string): ValueDiff[] {
    this.#alone[side].add(digest)
    const key = aloneKey(side, message.parts.map(keyOf))
    if (this.#reported.has(key)) return []
    this.#reported.add(key)
    return [{ path, [side]: message }]
  }
}

interface PositionedMessage extends Alignable {
  readonly index: number
  readonly message: Message
}

const positioned = (message: Message, index: number): PositionedMessage => {
  const text = JSON.stringify(message.parts)
  return {
    index,
    message,
    digest: hashText(message.role + text),
    family: message.role,
    sketch: lazySketch(() => text),
  }
}

export const pairKey = (a: string, b: string): string => `${a} → ${b}`

export const aloneKey = (side: 'a' | 'b', contents: readonly string[]): string =>
  `${side} ${contents.join(' ')}`

/** A short key for content; JSON text and its parsed value have the same key. */
export const contentKey = (content: unknown): string => {
  const value = typeof content === 'string' ? (parseContainer(content) ?? content) : asJson(content)
  return hashText(JSON.stringify(value) ?? '').toString(36)
}

/** Ignores the speaker: a tool result and the message that reports it are the same difference. */
const keyOf = (part: MessagePart | undefined): string => {
  switch (part?.type) {
    case undefined:
      return 'nothing'
    case 'text':
      return contentKey(part.text)
    case 'tool_result':
      return contentKey(part.content)
    case 'tool_call':
      return contentKey([part.name, part.args])
    case 'reasoning':
    case 'image':
    case 'other':
      return contentKey(part)
  }
}

const partJson = (part: MessagePart | undefined): unknown => {
  if (part === undefined) return undefined
  const { type, ...rest } = part
  return type === 'other' || type === 'image' ? part : rest
}
