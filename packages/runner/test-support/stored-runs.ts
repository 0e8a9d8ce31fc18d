import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { openTape, TapeWriter } from '@retake/tape/node'
import type { RunDetails } from '@retake/tape'
import { onTestFinished } from 'vitest'
import { RunStore } from '../src/runs/run-store.js'

/** An empty folder for tapes. */
export function storeIn(): RunStore {
  const folder = mkdtempSync(path.join(tmpdir(), 'retake-runs-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return new RunStore(folder)
}

const runOf = (id: string) =>
  ({
    type: 'run',
    id,
    name: 'chat',
    startedAt: Date.parse('2026-11-15T09:30:00Z') + Number(id.slice(13, 15)) * 1000,
    scope: 'process',
    node: 'v20.0.0',
    durability: 'process',
  }) as const

/** Writes the tape of a run that printed something and ended, unless it is still open. */
export function tapeIn(
  store: RunStore,
  id: string,
  {
    output = 'fine\n',
    exitCode = 0,
    details = {},
    isOpen = false,
  }: {
    readonly output?: string
    readonly exitCode?: number
    readonly details?: RunDetails
    readonly isOpen?: boolean
  } = {},
): TapeWriter {
  const writer = TapeWriter.create(
    store.pathOf(id),
    { ...runOf(id), ...(isOpen && { scope: 'function' }) },
    details,
  )
  writer.append({ type: 'output', stream: 'stdout' }, Buffer.from(output))
  if (isOpen) return writer
  writer.append({ type: 'end', exitCode })
  writer.seal()
  return writer
}

/** Writes the tape of a branch that shares the first two events of its parent. */
export function branchOf(store: RunStore, parent: string, id: string): void {
  const chain = openTape(store.pathOf(parent)).chainAt(1)
  const run = { ...runOf(id), parent: { run: parent, seq: 2, chain } }
  const writer = TapeWriter.create(store.pathOf(id), run, { branch: { kind: 'fork', edits: [] } })
  writer.append({ type: 'end', exitCode: 0 })
  writer.seal()
}
