import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { replay } from '@retake/engine'
import { expect, onTestFinished, test } from 'vitest'
import { guard } from './guard.js'

test('the tape of a guard that was ended without an output replays with the output of the function', async () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'retake-record-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const agent = async () => {
    const run = guard({ name: 'sum', dir })
    run.tool('add', ({ a, b }: { a: number; b: number }) => a + b)
    const { output } = await run.call('add', { a: 1, b: 2 })
    return { total: output, path: run.end()?.path ?? '' }
  }
  const { total, path: tape } = await agent()
  const replayed = await replay(tape, async () => ({ total: (await agent()).total }))
  expect(replayed.output).toEqual({ total })
})
