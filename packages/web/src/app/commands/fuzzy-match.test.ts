import { expect, test } from 'vitest'
import { fuzzyMatch } from './palette-items.js'

const best = (query: string, texts: readonly string[]) =>
  texts
    .map((text) => ({ text, match: fuzzyMatch(query, text) }))
    .filter(({ match }) => match !== undefined)
    .toSorted((a, b) => (b.match?.score ?? 0) - (a.match?.score ?? 0))
    .map(({ text }) => text)

test('letters are found in their order, not necessarily together', () => {
  expect(fuzzyMatch('nxt', 'Next step')?.indexes).toEqual([0, 2, 3])
  expect(fuzzyMatch('tn', 'Next')).toBeUndefined()
})

test('every word has to be found, in any order', () => {
  expect(fuzzyMatch('step next', 'Next step')).toBeDefined()
  expect(fuzzyMatch('step third', 'Next step')).toBeUndefined()
})

test('the beginning of a word beats the middle of one, and that beats scattered letters', () => {
  expect(best('err', ['Mirror', 'The next error', 'Evening roar of rain'])).toEqual([
    'The next error',
    'Evening roar of rain',
  ])
  expect(best('or', ['Mirror', 'Next or last'])[0]).toBe('Next or last')
})

test('nothing asked matches everything', () => {
  expect(fuzzyMatch('', 'anything')?.indexes).toEqual([])
})
