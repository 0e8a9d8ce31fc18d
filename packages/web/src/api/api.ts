import { Hono } from 'hono'
import { stream } from 'hono/streaming'
import { eventLines } from '@retake/tape'
import type { BodySide } from '../model/step-detail.js'
import type { Home } from './home.js'

/** The routes of the viewer under `/api`. What they ask is the home's to answer; who may ask is decided before. */
export const createApi = (home: Home) =>
  new Hono()
    .get('/home', (c) => c.json({ name: home.name, canChange: home.changes !== undefined }))
    .get('/runs', async (c) => c.json(await home.runs()))
    .get('/runs/:run', async (c) => {
      const { model, abilities } = await home.open(c.req.param('run'))
      return c.json({ head: model.head(), abilities })
    })
    .get('/runs/:run/rows', async (c) => {
      const { model } = await home.open(c.req.param('run'))
      return lines(c, model.rows(Number(c.req.query('from') ?? 0)))
    })
    .get('/runs/:run/search', async (c) => {
      const { model } = await home.open(c.req.param('run'))
      return lines(c, model.search(c.req.query('text') ?? ''))
    })
    .get('/runs/:run/export', async (c) => {
      const { model } = await home.open(c.req.param('run'))
      return lines(c, eventLines(model.tape))
    })
    .get('/runs/:run/console', async (c) =>
      c.json((await home.open(c.req.param('run'))).model.console()),
    )
    .get('/runs/:run/files', async (c) =>
      c.json((await home.open(c.req.param('run'))).model.files()),
    )
    .get('/runs/:run/events', async (c) => {
      const { model } = await home.open(c.req.param('run'))
      return c.json(model.events(Number(c.req.query('from')), Number(c.req.query('to'))))
    })
    .get('/runs/:run/events/:seq', async (c) => {
      const { model } = await home.open(c.req.param('run'))
      return c.json({ event: model.event(Number(c.req.param('seq'))) as object })
    })
    .get('/runs/:run/source', async (c) => {
      const run = await home.open(c.req.param('run'))
      return c.json({ excerpt: run.source(c.req.query('site') ?? '') })
    })
    .get('/runs/:run/steps/:step', async (c) => {
      const { model } = await home.open(c.req.param('run'))
      const messagesFrom = c.req.query('messagesFrom')
      const step = model.step(c.req.param('step'), {
        ...(messagesFrom !== undefined && { messagesFrom: Number(messagesFrom) }),
      })
      return c.json({ step })
    })
    .get('/runs/:run/steps/:step/stream', async (c) => {
      const { model } = await home.open(c.req.param('run'))
      return c.json({ stream: model.stream(c.req.param('step')) })
    })
    .get('/runs/:run/steps/:step/state', async (c) => {
      const run = await home.open(c.req.param('run'))
      return c.json({ state: run.state(c.req.param('step')) })
    })
    .get('/runs/:run/steps/:step/body/:side', async (c) => {
      const { model } = await home.open(c.req.param('run'))
      const body = model.body(c.req.param('step'), c.req.param('side') as BodySide)
      return body === undefined
        ? c.notFound()
        : c.body(new Uint8Array(body), 200, { 'content-type': 'application/octet-stream' })
    })

type Context = Parameters<typeof stream>[0]

/** Each value as a line of JSON. Other requests are answered between two of them. */
function lines(c: Context, values: Iterable<unknown>): Response {
  c.header('content-type', 'application/x-ndjson')
  return stream(c, async (out) => {
    for (const value of values) {
      if (out.aborted) return
      await out.write(`${JSON.stringify(value)}\n`)
      await new Promise((resolve) => setImmediate(resolve))
    }
  })
}

/** The type of the API; the client is made from it. */
export type Api = ReturnType<typeof createApi>
