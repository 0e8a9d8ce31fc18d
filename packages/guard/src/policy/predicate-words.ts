import { conditionsOf, type ConditionName } from './compile-predicate.js'
import type { Predicate } from './policy.js'
import { shownValue } from './shown-value.js'

/** A predicate as part of a sentence about the value at `path`: `over 100`, `not one of "a", "b"`. */
export const predicateWords = (predicate: Predicate, path: string): string =>
  conditionsOf(predicate)
    .map(([name, operand]) => conditionWords(name, operand, path))
    .join(' and ')

/** The opposite of a predicate in words: `up to 100`. */
export const oppositeWords = (predicate: Predicate, path: string): string =>
  conditionsOf(predicate)
    .map(([name, operand]) => oppositeOf(name, operand, path))
    .join(' or ')

function conditionWords(name: ConditionName, operand: unknown, path: string): string {
  const shown = (): string => shownValue(operand, path)
  switch (name) {
    case 'equals':
      return shown()
    case 'not':
      return oppositeWords(operand as Predicate, path)
    case 'in':
      return `one of ${listOf(operand, path)}`
    case 'matches':
      return `matching /${String(operand)}/`
    case 'startsWith':
      return `starting with ${shown()}`
    case 'endsWith':
      return `ending with ${shown()}`
    case 'contains':
      return `containing ${shown()}`
    case 'over':
      return `over ${String(operand)}`
    case 'under':
      return `under ${String(operand)}`
    case 'atLeast':
      return `at least ${String(operand)}`
    case 'atMost':
      return `up to ${String(operand)}`
    case 'longerThan':
      return `longer than ${String(operand)}`
    case 'shorterThan':
      return `shorter than ${String(operand)}`
    case 'exists':
      return operand === true ? 'given' : 'not given'
    case 'type':
      return `of type ${[operand].flat().join(' or ')}`
    case 'anyOf':
      return wordsOf(operand, path, ' or ')
    case 'allOf':
      return wordsOf(operand, path, ' and ')
    case 'noneOf':
      return (operand as readonly Predicate[])
        .map((each) => oppositeWords(each, path))
        .join(' and ')
  }
}

function oppositeOf(name: ConditionName, operand: unknown, path: string): string {
  switch (name) {
    case 'over':
      return conditionWords('atMost', operand, path)
    case 'under':
      return conditionWords('atLeast', operand, path)
    case 'atLeast':
      return conditionWords('under', operand, path)
    case 'atMost':
      return conditionWords('over', operand, path)
    case 'longerThan':
      return `no longer than ${String(operand)}`
    case 'shorterThan':
      return `no shorter than ${String(operand)}`
    case 'exists':
      return conditionWords('exists', operand !== true, path)
    case 'not':
      return predicateWords(operand as Predicate, path)
    case 'noneOf':
      return wordsOf(operand, path, ' or ')
    case 'anyOf':
      return (operand as readonly Predicate[])
        .map((each) => oppositeWords(each, path))
        .join(' and ')
    case 'allOf':
      return (operand as readonly Predicate[]).map((each) => oppositeWords(each, path)).join(' or ')
    case 'equals':
    case 'in':
    case 'matches':
    case 'startsWith':
    case 'endsWith':
    case 'contains':
    case 'type':
      return `not ${conditionWords(name, operand, path)}`
  }
}

const wordsOf = (operand: unknown, path: string, between: string): string =>
  (operand as readonly Predicate[]).map((each) => predicateWords(each, path)).join(between)

const SHOWN = 6

function listOf(operand: unknown, path: string): string {
  const list = operand as readonly unknown[]
  const rest = list.length - SHOWN
  return (
    list
      .slice(0, SHOWN)
      .map((each) => shownValue(each, path))
      .join(', ') + (rest > 0 ? ` and ${rest} more` : '')
  )
}
