import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { NewEvent, Tape } from '@retake/tape/format'
import { openTape, TapeWriter } from '@retake/tape/node'
import { onTestFinished } from 'vitest'

export type TapeLine = NewEvent | readonly [event: NewEvent, body: string]

/** A tape with these events, from number 1, and their bodies. Without an `end`, its run was killed. */
export function writeTape(...lines: readonly TapeLine[]): Tape {
  const folder = mkdtempSync(path.join(tmpdir(), 'retake-tape-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = path.join(folder, 'a.tape')
  const run = { type: 'run', id: 'a', name: 'a', startedAt: 0, scope: 'function' } as const
  const writer = TapeWriter.create(file, { ...run, node: process.version }, {})
  for (const line of lines) {
    const [event, body = ''] = isPair(line) ? line : [line]
    writer.append(event, Buffer.from(body))
  }
  if (lines.some((line) => (isPair(line) ? line[0] : line).type === 'end')) writer.seal()
  writer.close()
  return openTape(file)
}

const isPair = (line: TapeLine): line is readonly [NewEvent, string] => Array.isArray(line)
