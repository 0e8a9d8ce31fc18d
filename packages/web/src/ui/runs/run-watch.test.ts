import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TapeWriter } from '@retake/tape/node'
import type { RepositoryChange } from '../../api/run-repository.js'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { markRecording, RunStore } from '@retake/runner/runs'
import { RunCards, RunWatch } from './run-watch.js'
import { RunModels } from './run-models.js'

let folder: string
let unwatch = (): void => {}
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'retake-test-'))
})
afterEach(() => {
  unwatch()
  rmSync(folder, { recursive: true })
})

function writeRun(id: string, startedAt: number, file = id): void {
  const run = { id, name: id, startedAt, scope: 'process', node: 'v20' } as const
  const path = join(folder, `${file}.tape`)
  const writer = TapeWriter.create(path, { type: 'run', ...run }, {})
  writer.append({ type: 'end', exitCode: 0 })
  writer.seal()
}

/** Reported changes of the folder, one of whose runs was opened. */
function watchRun(id: string): RepositoryChange[] {
  const store = new RunStore(folder)
  const models = new RunModels(store)
  models.open(id)
  const reported: RepositoryChange[] = []
  unwatch = new RunWatch(store, models).watch((change) => reported.push(change))
  return reported
}

test('a run that is back after it was deleted is reported, even if it is unchanged', async () => {
  writeRun('a', 1)
  const reported = watchRun('a')
  renameSync(join(folder, 'a.tape'), join(folder, 'away'))
  await vi.waitFor(() => expect(reported).toContainEqual({ type: 'gone', run: 'a' }), 20_000)
  renameSync(join(folder, 'away'), join(folder, 'a.tape'))
  await vi.waitFor(
    () => expect(reported).toContainEqual({ type: 'grew', run: 'a', events: 3, status: 'done' }),
    20_000,
  )
})

test('another run under the same name is reported, even if it has as many events', async () => {
  writeRun('a', 1)
  const reported = watchRun('a')
  writeRun('a', 2, 'other')
  renameSync(join(folder, 'other.tape'), join(folder, 'a.tape'))
  await vi.waitFor(
    () => expect(reported).toContainEqual({ type: 'grew', run: 'a', events: 3, status: 'done' }),
    20_000,
  )
})

test('a run that was requested before its first record is complete is reported once it can be read', async () => {
  writeRun('a', 1)
  const whole = readFileSync(join(folder, 'a.tape'))
  for (const part of [whole.subarray(0, 0), whole.subarray(0, 20)]) {
    writeFileSync(join(folder, 'a.tape'), part)
    const store = new RunStore(folder)
    const models = new RunModels(store)
    expect(() => models.open('a')).toThrow(/tape/i)
    const changes: RepositoryChange[] = []
    unwatch = new RunWatch(store, models).watch((change) => changes.push(change))
    writeFileSync(join(folder, 'a.tape'), whole)
    await vi.waitFor(
      () => expect(changes).toContainEqual({ type: 'grew', run: 'a', events: 3, status: 'done' }),
      20_000,
    )
    unwatch()
  }
})

test('a list that was read while a run was not re-read is updated when the run ends', async () => {
  const path = join(folder, 'long.tape')
  const run = { id: 'long', name: 'long', startedAt: 1, scope: 'process', node: 'v20' } as const
  const head = { type: 'run', ...run } as const
  const writer = TapeWriter.create(path, head, {})
  const unmark = markRecording(path)
  const store = new RunStore(folder)
  const cards = new RunCards(store)
  const status = async () => (await cards.list()).map((card) => 'status' in card && card.status)
  // Reading the run takes a while, and it is not read again for ten times as long.
  let now = performance.now()
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (now += 150))
  expect(await status()).toEqual(['recording'])
  clock.mockRestore()
  const lists: ReturnType<typeof status>[] = []
  const behind = cards.behind.bind(cards)
  unwatch = new RunWatch(store, new RunModels(store), new Map(), behind).watch(({ type }) => {
    if (type === 'runs') lists.push(status())
  })
  writer.append({ type: 'end', exitCode: 0 })
  writer.seal()
  unmark[Symbol.dispose]()
  await vi.waitFor(async () => expect(await lists.at(-1)).toEqual(['done']), 60_000)
})
