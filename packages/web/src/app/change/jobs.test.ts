import { expect, test } from 'vitest'
import type { Job } from '../../api/run-repository.js'
import { jobs } from './jobs.js'

const job = (id: string, change: Partial<Job>): Job => ({
  id,
  kind: 'fork',
  parent: 'first',
  run: `${id}-branch`,
  state: 'running',
  written: false,
  startedAt: 0,
  ...change,
})

test('the answer to a start that arrives after the news does not undo them', async () => {
  jobs.update(job('a', { written: true }))
  jobs.update(job('a', {}))
  expect(await jobs.when('a', ({ written }) => written)).toMatchObject({ written: true })
  jobs.update(job('a', { state: 'done', written: true }))
  jobs.update(job('a', { written: true }))
  expect(jobs.get().find(({ id }) => id === 'a')?.state).toBe('done')
})

test('waiting for a job resolves as soon as its condition holds', async () => {
  const ended = jobs.when('b', ({ state }) => state === 'failed')
  jobs.update(job('b', {}))
  jobs.update(job('b', { state: 'failed' }))
  expect((await ended).run).toBe('b-branch')
})
