import { isBaseMessage, mapStoredMessagesToChatMessages } from '@langchain/core/messages'
import type { StoredMessage } from '@langchain/core/messages'

/** Stand for what is more than plain data, on a tape. */
const MESSAGE = 'retake:message'
const COMMAND = 'retake:command'

type Json = Readonly<Record<string, unknown>>

/** A `Command` or `Send` of LangGraph, by the mark it carries. */
interface GraphObject {
  readonly lg_name?: unknown
  readonly toJSON?: () => object
}

/** The output of a tool as a tape can hold it: messages in it, and what it tells a graph to do. */
export const toTape = (output: unknown): unknown =>
  mapped(output, (each) => {
    if (isBaseMessage(each)) return { [MESSAGE]: each.toDict() }
    const { lg_name: mark, toJSON } = each as GraphObject
    if (toJSON === undefined || (mark !== 'Command' && mark !== 'Send')) return undefined
    const written = toTape({ ...toJSON.call(each) })
    return mark === 'Command' ? { [COMMAND]: written } : written
  })

/** The output of a tool, from a tape. LangGraph is only needed where a tool has used it. */
export async function fromTape(output: unknown): Promise<unknown> {
  let holdsCommand = false
  const plain = mapped(output, (each) => {
    if (COMMAND in each) holdsCommand = true
    return MESSAGE in each
      ? mapStoredMessagesToChatMessages([(each as Json)[MESSAGE] as StoredMessage])[0]
      : undefined
  })
  if (!holdsCommand) return plain
  const { Command } = await import('@langchain/langgraph')
  return mapped(plain, (each) =>
    COMMAND in each ? new Command((each as Json)[COMMAND] as object) : undefined,
  )
}

/** What a tool throws to hold a graph, as LangGraph knows it: a tape has its name and its data. */
export async function asGraphError(error: unknown): Promise<unknown> {
  if (!(error instanceof Error) || error.name !== 'GraphInterrupt') return error
  const { GraphInterrupt } = await import('@langchain/langgraph')
  return error instanceof GraphInterrupt
    ? error
    : (Object.setPrototypeOf(error, GraphInterrupt.prototype) as unknown)
}

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
