import { expect, test } from 'vitest'
import {
  clock,
  cost,
  duration,
  localDateTime,
  localTime,
  plural,
  relativeTime,
  bytesText,
  parseSize,
} from './figures.js'

test.each([
  [0, '0 ms'],
  [0.352, '0.35 ms'],
  [38.4, '38 ms'],
  [245, '0.24 s'],
  [999, '1.0 s'],
  [1249, '1.2 s'],
  [9949, '9.9 s'],
  [59_400, '59 s'],
  [59_900, '1 min'],
  [184_000, '3 min 4 s'],
  [3_600_000, '1 h'],
  [7_500_000, '2 h 5 min'],
  [180_000_000, '2 days 2 h'],
])('%s ms is shown as %s', (ms, text) => {
  expect(duration(ms)).toBe(text)
})

test.each([
  [245, '0.245 s'],
  [12_300, '12.30 s'],
  [245_100, '4:05.1'],
  [7_445_300, '2:04:05.3'],
])('%s ms after the start is shown as %s', (ms, text) => {
  expect(clock(ms)).toBe(text)
})

test('a positive amount is never shown as $0, and an unknown one is empty', () => {
  expect([0, 0.000001, 0.00213, 1.5, undefined].map(cost)).toEqual([
    '$0',
    '<$0.00001',
    '$0.00213',
    '$1.50',
    '',
  ])
})

test('counts have thousands separators, and one is singular', () => {
  expect(plural(1, 'step')).toBe('1 step')
  expect(plural(12_345, 'step')).toBe('12,345 steps')
  expect(plural(2, 'branch', 'branches')).toBe('2 branches')
})

test.each([
  [0, '0 B'],
  [999, '999 B'],
  [1000, '1.0 KB'],
  [4096, '4.1 KB'],
  [999_949, '999.9 KB'],
  [999_950, '1.0 MB'],
  [2_000_000_000, '2.0 GB'],
  [5e15, '5000.0 TB'],
])('%d bytes are shown as %s', (bytes, text) => expect(bytesText(bytes)).toBe(text))

test.each([
  ['500MB', 500_000_000],
  ['1.5 gb', 1_500_000_000],
  ['12B', 12],
  ['20', undefined],
  ['20 megabytes', undefined],
])('the size %s is read as %s bytes', (text, bytes) => expect(parseSize(text)).toBe(bytes))

test('a local time is as short as the day allows', () => {
  const now = new Date(2026, 10, 16, 12)
  const at = (...[year, month, day]: [number, number, number]): number =>
    new Date(year, month, day, 9, 5, 7).getTime()
  expect(localTime(at(2026, 10, 16), now)).toBe('09:05:07')
  expect(localTime(at(2026, 0, 2), now)).toBe('01-02 09:05')
  expect(localTime(at(2025, 10, 16), now)).toBe('2025-11-16')
  expect(localDateTime(at(2025, 10, 16))).toBe('2025-11-16 09:05:07')
})

test('a moment in the past has one unit, and a date if it is long ago', () => {
  const now = Date.UTC(2026, 10, 15)
  const ago = (ms: number): string => relativeTime(now - ms, now)
  expect([ago(5000), ago(120_000), ago(7_200_000), ago(259_200_000)]).toEqual([
    'just now',
    '2 min ago',
    '2 h ago',
    '3 d ago',
  ])
  expect(ago(60 * 86_400_000)).toMatch(/^2026-09-1\d$/)
})
