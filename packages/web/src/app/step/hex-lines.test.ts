import { expect, test } from 'vitest'
import { hexLine, hexLineCount } from './text-parts.js'

test('sixteen bytes make a line: where they are, what they are, what of them is text', () => {
  const bytes = Uint8Array.from({ length: 18 }, (_, index) => index + 0x3c)
  expect(hexLineCount(bytes.length)).toBe(2)
  expect(hexLine(bytes, 0)).toEqual({
    offset: '00000000',
    hex: '3c 3d 3e 3f 40 41 42 43  44 45 46 47 48 49 4a 4b',
    text: '<=>?@ABCDEFGHIJK',
  })
  expect(hexLine(bytes, 1)).toMatchObject({ offset: '00000010', text: 'LM' })
})

test('what is no printable ASCII is a dot', () => {
  expect(hexLine(Uint8Array.from([0, 0x1b, 0x7f, 0xff, 0x41]), 0).text).toBe('····A')
})
