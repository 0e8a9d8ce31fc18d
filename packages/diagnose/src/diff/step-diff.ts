import type { Step } from '@retake/tape'
import type { DiffArea } from './run-diff.js'
import { diffJson, type ValueDiff } from './json-diff.js'
import { aloneKey, contentKey, ConversationDiffer, pairKey } from './message-diff.js'
import { contentOf, type Section, type StepContent } from './step-content.js'

/** One difference between two versions of a step. */
export interface FieldDiff extends ValueDiff {
  readonly area: DiffArea
}

export interface FieldDiffs {
  readonly fields: readonly FieldDiff[]
  /** Paths of messages whose difference an earlier step has told. */
  readonly carried: readonly string[]
}

/**
 * Compares steps in order and remembers what it has told: a changed tool
 * result stands in every later request, and should be read only once.
 */
export class StepComparer {
  readonly #conversations = new ConversationDiffer()

  compare(a: Step, b: Step): FieldDiffs {
    const [left, right] = [contentOf(a), contentOf(b)]
    const messages = this.#conversations.diff(left.messages, right.messages, 'messages')
    const answer = this.#conversations.diff(left.answer, right.answer, 'answer')
    const isSame = messages.news.length === 0 && messages.carried.length === 0
    const fields = [
      ...diffSections(left.before, right.before),
      ...inMessages(messages.news),
      ...(isSame ? diffConversations(left, right) : []),
      ...inMessages(answer.news),
      ...diffSections(left.after, right.after),
    ]
    this.#reportResults(left.after, right.after)
    return { fields, carried: [...messages.carried, ...answer.carried] }
  }

  /** A step on one side only: what it brings into the conversation is known from here on. */
  pass(step: Step, side: 'a' | 'b'): void {
    const { answer, after } = contentOf(step)
    for (const part of answer.flatMap(({ parts }) => parts)) {
      if (part.type === 'text') this.#conversations.report(aloneKey(side, [contentKey(part.text)]))
    }
    const result = valueOf(after, 'result')
    if (result !== undefined) this.#conversations.report(aloneKey(side, [contentKey(result)]))
    // The message that asks for tools holds nothing but its calls.
    const calls = callKeys(after)
    if (calls.length > 0) this.#conversations.report(aloneKey(side, calls))
  }

  #reportResults(a: readonly Section[], b: readonly Section[]): void {
    const [left, right] = [a, b].map((side) => contentKey(valueOf(side, 'result')))
    this.#conversations.report(pairKey(left ?? '', right ?? ''))
    const others = callKeys(b)
    for (const [index, key] of callKeys(a).entries()) {
      this.#conversations.report(pairKey(key, others[index] ?? 'nothing'))
    }
  }
}

/** Where two conversations that read the same were sent in different form. */
const diffConversations = (a: StepContent, b: StepContent): FieldDiff[] => {
  if (a.conversation === b.conversation) return []
  const [left, right] = [a, b].map(
    ({ conversation }) => JSON.parse(conversation || '{}') as unknown,
  )
  return inMessages(diffJson(left, right))
}

const inMessages = (diffs: readonly ValueDiff[]): FieldDiff[] =>
  diffs.map((diff) => ({ ...diff, area: 'messages' }))

const valueOf = (sections: readonly Section[], wanted: string): unknown =>
  sections.find(({ path }) => path === wanted)?.value

const callKeys = (sections: readonly Section[]): string[] => {
  const calls = valueOf(sections, 'toolCalls')
  if (!Array.isArray(calls)) return []
  return (calls as { name: string; args: unknown }[]).map(({ name, args }) =>
    contentKey([name, args]),
  )
}

const diffSections = (a: readonly Section[], b: readonly Section[]): FieldDiff[] => {
  const paths = new Map([...a, ...b].map(({ path, area }) => [path, area]))
  return [...paths].flatMap(([path, area]) =>
    diffJson(valueOf(a, path), valueOf(b, path), path).map((diff) => ({ ...diff, area })),
  )
}
