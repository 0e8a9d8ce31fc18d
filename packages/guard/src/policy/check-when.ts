import { pathProblem } from './argument-path.js'
import type { DataCheck } from './data-check.js'
import { patternProblem } from './linear-pattern.js'

type Path = readonly (string | number)[]

const NUMBERS = ['over', 'under', 'atLeast', 'atMost']
const SIZES = ['longerThan', 'shorterThan']
const TEXTS = ['startsWith', 'endsWith']
const SWITCHES = ['exists', 'ignoreCase']
const LISTS = ['anyOf', 'allOf', 'noneOf']
const TYPES = ['string', 'number', 'integer', 'boolean', 'null', 'array', 'object', 'date', 'bytes']
const CONDITIONS = [
  'equals',
  'not',
  'in',
  'matches',
  'contains',
  'type',
  ...TEXTS,
  ...NUMBERS,
  ...SIZES,
  ...SWITCHES,
  ...LISTS,
]

/** Checks a predicate for each path. */
export function checkWhen(check: DataCheck, path: Path, data: unknown): void {
  if (data === undefined) return
  const when = check.object(path, data, '`when`', undefined)
  if (when === undefined) return
  if (Object.keys(when).length === 0) check.add(path, 'It names no argument.')
  for (const [argument, predicate] of Object.entries(when)) {
    const problem = pathProblem(argument)
    if (problem !== undefined) check.add([...path, argument], problem)
    checkPredicate(check, [...path, argument], predicate)
  }
}

function checkPredicate(check: DataCheck, path: Path, data: unknown): void {
  if (data === null || ['string', 'number', 'boolean'].includes(typeof data)) return
  if (Array.isArray(data)) {
    check.add(
      path,
      'It is a list; write { in: [...] } for one of them, { equals: [...] } for the list.',
    )
    return
  }
  const conditions = check.object(path, data, 'A predicate', CONDITIONS)
  if (conditions === undefined) return
  const given = Object.entries(conditions).filter(([, operand]) => operand !== undefined)
  if (given.every(([name]) => name === 'ignoreCase')) check.add(path, 'It has no condition.')
  for (const [name, operand] of given) checkCondition(check, [...path, name], name, operand)
}

function checkCondition(check: DataCheck, path: Path, name: string, operand: unknown): void {
  if (NUMBERS.includes(name)) check.number(path, operand)
  else if (SIZES.includes(name)) check.count(path, operand)
  else if (TEXTS.includes(name)) {
    if (typeof operand !== 'string' || operand === '')
      check.add(path, 'It is a text that is not empty.')
  } else if (SWITCHES.includes(name)) {
    if (typeof operand !== 'boolean') check.add(path, 'It is true or false.')
  } else if (LISTS.includes(name)) {
    if (!check.list(path, operand, `"${name}"`)) return
    if (operand.length === 0) check.add(path, 'The list is empty.')
    for (const [index, each] of operand.entries()) checkPredicate(check, [...path, index], each)
  } else if (name === 'not') checkPredicate(check, path, operand)
  else if (name === 'in') {
    if (check.list(path, operand, '"in"') && operand.length === 0)
      check.add(path, 'The list is empty.')
  } else if (name === 'matches') {
    if (!check.text(path, operand, 'A regular expression')) return
    const problem = patternProblem(operand)
    if (problem !== undefined) check.add(path, `The regular expression cannot be used. ${problem}`)
  } else if (name === 'contains') {
    if (!['string', 'number', 'boolean'].includes(typeof operand) || operand === '')
      check.add(path, 'It is a text that is not empty, a number, or true or false.')
  } else if (name === 'type')
    for (const [index, each] of (Array.isArray(operand) ? operand : [operand]).entries())
      check.oneOf(Array.isArray(operand) ? [...path, index] : path, each, TYPES)
}
