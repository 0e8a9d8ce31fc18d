import { expect, test } from 'vitest'
import { retryAfterMs } from './retry-after.js'

const now = Date.parse('2026-11-18T05:00:00Z')

test.each([
  ['seconds', [['Retry-After', '2']], 2000],
  ['a fraction', [['retry-after', ' 1.5 ']], 1500],
  [
    'milliseconds, which are more exact',
    [
      ['retry-after', '2'],
      ['retry-after-ms', '1750'],
    ],
    1750,
  ],
  ['a date', [['retry-after', 'Wed, 18 Nov 2026 05:00:30 GMT']], 30_000],
  ['a date that has passed', [['retry-after', 'Wed, 18 Nov 2026 04:00:00 GMT']], 0],
  ['nothing', [['content-type', 'text/plain']], undefined],
  ['an empty value', [['retry-after', '']], undefined],
  ['words', [['retry-after', 'soon']], undefined],
  ['no end', [['retry-after', 'Infinity']], undefined],
] as [string, [string, string][], number | undefined][])(
  'a server asks for %s',
  (_, headers, ms) => {
    expect(retryAfterMs(headers, now)).toBe(ms)
    expect(retryAfterMs(new Headers(headers), now)).toBe(ms)
  },
)
