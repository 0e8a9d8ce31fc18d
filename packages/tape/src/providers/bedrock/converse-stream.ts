import {
  countOf,
  isRecord,
  type JsonRecord,
  parseArguments,
  recordOf,
  recordsOf,
  textOf,
} from '../../values/json-shape.js'
import type { StreamEvent, StreamOptions } from '../provider.js'
import { textPieces, type CutText } from '../reply.js'
import { eventFrameBytes } from '../../http/event-frames.js'

/** Events of a stream in which Bedrock reports a failure. */
export const isException = (event: string): boolean =>
  event === 'error' || /exception$/i.test(event)

/** An event of Bedrock, such as `contentBlockDelta`, or an exception, as its server sends it. */
export const bedrockFrame = ({ event = '', data }: StreamEvent): Uint8Array => {
  const isFailure = /exception$/i.test(event)
  return eventFrameBytes(
    {
      [isFailure ? ':exception-type' : ':event-type']: event,
      ':content-type': 'application/json',
      ':message-type': isFailure ? 'exception' : 'event',
    },
    JSON.stringify(data),
  )
}

/** Said when a message stops; all else about it comes after, with the counts. */
const AT_STOP = ['stopReason', 'additionalModelResponseFields']

/** An answer of Bedrock's Converse API as the events of a stream. */
export const restreamConverse = (
  answer: JsonRecord,
  { cut = textPieces }: StreamOptions,
): StreamEvent[] => {
  const { output, error, ...rest } = answer
  const { role, content } = recordOf(recordOf(output)['message'])
  const ended = Object.entries(rest)
  const pick = (isWanted: (key: string) => boolean): JsonRecord =>
    Object.fromEntries(ended.filter(([key]) => isWanted(key)))
  const events: StreamEvent[] = [
    { event: 'messageStart', data: { role } },
    ...recordsOf(content).flatMap((block, index) => blockEvents(block, index, cut)),
  ]
  const failed = recordOf(error)
  if (isRecord(error)) {
    const { type, ...said } = failed
    events.push({
      event: typeof type === 'string' ? type : 'modelStreamErrorException',
      data: said,
    })
  } else {
    const counts = pick((key) => !AT_STOP.includes(key))
    events.push({ event: 'messageStop', data: pick((key) => AT_STOP.includes(key)) })
    if (Object.keys(counts).length > 0) events.push({ event: 'metadata', data: counts })
  }
  return events
}

const blockEvents = (block: JsonRecord, contentBlockIndex: number, cut: CutText): StreamEvent[] => {
  const { start, deltas } = streamedBlock(block, cut)
  return [
    ...(start === undefined
      ? []
      : [{ event: 'contentBlockStart', data: { contentBlockIndex, start } }]),
    ...deltas.map((delta) => ({
      event: 'contentBlockDelta',
      data: { contentBlockIndex, delta },
    })),
    { event: 'contentBlockStop', data: { contentBlockIndex } },
  ]
}

/** Only a call of a tool is announced; a kind that is not known comes whole. */
const streamedBlock = (
  block: JsonRecord,
  cut: CutText,
): { start?: JsonRecord; deltas: readonly JsonRecord[] } => {
  const { text, toolUse, reasoningContent } = block
  if (typeof text === 'string')
    return { deltas: (text === '' ? [''] : cut(text)).map((piece) => ({ text: piece })) }
  if (isRecord(toolUse)) {
    const { input, ...known } = toolUse
    const pieces = cut(JSON.stringify(input ?? {}))
    return {
      start: { toolUse: known },
      deltas: pieces.map((piece) => ({ toolUse: { input: piece } })),
    }
  }
  const thought = recordOf(recordOf(reasoningContent)['reasoningText'])
  const { text: thinking, ...signed } = thought
  if (typeof thinking === 'string') {
    const pieces: JsonRecord[] = cut(thinking).map((piece) => ({ text: piece }))
    const isSigned = Object.keys(signed).length > 0
    const parts = [...pieces, ...(isSigned ? [signed] : [])]
    return {
      deltas: (parts.length === 0 ? [{ text: '' }] : parts).map((part) => ({
        reasoningContent: part,
      })),
    }
  }
  return { deltas: [block] }
}

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
