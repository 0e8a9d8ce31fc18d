import { answerPayload, drawPayload, requestPayload } from '@retake/tape'
import type { Payload, Step, Tape } from '@retake/tape'
import type { Editable, EditableText } from '@retake/web'
import { noSuchStep } from '../../errors/runs.js'
import { plural } from '../../facts.js'
import { explain } from '../../print-error.js'
import { viewRun } from '../../view-run.js'
import { isPlainText, payloadText } from './edited-text.js'

/** Longer texts make an editor in a page crawl. */
const CHARACTERS_MAX = 4_000_000

/** What can be edited of a step, or of a value drawn at an event (`e17`), and why the rest cannot. */
export function editableOf(tape: Tape, at: string): Editable {
  const event = /^e(\d+)$/.exec(at)?.[1]
  if (event !== undefined)
    return {
      ...reading('answer', () => textOf(drawPayload(tape, Number(event)), {})),
      whyNoRequest: 'A value of clock or random is not asked for in words.',
    }
  const view = viewRun(tape)
  const step = view.step(at)
  if (step === undefined) throw noSuchStep(view.id, at, view.recordedSteps.length)
  return {
    ...reading('answer', () => textOf(answerPayload(tape, step), answerFacts(step))),
    ...reading('request', () => textOf(requestPayload(tape, step), {})),
  }
}

/** The text under its name, or the reason why there is none. */
function reading(name: 'answer' | 'request', read: () => EditableText | string): Editable {
  const [value, why] =
    name === 'answer'
      ? (['answer', 'whyNoAnswer'] as const)
      : (['request', 'whyNoRequest'] as const)
  try {
    const found = read()
    return typeof found === 'string' ? { [why]: found } : { [value]: found }
  } catch (error) {
    const explained = explain(error)
    if (explained === undefined) throw error
    return { [why]: `${explained.what} ${explained.why}` }
  }
}

function textOf(
  payload: Payload,
  facts: Pick<EditableText, 'status' | 'streamed'>,
): EditableText | string {
  const text = payloadText(payload)
  if (text.length > CHARACTERS_MAX)
    return `It has ${plural(text.length, 'character')}, too many to edit in a page. \`retake fork --edit\` opens it in your editor.`
  return { form: isPlainText(payload) ? 'text' : 'json', text, kind: payload.kind, ...facts }
}

function answerFacts(step: Step): Pick<EditableText, 'status' | 'streamed'> {
  const response = step.exchange()?.response
  if (response === undefined) return {}
  return { status: response.status, ...(response.events !== undefined && { streamed: true }) }
}
