import { type ConditionName, conditionsOf } from './compile-predicate.js'
import type { Predicate } from './policy.js'
import { clipText } from '@retake/tape/format'
import { containsSecret, SecretMask } from '@retake/engine/hook'

const LONGEST = 60

/** Characters that are searched for secrets. */
const LOOKED_AT = 500

/** Tokens and keys: a long word of letters and digits, or with a known prefix. */
const TOKEN =
  /(?:^|[^\w-])(?:[a-z]{2,10}[-_](?=[\w-]*\d)[\w-]{12,}|eyJ[\w-]{8,}\.|(?=[\w+/=-]*\d)(?=[\w+/=-]*[a-z])[\w+/=-]{24,})|-----BEGIN|\bbearer\s+\S{8,}|\bbasic\s+[\w+/=]{8,}/i

/** Of paths and URLs, each part is checked by itself. */
const PATH_OR_URL = /^(?:\.{0,2}\/|~\/|[a-z]:[\\/]|[a-z][a-z+.-]*:\/\/)/i

/** True if a value may be a secret. */
function isSecretValue(name: string, text: string): boolean {
  const start = text.slice(0, LOOKED_AT)
  const words = PATH_OR_URL.test(start) ? start.split(/[/\\?&=]/) : [start]
  return (
    containsSecret(name, start) ||
    words.some((word) => TOKEN.test(word)) ||
    containsProcessSecret(start)
  )
}

function containsProcessSecret(text: string): boolean {
  const mask = new SecretMask()
  mask.addEnvironment(process.env)
  return mask.text(text) !== text
}

/** A value for explanations: clipped, on one line, and hidden if it or its name looks secret. */
export function shownValue(value: unknown, name = ''): string {
  if (value === undefined) return 'missing'
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean')
    return containsSecret(name, '') ? 'a hidden value' : String(value)
  if (value === null) return 'null'
  const text = typeof value === 'string' ? value : jsonOf(value)
  if (isSecretValue(name, text)) return `a hidden text of ${text.length} characters`
  const clipped = clipText(text, LONGEST)
  return typeof value === 'string' ? JSON.stringify(clipped) : clipped
}

function jsonOf(value: unknown): string {
  if (value instanceof Uint8Array) return `${value.byteLength} bytes`
  if (value instanceof Date) return String(value)
  if (value instanceof Map) return `a map of ${value.size}`
  if (value instanceof Set) return `a set of ${value.size}`
  return JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'bigint' ? String(each) : each,
  )
}

/** A predicate as part of a sentence about the value at `path`: `over 100`, `not one of "a", "b"`. */
export const predicateWords = (predicate: Predicate, path: string): string =>
  conditionsOf(predicate)
    .map(([name, operand]) => WORDS[name][0](operand, path))
    .join(' and ')

/** The opposite of a predicate in words: `up to 100`. */
export const oppositeWords = (predicate: Predicate, path: string): string =>
  conditionsOf(predicate)
    .map(([name, operand]) => {
      const [words, opposite] = WORDS[name]
      return opposite?.(operand, path) ?? `not ${words(operand, path)}`
    })
    .join(' or ')

type Words = (operand: unknown, path: string) => string

const after =
  (words: string): Words =>
  (operand) =>
    `${words} ${String(operand)}`

const quoted =
  (words: string): Words =>
  (operand, path) =>
    `${words} ${shownValue(operand, path)}`

const each =
  (wordsOf: (predicate: Predicate, path: string) => string, between: string): Words =>
  (operand, path) =>
    (operand as readonly Predicate[]).map((one) => wordsOf(one, path)).join(between)

/** Each condition in words, and its opposite if that is not just `not`. */
const WORDS: Readonly<Record<ConditionName, readonly [words: Words, opposite?: Words]>> = {
  equals: [shownValue],
  not: [
    (operand, path) => oppositeWords(operand as Predicate, path),
    (operand, path) => predicateWords(operand as Predicate, path),
  ],
  in: [(operand, path) => `one of ${listOf(operand as readonly unknown[], path)}`],
  matches: [(operand) => `matching /${String(operand)}/`],
  startsWith: [quoted('starting with')],
  endsWith: [quoted('ending with')],
  contains: [quoted('containing')],
  over: [after('over'), after('up to')],
  under: [after('under'), after('at least')],
  atLeast: [after('at least'), after('under')],
  atMost: [after('up to'), after('over')],
  longerThan: [after('longer than'), after('no longer than')],
  shorterThan: [after('shorter than'), after('no shorter than')],
  exists: [
    (operand) => (operand === true ? 'given' : 'not given'),
    (operand) => (operand === true ? 'not given' : 'given'),
  ],
  type: [(operand) => `of type ${[operand].flat().join(' or ')}`],
  anyOf: [each(predicateWords, ' or '), each(oppositeWords, ' and ')],
  allOf: [each(predicateWords, ' and '), each(oppositeWords, ' or ')],
  noneOf: [each(oppositeWords, ' and '), each(predicateWords, ' or ')],
}

const SHOWN = 6

function listOf(list: readonly unknown[], path: string): string {
  const rest = list.length - SHOWN
  const shown = list.slice(0, SHOWN).map((one) => shownValue(one, path))
  return shown.join(', ') + (rest > 0 ? ` and ${rest} more` : '')
}
