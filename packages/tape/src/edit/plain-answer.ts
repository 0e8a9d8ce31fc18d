import { answerFormat } from '../providers/find-provider.js'
import { isRecord, type JsonRecord } from '../providers/json-shape.js'
import { makeReply } from '../providers/reply.js'
import type { Exchange } from '../read-model/exchange.js'

/**
 * The recorded answer of a model with this text as its only output, and with
 * counts of 0; a made-up answer if none was recorded. `undefined` for an API
 * whose answers cannot be written.
 */
export const plainAnswer = (
  { api, request, response }: Exchange,
  recorded: unknown,
  text: string,
): unknown => {
  const format = answerFormat(api)
  if (format === undefined) return undefined
  const body = isRecord(request.json) ? request.json : {}
  const { model } = body
  const isAnswer = response !== undefined && response.status < 400 && isRecord(recorded)
  const encoded = format.encode(
    makeReply({ text }, { number: 0, promptText: '', ...(typeof model === 'string' && { model }) }),
    { number: 0, path: request.url, body, stream: false },
  )
  if (!isAnswer) return withoutCounts(encoded)
  const output = Object.entries(encoded).filter(([key]) => format.outputFields.includes(key))
  return withoutCounts({ ...recorded, ...Object.fromEntries(output) })
}

const COUNTS = ['usage', 'usageMetadata', 'eval_count', 'prompt_eval_count']

const withoutCounts = (answer: JsonRecord): JsonRecord =>
  Object.fromEntries(
    Object.entries(answer).map(([key, value]) => [
      key,
      COUNTS.includes(key) ? zeroed(value) : value,
    ]),
  )

const zeroed = (value: unknown): unknown => {
  if (typeof value === 'number') return 0
  if (Array.isArray(value)) return value.map(zeroed)
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, zeroed(each)]))
}
