import { toWire, wireEqual } from '@retake/tape'
import { fitIf, NO, UNTOLD, YES, type Fit, type FitTest } from './fit.js'
import { textOf } from './value-forms.js'

/** Whether a value holds the same data as this one. */
export function equalTest(operand: unknown, ignoreCase: boolean | undefined): FitTest {
  if (typeof operand === 'object' && operand !== null) {
    const wire = toWire(operand)
    return (value) =>
      typeof value === 'object' && value !== null ? fitIf(wireEqual(toWire(value), wire)) : NO
  }
  const loose = looseTest(operand)
  if (typeof operand === 'string' && ignoreCase) {
    const folded = operand.toLowerCase()
    return (value) =>
      typeof value === 'string' ? fitIf(value.toLowerCase() === folded) : loose(value)
  }
  return (value) => {
    if (value === operand) return YES
    return typeof value === typeof operand ? NO : loose(value)
  }
}

/** For values of another type: a tool may take them for the same, like `100` and `"100"`. */
function looseTest(operand: unknown): FitTest {
  if (operand === null || operand === undefined) return () => NO
  const text = (textOf(operand) ?? '').trim()
  const number = text === '' ? Number.NaN : Number(text)
  return (value) => {
    switch (typeof value) {
      case 'string': {
        const given = value.trim()
        return given === text || (given !== '' && Number(given) === number) ? UNTOLD : NO
      }
      case 'number':
        return value === number ? looseNumber(operand) : NO
      case 'bigint':
        return Number(value) === number && String(value) === text ? looseNumber(operand) : NO
      case 'boolean':
        return String(value) === text ? UNTOLD : NO
      case 'object':
        return value !== null && (textOf(value) === text || isWrapped(value, operand)) ? UNTOLD : NO
      case 'undefined':
      case 'symbol':
      case 'function':
        return NO
    }
  }
}

/** A number and a bigint are the same number. */
const looseNumber = (operand: unknown): Fit => (typeof operand === 'string' ? UNTOLD : YES)

/** A list of this one value, which becomes its text where it is joined. */
const isWrapped = (value: object | undefined, operand: unknown): boolean =>
  Array.isArray(value) && value.length === 1 && String(value[0]) === String(operand)
