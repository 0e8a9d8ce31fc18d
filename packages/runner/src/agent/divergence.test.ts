import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { openTape, TapeWriter } from '@retake/tape/node'
import { expect, onTestFinished, test } from 'vitest'
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
  const folder = mkdtempSync(path.join(tmpdir(), 'retake-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = path.join(folder, 'run.tape')
  const run = { id: 'run', name: 'run', startedAt: 0, node: process.version }
  TapeWriter.create(file, { type: 'run', scope: 'function', ...run }, {}).seal()
  const mismatches = [{ field: 'line 1', recorded, current }]
  const advice = divergenceAdvice(openTape(file), {
    seq: 1,
    kind: 'different',
    summary: 'it wrote something else to stdout',
    mismatches,
  })
  expect(advice.some((line) => line.includes('trace or span'))).toBe(isNamed)
})
