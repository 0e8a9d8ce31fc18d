import { expect, test } from 'vitest'
import { embeddingVector } from './embedding.js'

const near = (left: string, right: string): number => {
  const [one, other] = [embeddingVector(left), embeddingVector(right)]
  return one.reduce((sum, value, index) => sum + value * (other[index] ?? 0), 0)
}

test('texts with common words are nearer than others', () => {
  const question = 'where is my order'
  expect(near(question, question)).toBeCloseTo(1, 4)
  expect(near(question, 'your order is on its way')).toBeGreaterThan(
    near(question, 'opening hours in Oslo'),
  )
})

test('a vector has length 1 and the dimensions asked for', () => {
  for (const text of ['', '☃', 'a b c'])
    expect(Math.hypot(...embeddingVector(text, 256))).toBeCloseTo(1, 4)
  expect(embeddingVector('a', 256)).toHaveLength(256)
  expect(embeddingVector('a', -1)).toHaveLength(64)
})
