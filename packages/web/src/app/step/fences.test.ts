import fc from 'fast-check'
import { expect, test } from 'vitest'
import { splitFences } from './text-parts.js'

test('a fence makes a block of code, with its language', () => {
  expect(splitFences('Look:\n```ts\nconst a = 1\n```\nDone.')).toEqual([
    { type: 'text', text: 'Look:' },
    { type: 'code', language: 'ts', text: 'const a = 1' },
    { type: 'text', text: 'Done.' },
  ])
})

test('a longer fence holds a shorter one, and only the same sign closes it', () => {
  expect(splitFences('````\n```\n~~~\n````')).toEqual([
    { type: 'code', language: '', text: '```\n~~~' },
  ])
})

test('a fence that is never closed reaches to the end, as while an answer streams', () => {
  expect(splitFences('```js\nlet a\n')).toEqual([{ type: 'code', language: 'js', text: 'let a\n' }])
})

test('marks within a line are text', () => {
  expect(splitFences('use ```x``` here')).toEqual([{ type: 'text', text: 'use ```x``` here' }])
})

test('every line of a text is shown, but for the fences', () => {
  const line = fc.oneof(fc.constantFrom('```', '~~~', '```x', 'a', '  ', '    ```'), fc.string())
  const missing = (lines: readonly string[]): readonly string[] => {
    const blocks = splitFences(lines.join('\n'))
    const shown = blocks.map((block) => block.text).join('\n')
    return lines.filter((each) => !/^ {0,3}(```|~~~)/.test(each) && !shown.includes(each))
  }
  fc.assert(
    fc.property(fc.array(line), (lines) => {
      expect(missing(lines)).toEqual([])
    }),
  )
})
