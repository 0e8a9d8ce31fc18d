import { expect, test } from 'vitest'
import { wrapFacts } from './terminal.js'

test('facts are broken between facts, and a number stays with its unit', () => {
  const text = '24 forks · 28 live steps · 0 tokens · $0 · 31 s'
  expect(wrapFacts(text, 44)).toEqual(['24 forks · 28 live steps · 0 tokens · $0 ·', '31 s'])
  expect(wrapFacts(text, 80)).toEqual([text])
  for (let width = 16; width < 60; width++)
    for (const line of wrapFacts(text, width)) expect(line.length).toBeLessThanOrEqual(width)
})
