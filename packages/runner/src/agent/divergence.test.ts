import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { openTape, TapeWriter } from '@retake/tape/node'
import { expect, onTestFinished, test } from 'vitest'
import { ReplayDiverged } from '@retake/engine'
import { divergenceAdvice } from './divergence.js'

const trace = '4aaa0e6ec8f82d8575200d491a8a6908'
const span = '00f067aa0ba902b7'

test.each([
  [`trace_id=${trace} hi`, `trace_id=${'0'.repeat(32)} hi`, true],
  [{ parent: span }, { parent: span.replace('f', 'e') }, true],
  [trace, undefined, true],
  [`a ${trace}`, `b ${trace}`, false],
  ['at 1795011019752123', 'at 1795011019752124', false],
  [`${trace}${trace}`, `${span}${trace}${span}`, false],
  ['0b9f1c1e-7a4d-4b53-9e0a-2f6f0c1d2e3f', '1b9f1c1e-7a4d-4b53-9e0a-2f6f0c1d2e3f', false],
])('advice about %j and %j names trace ids: %s', (recorded, current, isNamed) => {
  const mismatches = [{ field: 'line 1', recorded, current }]
  const facts = { kind: 'output', code: 'output-differs', stream: 'stdout' } as const
  const advice = adviceFor({ ...facts, seq: 1, mismatches })
  expect(advice.some((line) => line.includes('trace or span'))).toBe(isNamed)
})

type Facts = ConstructorParameters<typeof ReplayDiverged>[0]

function adviceFor(facts: Facts): string[] {
  const folder = mkdtempSync(path.join(tmpdir(), 'retake-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = path.join(folder, 'run.tape')
  const run = { id: 'run', name: 'run', startedAt: 0, node: process.version }
  TapeWriter.create(file, { type: 'run', scope: 'function', ...run }, {}).seal()
  return divergenceAdvice(openTape(file), new ReplayDiverged(facts).divergence)
}

const nothing = { seq: 1, mismatches: [] } as const
const end = { type: 'end', seq: 1, at: 0 } as const

test.each<[string, Facts, RegExp]>([
  [
    'a wait that something outside the run may have ended',
    { ...nothing, kind: 'missing', code: 'waiting', recorded: end },
    /^An AbortSignal or timer from outside the run may have ended the wait\.$/,
  ],
  [
    'a signal from outside the run',
    {
      ...nothing,
      kind: 'unexpected',
      code: 'other-event',
      recorded: end,
      current: { type: 'draw', kind: 'AbortSignal.aborted' },
    },
    /^The function used an AbortSignal from outside the run/,
  ],
  [
    'a package that reads its files once in a process',
    {
      ...nothing,
      kind: 'unexpected',
      code: 'other-event',
      recorded: end,
      current: {
        type: 'call',
        kind: 'file',
        name: 'fs.readFileSync',
        title: 'node_modules/@acme/words/list.txt',
      },
    },
    /^@acme\/words probably reads its files only once/,
  ],
])('advice names %s', (_what, facts, line) => {
  expect(adviceFor(facts)).toContainEqual(expect.stringMatching(line))
})
