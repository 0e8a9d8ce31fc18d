import fc from 'fast-check'
import { expect, test } from 'vitest'
import { cutEvenly, cutReply, makeReply } from './reply.js'

const request = { number: 3, promptText: 'x'.repeat(40) }

test('pieces of a text add up to the text, and no character is cut', () => {
  const text = fc.string({ unit: 'binary', maxLength: 60 })
  fc.assert(
    fc.property(text, fc.option(fc.integer({ min: 0, max: 80 })), (said, chunks) => {
      const reply = makeReply({ text: said, ...(chunks !== null && { chunks }) }, request)
      const pieces = cutReply(reply)(said)
      expect(pieces.join('')).toBe(said)
      expect(pieces.every((piece) => piece !== '' && !/\p{Cs}/u.test(piece))).toBe(true)
      expect(pieces.length).toBeLessThanOrEqual(Math.max(1, chunks ?? said.length))
    }),
  )
})

test('the requested number of chunks, of about the same length', () => {
  expect(cutEvenly('abcdefghij', 3)).toEqual(['abc', 'def', 'ghij'])
  expect(cutEvenly('ab', 5)).toEqual(['a', 'b'])
  expect(cutEvenly('', 5)).toEqual([])
})

test('tokens that the script leaves out are estimated; those it gives are kept', () => {
  const { usage } = makeReply({ text: 'y'.repeat(20), usage: { cachedInput: 7 } }, request)
  expect(usage).toEqual({ input: 10, cachedInput: 7, cacheWrite: 0, output: 5, reasoning: 0 })
})

test('an answer with tool calls finishes with `tool` unless specified', () => {
  const toolCalls = [{ name: 'lookup', args: {} }]
  expect(makeReply({ toolCalls }, request).finish).toBe('tool')
  expect(makeReply({ toolCalls, finish: 'length' }, request).finish).toBe('length')
  expect(makeReply({}, request)).toMatchObject({ finish: 'stop', text: '' })
})
