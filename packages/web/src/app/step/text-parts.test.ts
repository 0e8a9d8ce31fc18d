import fc from 'fast-check'
import { expect, test } from 'vitest'
import { visibleParts, visibleText } from './text-parts.js'

test('text without anything hidden is one part', () => {
  expect(visibleParts('plain ☃ 日本\n\ttext\r\n')).toEqual([
    { type: 'text', text: 'plain ☃ 日本\n\ttext\r\n' },
  ])
})

test.each([
  ['\u202e', '⟨U+202E⟩', 'right-to-left override'],
  ['\u200b', '⟨U+200B⟩', 'zero-width space'],
  ['\0', '⟨NUL⟩', 'null'],
  ['\u001b', '⟨ESC⟩', 'escape'],
  ['\ud83d', '⟨U+D83D⟩', 'half of a surrogate pair'],
  ['\u{e0041}', '⟨U+E0041⟩', 'U+E0041'],
  ['\r', '⟨CR⟩', 'carriage return'],
])('%j is seen as %s', (char, sign, name) => {
  const [before, mark, after] = visibleParts(`a${char}b`)
  expect([before?.text, mark?.text, after?.text]).toEqual(['a', sign, 'b'])
  expect(mark).toMatchObject({ type: 'mark', name: expect.stringContaining(name) as string })
})

test('a joiner between pictures is part of them', () => {
  expect(visibleText('👩‍👩‍👧 ❤️‍🔥')).toBe('👩‍👩‍👧 ❤️‍🔥')
  expect(visibleText('pass\u200dword')).toBe('pass⟨U+200D⟩word')
})

test('equal characters in a row make one mark, and marks come to an end', () => {
  expect(visibleText('\0'.repeat(30_000))).toBe('⟨NUL⟩×30000')
  expect(visibleParts('\0\u0001'.repeat(20_000)).length).toBeLessThan(500)
})

/** Any unit of UTF-16: halves of pairs too. */
const UNIT = fc.nat({ max: 0xffff }).map((code) => String.fromCharCode(code))

test('no direction override or zero-width character is left in what is shown', () => {
  fc.assert(
    fc.property(fc.string({ unit: UNIT }), (text) => {
      const shown = visibleText(`${text}\u202e\u200b\0`)
      // oxlint-disable-next-line no-control-regex -- these are what must not be there
      expect(shown).not.toMatch(/[\0\u202a-\u202e\u2066-\u2069\u200b\u2060\u001b]/)
      expect(shown.isWellFormed()).toBe(true)
    }),
  )
})
