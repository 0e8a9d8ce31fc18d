import type { Message } from '@retake/tape'
import { expect, test } from 'vitest'
import { joinPages, pagesBetween } from './chat-tab.js'

const say = (index: number): Message => ({
  role: 'user',
  parts: [{ type: 'text', text: String(index) }],
})
const range = (from: number, to: number): Message[] =>
  Array.from({ length: to - from }, (_, index) => say(from + index))
const given = { from: 1940, messages: range(1940, 2000) }

test('a long conversation is fetched in pages, and no further back than is wanted', () => {
  expect(pagesBetween(0, 1940)).toEqual([0, 500, 1000, 1500])
  expect(pagesBetween(1600, 1940)).toEqual([1500])
  expect(pagesBetween(1940, 1940)).toEqual([])
})

test('pages are joined to the end without a gap and without a message twice', () => {
  const pages = [range(0, 1000), range(500, 1500), range(1000, 2000), range(1500, 2000)]
  const { from, messages } = joinPages(given, [0, 500, 1000, 1500], pages)
  expect(from).toBe(0)
  expect(messages).toEqual(range(0, 2000))
})

test('messages before a missing page wait for it', () => {
  const { from } = joinPages(
    given,
    [0, 500, 1000, 1500],
    [range(0, 1000), undefined, range(1000, 2000), range(1500, 2000)],
  )
  expect(from).toBe(1000)
})
