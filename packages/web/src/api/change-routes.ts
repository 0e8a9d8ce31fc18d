import { Hono } from 'hono'
import { HTTPException } from 'hono/http-exception'
import { badChange, nothingRunsHere } from '../errors.js'
import { answerError } from './answer-error.js'
import {
  asksDecision,
  asksExpression,
  asksFork,
  asksMove,
  asksPair,
  asksRerun,
} from './asked-changes.js'
import type { Home } from './home.js'
import type { HomeChanges } from './home-changes.js'

/** Routes of what a live home can do beyond showing a run. */
export const changeRoutes = (home: Home) =>
  new Hono()
    .onError((error, c) => answerError(isBadJson(error) ? badChange('', 'JSON') : error, c))
    .get('/runs/:run/branches', async (c) => c.json(await home.branches(c.req.param('run'))))
    .get('/compare', asksPair, async (c) => {
      const { a, b } = c.req.valid('query')
      return c.json(await home.compare(a, b))
    })
    .get('/runs/:run/files-of-branch', async (c) =>
      c.json(await changesOf(home).branchFiles(c.req.param('run'))),
    )
    .get('/runs/:run/steps/:step/editable', async (c) => {
      const { run, step } = c.req.param()
      return c.json(await changesOf(home).editable(run, step))
    })
    .post('/runs/:run/fork', asksFork, async (c) =>
      c.json(await changesOf(home).fork(c.req.param('run'), c.req.valid('json'))),
    )
    .post('/runs/:run/rerun', asksRerun, async (c) =>
      c.json(await changesOf(home).rerun(c.req.param('run'), c.req.valid('json'))),
    )
    .get('/runs/:run/approvals', async (c) =>
      c.json(await (home.changes?.approvals(c.req.param('run')) ?? [])),
    )
    .post('/runs/:run/approvals', asksDecision, async (c) => {
      await changesOf(home).decide(c.req.param('run'), c.req.valid('json'))
      return c.json({})
    })
    .get('/jobs', (c) => c.json(home.changes?.jobs() ?? []))
    .post('/jobs/:job/stop', async (c) => {
      await changesOf(home).stop(c.req.param('job'))
      return c.json({})
    })
    .post('/runs/:run/sessions', async (c) =>
      c.json(await changesOf(home).openSession(c.req.param('run'))),
    )
    .post('/sessions/:session/move', asksMove, async (c) => {
      const { signal } = c.req.raw
      const to = c.req.valid('json')
      return c.json(await changesOf(home).move(c.req.param('session'), to, { signal }))
    })
    .post('/sessions/:session/evaluate', asksExpression, async (c) => {
      const { expression } = c.req.valid('json')
      const value = await changesOf(home).evaluate(c.req.param('session'), expression)
      // What a program holds is not known to the types of JSON.
      return c.json({ ...value, json: value.json as object | null })
    })
    .delete('/sessions/:session', async (c) => {
      await changesOf(home).closeSession(c.req.param('session'))
      return c.json({})
    })

/** Hono's word for a body that cannot be parsed. */
const isBadJson = (error: Error): boolean => error instanceof HTTPException && error.status === 400

function changesOf({ changes }: Home): HomeChanges {
  if (changes === undefined) throw nothingRunsHere()
  return changes
}
