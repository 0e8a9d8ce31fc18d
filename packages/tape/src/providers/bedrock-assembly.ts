import { countOf, parseArguments, recordOf, textOf, type JsonRecord } from './json-shape.js'

type Draft = Record<string, unknown>

/** One event of a conversation streamed by Bedrock: its name, and what it says. */
export type ConverseEvent = readonly [name: string, value: JsonRecord]

/** Adds the events of a stream up to the answer that Converse would have given whole. */
export const assembleConverse = (events: readonly ConverseEvent[]): JsonRecord => {
  const blocks = new Map<number, Draft>()
  const answer: Draft = {}
  let role = 'assistant'
  for (const [name, value] of events) {
    const index = countOf(value['contentBlockIndex']) ?? 0
    const block = blocks.get(index) ?? {}
    switch (name) {
      case 'messageStart':
        role = textOf(value['role'])
        break
      case 'contentBlockStart':
        blocks.set(index, { ...recordOf(value['start']) })
        break
      case 'contentBlockDelta':
        blocks.set(index, block)
        extendBlock(block, recordOf(value['delta']))
        break
      case 'messageStop':
      case 'metadata':
        Object.assign(answer, value)
        break
    }
  }
  const ordered = [...blocks.entries()].toSorted(([left], [right]) => left - right)
  const content = ordered.map(([, block]) => closeBlock(block))
  // Padding says nothing.
  const { p: _, ...ended } = answer
  return { output: { message: { role, content } }, ...ended }
}

const extendBlock = (block: Draft, delta: JsonRecord): void => {
  const { text, toolUse, reasoningContent } = delta
  if (typeof text === 'string') block['text'] = textOf(block['text']) + text
  else if (toolUse !== undefined) {
    const { input, ...known } = recordOf(block['toolUse'])
    const piece = recordOf(toolUse)['input']
    block['toolUse'] = { ...known, input: textOf(input) + textOf(piece) }
  } else if (reasoningContent !== undefined) extendReasoning(block, recordOf(reasoningContent))
  else Object.assign(block, delta)
}

/** A thought comes as text in pieces, then its signature; or redacted as a whole. */
const extendReasoning = (block: Draft, { text, ...others }: JsonRecord): void => {
  if (others['redactedContent'] !== undefined) {
    block['reasoningContent'] = others
    return
  }
  const known = recordOf(recordOf(block['reasoningContent'])['reasoningText'])
  block['reasoningContent'] = {
    reasoningText: { ...known, ...others, text: textOf(known['text']) + textOf(text) },
  }
}

/** Input that streamed in as text is parsed; input that came whole stays. */
const closeBlock = (block: JsonRecord): JsonRecord => {
  const toolUse = recordOf(block['toolUse'])
  return typeof toolUse['input'] === 'string'
    ? { ...block, toolUse: { ...toolUse, input: parseArguments(toolUse['input']) } }
    : block
}
