import { equalTest } from './equal-test.js'
import { fitIf, NO, notFit, UNTOLD, YES, type Fit, type FitTest } from './fit.js'
import { LinearPattern, PATTERN_TEXT_LIMIT } from './linear-pattern.js'
import type { Conditions, Predicate, ValueType } from './policy.js'
import { isType, sizeOf, textOf } from './value-forms.js'

/** A predicate, ready to be asked about values that are there. A missing one is undefined. */
export function compilePredicate(predicate: Predicate): FitTest {
  const tests = conditionsOf(predicate).map(([name, operand, all]) =>
    conditionTest(name, operand, all),
  )
  const [only] = tests
  if (only !== undefined && tests.length === 1) return only
  return (value) => least(tests, value)
}

/** The conditions of a predicate by name; a plain value is one to be equal to. */
export function conditionsOf(
  predicate: Predicate,
): [name: ConditionName, operand: unknown, all: Conditions][] {
  const conditions: Conditions =
    typeof predicate === 'object' && predicate !== null ? predicate : { equals: predicate }
  return Object.entries(conditions)
    .filter(([name, operand]) => name !== 'ignoreCase' && operand !== undefined)
    .map(([name, operand]) => [name as ConditionName, operand, conditions])
}

export type ConditionName = Exclude<keyof Conditions, 'ignoreCase'>

/** A missing value fits nothing; what it fits negated cannot be told. */
const ifThere =
  (test: FitTest): FitTest =>
  (value) =>
    value === undefined ? NO : test(value)

/** Neither does null, where texts, numbers and sizes are compared: it is how many say that nothing is given. */
const ifGiven =
  (test: FitTest): FitTest =>
  (value) =>
    value === undefined || value === null ? NO : test(value)

function conditionTest(name: ConditionName, operand: unknown, all: Conditions): FitTest {
  const fold: (text: string) => string = all.ignoreCase
    ? (text) => text.toLowerCase()
    : (text) => text
  const text = (test: (text: string) => boolean): FitTest =>
    ifGiven((value) => {
      const found = textOf(value)
      return found === undefined ? UNTOLD : fitIf(test(fold(found)))
    })
  const number = (test: (number: number | bigint) => boolean): FitTest =>
    ifGiven((value) => numberFit(value, test))
  const size = (test: (size: number) => boolean): FitTest =>
    ifGiven((value) => {
      const found = sizeOf(value)
      return found === undefined ? UNTOLD : fitIf(test(found))
    })
  switch (name) {
    case 'equals':
      return ifThere(equalTest(operand, all.ignoreCase))
    case 'in':
      return ifThere(inTest(operand as readonly unknown[], all.ignoreCase))
    case 'not': {
      const test = compilePredicate(operand as Predicate)
      return (value) => (value === undefined ? UNTOLD : notFit(test(value)))
    }
    case 'matches': {
      const pattern = new LinearPattern(operand as string, all.ignoreCase)
      return ifGiven((value) => {
        const found = textOf(value)
        if (found === undefined || found.length > PATTERN_TEXT_LIMIT) return UNTOLD
        return pattern.fit(found)
      })
    }
    case 'startsWith': {
      const start = fold(operand as string)
      return text((found) => found.startsWith(start))
    }
    case 'endsWith': {
      const end = fold(operand as string)
      return text((found) => found.endsWith(end))
    }
    case 'contains':
      return ifGiven(containsTest(operand, all.ignoreCase, fold))
    case 'over':
      return number((found) => found > (operand as number))
    case 'under':
      return number((found) => found < (operand as number))
    case 'atLeast':
      return number((found) => found >= (operand as number))
    case 'atMost':
      return number((found) => found <= (operand as number))
    case 'longerThan':
      return size((found) => found > (operand as number))
    case 'shorterThan':
      return size((found) => found < (operand as number))
    case 'exists':
      return (value) => fitIf((value !== undefined) === operand)
    case 'type': {
      const types = typeof operand === 'string' ? [operand] : (operand as readonly string[])
      return ifThere((value) => fitIf(types.some((type) => isType(value, type as ValueType))))
    }
    case 'anyOf': {
      const tests = (operand as readonly Predicate[]).map(compilePredicate)
      return (value) => most(tests, value)
    }
    case 'allOf': {
      const tests = (operand as readonly Predicate[]).map(compilePredicate)
      return (value) => least(tests, value)
    }
    case 'noneOf': {
      const tests = (operand as readonly Predicate[]).map(compilePredicate)
      return (value) => (value === undefined ? UNTOLD : notFit(most(tests, value)))
    }
  }
}

function least(tests: readonly FitTest[], value: unknown): Fit {
  let found: Fit = YES
  for (const test of tests) {
    const fit = test(value)
    if (fit === NO) return NO
    if (fit < found) found = fit
  }
  return found
}

function most(tests: readonly FitTest[], value: unknown): Fit {
  let found: Fit = NO
  for (const test of tests) {
    const fit = test(value)
    if (fit === YES) return YES
    if (fit > found) found = fit
  }
  return found
}

function inTest(list: readonly unknown[], ignoreCase: boolean | undefined): FitTest {
  const plain = new Set(list.filter((each) => typeof each !== 'object' || each === null))
  const tests = list.map((each) => equalTest(each, ignoreCase))
  return (value) => (plain.has(value) ? YES : most(tests, value))
}

function containsTest(
  operand: unknown,
  ignoreCase: boolean | undefined,
  fold: (text: string) => string,
): FitTest {
  const part = fold(String(operand))
  const equal = equalTest(operand, ignoreCase)
  const member = (each: unknown): Fit => {
    const fit = equal(each)
    if (fit !== NO) return fit
    return fold(textOf(each) ?? '').includes(part) ? UNTOLD : NO
  }
  return (value) => {
    if (Array.isArray(value) || value instanceof Set) {
      let found: Fit = NO
      for (const each of value) found = Math.max(found, member(each)) as Fit
      return found
    }
    const found = textOf(value)
    return found === undefined ? UNTOLD : fitIf(fold(found).includes(part))
  }
}

/** Numbers compare. A text that is one can be taken for one; anything else cannot be told. */
function numberFit(value: unknown, test: (number: number | bigint) => boolean): Fit {
  if (typeof value === 'bigint') return fitIf(test(value))
  if (typeof value === 'number') return Number.isNaN(value) ? UNTOLD : fitIf(test(value))
  if (typeof value === 'string' && value.trim() !== '') {
    const number = Number(value)
    return !Number.isNaN(number) && !test(number) ? NO : UNTOLD
  }
  return UNTOLD
}
