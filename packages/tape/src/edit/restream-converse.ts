import {
  isRecord,
  parseJson,
  recordOf,
  recordsOf,
  type JsonRecord,
} from '../providers/json-shape.js'
import { bedrockEvent } from './bedrock-event.js'
import { textPieces } from './text-pieces.js'

/** Said when a message stops; all else about it comes after, with the counts. */
const AT_STOP = ['stopReason', 'additionalModelResponseFields']

/**
 * An answer of Bedrock's Converse API as the events of a stream, each written
 * as `{"<event>":{…}}`; `frameConverse` makes the message of it that is sent.
 */
export const restreamConverse = (answer: JsonRecord): string[] => {
  const { output, error, ...rest } = answer
  const { role, content } = recordOf(recordOf(output)['message'])
  const ended = Object.entries(rest)
  const pick = (isWanted: (key: string) => boolean): JsonRecord =>
    Object.fromEntries(ended.filter(([key]) => isWanted(key)))
  const events: JsonRecord[] = [
    { messageStart: { role } },
    ...recordsOf(content).flatMap((block, index) => blockEvents(block, index)),
  ]
  const failed = recordOf(error)
  if (isRecord(error)) {
    const { type, ...said } = failed
    events.push({ [typeof type === 'string' ? type : 'modelStreamErrorException']: said })
  } else {
    const counts = pick((key) => !AT_STOP.includes(key))
    events.push({ messageStop: pick((key) => AT_STOP.includes(key)) })
    if (Object.keys(counts).length > 0) events.push({ metadata: counts })
  }
  return events.map((event) => JSON.stringify(event))
}

const blockEvents = (block: JsonRecord, contentBlockIndex: number): JsonRecord[] => {
  const { start, deltas } = streamedBlock(block)
  return [
    ...(start === undefined ? [] : [{ contentBlockStart: { contentBlockIndex, start } }]),
    ...deltas.map((delta) => ({ contentBlockDelta: { contentBlockIndex, delta } })),
    { contentBlockStop: { contentBlockIndex } },
  ]
}

/** Only a call of a tool is announced; a kind that is not known comes whole. */
const streamedBlock = (
  block: JsonRecord,
): { start?: JsonRecord; deltas: readonly JsonRecord[] } => {
  const { text, toolUse, reasoningContent } = block
  if (typeof text === 'string')
    return { deltas: (text === '' ? [''] : textPieces(text)).map((piece) => ({ text: piece })) }
  if (isRecord(toolUse)) {
    const { input, ...known } = toolUse
    const pieces = textPieces(JSON.stringify(input ?? {}))
    return {
      start: { toolUse: known },
      deltas: pieces.map((piece) => ({ toolUse: { input: piece } })),
    }
  }
  const thought = recordOf(recordOf(reasoningContent)['reasoningText'])
  const { text: thinking, ...signed } = thought
  if (typeof thinking === 'string') {
    const pieces: JsonRecord[] = textPieces(thinking).map((piece) => ({ text: piece }))
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

/** The message of an event stream for one event, with checksums. */
export const frameConverse = (text: string): Uint8Array => {
  const [[event, value] = ['', {}]] = Object.entries(recordOf(parseJson(text)))
  return bedrockEvent(event, value)
}
