import { isDeepStrictEqual } from 'node:util'
import { clipText, getPath, readPath } from '@retake/tape'
import { cannotTell, type Check, judged, type RunOutcome, type WrongOracle } from './oracle.js'

const SHOWN_MAX = 60

/**
 * `json:<path>=<json>` passes when that stands there, `json:<path>` when something does
 * that is not empty: not null, false, 0, "" or an empty list. It looks into what a
 * function returned, else into stdout, else into its last line that is JSON.
 */
export function jsonCheck(text: string, wrong: WrongOracle): Check {
  const { path, wanted } = parse(text, wrong)
  return {
    prepare: () => (outcome) => {
      const document = documentOf(outcome)
      if (document === undefined) return cannotTell('stdout holds no JSON')
      const found = at(document.value, path)
      if (found === undefined) return cannotTell(`the JSON has no ${path}`)
      const is = `${path} is ${shortened(found.value)}`
      if (wanted === undefined) return judged(!isEmpty(found.value), is)
      return judged(isDeepStrictEqual(found.value, wanted.value), is)
    },
  }
}

function parse(text: string, wrong: WrongOracle): { path: string; wanted?: { value: unknown } } {
  const example = `For example: --oracle 'json:order.status="refunded"'.`
  let rest: string
  try {
    rest = readPath(text).rest
  } catch {
    throw wrong(`"json:${text}" does not start with a path.`, example)
  }
  const path = text.slice(0, text.length - rest.length)
  if (rest === '') return { path }
  try {
    if (rest.startsWith('=')) return { path, wanted: { value: JSON.parse(rest.slice(1)) } }
  } catch {
    throw wrong(`"${clipText(rest.slice(1), SHOWN_MAX)}" is not JSON.`, example)
  }
  throw wrong(`"json:${text}" does not compare with =.`, example)
}

/** The JSON that a run came to, if it came to some. */
function documentOf({ stdout, result }: RunOutcome): { readonly value: unknown } | undefined {
  if (result !== undefined) return { value: result }
  const whole = parseJson(stdout)
  if (whole !== undefined) return whole
  const lines = stdout.trimEnd().split('\n')
  for (let index = lines.length - 1; index >= 0; index--) {
    const found = parseJson(lines[index] ?? '')
    // A number or a word alone on a line is more likely prose.
    if (found !== undefined && typeof found.value === 'object' && found.value !== null) return found
  }
  return undefined
}

function parseJson(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return undefined
  }
}

function at(document: unknown, path: string): { readonly value: unknown } | undefined {
  try {
    return { value: getPath(document, path) }
  } catch {
    return undefined
  }
}

const isEmpty = (value: unknown): boolean => (Array.isArray(value) ? value.length === 0 : !value)

const shortened = (value: unknown): string =>
  clipText(JSON.stringify(value) ?? 'nothing', SHOWN_MAX)
