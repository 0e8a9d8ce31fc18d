import type { FitCode } from './fitted-edits.js'
import type { TrialOutput } from './prove-fixes.js'

/**
 * Something that a run with a change does worse than the failed run, or that the change drops on
 * purpose. A change with a loss is a workaround, never a fix: it may hide the failure.
 */
export type Loss =
  /** A word such as `undefined` in the output, or in something that was sent. */
  | { readonly code: 'EMPTY_PRINTED'; readonly value: string; readonly line: string }
  | { readonly code: 'EMPTY_SENT'; readonly value: string; readonly step: string }
  | { readonly code: 'OUTPUT_MISSING'; readonly line: string }
  /** No step of this kind is made any more. */
  | { readonly code: 'ACTION_MISSING'; readonly step: string; readonly title: string }
  /** The code uses a constant in place of a value that is missing. */
  | { readonly code: 'DEFAULT_ADDED'; readonly at: string; readonly text: string }
  /** The code continues after an error that it has to handle. */
  | { readonly code: 'EXCEPTION_IGNORED'; readonly at: string; readonly text: string }
  | { readonly code: 'ITEMS_SKIPPED'; readonly at: string; readonly text: string }
  /** Another model answers, which may be weaker. */
  | { readonly code: 'MODEL_REPLACED'; readonly at: string; readonly text: string }
  /** Parts of a text are removed that a pattern finds; it misses other wordings. */
  | { readonly code: 'TEXT_REMOVED'; readonly at: string; readonly text: string }
  /** A rule of a policy denies calls by what this run did; other runs may need them, or need more. */
  | { readonly code: 'CALLS_DENIED'; readonly at: string; readonly text: string }
  /** The change suits this run, and may do the wrong thing for others. */
  | { readonly code: FitCode; readonly at: string; readonly text: string }

export interface RunAction {
  readonly label: string
  /** The same for actions of one kind: a tool, or a method and an address. */
  readonly kind: string
  readonly title: string
  /** Everything that was sent, as text. */
  readonly sent: string
  readonly isFailed?: boolean
}

/** The effects of a run that others can see. */
export interface RunBehaviour extends TrialOutput {
  readonly actions: readonly RunAction[]
  /** True if an uncaught error ended the run, so that its output up to there is not in question. */
  readonly isThrown: boolean
}

/** Losses of the run with a change, compared with the failed run. */
export function lossesOf(failed: RunBehaviour, changed: RunBehaviour): Loss[] {
  return [
    ...emptyOutput(failed, changed),
    ...missingOutput(failed, changed),
    ...emptyRequests(failed, changed),
    ...missingActions(failed, changed),
  ]
}

/** Text of a missing value that a program writes by mistake. JSON may contain null. */
const EMPTY_VALUES = /\b(?:undefined|NaN|Invalid Date)\b|\[object \w+\]/g
const BARE_NULL = /(?:^|[\s:=(])null(?=$|[\s.,;)!])/g

export function emptyValues(text: string): string[] {
  return text.split('\n').flatMap((line) => {
    const isJson = /^\s*[[{"]|[\]}],?\s*$/.test(line)
    const empty = line.match(EMPTY_VALUES) ?? []
    return isJson ? empty : [...empty, ...(line.match(BARE_NULL) ?? []).map(() => 'null')]
  })
}

const countOf = (values: readonly string[], value: string): number =>
  values.filter((each) => each === value).length

function emptyOutput(failed: RunBehaviour, changed: RunBehaviour): Loss[] {
  const before = emptyValues(failed.stdout)
  const now = emptyValues(changed.stdout)
  return [...new Set(now)]
    .filter((value) => countOf(now, value) > countOf(before, value))
    .map((value) => {
      const lines = changed.stdout.split('\n')
      const isNew = (line: string): boolean =>
        emptyValues(line).includes(value) && !failed.stdout.includes(line)
      const line = lines.find(isNew) ?? lines.find((each) => each.includes(value)) ?? ''
      return { code: 'EMPTY_PRINTED', value, line: line.trim() }
    })
}

/** Lines that differ in their numbers only are one kind of line. */
const lineKinds = (text: string): Map<string, string> =>
  new Map(
    text
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '')
      .map((line) => [line.replaceAll(/\d+/g, '0'), line]),
  )

/** Shorter lines are the beginning of many others. */
const CUT_LENGTH_MIN = 4

function missingOutput(failed: RunBehaviour, changed: RunBehaviour): Loss[] {
  const before = lineKinds(failed.stdout)
  const now = lineKinds(changed.stdout)
  // A line that was cut off is only longer now.
  const longer = [...now.values()].filter((line) => !failed.stdout.includes(line))
  const isContinued = (line: string): boolean =>
    line.length >= CUT_LENGTH_MIN && longer.some((each) => each.startsWith(line))
  const missing = [...before]
    .filter(([kind, line]) => !now.has(kind) && !isContinued(line))
    .map(([, line]) => line)
  // A wrong line is replaced by a right one, unless the run ended before anything was wrong.
  const isLost = failed.isThrown || now.size < before.size
  return isLost ? missing.slice(0, 1).map((line) => ({ code: 'OUTPUT_MISSING', line })) : []
}

function emptyRequests(failed: RunBehaviour, changed: RunBehaviour): Loss[] {
  const before = failed.actions.flatMap(({ sent }) => emptyValues(sent))
  return changed.actions
    .flatMap(({ label, sent }) => emptyValues(sent).map((value) => ({ label, value })))
    .filter(({ value }) => !before.includes(value))
    .slice(0, 1)
    .map(({ label, value }) => ({ code: 'EMPTY_SENT', value, step: label }))
}

function missingActions(failed: RunBehaviour, changed: RunBehaviour): Loss[] {
  const kinds = new Set(changed.actions.map(({ kind }) => kind))
  const gone = failed.actions.filter(({ kind, isFailed }) => isFailed !== true && !kinds.has(kind))
  return [...new Map(gone.map((action) => [action.kind, action])).values()]
    .slice(0, 1)
    .map(({ label, title }) => ({ code: 'ACTION_MISSING', step: label, title }))
}
