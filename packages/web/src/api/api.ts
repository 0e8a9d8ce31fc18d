import { type Context, Hono } from 'hono'
import { eventLines } from '@retake/tape'
import { badRequest, noSuchAddress } from '../errors.js'
import { BODY_SIDES, type BodySide } from '../model/step-detail.js'
import { answerError, explained } from './responses.js'
import { changeRoutes } from './change-routes.js'
import type { RunRepository, RepositoryChange } from './home.js'
import { validator } from 'hono/validator'

/** A line comes at least this often, so that whoever waits notices a connection that is dead. */
const HEARTBEAT_MS = 10_000
/** Who reads so slowly that this many changes wait is cut off, and catches up when it comes again. */
const WAITING_MAX = 1000

/** What stands in a stream of changes: `alive` at its start and whenever nothing else came. */
export type ChangeLine = RepositoryChange | { readonly type: 'alive' }

/** The changes of a home as lines of JSON, as long as somebody reads them. */
function answerChanges(c: Context, repository: RunRepository): Response {
  const encoder = new TextEncoder()
  let stop = (): void => {}
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const notify = (line: ChangeLine): void => {
          if ((controller.desiredSize ?? 0) < 0) {
            stop()
            controller.error(new Error('the reader of the changes is too slow'))
          } else controller.enqueue(encoder.encode(`${JSON.stringify(line)}\n`))
        }
        const heartbeat = setInterval(() => notify({ type: 'alive' }), HEARTBEAT_MS)
        const unwatch = repository.watch(notify)
        stop = () => {
          clearInterval(heartbeat)
          unwatch()
        }
        notify({ type: 'alive' })
      },
      cancel: () => stop(),
    },
    new CountQueuingStrategy({ highWaterMark: WAITING_MAX }),
  )
  return c.body(body, 200, { 'content-type': 'application/x-ndjson; charset=utf-8' })
}

/** A query as it comes; a name can stand in it several times. */
type Query = Readonly<Record<string, string | string[] | undefined>>

/** `?from=12`, a place in a list; the beginning when it is not said. */
const fromQuery = validator('query', (query: Query) => ({
  from: wholeNumber(query, 'from') ?? 0,
}))

/** `?from=12&to=20`, events by number. */
const rangeQuery = validator('query', (query: Query) => ({
  from: wholeNumber(query, 'from') ?? 0,
  to: wholeNumber(query, 'to') ?? 0,
}))

/** `?text=refund`, what is looked for. */
const textQuery = validator('query', (query: Query) => ({ text: oneText(query, 'text') }))

/** `?site=src/agent.ts:12:3`, a place in a source. */
const siteQuery = validator('query', (query: Query) => ({ site: oneText(query, 'site') }))

/** `?messagesFrom=12&eventsFrom=40`; what is not said is shown as far as it is shown unasked. */
const partsQuery = validator('query', (query: Query) => ({
  messagesFrom: wholeNumber(query, 'messagesFrom'),
  eventsFrom: wholeNumber(query, 'eventsFrom'),
}))

function oneText(query: Query, name: string): string {
  const value = query[name] ?? ''
  if (typeof value !== 'string') throw badRequest(name, value.join(', '))
  return value
}

function wholeNumber(query: Query, name: string): number | undefined {
  const value = oneText(query, name)
  if (value === '') return undefined
  if (!/^\d{1,15}$/.test(value)) throw badRequest(name, value)
  return Number(value)
}

/** A piece of an answer has about this many characters, and takes no longer than this to make. */
const PIECE_LENGTH = 64 << 10
const PIECE_MS = 8

interface LinesOptions {
  /** For downloads: an error breaks the answer off, so that nobody takes a part for the whole. */
  readonly breaksOff?: boolean
}

/**
 * Each value as a line of JSON, made as fast as they are read and no longer than
 * somebody reads. Other requests are answered between two pieces. An error on the
 * way is told in a last line, `{"$error":…}`.
 */
export function answerLines(
  c: Context,
  values: Iterable<unknown>,
  { breaksOff = false }: LinesOptions = {},
): Response {
  const iterator = values[Symbol.iterator]()
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await new Promise((resolve) => setImmediate(resolve))
      let piece = ''
      let isDone = false
      try {
        const until = performance.now() + PIECE_MS
        while (!isDone && piece.length < PIECE_LENGTH && performance.now() < until) {
          const next = iterator.next()
          isDone = next.done === true
          if (!isDone) piece += `${JSON.stringify(next.value)}\n`
        }
      } catch (error) {
        if (breaksOff) return controller.error(error)
        piece += `${JSON.stringify({ $error: explained(error) })}\n`
        isDone = true
      }
      if (piece !== '') controller.enqueue(encoder.encode(piece))
      if (isDone) controller.close()
    },
    cancel() {
      iterator.return?.()
    },
  })
  if (!breaksOff) c.header('content-type', 'application/x-ndjson; charset=utf-8')
  return c.body(body)
}

/** The routes of the viewer under `/api`. What they ask is the home's to answer; who may ask is decided before. */
export const createApi = (repository: RunRepository) =>
  new Hono()
    .onError((error, c) => answerError(error, c))
    .get('/home', (c) =>
      c.json({ name: repository.name, canChange: repository.actions !== undefined }),
    )
    .get('/runs', async (c) => c.json(await repository.runs()))
    .get('/changes', (c) => answerChanges(c, repository))
    .get('/runs/:run', async (c) => {
      const { model, abilities } = await repository.open(c.req.param('run'))
      return c.json({ head: model.head(), abilities })
    })
    .get('/runs/:run/rows', fromQuery, async (c) => {
      const { model } = await repository.open(c.req.param('run'))
      return answerLines(c, model.rows(c.req.valid('query').from))
    })
    .get('/runs/:run/search', textQuery, async (c) => {
      const run = await repository.open(c.req.param('run'))
      return answerLines(c, run.model.search(c.req.valid('query').text, { states: run.states() }))
    })
    .get('/runs/:run/export', async (c) => {
      const run = c.req.param('run')
      const { model } = await repository.open(run)
      answerDownload(c, `${run}.jsonl`)
      return answerLines(c, eventLines(model.tape), { breaksOff: true })
    })
    .get('/runs/:run/console', async (c) =>
      c.json((await repository.open(c.req.param('run'))).model.console()),
    )
    .get('/runs/:run/files', async (c) =>
      c.json((await repository.open(c.req.param('run'))).model.files()),
    )
    .get('/runs/:run/events', rangeQuery, async (c) => {
      const { model } = await repository.open(c.req.param('run'))
      const { from, to } = c.req.valid('query')
      return c.json(model.events(from, to))
    })
    .get('/runs/:run/events/:seq', async (c) => {
      const { model } = await repository.open(c.req.param('run'))
      const seq = c.req.param('seq')
      if (!/^\d{1,15}$/.test(seq)) throw badRequest('event', seq)
      return c.json({ event: model.event(Number(seq)) as object })
    })
    .get('/runs/:run/source', siteQuery, async (c) => {
      const run = await repository.open(c.req.param('run'))
      return c.json({ excerpt: run.source(c.req.valid('query').site) })
    })
    .get('/runs/:run/blame', async (c) => {
      const run = await repository.open(c.req.param('run'))
      return c.json({ blame: run.blame?.() })
    })
    .get('/runs/:run/steps/:step', partsQuery, async (c) => {
      const { model } = await repository.open(c.req.param('run'))
      return c.json({ step: model.step(c.req.param('step'), c.req.valid('query')) })
    })
    .get('/runs/:run/steps/:step/stream', async (c) => {
      const { model } = await repository.open(c.req.param('run'))
      return c.json({ stream: model.stream(c.req.param('step')) })
    })
    .get('/runs/:run/steps/:step/state', async (c) => {
      const run = await repository.open(c.req.param('run'))
      return c.json({ state: run.state(c.req.param('step')) })
    })
    .get('/runs/:run/steps/:step/body/:side', async (c) => {
      const { run, step, side } = c.req.param()
      const { model } = await repository.open(run)
      const body = isSide(side) ? model.body(step, side) : undefined
      if (body === undefined) throw noSuchAddress(c.req.path)
      answerDownload(c, `${run}-${step}-${side}`)
      return c.body(new Uint8Array(body))
    })
    .route('/', changeRoutes(repository))

const isSide = (side: string): side is BodySide => (BODY_SIDES as readonly string[]).includes(side)

/** The type of the API; the client is made from it. */
export type Api = ReturnType<typeof createApi>

/**
 * Marks an answer as a file to keep. What a tape holds is never shown by the browser
 * itself: as a page of ours it could do whatever the viewer can.
 */
function answerDownload(c: Context, name: string): void {
  c.header('content-type', 'application/octet-stream')
  c.header('content-disposition', `attachment; filename="${name.replaceAll(/[^\w.-]+/g, '_')}"`)
}
