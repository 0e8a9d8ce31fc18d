import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Tape } from '@retake/tape'
import { expect, onTestFinished, test } from 'vitest'
import { changeTags } from '@retake/runner/runs'
import { type FindingsFile, writeFindings } from '../blame/findings.js'
import { type StoredFork, StoredForks } from '../blame/forks.js'
import { type LiveTrial, StoredTrials, writeTrialTable } from '../compare/live-trials.js'
import type { FixOutcome } from './fix-run.js'
import { storeOutcome } from './stored-fix.js'

test.skipIf(process.platform === 'win32')(
  'results that contain what an agent received are private, like its tape',
  () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'retake-private-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const file = path.join(folder, 'r.tape')
    const tape = { path: file, run: { id: 'r' } } as Tape
    writeFindings(file, { run: 'r' } as FindingsFile)
    new StoredForks(file, 'r', 'question').add('key', { values: [] } as unknown as StoredFork)
    storeOutcome(tape, {} as FixOutcome)
    new StoredTrials(path.join(folder, 'r.compare'), { fresh: true }).add(['key'], {} as LiveTrial)
    writeTrialTable(tape, {} as never)
    changeTags(file, {}, { add: ['a'], remove: [] })
    const entries = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    expect(entries.length).toBeGreaterThan(8)
    for (const each of entries)
      expect([each, statSync(path.join(folder, each)).mode & 0o077]).toEqual([each, 0])
  },
)
