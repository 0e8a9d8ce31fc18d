import { Hono } from 'hono'
import { expect, test } from 'vitest'
import { streamLines } from './api.js'

/** What is asked for values one by one, and whether anybody still does. */
function source(count: number, { failsAt = -1 } = {}) {
  const state = { made: 0, isEnded: false }
  const values = (function* () {
    try {
      for (; state.made < count; state.made++) {
        if (state.made === failsAt) throw new Error('a body is damaged')
        yield { value: state.made, text: 'x'.repeat(1000) }
      }
    } finally {
      state.isEnded = true
    }
  })()
  return { state, values }
}

const run = async (values: Iterable<unknown>): Promise<Response> =>
  new Hono().get('/', (c) => streamLines(c, values)).request('/')

test('every value is a line of JSON', async () => {
  const response = await run(source(300).values)
  const lines = (await response.text()).trimEnd().split('\n')
  expect(lines).toHaveLength(300)
  expect(lines.map((line) => (JSON.parse(line) as { value: number }).value)).toEqual(
    Array.from({ length: 300 }, (_, each) => each),
  )
})

test('values are produced only on demand, and none after the reader has stopped', async () => {
  const { state, values } = source(100_000)
  const reader = (await run(values)).body?.getReader()
  await reader?.read()
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(state.made).toBeLessThan(1000)
  await reader?.cancel()
  expect(state.isEnded).toBe(true)
  const { made } = state
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(state.made).toBe(made)
})

test('an error on the way is the last line', async () => {
  const text = await (await run(source(10, { failsAt: 3 }).values)).text()
  const lines = text.trimEnd().split('\n')
  expect(lines).toHaveLength(4)
  expect(JSON.parse(lines[3] ?? '')).toMatchObject({ $error: { what: 'a body is damaged' } })
})
