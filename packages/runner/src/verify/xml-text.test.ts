import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { xmlAttribute, xmlText } from './verdict.js'

test('markup is escaped, and characters that XML forbids are removed', () => {
  expect(xmlText(`a<b>&"c' \u0000\u001B[31mred\u001B[0m \uFFFE \uD800 😀\n`)).toBe(
    `a&lt;b&gt;&amp;&quot;c' [31mred[0m   😀\n`,
  )
  expect(xmlAttribute('one\ntwo\tthree\r')).toBe('one&#10;two&#9;three&#13;')
})

test('any text can be put into a document', () => {
  const text = fc
    .array(fc.integer({ min: 0, max: 0xff_ff }), { maxLength: 40 })
    .map((codes) => String.fromCharCode(...codes))
  fc.assert(
    fc.property(text, (value) => {
      for (const written of [xmlText(value), xmlAttribute(value)]) {
        expect(written).not.toMatch(/[<>"]|&(?!(?:amp|lt|gt|quot|#\d+);)/)
        expect(Array.from(written).every(mayStand), JSON.stringify(written)).toBe(true)
      }
    }),
  )
})

function mayStand(character: string): boolean {
  const code = character.codePointAt(0) ?? 0
  if (code < 0x20) return [9, 10, 13].includes(code)
  return code < 0xd8_00 || (code > 0xdf_ff && code !== 0xff_fe && code !== 0xff_ff)
}
