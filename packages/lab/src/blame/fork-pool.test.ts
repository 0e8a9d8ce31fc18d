import { expect, test } from 'vitest'
import { type ForkJob, LocalForkPool } from './forks.js'
import type { ForkRun } from './fork-run.js'

const job = (seed: number): ForkJob => ({
  tape: 'x.tape',
  plan: { pinned: [], mode: 'free', seed },
  timeoutMs: 1000,
  env: {},
})
const RUN = {} as ForkRun

/** Forks that end when they are told to. */
function held() {
  const started: number[] = []
  const finish = new Map<number, (end: 'done' | 'broken') => void>()
  const runFork = ({ plan }: ForkJob): Promise<ForkRun> =>
    new Promise((resolve, reject) => {
      const { seed } = plan
      started.push(seed)
      finish.set(seed, (end) => (end === 'done' ? resolve(RUN) : reject(new Error('broken'))))
    })
  return { started, finish, runFork }
}

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve()
}

test('at most the allowed number of forks runs, in request order, also if one fails', async () => {
  const { started, finish, runFork } = held()
  const pool = new LocalForkPool(2, runFork)
  const { signal } = new AbortController()
  const all = [1, 2, 3, 4].map((seed) => pool.run(job(seed), signal))
  await turns()
  expect(started).toEqual([1, 2])
  finish.get(2)?.('broken')
  await expect(all[1]).rejects.toThrow('broken')
  await turns()
  expect(started).toEqual([1, 2, 3])
  finish.get(1)?.('done')
  await turns()
  expect(started).toEqual([1, 2, 3, 4])
  finish.get(3)?.('done')
  finish.get(4)?.('done')
  expect(await Promise.all([all[0], all[2], all[3]])).toEqual([RUN, RUN, RUN])
})

test('waiting forks are not started after a stop', async () => {
  const { started, finish, runFork } = held()
  const pool = new LocalForkPool(1, runFork)
  const stop = new AbortController()
  const first = pool.run(job(1), stop.signal)
  const second = pool.run(job(2), stop.signal)
  stop.abort()
  finish.get(1)?.('done')
  await first
  await expect(second).rejects.toThrow('aborted')
  expect(started).toEqual([1])
})
