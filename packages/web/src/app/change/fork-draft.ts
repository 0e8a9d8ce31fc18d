import type { Editable, ForkRequest } from '../../api/home-changes.js'
import { readJson, type JsonProblem } from './json-problem.js'

/** What a person has prepared for a fork at one step. It is kept until it is sent or thrown away. */
export interface ForkDraft {
  readonly choice: 'answer' | 'question' | 'again'
  /** The edited texts; undefined as long as they are as recorded. */
  readonly answer: string | undefined
  readonly request: string | undefined
  readonly asJson: boolean
  readonly showsChanges: boolean
  readonly tail: 'live' | 'offline'
  readonly name: string
  readonly status: string
  readonly force: boolean
}

export const NEW_DRAFT: ForkDraft = {
  choice: 'answer',
  answer: undefined,
  request: undefined,
  asJson: false,
  showsChanges: false,
  tail: 'live',
  name: '',
  status: '',
  force: false,
}

/** Something is written in it that nobody wants to lose. */
export const isEdited = ({ answer, request, name, status }: ForkDraft): boolean =>
  answer !== undefined || request !== undefined || name !== '' || status !== ''

export type ReadyFork =
  | { readonly ok: true; readonly request: ForkRequest }
  | { readonly ok: false; readonly why: string; readonly problem?: JsonProblem }

/** What is sent for a draft, or why it cannot be. What of the text is changed is for the home to find. */
export function readyFork(at: string, draft: ForkDraft, editable: Editable): ReadyFork {
  const { choice, tail, name, status, force } = draft
  const base = { at, tail, ...(name !== '' && { name }) }
  if (choice === 'again') return { ok: true, request: base }
  const isAnswer = choice === 'answer'
  if (isAnswer && status !== '' && !/^[1-5]\d\d$/.test(status))
    return { ok: false, why: `"${status}" is no HTTP status: it is a number from 100 to 599.` }
  const options = {
    ...base,
    ...(isAnswer && status !== '' && { status: Number(status) }),
    ...(force && { force }),
  }
  const recorded = isAnswer ? editable.answer : editable.request
  const edited = isAnswer ? draft.answer : draft.request
  if (recorded === undefined) return { ok: false, why: 'There is nothing to edit at this step.' }
  if (edited === undefined || isSame(recorded, edited))
    return 'status' in options
      ? { ok: true, request: options }
      : { ok: false, why: 'Nothing is changed yet.' }
  const parsed = recorded.form === 'json' ? readJson(edited) : undefined
  if (parsed?.ok === false)
    return { ok: false, why: 'The JSON cannot be read.', problem: parsed.problem }
  return { ok: true, request: { ...options, [isAnswer ? 'response' : 'requestText']: edited } }
}

/** The same text, or the same JSON with other spaces. */
function isSame(recorded: NonNullable<Editable['answer']>, edited: string): boolean {
  if (recorded.text === edited) return true
  if (recorded.form === 'text') return false
  const [before, after] = [readJson(recorded.text), readJson(edited)]
  return before.ok && after.ok && JSON.stringify(before.value) === JSON.stringify(after.value)
}
