import fc from 'fast-check'
import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { expect, test } from 'vitest'
import { Markdown, markdownTokens } from './markdown.js'

const shown = (text: string): string => renderToStaticMarkup(createElement(Markdown, { text }))

/** The words of a page, without its elements. */
const wordsOf = (html: string): string =>
  html
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#x27;', "'")
    .replaceAll('&amp;', '&')

test('common Markdown is rendered', () => {
  const html = shown(
    '# Title\n\nSome **bold** and `code`.\n\n- [x] one\n- two\n\n| a | b |\n|--|--:|\n| 1 | 2 |\n\n```ts\nlet x\n```',
  )
  for (const part of ['<strong', '<code', '<li', '<table', 'text-right', '<pre', '>ts<', '☑'])
    expect(html).toContain(part)
  expect(html).not.toContain('**')
})

test('a text of lines keeps them', () => {
  expect(shown('one\ntwo')).toContain('one\ntwo')
})

test.each([
  '<img src=x onerror="alert(1)">',
  '<script>alert(1)</script>',
  '[x](javascript:alert(1))',
  '![x](http://127.0.0.1:9/beacon)',
  '<http://127.0.0.1:9/beacon>',
  '[a]: http://127.0.0.1:9/beacon "title"\n\n[a]',
  '<!-- hidden -->',
  '`<b>`',
  '&lt;b&gt;',
])('%s is text, and all of it is visible', (text) => {
  const html = shown(text)
  expect(html).not.toMatch(/<(?:img|script|a|iframe|b)[ >]/)
  for (const word of text.match(/\w{3,}/g) ?? []) expect(wordsOf(html)).toContain(word)
})

test('no text becomes an element that loads or runs', () => {
  const marks =
    '<img src=x>~[~](~javascript:~)~`~```~\n~> ~- ~|~*~#~<a href="x">~&lt;~\u202e~\\~word ~1. ~<!--~-->~--'
  const part = fc.constantFrom(...marks.split('~'))
  fc.assert(
    fc.property(fc.array(part, { maxLength: 40 }), (parts) => {
      const html = shown(parts.join(''))
      expect(html).not.toMatch(/<(?:img|script|a|iframe|form|object)[ >]/)
      expect(html.match(/\u202e/)).toBeNull()
      expect(html.includes('word')).toBe(parts.includes('word '))
    }),
  )
})

test.each(['>', '> ', '*', '[', '- ', '`', '_a', '![', '|', '\\', '<', 'a*b_', '[a](', '1. '])(
  'a text of repeated %j is rendered quickly',
  (mark) => {
    const start = performance.now()
    for (const length of [30_000, 8000, 100]) {
      const part = mark.repeat(length / mark.length)
      markdownTokens(part)
      markdownTokens(`${part}\n\n`.repeat(30_000 / (length + 2)))
      markdownTokens(`${part}\n`.repeat(8000 / length))
    }
    expect(performance.now() - start).toBeLessThan(5000)
  },
)
