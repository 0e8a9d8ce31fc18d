import { expect, test } from 'vitest'
import { withoutMarkdown } from './readable-value.js'

test.each([
  ['**Your total** is *36* EUR', 'Your total is 36 EUR'],
  ['# Plan\n\n- first `step`\n* second\n> quoted', 'Plan\n\nfirst step\nsecond\nquoted'],
  ['See [the docs](https://x.test/a) and ![a chart](c.png).', 'See the docs and a chart.'],
  ['```js\nrun()\n```', '\nrun()\n'],
  ['__bold__ and _italic_, ~~gone~~', 'bold and italic, gone'],
])('%j is shown as its words', (text, words) => {
  expect(withoutMarkdown(text)).toBe(words)
})

test.each([
  '2*3*4 = 24',
  'a * b * c',
  'get_price and my_long_name',
  '1. first',
  'x ** y',
  '-1',
  '#1182',
])('%j is not Markdown', (text) => {
  expect(withoutMarkdown(text)).toBe(text)
})

test('marks have no duration', () => {
  const before = process.cpuUsage()
  for (const mark of ['*', '_', '`', '[', '~~', '**a ']) withoutMarkdown(mark.repeat(200_000))
  // Processor time, so that other work of the machine does not count.
  const { user, system } = process.cpuUsage(before)
  expect((user + system) / 1000).toBeLessThan(500)
})
