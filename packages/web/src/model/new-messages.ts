import { type Message, type RunView, type Step, hashText, setNewest } from '@retake/tape'
import type { Conversation } from './run-source.js'

/** Limits for earlier steps: model steps to compare, and steps to search. */
const COMPARED_STEPS = 6
const SEARCHED_STEPS = 1000
const CACHED_MAX = 64

interface Said {
  /** Digests of the messages, and of the answer. */
  readonly digests: readonly string[]
  readonly sent: number
  /** Instructions are the same in many conversations and do not identify one. */
  readonly isInstruction: readonly boolean[]
}

export type NewMessages = Pick<Conversation, 'newFrom' | 'seenIn'>

/**
 * Finds the new messages of a request. Compares it with the earlier step that it continues, including
 * the answer. Steps of the same lane come first. A shortened history is compared message by message.
 */
export class NewMessageFinder {
  readonly #steps: readonly Step[]
  readonly #cached = new Map<string, Said>()

  constructor({ recordedSteps }: RunView) {
    this.#steps = recordedSteps
  }

  /**
   * The index of the first new message, and the earlier step that the conversation continues; 0 and no
   * step if there is none.
   */
  of(step: Step): NewMessages {
    const { digests, sent, isInstruction } = this.#said(step)
    const own = digests.slice(0, sent)
    let best: NewMessages = { newFrom: 0 }
    // Earlier model steps, nearest first; those of the same lane before all others.
    const inLane: Step[] = []
    const others: Step[] = []
    // Steps are numbered from 1, in this order.
    const last = step.number - 2
    for (let index = last; index >= Math.max(0, last - SEARCHED_STEPS); index--) {
      const earlier = this.#steps[index]
      if (earlier === undefined || inLane.length === COMPARED_STEPS) break
      const side = earlier.lane === step.lane ? inLane : others
      if (side.length < COMPARED_STEPS && earlier.kind === 'model') side.push(earlier)
    }
    for (const earlier of [...inLane, ...others]) {
      const before = this.#said(earlier)
      let shared = 0
      while (shared < own.length && own[shared] === before.digests[shared]) shared++
      if (shared >= before.sent && before.isInstruction.includes(false))
        return { newFrom: shared, seenIn: earlier.label }
      const had = new Set(before.digests)
      const isSame = own.some((digest, index) => isInstruction[index] === false && had.has(digest))
      if (!isSame) continue
      const first = own.findIndex((digest, index) => index >= shared && !had.has(digest))
      const newFrom = first < 0 ? sent : first
      if (newFrom > best.newFrom) best = { newFrom, seenIn: earlier.label }
    }
    return best
  }

  #said(step: Step): Said {
    const known = this.#cached.get(step.label)
    if (known !== undefined) return known
    const sent = step.messages()
    const said: Said = {
      digests: [...sent, ...step.answer()].map(messageDigest),
      sent: sent.length,
      isInstruction: sent.map(isInstruction),
    }
    setNewest(this.#cached, step.label, said, CACHED_MAX)
    return said
  }
}

const isInstruction = ({ role }: Message): boolean => role === 'system' || role === 'developer'

/**
 * A hash for comparing messages without storing them. Ignores reasoning, because clients may send an
 * answer back without it. Not collision-resistant.
 */
export function messageDigest({ role, parts }: Message): string {
  const said = parts.filter((part) => part.type !== 'reasoning')
  return textDigest(JSON.stringify([role, said]))
}

export const textDigest = (text: string): string => hashText(text).toString(36)
