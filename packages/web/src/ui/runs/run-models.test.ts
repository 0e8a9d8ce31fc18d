import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openTape, TapeWriter } from '@retake/tape/node'
import { expect, onTestFinished, test, vi } from 'vitest'
import { markRecording, RunStore } from '@retake/runner/runs'
import { RunModels } from './run-models.js'

/** A writer for a run in a folder of its own; continues `parent` from its first event. */
function startRun(folder: string, id: string, parent?: string): TapeWriter {
  const file = (run: string): string => join(folder, `${run}.tape`)
  const link = parent && {
    parent: { run: parent, seq: 1, chain: openTape(file(parent)).chainAt(0) },
  }
  const run = { id, name: id, startedAt: 1, scope: 'process', node: 'v20' } as const
  return TapeWriter.create(file(id), { type: 'run', ...run, ...link }, {})
}

test.each([
  ['a run', false],
  ['a branch', true],
])('%s that grows while it is read for the first time is read again', async (_, isBranch) => {
  const folder = mkdtempSync(join(tmpdir(), 'retake-models-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  startRun(folder, 'parent').seal()
  const writer = startRun(folder, 'live', isBranch ? 'parent' : undefined)
  using _mark = markRecording(join(folder, 'live.tape'))
  const models = new RunModels(new RunStore(folder))
  // The clock is read before and after the tape: a line is written at both moments, then no more.
  let lines = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => {
    writer.append({ type: 'output', stream: 'stdout' }, Buffer.from(`line ${++lines}\n`))
    return lines
  })
  models.open('live')
  clock.mockRestore()
  const written = Array.from({ length: lines }, (__, index) => `line ${index + 1}\n`)
  const shown = (): string[] =>
    models
      .open('live')
      .model.console()
      .map(({ text }) => text)
  await vi.waitFor(() => expect(shown()).toEqual(written), 5000)
  writer.close()
})
