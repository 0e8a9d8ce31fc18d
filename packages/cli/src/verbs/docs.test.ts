import { expect, test } from 'vitest'
import { pageLines } from './docs.js'

const look = { paint: (_: string, text: string) => text, width: 50 }

test('a page is laid out for its terminal: prose wraps, code does not, and table rows are stacked', () => {
  const page = [
    '# Guarded tools',
    '',
    'A guard is a gate that **every** tool call passes, see [policies](policy.md).',
    '- a point that is so long that it goes on in a second line',
    '![picture](images/run.png)',
    '```ts',
    "const run = guard({ name: 'a name that is longer than the terminal is wide' })",
    '```',
    '| you use | you write |',
    '|---|---|',
    '| AI SDK | `a \\| b` |',
    '',
  ]
  expect(pageLines(page.join('\n'), look)).toEqual([
    'Guarded tools',
    '',
    'A guard is a gate that every tool call passes, see',
    'policies.',
    '- a point that is so long that it goes on in a',
    '  second line',
    "  const run = guard({ name: 'a name that is longer than the terminal is wide' })",
    '  you use',
    '      you write',
    '  AI SDK',
    '      `a | b`',
    '',
  ])
})
