import { Hono } from 'hono'
import { eventLines } from '@retake/tape'
import { badQuestion, noSuchAddress } from '../errors.js'
import { BODY_SIDES, type BodySide } from '../model/step-detail.js'
import { answerDownload } from './answer-download.js'
import { answerError } from './answer-error.js'
import { answerLines } from './answer-lines.js'
import { answerChanges } from './answer-changes.js'
import { changeRoutes } from './change-routes.js'
import type { Home } from './home.js'
import { asksFrom, asksParts, asksRange, asksSite, asksText } from './questions.js'

/** The routes of the viewer under `/api`. What they ask is the home's to answer; who may ask is decided before. */
export const createApi = (home: Home) =>
  new Hono()
    .onError((error, c) => answerError(error, c))
    .get('/home', (c) => c.json({ name: home.name, canChange: home.changes !== undefined }))
    .get('/runs', async (c) => c.json(await home.runs()))
    .get('/changes', (c) => answerChanges(c, home))
    .get('/runs/:run', async (c) => {
      const { model, abilities } = await home.open(c.req.param('run'))
      return c.json({ head: model.head(), abilities })
    })
    .get('/runs/:run/rows', asksFrom, async (c) => {
      const { model } = await home.open(c.req.param('run'))
      return answerLines(c, model.rows(c.req.valid('query').from))
    })
    .get('/runs/:run/search', asksText, async (c) => {
      const run = await home.open(c.req.param('run'))
      return answerLines(c, run.model.search(c.req.valid('query').text, { states: run.states() }))
    })
    .get('/runs/:run/export', async (c) => {
      const run = c.req.param('run')
      const { model } = await home.open(run)
      answerDownload(c, `${run}.jsonl`)
      return answerLines(c, eventLines(model.tape), { breaksOff: true })
    })
    .get('/runs/:run/console', async (c) =>
      c.json((await home.open(c.req.param('run'))).model.console()),
    )
    .get('/runs/:run/files', async (c) =>
      c.json((await home.open(c.req.param('run'))).model.files()),
    )
    .get('/runs/:run/events', asksRange, async (c) => {
      const { model } = await home.open(c.req.param('run'))
      const { from, to } = c.req.valid('query')
      return c.json(model.events(from, to))
    })
    .get('/runs/:run/events/:seq', async (c) => {
      const { model } = await home.open(c.req.param('run'))
      const seq = c.req.param('seq')
      if (!/^\d{1,15}$/.test(seq)) throw badQuestion('event', seq)
      return c.json({ event: model.event(Number(seq)) as object })
    })
    .get('/runs/:run/source', asksSite, async (c) => {
      const run = await home.open(c.req.param('run'))
      return c.json({ excerpt: run.source(c.req.valid('query').site) })
    })
    .get('/runs/:run/blame', async (c) => {
      const run = await home.open(c.req.param('run'))
      return c.json({ blame: run.blame?.() })
    })
    .get('/runs/:run/steps/:step', asksParts, async (c) => {
      const { model } = await home.open(c.req.param('run'))
      return c.json({ step: model.step(c.req.param('step'), c.req.valid('query')) })
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
      const { run, step, side } = c.req.param()
      const { model } = await home.open(run)
      const body = isSide(side) ? model.body(step, side) : undefined
      if (body === undefined) throw noSuchAddress(c.req.path)
      answerDownload(c, `${run}-${step}-${side}`)
      return c.body(new Uint8Array(body))
    })
    .route('/', changeRoutes(home))

const isSide = (side: string): side is BodySide => (BODY_SIDES as readonly string[]).includes(side)

/** The type of the API; the client is made from it. */
export type Api = ReturnType<typeof createApi>
