import type { Step } from '@retake/tape'
import type { DiffArea } from './diff-area.js'
import { diffJson, type ValueDiff } from './json-diff.js'
import { diffMessages, newsKey, type MessageDiff } from './message-diff.js'
import { contentOf, type Section, type StepContent } from './step-content.js'

/** One difference between two versions of a step. */
export interface FieldDiff extends ValueDiff {
  readonly area: DiffArea
  /** The same difference stood in an earlier step and is only carried along in the conversation. */
  readonly carried?: boolean
}

/**
 * Compares steps in order and remembers what it has reported: a changed tool
 * result stands in every later request, and should be read only once.
 */
export class StepComparer {
  readonly #reported = new Set<string>()

  compare(a: Step, b: Step): FieldDiff[] {
    const [left, right] = [contentOf(a), contentOf(b)]
    const fields = [
      ...diffSections(left.before, right.before),
      ...this.#conversation(left, right),
      ...this.#messages(left.answer, right.answer, 'answer'),
      ...diffSections(left.after, right.after),
    ]
    this.#rememberResults(left.after, right.after)
    return fields
  }

  /** A step on one side only: what it brings into the conversation is known from here on. */
  pass(step: Step, side: 'a' | 'b'): void {
    const { answer, after } = contentOf(step)
    for (const part of answer.flatMap(({ parts }) => parts)) {
      if (part.type === 'text') this.#reported.add(`${side} ${newsKey(part.text)}`)
    }
    for (const { path, value } of after) {
      if (path === 'result') this.#reported.add(`${side} ${newsKey(value)}`)
    }
    // The message that asks for tools holds nothing but its calls.
    const calls = callKeys(after)
    if (calls.length > 0) this.#reported.add(`${side} ${calls.join(' ')}`)
  }

  #conversation(a: StepContent, b: StepContent): FieldDiff[] {
    const messages = this.#messages(a.messages, b.messages, 'messages')
    if (messages.length > 0 || a.conversation === b.conversation) return messages
    const [left, right] = [a, b].map(
      ({ conversation }) => JSON.parse(conversation || '{}') as unknown,
    )
    return diffJson(left, right).map((diff) => ({ ...diff, area: 'messages' }))
  }

  #messages(a: StepContent['messages'], b: StepContent['messages'], path: string): FieldDiff[] {
    const diffs = diffMessages(a, b, path)
    // Looked up first and noted after: one part can differ in several places.
    const fields = diffs.map((diff) => this.#field(diff))
    for (const { key } of diffs) this.#reported.add(key)
    return fields
  }

  #field({ key, ...diff }: MessageDiff): FieldDiff {
    return { ...diff, area: 'messages', ...(this.#reported.has(key) && { carried: true }) }
  }

  #rememberResults(a: readonly Section[], b: readonly Section[]): void {
    const find = (sections: readonly Section[]): unknown =>
      sections.find(({ path }) => path === 'result')?.value
    this.#reported.add(`${newsKey(find(a))} → ${newsKey(find(b))}`)
    const [left, right] = [callKeys(a), callKeys(b)]
    for (const [index, key] of left.entries()) this.#reported.add(`${key} → ${right[index]}`)
  }
}

const callKeys = (sections: readonly Section[]): string[] => {
  const calls = sections.find(({ path }) => path === 'toolCalls')?.value
  if (!Array.isArray(calls)) return []
  return (calls as { name: string; args: unknown }[]).map(({ name, args }) => newsKey([name, args]))
}

const diffSections = (a: readonly Section[], b: readonly Section[]): FieldDiff[] => {
  const paths = new Map([...a, ...b].map(({ path, area }) => [path, area]))
  return [...paths].flatMap(([path, area]) => {
    const [left, right] = [a, b].map((side) => side.find((each) => each.path === path)?.value)
    return diffJson(left, right, path).map((diff) => ({ ...diff, area }))
  })
}
