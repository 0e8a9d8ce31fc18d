import type { ViewerRoute } from '@retake/runner/command-line'
import { describe, expect, test } from 'vitest'
import { changeRoutes } from './change-routes.js'
import type { ForkRequest, Job, RunActions, RunRepository } from './run-repository.js'

const repository = (actions?: Partial<RunActions>): RunRepository =>
  ({ ...(actions && { actions }) }) as unknown as RunRepository

const post = async (
  of: RunRepository,
  path: string,
  body: string,
): Promise<{ status: number; json: unknown }> => {
  const headers = { 'content-type': 'application/json' }
  const response = await changeRoutes(of).request(path, { method: 'POST', headers, body })
  return { status: response.status, json: await response.json() }
}

test('a home that runs nothing has no jobs and refuses every change', async () => {
  const jobs = await changeRoutes(repository()).request('/jobs')
  expect(await jobs.json()).toEqual([])
  expect(await post(repository(), '/runs/a/fork', '{"at":"1"}')).toMatchObject({
    status: 405,
    json: { error: { code: 'VIEWER_NOTHING_RUNS_HERE' } },
  })
})

test('a fork reaches the repository as requested, without unset options', async () => {
  const requested: unknown[] = []
  const forking = repository({
    fork: (run: string, request: ForkRequest) => {
      requested.push(run, request)
      return Promise.resolve({ id: 'job' } as Job)
    },
  })
  const body = '{"at":"1","name":"  ","set":{"a.b":null},"force":false}'
  expect((await post(forking, '/runs/a/fork', body)).json).toEqual({ id: 'job' })
  expect(requested).toEqual(['a', { at: '1', set: { 'a.b': null }, force: false }])
})

test.each([
  ['/runs/a/fork', '{', 'The body is not JSON.'],
  ['/runs/a/fork', 'null', 'The body is not a JSON object.'],
  ['/runs/a/fork', '{"at":""}', '"at" is not the label of a step.'],
  ['/runs/a/fork', '{"at":"1","set":[]}', '"set" is not an object of paths and values.'],
  ['/runs/a/fork', '{"at":"1","status":99}', '"status" is not a number from 100 to 599.'],
  ['/runs/a/fork', '{"at":"1","force":"yes"}', '"force" is not true or false.'],
  ['/runs/a/rerun', '{"nam":"x"}', '"nam" is not one of name.'],
  ['/sessions/s/move', '{"to":"step"}', '"step" is not the label of a step.'],
  ['/sessions/s/move', '{}', '"to" is not next, back, next in lane, back in lane or step.'],
  ['/sessions/s/evaluate', '{}', '"expression" is not a text of up to 20000 characters.'],
])('%s with %s is refused with the field that is wrong', async (path, body, what) => {
  const { status, json } = await post(repository({}), path, body)
  expect(status).toBe(400)
  expect(json).toMatchObject({ error: { code: 'VIEWER_BAD_CHANGE', what } })
})

describe('a route of a capability', () => {
  const answered: unknown[] = []
  const routes: readonly ViewerRoute[] = [
    {
      method: 'post',
      path: '/runs/:run/approvals',
      body: {
        approved: { expected: 'true or false', fits: (value) => typeof value === 'boolean' },
        reason: {
          expected: 'a text',
          fits: (value) => typeof value === 'string',
          isOptional: true,
        },
      },
      answer: (request) => {
        answered.push(request)
        return { done: true }
      },
    },
  ]
  const installed = { routes } as unknown as RunRepository

  test('answers requests with the fields that it names', async () => {
    const sent = await post(installed, '/runs/a/approvals', '{"approved":true}')
    expect(sent).toEqual({ status: 200, json: { done: true } })
    expect(answered).toEqual([{ params: { run: 'a' }, body: { approved: true } }])
  })

  test.each([
    ['{"approved":1}', '"approved" is not true or false.'],
    ['{"approved":true,"reason":7}', '"reason" is not a text.'],
    ['{"approved":true,"force":true}', '"force" is not one of approved, reason.'],
    ['{}', '"approved" is not true or false.'],
  ])('refuses %s and names the field', async (body, what) => {
    const { status, json } = await post(installed, '/runs/a/approvals', body)
    expect(status).toBe(400)
    expect(json).toMatchObject({ error: { code: 'VIEWER_BAD_CHANGE', what } })
  })

  test('does not exist where the capability is not installed', async () => {
    expect(await changeRoutes(repository({})).request('/approvals')).toMatchObject({ status: 404 })
  })
})
