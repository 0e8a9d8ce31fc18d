import { expect, test } from 'vitest'
import { foldEqual } from './text-diff.js'

const fold = (text: string, margin: number, least: number): string =>
  foldEqual(text.split(''), (letter) => letter === '.', { margin, least })
    .map((part) => (part.type === 'item' ? part.item : `(${part.items.length})`))
    .join('')

test('equal parts are folded, except for some lines around a difference', () => {
  expect(fold('..........x..........', 3, 3)).toBe('(7)...x...(7)')
  expect(fold('x..........x', 3, 3)).toBe('x...(4)...x')
})

test('short equal parts are not folded', () => {
  expect(fold('x........x', 3, 3)).toBe('x........x')
  expect(fold('x.x', 0, 1)).toBe('x(1)x')
  expect(fold('', 3, 3)).toBe('')
})
