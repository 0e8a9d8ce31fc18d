import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  encodingUndone,
  foldAt,
  hexLine,
  hexLineCount,
  readAnsi,
  visibleParts,
} from './text-parts.js'
import { stackFrames } from '../../model/site-in-stack.js'

/** All parts as one string. */
const textOf = (parts: readonly { readonly text: string }[]): string =>
  parts.map(({ text }) => text).join('')

const body = { bytes: 2, form: 'json', text: '{}', clipped: false } as const
const empty = { bytes: 0, form: 'empty', text: '', clipped: false } as const
const packed = [['Content-Encoding', 'gzip']] as const

test('says which encoding a body is shown without', () => {
  expect(encodingUndone({ headers: packed, body, undecoded: undefined })).toBe('gzip')
  expect(encodingUndone({ headers: packed, body, undecoded: 'gzip' })).toBeUndefined()
  expect(encodingUndone({ headers: packed, body: empty, undecoded: undefined })).toBeUndefined()
  const plain = [['content-encoding', 'identity']] as const
  expect(encodingUndone({ headers: plain, body, undecoded: undefined })).toBeUndefined()
  expect(encodingUndone({ headers: [], body, undecoded: undefined })).toBeUndefined()
})

test('frames of packages and of Node are distinguished from user frames', () => {
  const stack = `TypeError: no
second line of the message
    at fail (file:///app/agent.ts:3:7)
    at async Client.post (/app/node_modules/sdk/index.js:1:1)
    at node:internal/process/task_queues:95:5
    at C:\\app\\agent.ts:4:2
    at new Promise (<anonymous>)`
  expect(stackFrames(stack).map(({ site, isOwn }) => [site, isOwn])).toEqual([
    ['/app/agent.ts:3:7', true],
    ['/app/node_modules/sdk/index.js:1:1', false],
    [undefined, false],
    ['C:\\app\\agent.ts:4:2', true],
    [undefined, false],
  ])
})

test('sixteen bytes make a line: offset, bytes, text', () => {
  const bytes = Uint8Array.from({ length: 18 }, (_, index) => index + 0x3c)
  expect(hexLineCount(bytes.length)).toBe(2)
  expect(hexLine(bytes, 0)).toEqual({
    offset: '00000000',
    hex: '3c 3d 3e 3f 40 41 42 43  44 45 46 47 48 49 4a 4b',
    text: '<=>?@ABCDEFGHIJK',
  })
  expect(hexLine(bytes, 1)).toMatchObject({ offset: '00000010', text: 'LM' })
})

test('a byte that is not printable ASCII is a dot', () => {
  expect(hexLine(Uint8Array.from([0, 0x1b, 0x7f, 0xff, 0x41]), 0).text).toBe('····A')
})

test('a short or slightly too long text is shown completely', () => {
  expect(foldAt('short')).toBe(5)
  expect(foldAt('x'.repeat(4500))).toBe(4500)
})

test('a long text is cut after some characters or lines, whichever come first', () => {
  expect(foldAt('x'.repeat(20_000_000))).toBe(4000)
  expect(foldAt('line\n'.repeat(500))).toBe(60 * 5 - 1)
})

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
])('%j is read as %s', (written, shown) => expect(textOf(readAnsi(written))).toBe(shown))

test('256 and RGB colours are not mistaken for other codes', () => {
  expect(readAnsi('\u001b[38;5;31mx')).toEqual([{ text: 'x', tone: undefined, bold: false }])
})

test('text without escapes is unchanged', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      fc.pre(!text.includes('\u001b'))
      expect(textOf(readAnsi(text))).toBe(text)
    }),
  )
})

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
])('%j is shown as %s', (char, sign, name) => {
  const [before, mark, after] = visibleParts(`a${char}b`)
  expect([before?.text, mark?.text, after?.text]).toEqual(['a', sign, 'b'])
  expect(mark).toMatchObject({ type: 'mark', name: expect.stringContaining(name) as string })
})

test('a joiner between pictures is part of them', () => {
  expect(textOf(visibleParts('👩‍👩‍👧 ❤️‍🔥'))).toBe('👩‍👩‍👧 ❤️‍🔥')
  expect(textOf(visibleParts('pass\u200dword'))).toBe('pass⟨U+200D⟩word')
})

test('equal adjacent characters make one mark, and marks are limited', () => {
  expect(textOf(visibleParts('\0'.repeat(30_000)))).toBe('⟨NUL⟩×30000')
  expect(visibleParts('\0\u0001'.repeat(20_000)).length).toBeLessThan(500)
})

/** Any unit of UTF-16: halves of pairs too. */
const UNIT = fc.nat({ max: 0xffff }).map((code) => String.fromCharCode(code))

test('no direction override or zero-width character is left in shown text', () => {
  fc.assert(
    fc.property(fc.string({ unit: UNIT }), (text) => {
      const shown = textOf(visibleParts(`${text}\u202e\u200b\0`))
      // oxlint-disable-next-line no-control-regex -- these are what must not be there
      expect(shown).not.toMatch(/[\0\u202a-\u202e\u2066-\u2069\u200b\u2060\u001b]/)
      expect(shown.isWellFormed()).toBe(true)
    }),
  )
})
