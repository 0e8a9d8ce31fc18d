import type { CallDetail, Step } from '../read-model/step.js'
import type { Exchange } from '../read-model/exchange.js'
import { isRecord } from '../format/values/json-shape.js'
import { type Message, type MessagePart, messageText } from '../providers/specification/message.js'
import { utf8 } from '../format/values/bytes.js'
import { hashBytes, hashText } from '../format/values/hash-text.js'
import { conversationMembers } from '../providers/find-provider.js'
import { asJson } from './json-value.js'
import type { DiffArea } from './run-diff.js'
import { toolsByName } from './tool-list-diff.js'
import { type Alignable, lazySketch } from './align.js'
import { diffJson, type ValueDiff } from './json-diff.js'
import { aloneKey, contentKey, ConversationDiffer, pairKey } from './message-diff.js'

export interface FieldDiff extends ValueDiff {
  readonly area: DiffArea
}

export interface FieldDiffs {
  readonly fields: readonly FieldDiff[]
  /** Paths of messages whose difference an earlier step reported. */
  readonly carried: readonly string[]
  /** True if the requests are the same. */
  readonly isInAnswerOnly: boolean
}

/**
 * Compares steps in order and reports each difference once: a changed tool result is part of every
 * later request, but should be read only once.
 */
export class StepComparer {
  readonly #conversations = new ConversationDiffer()

  compare(a: Step, b: Step): FieldDiffs {
    const [left, right] = [contentOf(a), contentOf(b)]
    const messages = this.#conversations.diff(left.messages, right.messages, 'messages')
    const answer = this.#conversations.diff(left.answer, right.answer, 'answer')
    // Conversations with equal text may differ in form.
    const isSameText = messages.news.length === 0 && messages.carried.length === 0
    const [ours, theirs] =
      isSameText && left.conversation !== right.conversation
        ? [left, right].map(({ conversation }) => JSON.parse(conversation || '{}') as unknown)
        : []
    const inRequest = [
      ...diffSections(left.before, right.before),
      ...inMessages(messages.news),
      ...inMessages(diffJson(ours, theirs)),
    ]
    const inAnswer = [...inMessages(answer.news), ...diffSections(left.after, right.after)]
    const results = [left, right].map(({ after }) => contentKey(valueOf(after, 'result')))
    this.#conversations.report(pairKey(results[0] ?? '', results[1] ?? ''))
    const others = callKeys(right.after)
    for (const [index, key] of callKeys(left.after).entries())
      this.#conversations.report(pairKey(key, others[index] ?? 'nothing'))
    return {
      fields: [...inRequest, ...inAnswer],
      carried: [...messages.carried, ...answer.carried],
      isInAnswerOnly: inRequest.length === 0 && messages.carried.length === 0,
    }
  }

  /** Skips a step on one side only: its contribution to the conversation counts as reported. */
  pass(step: Step, side: 'a' | 'b'): void {
    const { answer, after } = contentOf(step)
    for (const part of answer.flatMap(({ parts }) => parts)) {
      if (part.type === 'text') this.#conversations.report(aloneKey(side, [contentKey(part.text)]))
    }
    const result = valueOf(after, 'result')
    if (result !== undefined) this.#conversations.report(aloneKey(side, [contentKey(result)]))
    // The message that requests tools contains only its calls.
    const calls = callKeys(after)
    if (calls.length > 0) this.#conversations.report(aloneKey(side, calls))
  }
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

/** A step as `align` sees it. Does not store the content, because conversations are long. */
export interface StepProfile extends Alignable {
  readonly step: Step
}

export const profileOf = (step: Step): StepProfile => {
  const { before, messages, conversation, answer, after } = contentOf(step)
  // Words that distinguish a step from its neighbours. In a conversation these are the new words,
  // because most of a request repeats earlier ones.
  const values = [...before, ...after]
    .filter(({ area, path }) => area !== 'usage' && path !== 'state' && path !== 'tools')
    .map(({ value }) => JSON.stringify(value) ?? '')
  const words = [...messages.slice(-2), ...answer].map(wordsOfMessage).concat(values).join(' ')
  return {
    step,
    digest: hashText(
      JSON.stringify([
        step.kind,
        step.kind === 'mark' ? step.title : '',
        before,
        // The conversation as sent includes everything in the messages.
        conversation === '{}' || conversation === '' ? messages : conversation,
        answer,
        after,
      ]),
    ),
    family: familyOf(step, before),
    sketch: lazySketch(() => words),
  }
}

/** Profile of a step that both runs share. Does not read the step. */
export const sharedProfile = (step: Step): StepProfile => ({
  step,
  digest: -1 - hashText(step.label),
  family: 'shared',
  sketch: () => new Int32Array(),
})

const familyOf = (step: Step, before: StepContent['before']): string => {
  const textOf = (wanted: string): string => {
    const value = valueOf(before, wanted)
    return typeof value === 'string' ? value : ''
  }
  switch (step.kind) {
    case 'model':
      return 'model'
    case 'tool':
      return `tool ${textOf('name')}`
    case 'mcp':
      return `mcp ${textOf('name')}`
    case 'process':
      return `process ${step.title.split(' ')[0]}`
    case 'http':
      return `http ${textOf('method')} ${comparableUrl(textOf('url')).split('?')[0]}`
    case 'mark':
      return `mark ${step.title.split(':')[0]}`
  }
}

const wordsOfMessage = (message: Message): string =>
  messageText(message) ||
  JSON.stringify(message.parts.map((part) => ('id' in part ? { ...part, id: '' } : part)))

/**
 * Numbers ids of tool calls in order of appearance before comparison: they are new in every run and
 * only connect calls with results.
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

/** Removes ids, which do not matter to readers. */
const withoutIds = (messages: readonly Message[]): Message[] =>
  messages.map(({ role, parts }) => ({
    role,
    parts: parts.map((part): MessagePart => ('id' in part ? { ...part, id: '' } : part)),
  }))

export interface Section {
  readonly area: DiffArea
  readonly path: string
  readonly value: unknown
}

/**
 * The compared content of a step, in chronological order. Excludes what differs between any two
 * runs without meaning: headers, ids made up by the provider, times, and ports of local servers.
 */
export interface StepContent {
  /** Before the conversation: URL and settings. */
  readonly before: readonly Section[]
  readonly messages: readonly Message[]
  /** The conversation as sent, with numbered ids. More precise than `messages`. */
  readonly conversation: string
  readonly answer: readonly Message[]
  /** After the conversation: tool calls, status, result, usage. */
  readonly after: readonly Section[]
}

/** For steps without a conversation. */
const NOT_SAID = { messages: [], conversation: '', answer: [] }

export const contentOf = (step: Step): StepContent => {
  // A request to an MCP server is compared by its message, whatever the transport.
  const exchange = step.kind === 'model' || step.kind === 'http' ? step.exchange() : undefined
  if (exchange !== undefined && step.kind === 'model') return modelContent(step, exchange)
  if (exchange !== undefined) {
    const { request, response } = exchange
    const answered = response && bodyValue(response)
    return {
      ...NOT_SAID,
      before: [
        section('requests', 'method', request.method),
        section('requests', 'url', comparableUrl(request.url)),
        section('requests', 'request', bodyValue(request)),
      ],
      after: [
        section('requests', 'status', response?.status),
        section('requests', 'response', answered),
        ...stateSections(step),
      ],
    }
  }
  const call = step.call()
  const args = asJson(call?.args) ?? (step.kind === 'process' ? step.title : undefined)
  return {
    ...NOT_SAID,
    before: call ? [section('tools', 'name', call.name), section('tools', 'args', args)] : [],
    after: [...(call ? resultSections(call) : []), ...stateSections(step)],
  }
}

const modelContent = (step: Step, exchange: Exchange): StepContent => {
  const body = isRecord(exchange.request.json) ? Object.entries(exchange.request.json) : []
  const members = conversationMembers(exchange.api)
  const isSaid = ([key]: [string, unknown]): boolean => members.has(key)
  const { usage } = exchange
  return {
    before: [
      section('requests', 'url', comparableUrl(exchange.request.url)),
      ...body.filter((entry) => !isSaid(entry)).map(([k, v]) => section('requests', k, v)),
      // A body that is not a JSON object is compared as a whole.
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

const resultSections = ({ name, result, output }: CallDetail): Section[] => {
  const pipes = [...new Set(output.map(({ pipe }) => pipe))].toSorted((a, b) => a - b)
  // Lists of tools are compared by name: their order does not matter.
  const compared =
    name === 'tools/list' && isRecord(result) && Array.isArray(result['tools'])
      ? { ...result, tools: Object.fromEntries(toolsByName(result['tools'])) }
      : result
  return [
    ...pipes.map((pipe) => {
      const decoder = new TextDecoder()
      const pieces = output.filter((piece) => piece.pipe === pipe)
      const text = pieces.map(({ bytes }) => decoder.decode(bytes, { stream: true })).join('')
      return section('output', { 1: 'stdout', 2: 'stderr' }[pipe] ?? `pipe ${pipe}`, text)
    }),
    section('tools', 'result', asJson(compared)),
  ]
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

/** A URL without the port of a local server, which is often random. */
export const comparableUrl = (url: string): string =>
  url.replace(/^(\w+:\/\/(?:127\.0\.0\.1|localhost|\[::1\])):\d+/, '$1')
