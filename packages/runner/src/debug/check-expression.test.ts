import { expect, test } from 'vitest'
import { checkExpression } from './step-prompt.js'

test.each([
  'a + b',
  '{ a, b }',
  'this.#secret',
  'x => x',
  '"text with #marks"',
  '[1, 2].map(String)',
])('%s is evaluated as an expression', (expression) => {
  expect(checkExpression(expression)).toBe(`(${expression}\n)`)
})

test('a statement is not changed', () => {
  expect(checkExpression('if (a) b')).toBe('if (a) b')
})

test('a comment at the end does not swallow the closing parenthesis', () => {
  expect(() => checkExpression('a // why')).not.toThrow()
})

test.each(['', '  ', 'a b', '(', 'x as string'])('"%s" is refused', (expression) => {
  expect(() => checkExpression(expression)).toThrow(
    expect.objectContaining({ code: 'EXPRESSION_INVALID' }),
  )
})
