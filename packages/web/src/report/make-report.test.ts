import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { escapeHtml, inlineJson, inlineScript } from './make-report.js'

const hostile = `</script><script>alert(1)</script><!-- <img src=x onerror="a('b')"> &amp; \u2028\0`

test('text in an element or attribute cannot end it', () => {
  expect(escapeHtml(hostile)).not.toMatch(/[<>"']/)
})

test('JSON in a script cannot end it and reads back unchanged', () => {
  expect(inlineJson({ hostile })).not.toContain('<')
  expect(JSON.parse(inlineJson({ hostile, lone: '\ud800' }))).toEqual({ hostile, lone: '\ud800' })
})

test('a script that speaks of scripts cannot end its element and means the same', () => {
  const code = '["</script>", `<!-- ${1}`, /<\\/script/u.test("</SCRIPT>"), "a<b"]'
  const inline = inlineScript(code)
  expect(inline).not.toMatch(/<\/script|<!--/i)
  const read = (text: string): unknown => runInNewContext(text)
  expect(read(inline)).toEqual(read(code))
})
