import { expect, test } from 'vitest'
import { newRunId } from './run-id.js'

test('a process never gets the same id twice', () => {
  const ids = Array.from({ length: 20_000 }, newRunId)
  expect(new Set(ids).size).toBe(ids.length)
})
