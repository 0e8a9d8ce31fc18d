import { expect, test } from 'vitest'
import { changeRoutes } from './change-routes.js'
import type { Home } from './home.js'
import type { ForkRequest, HomeChanges } from './home-changes.js'
import type { Job } from './job.js'

const home = (changes?: Partial<HomeChanges>): Home =>
  ({ ...(changes && { changes }) }) as unknown as Home

const post = async (
  of: Home,
  path: string,
  body: string,
): Promise<{ status: number; json: unknown }> => {
  const headers = { 'content-type': 'application/json' }
  const response = await changeRoutes(of).request(path, { method: 'POST', headers, body })
  return { status: response.status, json: await response.json() }
}

test('a home that runs nothing has no jobs and refuses every change', async () => {
  const jobs = await changeRoutes(home()).request('/jobs')
  expect(await jobs.json()).toEqual([])
  expect(await post(home(), '/runs/a/fork', '{"at":"1"}')).toMatchObject({
    status: 405,
    json: { error: { code: 'VIEWER_NOTHING_RUNS_HERE' } },
  })
})

test('a fork reaches the home as it was asked for, without what was not said', async () => {
  const asked: unknown[] = []
  const forking = home({
    fork: (run: string, request: ForkRequest) => {
      asked.push(run, request)
      return Promise.resolve({ id: 'job' } as Job)
    },
  })
  const body = '{"at":"1","name":"  ","set":{"a.b":null},"force":false}'
  expect((await post(forking, '/runs/a/fork', body)).json).toEqual({ id: 'job' })
  expect(asked).toEqual(['a', { at: '1', set: { 'a.b': null }, force: false }])
})

test.each([
  ['/runs/a/fork', '{', 'What was sent is not JSON.'],
  ['/runs/a/fork', 'null', 'What was sent is not a JSON object.'],
  ['/runs/a/fork', '{"at":""}', '"at" is not the label of a step.'],
  ['/runs/a/fork', '{"at":"1","set":[]}', '"set" is not an object of paths and values.'],
  ['/runs/a/fork', '{"at":"1","status":99}', '"status" is not a number from 100 to 599.'],
  ['/runs/a/fork', '{"at":"1","force":"yes"}', '"force" is not true or false.'],
  ['/runs/a/rerun', '{"nam":"x"}', '"nam" is not one of name.'],
  ['/sessions/s/move', '{"to":"step"}', '"step" is not the label of a step.'],
  ['/sessions/s/move', '{}', '"to" is not next, back, next in lane, back in lane or step.'],
  ['/sessions/s/evaluate', '{}', '"expression" is not a text of up to 20000 characters.'],
])('%s with %s is refused with the field that is wrong', async (path, body, what) => {
  const { status, json } = await post(home({}), path, body)
  expect(status).toBe(400)
  expect(json).toMatchObject({ error: { code: 'VIEWER_BAD_CHANGE', what } })
})
