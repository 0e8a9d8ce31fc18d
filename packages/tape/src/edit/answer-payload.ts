import { decodeBody } from '../format/event-body.js'
import { answerUnreadable, nothingToEdit } from '../format/errors.js'
import type { Exchange } from '../read-model/exchange.js'
import type { Step } from '../read-model/step.js'
import type { TapeLike } from '../format/tape-like.js'
import { toWire } from '../values/to-wire.js'
import { answerFormat } from '../providers/find-provider.js'
import { mcpPayload } from './mcp-answer.js'
import { bodyPayload, type Payload } from './payload.js'

/**
 * The answer of a step as a person edits it. The stream of a model is put
 * together to the message that an unstreamed call would have given; what an MCP
 * server answered is the JSON-RPC message, whatever carried it. Throws when
 * there is no answer, or none that can be read.
 */
export const answerPayload = (tape: TapeLike, step: Step): Payload => {
  const message = mcpPayload(step)
  if (message !== undefined) return message
  const exchange = step.exchange()
  if (exchange !== undefined) return exchangePayload(step, exchange)
  return toolPayload(tape, step)
}

/** What a step sent, as a person edits it: the body of its request, or the arguments of its tool. */
export const requestPayload = (tape: TapeLike, step: Step): Payload => {
  const exchange = step.exchange()
  if (exchange !== undefined) return bodyPayload(exchange.request)
  const event = tape.event(step.seq)
  if (step.kind !== 'tool' || step.inferred || event.type !== 'call' || event.as === undefined)
    throw nothingToEdit(`Step ${step.label}`, whyNothing(step))
  return { kind: 'value', data: toWire(decodeBody(event.as, tape.body(event.seq))) }
}

const exchangePayload = (step: Step, { api, response }: Exchange): Payload => {
  if (response === undefined) throw nothingToEdit(`Step ${step.label}`, whyNothing(step))
  const { undecoded, events } = response
  if (undecoded !== undefined) throw answerUnreadable(step.label, undecoded)
  const format = answerFormat(api)
  return events === undefined || format === undefined
    ? bodyPayload(response)
    : { kind: 'json', data: format.assemble(events) }
}

const toolPayload = (tape: TapeLike, step: Step): Payload => {
  const call = step.kind === 'tool' && !step.inferred ? step.call() : undefined
  if (call === undefined || step.answerSeqs.length === 0)
    throw nothingToEdit(`Step ${step.label}`, whyNothing(step))
  const [seq] = step.answerSeqs
  const event = tape.event(seq as number)
  if (call.error !== undefined) return { kind: 'error', data: call.error }
  const hasValue = event.type === 'result' && event.as !== undefined
  return { kind: 'result', data: toWire(hasValue ? call.result : undefined) }
}

/** Why a step has nothing to edit, in words. */
export const whyNothing = (step: Step): string => {
  if (step.inferred)
    return 'It was not recorded itself; it is only seen in the conversation. Edit the request after it.'
  if (step.kind === 'mark') return 'It is a mark that the agent set.'
  if (step.mcp()?.askedBy === 'server')
    return 'The server asked here; edit the answer of the call that made it ask.'
  if (step.mcp()?.transport === 'stdio' && step.answerSeqs.length > 0)
    return 'It was asked on the pipes of a child process: its answer can be edited, not what was asked.'
  if (step.kind === 'process')
    return 'It is a child process; only what a tool or a server answered can be edited.'
  return `It is ${step.state}${step.error === undefined ? '' : `: ${step.error}`}.`
}
