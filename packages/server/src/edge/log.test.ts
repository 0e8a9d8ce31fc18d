import { expect, test } from 'vitest'
import { Log } from './log.js'

function written(format: 'text' | 'json', work: (log: Log) => void): string {
  const lines: string[] = []
  work(new Log(format, (line) => void lines.push(line)))
  return lines.join('')
}

test.each(['text', 'json'] as const)(
  'a value cannot forge a line or move the cursor, as %s',
  (format) => {
    const value = 'a b\n12:00:00 error forged\u001b[2J\u009b2J"\r\u2028'
    const line = written(format, (log) => log.warn('mail', { to: value, plain: 'x\u009b\u001b' }))
    expect(line.trimEnd()).not.toMatch(/\p{Cc}/u)
    expect(line.match(/forged/g)).toHaveLength(1)
  },
)

test('as text, requests have a line if they were refused or failed', () => {
  const lines = written('text', (log) => {
    for (const status of [200, 303, 401, 403, 404, 422, 429, 500]) log.request({ status })
  })
  expect([...lines.matchAll(/status=(\d+)/g)].map(([, status]) => status)).toEqual([
    '401',
    '403',
    '429',
    '500',
  ])
})
