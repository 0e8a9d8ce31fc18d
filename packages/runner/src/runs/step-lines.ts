import {
  type Exchange,
  type McpNotification,
  type MessagePart,
  type Step,
  type StepGuard,
  summarizeStep,
} from '@retake/tape'
import { cost, duration } from '@retake/tape/present'
import {
  fromHere,
  type Look,
  type Paint,
  printable,
  printableLine,
  wrap,
  linesOf,
} from '../terminal/terminal.js'

/**
 * One step in full: the conversation, the request and answer, or the call and its result. `origin`:
 * lines about the source of its answer.
 */
export function stepLines(step: Step, { paint, width }: Look, origin: readonly string[]): string[] {
  const exchange = step.exchange()
  const call = step.call()
  const mcp = step.mcp()
  const status = exchange?.response ? ` · ${exchange.response.status}` : ''
  return linesOf(
    `${paint('bold', `step ${step.label}`)}  ${printableLine(step.title)}`,
    ...wrap(factLine(step), width),
    ...origin,
    step.guard !== undefined && wrap(printable(guardLine(step.guard)), width),
    step.within.length > 0 && `in ${scopePath(step)}`,
    step.error !== undefined && `${paint('red', 'error')} ${printable(step.error)}`,
    exchange && mcp && `${exchange.request.method} ${exchange.request.url}${status}`,
    exchange && !mcp && exchangeLines(exchange, paint),
    call && [
      ...section('arguments', shown(call.args), paint),
      ...(mcp && mcp.notifications.length > 0
        ? section('notifications', mcp.notifications.map(notificationText).join('\n'), paint)
        : []),
      ...section('result', shown(call.result), paint),
    ],
    call &&
      call.output.length > 0 &&
      section('output', textOf(call.output.map(({ bytes }) => bytes)), paint),
  )
}

function guardLine(guard: StepGuard): string {
  const { rule, code, status, exitReason, approval, served, drift = [] } = guard
  return [
    `guard: rule ${rule ?? 'default'}`,
    ...(code === undefined || status === 'done' ? [] : [code]),
    ...(exitReason === undefined ? [] : [`stopped by ${exitReason}`]),
    ...(approval === undefined ? [] : [`${approval.how} by ${approval.by}`]),
    ...(served === undefined ? [] : [`served from run ${served.run}`]),
    ...(drift.length === 0 ? [] : [`drift ${drift.map((each) => each.code).join(', ')}`]),
  ].join(' · ')
}

/** Agents and nodes a step happened in, as their framework names them. */
export const scopePath = (step: Step): string =>
  printable(step.within.map(({ name }) => name).join(' › '))

/** Outcome of a step. A call that a guard did not start may be stopped or in doubt. */
export const stateWord = ({ state, guard }: Step): string =>
  state === 'denied' ? (guard?.status ?? state) : state

function factLine(step: Step): string {
  const { usage } = step
  return linesOf(
    stateWord(step),
    step.kind,
    step.provider,
    step.latencyMs !== undefined && !step.inferred && duration(step.latencyMs),
    usage !== undefined &&
      `${usage.input + usage.cachedInput + usage.cacheWrite} tokens in, ${usage.output} out`,
    step.costUsd !== undefined && cost(step.costUsd),
    step.inferred ? `seen in event ${step.seq}` : `event ${step.seq}`,
    step.site !== undefined && fromHere(step.site),
  ).join(' · ')
}

function exchangeLines(exchange: Exchange, paint: Paint): string[] {
  const { request, response, messages, answer } = exchange
  if (messages.length > 0 || answer.length > 0) {
    return [...messages, ...answer].flatMap(({ role, parts }) =>
      section(role, parts.map(partText).join('\n'), paint),
    )
  }
  const target = `${request.method} ${request.url}`
  return [
    ...section(target, request.text ?? bytesNote(request.body), paint),
    ...(response === undefined
      ? section('no answer', '', paint)
      : section(
          `${response.status} ${response.statusText}`.trim(),
          pretty(response.json, response.text ?? bytesNote(response.body)),
          paint,
        )),
  ]
}

const notificationText = ({ method, params }: McpNotification): string =>
  `${method} ${params === undefined ? '' : JSON.stringify(params)}`.trimEnd()

function partText(part: MessagePart): string {
  switch (part.type) {
    case 'text':
      return part.text
    case 'tool_call':
      return `→ ${part.name}(${JSON.stringify(part.args)})  ${part.id}`
    case 'tool_result':
      return `← ${part.id}${part.isError ? ' (error)' : ''}\n${pretty(part.content, String(part.content))}`
    case 'reasoning':
      return `(reasoning) ${part.text}`
    case 'image':
      return `(image ${part.source})`
    case 'other':
      return `(${part.kind}) ${JSON.stringify(part.value)}`
  }
}

function section(title: string, text: string, paint: Paint): string[] {
  const body = text === '' ? [] : printable(text).trimEnd().split('\n')
  return ['', paint('cyan', title), ...body.map((line) => `  ${line}`)]
}

function shown(value: unknown): string {
  if (value === undefined) return '(nothing)'
  return typeof value === 'string' ? value : pretty(value, JSON.stringify(value))
}

const pretty = (json: unknown, otherwise: string): string =>
  typeof json === 'object' && json !== null ? JSON.stringify(json, undefined, 2) : otherwise

const bytesNote = (bytes: Uint8Array): string =>
  bytes.length === 0 ? '' : `(${bytes.length} bytes)`

const textOf = (pieces: readonly Uint8Array[]): string => Buffer.concat(pieces).toString()

export function stepJson(step: Step): unknown {
  const exchange = step.exchange()
  const call = step.call()
  const mcp = step.mcp()
  return {
    ...summarizeStep(step),
    ...(mcp && { mcp }),
    ...(exchange && { exchange: exchangeJson(exchange) }),
    ...(call && {
      call: {
        name: call.name,
        args: call.args,
        result: call.result,
        error: call.error,
        output: textOf(call.output.map(({ bytes }) => bytes)),
      },
    }),
  }
}

function exchangeJson({ request, response, messages, answer }: Exchange): unknown {
  return {
    request: {
      method: request.method,
      url: request.url,
      headers: request.headers,
      body: request.json ?? request.text,
    },
    response: response && {
      status: response.status,
      headers: response.headers,
      body: response.json ?? response.text,
      complete: response.complete,
    },
    messages,
    answer,
  }
}
