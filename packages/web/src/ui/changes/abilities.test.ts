import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { trustRun } from '@retake/engine/runs'
import { openTape, TapeWriter } from '@retake/tape/node'
import { expect, onTestFinished, test } from 'vitest'
import { abilitiesOf } from './local-changes.js'

test('the viewer offers to start a run from elsewhere only after it was trusted', () => {
  const cwd = mkdtempSync(join(tmpdir(), 'retake-abilities-'))
  onTestFinished(() => rmSync(cwd, { recursive: true }))
  writeFileSync(join(cwd, 'agent.mjs'), '')
  const file = join(cwd, 'planted.tape')
  const run = { id: 'planted', name: 'planted', startedAt: 1, node: process.version }
  const writer = TapeWriter.create(
    file,
    { type: 'run', scope: 'process', ...run },
    { entry: 'agent.mjs', args: [], cwd, execArgv: ['--import=./planted.mjs'] },
  )
  writer.seal()
  const tape = openTape(file)
  const { fork, rerun, step } = abilitiesOf(tape, 'done')
  expect(fork).toContain('node --import=./planted.mjs agent.mjs')
  expect(fork).toContain('retake trust')
  expect([rerun, step]).toEqual([fork, fork])
  trustRun(tape)
  expect(abilitiesOf(tape, 'done')).toEqual({ fork: true, rerun: true, step: true })
})
