import { isBaseMessage, mapStoredMessagesToChatMessages } from '@langchain/core/messages'
import type { StoredMessage } from '@langchain/core/messages'
import { toolNotGuardable } from '../../errors.js'

/** Stands for a message on a tape, which holds plain data. */
const MESSAGE = 'retake:message'

type Json = Readonly<Record<string, unknown>>

/** The output of a tool as a tape can hold it: messages in it as LangChain stores them. */
export const toTape = (tool: string, output: unknown): unknown =>
  mapped(output, (each) => {
    if (isBaseMessage(each)) return { [MESSAGE]: each.toDict() }
    if ('lg_name' in each && each.lg_name === 'Command')
      throw toolNotGuardable(tool, 'a tool that returns a Command of LangGraph')
    return undefined
  })

export const fromTape = (output: unknown): unknown =>
  mapped(output, (each) =>
    MESSAGE in each
      ? mapStoredMessagesToChatMessages([(each as Json)[MESSAGE] as StoredMessage])[0]
      : undefined,
  )

/** Replaces what `change` answers for, in lists and plain objects; everything else stays itself. */
function mapped(value: unknown, change: (each: object) => unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const changed = change(value)
  if (changed !== undefined) return changed
  if (Array.isArray(value)) return value.map((each) => mapped(each, change))
  if (Object.getPrototypeOf(value) !== Object.prototype) return value
  const entries = Object.entries(value).map(([key, each]) => [key, mapped(each, change)])
  return Object.fromEntries(entries) as unknown
}
