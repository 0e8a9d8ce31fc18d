import { fileNotJson } from '../format/errors.js'
import type { Step } from '../read-model/step.js'
import { answerFormat } from '../providers/find-provider.js'
import { mcpPayload, wholeMcpAnswer } from './mcp-answer.js'
import { bodyPayload, type Payload } from './payload.js'

/**
 * The payload of a file that stands in for the whole answer of a step: JSON
 * where the recorded answer is JSON, a message of a model or the result of a
 * tool; else the bytes as they are.
 */
export const wholeResponse = (step: Step, bytes: Uint8Array): Payload => {
  if (mcpPayload(step) !== undefined) return wholeMcpAnswer(step, parse(bytes))
  const exchange = step.exchange()
  if (exchange === undefined) return { kind: 'result', data: parse(bytes) }
  const { api, response } = exchange
  if (answerFormat(api) !== undefined || response?.json !== undefined)
    return { kind: 'json', data: parse(bytes) }
  return bodyPayload({ body: bytes, text: utf8(bytes), json: undefined })
}

const parse = (bytes: Uint8Array): unknown => {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown
  } catch (cause) {
    throw fileNotJson(cause)
  }
}

const utf8 = (bytes: Uint8Array): string | undefined => {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}
