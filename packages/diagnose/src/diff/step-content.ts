import type { CallDetail, Exchange, Message, MessagePart, Step } from '@retake/tape'
import { hashBytes } from '../hash.js'
import { asJson, utf8 } from '../json-value.js'
import { isRecord } from '@retake/tape'
import type { DiffArea } from './run-diff.js'
import { toolsByName } from './tool-list-diff.js'

/**
 * Ids of tool calls are new in every run and say nothing but which result
 * belongs to which call. Two conversations are compared with their ids numbered
 * in order of appearance.
 */
const numberIds = (messages: readonly Message[], value: unknown): string => {
  const names = new Map<string, string>()
  for (const { parts } of messages) {
    for (const part of parts) {
      if (!('id' in part) || part.id === '' || names.has(part.id)) continue
      names.set(part.id, `call ${names.size + 1}`)
    }
  }
  const replace = (_key: string, member: unknown): unknown =>
    typeof member === 'string' ? (names.get(member) ?? member) : member
  return JSON.stringify(value, names.size === 0 ? undefined : replace)
}

/** Messages for reading, where ids do not matter. */
const withoutIds = (messages: readonly Message[]): Message[] =>
  messages.map(({ role, parts }) => ({
    role,
    parts: parts.map((part): MessagePart => ('id' in part ? { ...part, id: '' } : part)),
  }))

/** One named value of a step. */
export interface Section {
  readonly area: DiffArea
  readonly path: string
  readonly value: unknown
}

/**
 * All of a step that is compared, in the order things happened. Left out, since
 * they differ between any two runs and mean nothing: headers, ids that the
 * provider makes up, times, and the port of a server on this machine.
 */
export interface StepContent {
  /** Before the conversation: where to, with what settings. */
  readonly before: readonly Section[]
  readonly messages: readonly Message[]
  /** The conversation as it was sent, ids numbered; finer than `messages`. */
  readonly conversation: string
  readonly answer: readonly Message[]
  /** After it: tool calls, status, result, usage. */
  readonly after: readonly Section[]
}

export const contentOf = (step: Step): StepContent => {
  // A request to an MCP server is compared by its message, whatever carries it.
  const exchange = step.kind === 'model' || step.kind === 'http' ? step.exchange() : undefined
  if (exchange !== undefined) {
    return step.kind === 'model' ? modelContent(step, exchange) : httpContent(step, exchange)
  }
  const call = step.call()
  return {
    before: call === undefined ? [] : argumentSections(step, call),
    messages: [],
    conversation: '',
    answer: [],
    after: [...(call === undefined ? [] : resultSections(call)), ...stateSections(step)],
  }
}

/** Keys of a request that hold the conversation, over all providers. */
const CONVERSATION = new Set(['messages', 'input', 'system', 'instructions', 'contents'])

const modelContent = (step: Step, exchange: Exchange): StepContent => {
  const body = isRecord(exchange.request.json) ? Object.entries(exchange.request.json) : []
  const isSaid = ([key]: [string, unknown]): boolean => CONVERSATION.has(key)
  const { usage } = exchange
  return {
    before: [
      section('requests', 'url', comparableUrl(exchange.request.url)),
      ...body.filter((entry) => !isSaid(entry)).map(([k, v]) => section('requests', k, v)),
      // What is no JSON object is compared as a whole.
      ...(body.length === 0 ? [section('requests', 'request', bodyValue(exchange.request))] : []),
    ],
    messages: withoutIds(exchange.messages),
    conversation: numberIds(exchange.messages, Object.fromEntries(body.filter(isSaid))),
    answer: withoutIds(exchange.answer).map(({ role, parts }) => ({
      role,
      parts: parts.filter(({ type }) => type !== 'tool_call'),
    })),
    after: [
      section(
        'tools',
        'toolCalls',
        exchange.toolCalls.map(({ name, args }) => ({ name, args })),
      ),
      section('requests', 'answer.model', exchange.model),
      section('requests', 'status', exchange.response?.status),
      section('requests', 'finishReason', exchange.finishReason),
      ...stateSections(step),
      section('usage', 'usage', usage === undefined ? undefined : { ...usage }),
      section('usage', 'costUsd', step.costUsd),
    ],
  }
}

const httpContent = (step: Step, { request, response }: Exchange): StepContent => ({
  before: [
    section('requests', 'method', request.method),
    section('requests', 'url', comparableUrl(request.url)),
    section('requests', 'request', bodyValue(request)),
  ],
  messages: [],
  conversation: '',
  answer: [],
  after: [
    section('requests', 'status', response?.status),
    section('requests', 'response', response === undefined ? undefined : bodyValue(response)),
    ...stateSections(step),
  ],
})

const argumentSections = (step: Step, { name, args }: CallDetail): Section[] => [
  section('tools', 'name', name),
  section('tools', 'args', step.kind === 'process' ? (asJson(args) ?? step.title) : asJson(args)),
]

/** A list of tools is compared by their names: their order means nothing. */
const byName = (result: unknown, method: string): unknown =>
  method === 'tools/list' && isRecord(result) && Array.isArray(result['tools'])
    ? { ...result, tools: Object.fromEntries(toolsByName(result['tools'])) }
    : result

const resultSections = ({ name, result, output }: CallDetail): Section[] => {
  const pipes = [...new Set(output.map(({ pipe }) => pipe))].toSorted((a, b) => a - b)
  return [
    ...pipes.map((pipe) => section('output', pipeName(pipe), textOfPipe(output, pipe))),
    section('tools', 'result', asJson(byName(result, name))),
  ]
}

const pipeName = (pipe: number): string => ({ 1: 'stdout', 2: 'stderr' })[pipe] ?? `pipe ${pipe}`

const textOfPipe = (output: CallDetail['output'], pipe: number): string => {
  const decoder = new TextDecoder()
  const pieces = output.filter((piece) => piece.pipe === pipe)
  return pieces.map(({ bytes }) => decoder.decode(bytes, { stream: true })).join('')
}

const stateSections = ({ kind, state, error }: Step): Section[] => {
  const area = kind === 'model' || kind === 'http' || kind === 'mark' ? 'requests' : 'tools'
  return [section(area, 'state', state), section(area, 'error', error)]
}

const section = (area: DiffArea, path: string, value: unknown): Section => ({ area, path, value })

const bodyValue = ({ body, json }: { body: Uint8Array; json: unknown }): unknown => {
  if (json !== undefined) return json
  if (body.length === 0) return undefined
  return utf8(body) ?? `(${body.length} bytes, ${hashBytes(body).toString(16)})`
}

/** A URL without the port of a server on this machine, which is often taken by chance. */
export const comparableUrl = (url: string): string =>
  url.replace(/^(\w+:\/\/(?:127\.0\.0\.1|localhost|\[::1\])):\d+/, '$1')
