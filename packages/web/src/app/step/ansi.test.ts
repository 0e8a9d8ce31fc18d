import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readAnsi, stripAnsi } from './text-parts.js'

test('colours become tones, and end where they are reset', () => {
  expect(readAnsi('a \u001b[1;31mred\u001b[0m b')).toEqual([
    { text: 'a ', tone: undefined, bold: false },
    { text: 'red', tone: 'danger', bold: true },
    { text: ' b', tone: undefined, bold: false },
  ])
})

test.each([
  ['\u001b[2Jx', 'x'],
  ['\u001b[?25lx\u001b[?25h', 'x'],
  ['\u001b]0;title\u0007x', 'x'],
  ['\u001b]8;;http://127.0.0.1/\u001b\\link\u001b]8;;\u001b\\', 'link'],
  ['\u001b[38;5;196mx\u001b[38;2;1;2;31mx', 'xx'],
  ['\u001bcx', 'x'],
  ['\u009b31mx', 'x'],
])('%j is read as %s', (written, shown) => expect(stripAnsi(written)).toBe(shown))

test('colours of 256 or of three parts are not taken for codes of their own', () => {
  expect(readAnsi('\u001b[38;5;31mx')).toEqual([{ text: 'x', tone: undefined, bold: false }])
})

test('text without escapes stays as it is', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      fc.pre(!text.includes('\u001b'))
      expect(stripAnsi(text)).toBe(text)
    }),
  )
})
