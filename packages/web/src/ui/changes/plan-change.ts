import type { ContinuePlan, ForkOptions } from '@retake/engine'
import { planFork } from '@retake/engine/plans'
import {
  answerPayload,
  drawPayload,
  type Payload,
  requestPayload,
  type Step,
  type Tape,
  keyText,
  tapeErrors,
} from '@retake/tape'
import type { Editable, EditableText, ForkRequest } from '../../api/run-repository.js'
import { cliErrors } from '@retake/runner/errors'
import { plural } from '@retake/tape/present'
import { findStep, viewRun } from '@retake/runner/runs'
import { explainOrThrow } from '@retake/runner/command-line'

/** An editor in a page is slow with longer texts. */
const CHARACTERS_MAX = 4_000_000

/** Editable parts of a step, or of a drawn value (`e17`), and why others are not. */
export function editableOf(tape: Tape, at: string): Editable {
  const event = /^e(\d+)$/.exec(at)?.[1]
  if (event !== undefined)
    return {
      ...reading('answer', () => textOf(drawPayload(tape, Number(event)))),
      whyNoRequest: 'A clock or random value has no request to edit.',
    }
  const step = stepOf(tape, at)
  return {
    ...reading('answer', () => {
      const payload = answerPayload(tape, step)
      const { status, events } = step.exchange()?.response ?? {}
      return textOf(payload, {
        ...(status !== undefined && { status }),
        ...(events !== undefined && { streamed: true }),
      })
    }),
    ...reading('request', () => textOf(requestPayload(tape, step))),
  }
}

function reading(name: 'answer' | 'request', read: () => EditableText | string): Editable {
  const why = name === 'answer' ? 'whyNoAnswer' : 'whyNoRequest'
  try {
    const found = read()
    return typeof found === 'string' ? { [why]: found } : { [name]: found }
  } catch (error) {
    const explained = explainOrThrow(error)
    return { [why]: `${explained.what} ${explained.why}` }
  }
}

function textOf(
  payload: Payload,
  facts?: Pick<EditableText, 'status' | 'streamed'>,
): EditableText | string {
  const text = payloadText(payload)
  if (text.length > CHARACTERS_MAX)
    return `It has ${plural(text.length, 'character')}, too many to edit in a page. \`retake fork --edit\` opens it in your editor.`
  return { form: isPlainText(payload) ? 'text' : 'json', text, kind: payload.kind, ...facts }
}

/** True for a body that is not JSON, or a tool result that is a text. */
export const isPlainText = ({ kind, data }: Payload): boolean =>
  kind === 'text' || (kind === 'result' && typeof data === 'string')

export function payloadText(payload: Payload): string {
  if (!isPlainText(payload)) return JSON.stringify(payload.data, undefined, 2)
  return payload.kind === 'text' ? (payload.data as { text: string }).text : String(payload.data)
}

/** More changes are shown as one change of the whole payload. */
const PATHS_MAX = 40

/**
 * Differences between two JSON values, as paths for `--set`, so that a branch can describe its
 * change in one line. Undefined if top-level keys differ, or for too many changes.
 */
export function changedPaths(
  before: unknown,
  after: unknown,
): Readonly<Record<string, unknown>> | undefined {
  // A number or text has no parts, so `value` means all of it.
  if (!isTree(before)) return isTree(after) ? undefined : { value: after }
  const changes = [...changesBetween(before, after, [])]
  if (changes.length > PATHS_MAX || changes.some(({ at }) => at.length === 0)) return undefined
  return Object.fromEntries(changes.map(({ at, value }) => [at.join('.'), value]))
}

/** Changes at the deepest common paths. Another list length or other keys are one change. */
function* changesBetween(
  before: unknown,
  after: unknown,
  at: readonly string[],
): Generator<{ readonly at: readonly string[]; readonly value: unknown }> {
  if (Object.is(before, after)) return
  if (!isTree(before) || !isTree(after) || !haveSameKeys(before, after)) {
    yield { at, value: after }
    return
  }
  const values = new Map(Object.entries(after))
  for (const [key, value] of Object.entries(before)) {
    // An unquoted number would be an index.
    const name = Array.isArray(before) ? key : keyText({ key, quoted: /^-?\d+$/.test(key) })
    yield* changesBetween(value, values.get(key), [...at, name])
  }
}

const isTree = (value: unknown): value is object => typeof value === 'object' && value !== null

function haveSameKeys(a: object, b: object): boolean {
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key))
}

export function planOf(tape: Tape, request: ForkRequest): ContinuePlan {
  const { response, requestText, ...rest } = request
  const options = { ...rest, ...(response !== undefined && answerChange(tape, rest.at, response)) }
  if (requestText === undefined) return planFork(tape, options)
  const recorded = requestPayload(tape, stepOf(tape, rest.at))
  const { edited, paths } = changeOf(recorded, requestText, `The request of step ${rest.at}`)
  const change = paths === undefined ? { requestPayload: edited } : { request: paths }
  return planFork(tape, { ...options, ...change })
}

/** An edited answer, as changes by path if these describe all of it. */
function answerChange(tape: Tape, at: string, text: string): Pick<ForkOptions, 'set' | 'payload'> {
  const event = /^e(\d+)$/.exec(at)?.[1]
  const recorded =
    event === undefined ? answerPayload(tape, stepOf(tape, at)) : drawPayload(tape, Number(event))
  const { edited, paths } = changeOf(recorded, text, `The answer of step ${at}`)
  if (event !== undefined) return { set: paths ?? { value: edited.data } }
  return paths === undefined ? { payload: edited } : { set: paths }
}

function changeOf(
  recorded: Payload,
  text: string,
  what: string,
): { edited: Payload; paths: Readonly<Record<string, unknown>> | undefined } {
  const { kind } = recorded
  let data: unknown = kind === 'text' ? { text } : text
  if (!isPlainText(recorded)) {
    try {
      data = JSON.parse(text)
    } catch (cause) {
      throw tapeErrors.EDIT_NOT_JSON(cause)
    }
  }
  const edited: Payload = { kind, data }
  const paths = changedPaths(recorded.data, edited.data)
  const isSame =
    paths !== undefined &&
    (Object.keys(paths).length === 0 || ('value' in paths && paths['value'] === recorded.data))
  if (isSame) throw cliErrors.NOTHING_EDITED(what)
  return { edited, paths }
}

const stepOf = (tape: Tape, label: string): Step => findStep(viewRun(tape), label)
