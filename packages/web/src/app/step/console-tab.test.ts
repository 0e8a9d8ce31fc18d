import { expect, test } from 'vitest'
import type { ConsolePart } from '../../model/run-source.js'
import { joinWrites } from './console-tab.js'

const part = (
  seq: number,
  text: string,
  stream: ConsolePart['stream'] = 'stdout',
): ConsolePart => ({ seq, at: seq, stream, text, clipped: false })

test('words that are written one by one are one line, until it ends or the other stream writes', () => {
  const lines = joinWrites([
    part(1, 'Let '),
    part(2, 'me '),
    part(3, 'think\n'),
    part(4, 'about'),
    part(5, 'oh\n', 'stderr'),
    part(6, ' it'),
  ])
  expect(lines.map(({ text, at, seqs }) => [text, at, seqs])).toEqual([
    ['Let me think\n', 1, [1, 2, 3]],
    ['about', 4, [4]],
    ['oh\n', 5, [5]],
    [' it', 6, [6]],
  ])
})

test('a line that never ends is not one text of any length', () => {
  const lines = joinWrites(Array.from({ length: 50_000 }, (_, seq) => part(seq, 'ab')))
  expect(Math.max(...lines.map(({ text }) => text.length))).toBeLessThan(40_000)
  expect(lines.flatMap(({ seqs }) => seqs)).toHaveLength(50_000)
})
