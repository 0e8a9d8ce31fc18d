import { isRecord } from '@retake/tape'
import { useSyncExternalStore } from 'react'
import type { Editable, ForkRequest } from '../../api/run-repository.js'
import { Store, useStore } from '../design/store.js'

/**
 * Drafts by run and step. They survive closing the dialog and opening another step. Each tab has its
 * own drafts.
 */
class ForkDrafts extends Store<ReadonlyMap<string, ForkDraft>> {
  of(run: string, step: string): ForkDraft {
    return this.get().get(keyOf(run, step)) ?? NEW_DRAFT
  }

  change(run: string, step: string, change: Partial<ForkDraft>): void {
    const draft = { ...this.of(run, step), ...change }
    this.set(new Map([...this.get(), [keyOf(run, step), draft]]))
  }

  drop(run: string, step: string): void {
    const own = keyOf(run, step)
    this.set(new Map([...this.get()].filter(([key]) => key !== own)))
  }

  override set(drafts: ReadonlyMap<string, ForkDraft>): void {
    const isAnyEdited = [...drafts.values()].some(isEdited)
    if (isAnyEdited) addEventListener('beforeunload', confirmLeaving)
    else removeEventListener('beforeunload', confirmLeaving)
    super.set(drafts)
  }
}

const keyOf = (run: string, step: string): string => JSON.stringify([run, step])

const confirmLeaving = (event: BeforeUnloadEvent): void => event.preventDefault()

export const forkDrafts = new ForkDrafts(new Map())

/** Key of the open fork dialog; undefined if none is open. */
const openedFork = new Store<string | undefined>(undefined)

export const openFork = (run: string, step: string): void => openedFork.set(keyOf(run, step))

export function useOpenFork(run: string, step: string): [isOpen: boolean, close: () => void] {
  return [useStore(openedFork) === keyOf(run, step), () => openedFork.set(undefined)]
}

export const useForkDraft = (run: string, step: string): ForkDraft =>
  useSyncExternalStore(forkDrafts.subscribe, () => forkDrafts.of(run, step))

/** A path in JSON: keys of objects and indexes of lists. */
type JsonLocation = readonly (string | number)[]

export function withValueAt(data: unknown, at: JsonLocation, value: unknown): unknown {
  const [key, ...rest] = at
  if (key === undefined) return value
  if (Array.isArray(data))
    return data.map((item: unknown, index) =>
      index === key ? withValueAt(item, rest, value) : item,
    )
  if (!isRecord(data)) return data
  return Object.fromEntries(
    Object.entries(data).map(([name, item]) => [
      name,
      name === key ? withValueAt(item, rest, value) : item,
    ]),
  )
}

type JsonLeaf = string | number | boolean | null

export interface DraftField {
  readonly at: JsonLocation
  readonly label: string
  readonly value: JsonLeaf
}

type Pattern = { readonly label: string; readonly path: readonly string[] }

/** Where each format stores the texts of a model or MCP server. `*` is every item of a list. */
const PATTERNS: readonly Pattern[] = [
  ['What the model said', 'choices * message content'],
  ['Arguments of the tool call', 'choices * message tool_calls * function arguments'],
  ['What the model said', 'output * content * text'],
  ['Arguments of the tool call', 'output * arguments'],
  ['What the model said', 'content * text'],
  ['What the model said', 'candidates * content parts * text'],
  ['What the model said', 'output message content * text'],
  ['What the model said', 'message content'],
  ['What the server answered', 'result content * text'],
].map(([label = '', path = '']) => ({ label, path: path.split(' ') }))

const FIELDS_MAX = 24

/**
 * The values of an answer that get a field: the texts of a model or server, or else every string,
 * number, boolean and null. Empty if there are too many; then the answer is edited as JSON.
 */
export function draftFields(data: unknown): readonly DraftField[] {
  if (isLeaf(data)) return [{ at: [], label: 'Value', value: data }]
  const known = PATTERNS.flatMap(({ label, path }) =>
    matches(data, path).map(({ at, value }) => ({ at, label, value })),
  )
  const found = known.length > 0 ? known : leaves(data, [])
  return found !== undefined && found.length <= FIELDS_MAX ? found : []
}

const isLeaf = (data: unknown): data is JsonLeaf =>
  data === null || ['string', 'number', 'boolean'].includes(typeof data)

function matches(
  data: unknown,
  [key, ...rest]: readonly string[],
  at: JsonLocation = [],
): { at: JsonLocation; value: string }[] {
  if (key === undefined) return typeof data === 'string' ? [{ at, value: data }] : []
  if (key === '*')
    return Array.isArray(data)
      ? data.flatMap((item, index) => matches(item, rest, [...at, index]))
      : []
  return isRecord(data) && Object.hasOwn(data, key) ? matches(data[key], rest, [...at, key]) : []
}

/** Undefined if a part cannot be edited as a field. */
function leaves(data: unknown, at: JsonLocation): DraftField[] | undefined {
  if (isLeaf(data)) return [{ at, label: at.join('.'), value: data }]
  // `$` marks a value that JSON cannot express. Its parts cannot be edited separately.
  if (isRecord(data) && Object.hasOwn(data, '$')) return undefined
  const parts: [string | number, unknown][] = Array.isArray(data)
    ? data.map((item: unknown, index) => [index, item])
    : Object.entries(isRecord(data) ? data : {})
  const found: DraftField[] = []
  for (const [key, item] of parts) {
    const inside = leaves(item, [...at, key])
    if (inside === undefined) return undefined
    found.push(...inside)
  }
  return found
}

/** Parses the text of a field for a number, boolean or null. Anything else becomes a string. */
export function readLeaf(text: string): JsonLeaf {
  try {
    const value: unknown = JSON.parse(text)
    return isLeaf(value) ? value : text
  } catch {
    return text
  }
}

/** Line and column are from 1. */
interface JsonProblem {
  readonly message: string
  readonly line: number
  readonly column: number
}

type ParsedJson =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: JsonProblem }

/** Parses JSON. Finds the location of an error itself, because not all browsers report it. */
export function readJson(text: string): ParsedJson {
  try {
    return { ok: true, value: JSON.parse(text) as unknown }
  } catch {
    const { at, expected } = firstProblem(text)
    const before = text.slice(0, at)
    const found = at >= text.length ? 'the text ends' : `there is ${nameOf(text.slice(at))}`
    return {
      ok: false,
      problem: {
        message: `${expected} is expected, but ${found}`,
        line: before.split('\n').length,
        column: at - before.lastIndexOf('\n'),
      },
    }
  }
}

function nameOf(rest: string): string {
  if (rest.startsWith('"')) return 'a string that is not closed or has a wrong escape in it'
  if (rest.startsWith('\n')) return 'a line break in a string'
  const word = /^[\w$.-]{1,20}/.exec(rest)?.[0]
  return word ?? JSON.stringify(String.fromCodePoint(rest.codePointAt(0) ?? 0))
}

const SPACE = /[ \t\n\r]*/y
const STRING = /"(?:[^"\\]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"/y
const SCALAR = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.$])/y

type Expectation = keyof typeof EXPECTED

const EXPECTED = {
  value: 'A value',
  'value or end': 'A value or ]',
  key: 'A key in double quotes',
  'key or end': 'A key in double quotes or }',
  colon: 'A colon',
  'comma or ]': 'A comma or ]',
  'comma or }': 'A comma or }',
  nothing: 'Nothing more',
} as const

/** The first offset where the text is not JSON. Not recursive, because texts may be nested deeply. */
function firstProblem(text: string): { at: number; expected: string } {
  const open: ('[' | '{')[] = []
  let at = 0
  let expected: Expectation = 'value'
  const take = (pattern: RegExp): boolean => {
    pattern.lastIndex = at
    const found = pattern.test(text)
    if (found) at = pattern.lastIndex
    return found
  }
  const takeString = (): boolean => {
    const start = at
    if (!take(STRING)) return false
    for (let index = start; index < at; index++) {
      // Control characters must be escaped.
      if (text.charCodeAt(index) >= 0x20) continue
      at = index
      return false
    }
    return true
  }
  const afterValue = (): Expectation => {
    const around = open.at(-1)
    if (around === undefined) return 'nothing'
    return around === '[' ? 'comma or ]' : 'comma or }'
  }
  const close = (): Expectation => {
    at += 1
    open.pop()
    return afterValue()
  }
  const next = (): Expectation | undefined => {
    const letter = text[at]
    const isEnd = letter === ']' || letter === '}'
    if (isEnd && expected.endsWith('end'))
      return letter === (open.at(-1) === '[' ? ']' : '}') ? close() : undefined
    if (isEnd && expected === `comma or ${letter}`) return close()
    if (expected.startsWith('value')) {
      if (letter === '[' || letter === '{') {
        at += 1
        open.push(letter)
        return letter === '[' ? 'value or end' : 'key or end'
      }
      return takeString() || take(SCALAR) ? afterValue() : undefined
    }
    if (expected.startsWith('key')) return takeString() ? 'colon' : undefined
    const sign = expected === 'colon' ? ':' : ','
    if (expected === 'nothing' || letter !== sign) return undefined
    at += 1
    return expected === 'comma or }' ? 'key' : 'value'
  }
  for (;;) {
    take(SPACE)
    const following = next()
    if (following === undefined) return { at, expected: EXPECTED[expected] }
    expected = following
  }
}

export interface ForkDraft {
  readonly choice: 'answer' | 'request' | 'again'
  /** Edited text; undefined while it is as recorded. */
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

export const isEdited = ({ answer, request, name, status }: ForkDraft): boolean =>
  answer !== undefined || request !== undefined || name !== '' || status !== ''

type ReadyFork =
  | { readonly ok: true; readonly request: ForkRequest }
  | { readonly ok: false; readonly why: string; readonly problem?: JsonProblem }

/** The request for a draft, or why it cannot be sent. The server computes the changes. */
export function readyFork(at: string, draft: ForkDraft, editable: Editable): ReadyFork {
  const { choice, tail, name, status, force } = draft
  const base = { at, tail, ...(name !== '' && { name }) }
  if (choice === 'again') return { ok: true, request: base }
  const isAnswer = choice === 'answer'
  if (isAnswer && status !== '' && !/^[1-5]\d\d$/.test(status))
    return { ok: false, why: `"${status}" is not an HTTP status: use a number from 100 to 599.` }
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

function isSame(recorded: NonNullable<Editable['answer']>, edited: string): boolean {
  if (recorded.text === edited) return true
  if (recorded.form === 'text') return false
  const [before, after] = [readJson(recorded.text), readJson(edited)]
  return before.ok && after.ok && JSON.stringify(before.value) === JSON.stringify(after.value)
}
