import { RunTrash } from '../../packages/runner/src/removal/run-trash.js'
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openTape } from '@retake/tape/node'
import { afterAll, expect, test } from 'vitest'
import { branchOf, tapeIn } from '../../packages/runner/test-support/stored-runs.js'
import { RunStore } from '../../packages/runner/src/runs/run-store.js'

import { cli } from '../cli/workspace.js'
import { isSoak, repetitions } from '../support/soak.js'

const folder = mkdtempSync(join(tmpdir(), 'retake-gc-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Three per family. */
const RUNS = isSoak ? 240 : 60
const kills = repetitions('GC_KILLS', { beforeMerge: 2, soak: 100 })

const idOf = (index: number): string =>
  `20261115-0930${String(index % 60).padStart(2, '0')}-${String(index).padStart(4, '0')}`
const tagsOf = (tape: string): string => `${tape}.tags`
const filesOf = (tape: string): string => tape.replace('.tape', '.files')

/** Runs with tags and files; every third one is a branch of the one before. */
function runsIn(store: RunStore): void {
  for (let index = 0; index < RUNS; index += 1) {
    const tape = store.pathOf(idOf(index))
    if (index % 3 === 2) branchOf(store, idOf(index - 1), idOf(index))
    else tapeIn(store, idOf(index))
    writeFileSync(tagsOf(tape), `{"tags":["t${index}"]}\n`)
    mkdirSync(filesOf(tape))
    writeFileSync(join(filesOf(tape), 'note.txt'), String(index))
  }
}

const start = (store: RunStore, args: readonly string[]) =>
  spawn(process.execPath, [cli, 'rm', store.folder, ...args], { stdio: 'ignore' })

/** Runs a command, and kills it as soon as `isTime` says so; false if it ended before. */
function runAndKill(
  store: RunStore,
  args: readonly string[],
  isTime: () => boolean,
): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const running = start(store, args)
    const look = (): void => {
      if (running.exitCode !== null || running.signalCode !== null) return
      if (isTime()) running.kill('SIGKILL')
      else setImmediate(look)
    }
    look()
    running.on('error', reject)
    running.on('close', (_, signal) => resolve(signal === 'SIGKILL'))
  })
}

/** Every run is whole in one of the two; no branch has lost its parent. */
function check(store: RunStore): { here: number; removed: number } {
  const trash = new RunTrash(store)
  trash.settle()
  const removed = new Map(trash.runs().map((run) => [run.id, run.folder]))
  const here = new Set(store.unsortedIds())
  for (let index = 0; index < RUNS; index += 1) {
    const id = idOf(index)
    const tape = store.pathOf(id)
    expect([here.has(id), removed.has(id)].filter(Boolean), id).toHaveLength(1)
    const parts = here.has(id)
      ? [
          existsSync(filesOf(tape)) && 'files',
          existsSync(tagsOf(tape)) && 'tags',
          openTape(tape).verify().ok && 'tape',
        ]
      : readdirSync(removed.get(id) ?? '').toSorted()
    expect(parts, id).toEqual(['files', 'tags', 'tape'])
  }
  return { here: here.size, removed: removed.size }
}

test(
  'a killed removal leaves each run either complete or in the trash, and the next one finishes its work',
  async () => {
    let killed = 0
    for (let round = 0; round < kills; round += 1) {
      const store = new RunStore(join(folder, String(round)))
      mkdirSync(store.folder)
      runsIn(store)
      const trash = join(store.folder, '.trash')
      const target = Math.floor(Math.random() * RUNS)
      const inTrash = (): number => (existsSync(trash) ? readdirSync(trash).length : 0)
      if (await runAndKill(store, ['--keep', '0'], () => inTrash() > target)) killed += 1
      const first = check(store)
      expect(first.here + first.removed).toBe(RUNS)
      // Restoring is killed as well.
      const back = new RunTrash(store)
        .runs()
        .slice(0, 40)
        .map(({ id }) => id)
      const wanted = Math.floor(Math.random() * 40)
      const args = back.flatMap((id) => ['--restore', id])
      if (back.length > 0) await runAndKill(store, args, () => inTrash() <= first.removed - wanted)
      check(store)
      await new Promise((resolve) => start(store, ['--keep', '0']).on('close', resolve))
      expect(check(store)).toEqual({ here: 0, removed: RUNS })
      rmSync(store.folder, { recursive: true })
    }
    process.stdout.write(`${killed} of ${kills} processes were killed while they removed runs\n`)
    expect(killed).toBeGreaterThan(kills / 2)
  },
  600_000 + kills * 20_000,
)
