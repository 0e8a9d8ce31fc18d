import type { DivergenceFacts, DivergencePoint } from '../kernel/divergence.js'
import { type ProxyDivergenceFacts, proxyDivergenceText } from './proxy-divergence.js'
import { describeEvent, describeReceiver } from '../kernel/event-text.js'

export interface DivergenceText {
  readonly summary: string
  /** One or two sentences about what the tape has and what the program did. */
  readonly explanation: string
  /** How to fix it; missing if the fix is to undo a change. */
  readonly fix?: string
}

/** A divergence of a program in this process or of a command behind the proxy. */
export type AnyDivergenceFacts = DivergenceFacts | ProxyDivergenceFacts

/** The first point where the program differs from the tape, as data and in words. */
export type Divergence = AnyDivergenceFacts & DivergenceText

export const withText = (facts: AnyDivergenceFacts): Divergence => ({
  ...facts,
  ...divergenceText(facts),
})

/** The sentences about a divergence. */
export function divergenceText(facts: AnyDivergenceFacts): DivergenceText {
  switch (facts.code) {
    case 'call-differs':
      return {
        summary: `${describeEvent(facts.current)} differs in ${fieldsOf(facts)}`,
        explanation: `The tape has ${recordedName(facts)} here.`,
      }
    case 'other-call':
    case 'other-event':
      return {
        summary: `the tape has ${recordedName(facts)}, the program did ${describeEvent(facts.current)}`,
        explanation:
          facts.code === 'other-call'
            ? `The tape has ${recordedName(facts)} here.`
            : 'The order or the number of calls has changed.',
      }
    case 'after-end':
      return {
        summary: `the program did ${describeEvent(facts.current)} after the recording ended`,
        explanation: 'The recorded run had ended by then.',
      }
    case 'not-on-tape':
      return {
        summary: `the tape has no answer to ${describeEvent(facts.current)}`,
        explanation: 'Nothing of this kind is left on the tape.',
      }
    case 'nearest-differs':
      return {
        summary: `${describeEvent(facts.current)} differs in ${fieldsOf(facts)}`,
        explanation: `The nearest recorded one is event ${facts.seq}; nothing on the tape is identical.`,
      }
    // Only the decisions of a guard have a check for outdated values.
    case 'outdated-value':
      return {
        summary: 'the guard decides otherwise',
        explanation: 'Its policy has changed since the recording.',
      }
    case 'answer-missing':
      return {
        summary: `the answer to ${describeEvent(facts.current)} does not follow it on the tape`,
        explanation: 'A synchronous call is directly followed by its answer.',
      }
    case 'output-differs':
      return {
        summary: `it wrote something else to ${facts.stream}`,
        explanation: 'The text written differs from the recorded text.',
      }
    case 'write-differs':
      return {
        summary: `it wrote something else to ${describeEvent(facts.receiver)}`,
        explanation: 'The bytes written to it differ from the recorded ones.',
      }
    case 'sent-bytes-differ':
      return {
        summary: `what was sent to ${describeReceiver(facts.receiver, facts.protocol)} differs`,
        explanation: `The tape has ${recordedName(facts)} after other bytes were sent.`,
      }
    case 'input-differs':
      return {
        summary: 'the bytes written to a process differ',
        explanation: facts.isBeyond
          ? 'It got no more input when it was recorded.'
          : 'The recorded process got other input.',
      }
    case 'ended-early': {
      const { error, rest } = facts
      const threw = error ? ` with ${error.class}: ${error.message.replace(/\.$/, '')}` : ''
      return {
        summary: `the program ended${threw}, but the tape continues with ${recordedName(facts)}`,
        explanation: `${rest} recorded events never happened.`,
      }
    }
    case 'end-differs':
      return {
        summary: 'the run ended differently',
        explanation: 'Every event matched, but the outcome differs.',
      }
    case 'not-awaited':
      return {
        summary: `the tape delivers ${recordedName(facts)}, which the program is not waiting for`,
        explanation:
          'The program gave up on it earlier than it did when recorded, or never started it.',
      }
    case 'waiting':
      return {
        summary: `the program is waiting, but the next event on the tape is ${recordedName(facts)}`,
        explanation:
          facts.silentMs === undefined
            ? 'The program had nothing else to do.'
            : `Nothing happened for ${facts.silentMs} ms.`,
      }
    case 'waits-forever': {
      const what = facts.awaited === undefined ? '' : ` for ${describeEvent(facts.awaited)}`
      return {
        summary: `the program waits${what}, and the tape has nothing more to deliver`,
        explanation: 'In the recording the program did not wait for it, or gave up on it.',
      }
    }
    case 'refused': {
      const { what, why, fix } = facts.error
      return { summary: what.replace(/\.$/, ''), explanation: why, fix }
    }
    case 'cut-off': {
      const next =
        facts.current === undefined ? 'waiting for an answer' : describeEvent(facts.current)
      return {
        summary: 'the recording was cut off here',
        explanation: `The program continued with ${next}.`,
      }
    }
    case 'request-refused':
    case 'request-unknown':
    case 'request-repeated':
    case 'request-differs':
    case 'request-missing':
    case 'stdout-differs':
    case 'exit-differs':
      return proxyDivergenceText(facts)
  }
}

const recordedName = ({ recorded }: DivergencePoint): string =>
  recorded === undefined ? 'nothing' : describeEvent(recorded)

const fieldsOf = ({ mismatches }: DivergencePoint): string =>
  mismatches.map(({ field }) => field).join(', ')
