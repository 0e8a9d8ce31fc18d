import { Readable } from 'node:stream'
import { answerStream, bearerOf, EVENTS_STREAM, isSecret } from '@retake/web'
import { Hono } from 'hono'
import { serverErrors } from '../edge/errors.js'
import { type TeamJobs, type WorkerCard } from '../jobs/jobs.js'
import type { ServerEnv } from './access.js'
import type { RouteParts } from './route-parts.js'
import { readJsonBody, readText, requestBody, stringField, wholeNumber } from './api.js'
import type { TeamJob, JobResult, AllowedModel } from '../database/tables.js'

const CLAIM_MS = 25_000
const MODEL_BODY_MAX = 20 << 20

/** Routes for jobs and recordings in progress, below `/api/v1`. */
export function jobApi({ access, jobs, models, runs }: RouteParts) {
  const jobsOf = '/:org/projects/:project/jobs'
  return new Hono<ServerEnv>()
    .get('/:org/model', async (c) => {
      const { actor } = await access.member(c, 'read', 'admin')
      return c.json({ endpoint: (await models.find(actor)) ?? null })
    })
    .put('/:org/model', async (c) => {
      const { actor } = await access.member(c, 'read', 'admin')
      const { baseUrl, provider, key, models: allowed, jobUsd, monthUsd } = await readJsonBody(c)
      await models.set(actor, {
        baseUrl: stringField(baseUrl, 'baseUrl'),
        provider: stringField(provider, 'provider'),
        models: allowedModels(allowed),
        jobUsd: Number(jobUsd),
        monthUsd: Number(monthUsd),
        ...(key !== undefined && { key: stringField(key, 'key') }),
      })
      return c.json({ endpoint: await models.find(actor) })
    })
    .delete('/:org/model', async (c) => {
      await models.remove((await access.member(c, 'read', 'admin')).actor)
      return c.json({ removed: true })
    })
    .get(jobsOf, async (c) => {
      const { actor, project } = await access.project(c, 'read')
      const run = c.req.query('run')
      return c.json({ jobs: await jobs.list(actor, project, run === undefined ? {} : { run }) })
    })
    .post(jobsOf, async (c) => {
      const { actor, project } = await access.project(c, 'jobs')
      const { run, kind, options = {} } = await readJsonBody(c)
      if (typeof options !== 'object' || options === null || Array.isArray(options))
        throw serverErrors.REQUEST_INVALID('The field "options"', 'It must be an object.')
      const job = await jobs.start(actor, project, {
        run: stringField(run, 'run'),
        kind: stringField(kind, 'kind'),
        options: options as Readonly<Record<string, unknown>>,
      })
      return c.json({ job }, 201)
    })
    .get(`${jobsOf}/:id`, async (c) => {
      const { actor, project } = await access.project(c, 'read')
      return c.json({ job: await jobs.job(actor, project, c.req.param('id')) })
    })
    .get(`${jobsOf}/:id/events`, async (c) => {
      const { actor, project } = await access.project(c, 'read')
      const { id } = await jobs.job(actor, project, c.req.param('id'))
      return answerStream(c, {
        ...EVENTS_STREAM,
        watch: (send, end) => {
          let isSent = false
          const sendJob = (job: TeamJob): void => {
            isSent = true
            send(`event: job\ndata: ${JSON.stringify(job)}\n\n`)
            if (job.endedAt !== null) end()
          }
          const unwatch = jobs.watch(({ org, job }) => {
            if (org === actor.org && job.id === id) sendJob(job)
          })
          // Read after the watch began, so that no change is missed. A reported change is newer.
          jobs.job(actor, project, id).then((job) => isSent || sendJob(job), end)
          return unwatch
        },
      })
    })
    .get(`${jobsOf}/:id/files/:name`, async (c) => {
      const { actor, project } = await access.project(c, 'read')
      const { id, name } = c.req.param()
      const { file, content } = await jobs.readFile(actor, project, id, name)
      c.header('content-type', 'application/octet-stream')
      c.header('content-disposition', `attachment; filename="${file.name}"`)
      return c.body(Readable.toWeb(Readable.from(content)) as ReadableStream)
    })
    .patch('/:org/projects/:project/live/:run', async (c) => {
      const { actor, project } = await access.project(c, 'push')
      const part = { run: c.req.param('run'), offset: wholeNumber(c, 'offset') }
      return c.json({ received: await runs.appendLive(actor, project, part, requestBody(c)) })
    })
    .delete(`${jobsOf}/:id`, async (c) => {
      const { actor, project } = await access.project(c, 'jobs')
      return c.json({ job: await jobs.cancel(actor, project, c.req.param('id')) })
    })
}

/** Models as names, or as objects with prices. */
function allowedModels(given: unknown): AllowedModel[] {
  const invalid = () =>
    serverErrors.REQUEST_INVALID(
      'The field "models"',
      'It must be a list of names, or of objects with "name", "input" and "output".',
    )
  if (!Array.isArray(given)) throw invalid()
  return given.map((each: unknown) => {
    if (typeof each === 'string') return { name: each }
    const { name, input, output } = (each ?? {}) as Partial<Record<string, unknown>>
    if (typeof name !== 'string') throw invalid()
    return typeof input === 'number' && typeof output === 'number'
      ? { name, input, output }
      : { name }
  })
}

/** Routes for workers, below `/api/v1/worker`. Their token gives access to nothing else. */
export function workerApi({ jobs, token }: { readonly jobs: TeamJobs; readonly token: string }) {
  return new Hono<ServerEnv>()
    .use(async (c, next) => {
      if (!isSecret(bearerOf(c) ?? '', token)) throw serverErrors.NOT_SIGNED_IN()
      await next()
    })
    .post('/claim', async (c) => {
      const { name, version, slots, hasSandbox } = await readJsonBody(c)
      const card: WorkerCard = {
        name: stringField(name, 'name').slice(0, 100),
        version: stringField(version, 'version').slice(0, 50),
        slots: Number(slots) || 1,
        hasSandbox: hasSandbox === true,
      }
      const job = await jobs.claim(card, { waitMs: CLAIM_MS, signal: c.req.raw.signal })
      return c.json({ job: job ?? null })
    })
    .post('/jobs/:ticket/heartbeat', async (c) => {
      const { progress = '' } = await readJsonBody(c)
      const isWanted = await jobs.heartbeat(
        c.req.param('ticket'),
        stringField(progress, 'progress'),
      )
      return c.json({ continue: isWanted })
    })
    .post('/jobs/:ticket/release', async (c) => {
      await jobs.release(c.req.param('ticket'))
      return c.json({ released: true })
    })
    .post('/jobs/:ticket/model', async (c) => {
      const { status, headers, body } = await jobs.model(
        c.req.param('ticket'),
        {
          method: c.req.header('retake-method') ?? '',
          url: c.req.header('retake-url') ?? '',
          headers: c.req.raw.headers,
          body: await readText(c, MODEL_BODY_MAX),
        },
        c.req.raw.signal,
      )
      return c.body(Readable.toWeb(Readable.from(body)) as ReadableStream, 200, {
        ...headers,
        // An error of the model is a successful response here.
        'retake-status': String(status),
      })
    })
    .get('/jobs/:ticket/files', async (c) =>
      c.json({ files: await jobs.files(c.req.param('ticket')) }),
    )
    .get('/jobs/:ticket/files/:digest', async (c) => {
      const { ticket, digest } = c.req.param()
      const content = await jobs.file(ticket, digest)
      c.header('content-type', 'application/octet-stream')
      return c.body(Readable.toWeb(Readable.from(content)) as ReadableStream)
    })
    .patch('/jobs/:ticket/files/:digest', async (c) => {
      const { ticket, digest } = c.req.param()
      const [offset, size] = [wholeNumber(c, 'offset'), wholeNumber(c, 'size')]
      const received = await jobs.receive(ticket, { digest, offset, size }, requestBody(c))
      return c.json({ received })
    })
    .post('/jobs/:ticket/result', async (c) => {
      const result = (await readJsonBody(c)) as JobResult
      return c.json({ accepted: await jobs.finish(c.req.param('ticket'), result) })
    })
}
