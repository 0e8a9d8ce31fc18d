import { type Context, Hono } from 'hono'
import { createMiddleware } from 'hono/factory'
import { viewerErrors } from './errors.js'
import { BODY_SIDES } from '../model/run-source.js'
import { checkChange } from './access.js'
import { changeRoutes } from './change-routes.js'
import type { OpenRun, RepositoryChange, RunRepository } from './run-repository.js'
import { answerError, answerStream, explained } from './responses.js'

/** A line in the stream of changes. `alive` comes first, and then as a heartbeat. */
export type ChangeLine = RepositoryChange | { readonly type: 'alive' }

const lineOf = (line: ChangeLine): string => `${JSON.stringify(line)}\n`

/** A query parameter; empty if it is missing. Throws if it is repeated. */
function textIn(c: Context, name: string): string {
  const values = c.req.queries(name) ?? []
  if (values.length > 1) throw viewerErrors.VIEWER_BAD_REQUEST(name, values.join(', '))
  return values[0] ?? ''
}

function numberIn(c: Context, name: string): number | undefined {
  const value = textIn(c, name)
  if (value === '') return undefined
  if (!/^\d{1,15}$/.test(value)) throw viewerErrors.VIEWER_BAD_REQUEST(name, value)
  return Number(value)
}

/** Limits of one chunk: characters, and milliseconds to produce it. */
const PIECE_LENGTH = 64 << 10
const PIECE_MS = 8

/**
 * Streams each value as a line of JSON, with backpressure. Yields to other requests between chunks.
 * An error becomes the last line, `{"$error":…}`.
 */
export function streamLines(c: Context, values: Iterable<unknown>): Response {
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
  c.header('content-type', 'application/x-ndjson; charset=utf-8')
  return c.body(body)
}

/** The viewer's routes below `/api`. Does not check who sends a request. */
export function createApi(repository: RunRepository) {
  const opened = createMiddleware<{ Variables: { run: OpenRun } }>(async (c, next) => {
    c.set('run', await repository.open(c.req.param('run') ?? ''))
    await next()
  })
  return new Hono()
    .onError(answerError)
    .use(checkChange)
    .get('/repository', (c) =>
      c.json({
        name: repository.name,
        canChange: repository.actions !== undefined,
        tabs: repository.tabs,
        ...(repository.editor !== undefined && { editor: repository.editor }),
        ...(repository.parent !== undefined && { parent: repository.parent }),
      }),
    )
    .get('/runs', async (c) => c.json(await repository.runs()))
    .get('/changes', (c) =>
      answerStream(c, {
        type: 'application/x-ndjson',
        first: lineOf({ type: 'alive' }),
        alive: lineOf({ type: 'alive' }),
        watch: (send) => repository.watch((change) => send(lineOf(change))),
      }),
    )
    .get('/runs/:run', opened, (c) => {
      const { model, abilities } = c.var.run
      return c.json({ head: model.head(), abilities })
    })
    .get('/runs/:run/rows', opened, (c) =>
      streamLines(c, c.var.run.model.rows(numberIn(c, 'from'))),
    )
    .get('/runs/:run/search', opened, (c) => {
      const { run } = c.var
      return streamLines(c, run.model.search(textIn(c, 'text'), { states: run.states() }))
    })
    .get('/runs/:run/console', opened, (c) => c.json(c.var.run.model.console()))
    .get('/runs/:run/files', opened, (c) => c.json(c.var.run.model.files()))
    .get('/runs/:run/events', opened, (c) =>
      c.json(c.var.run.model.events(numberIn(c, 'from') ?? 0, numberIn(c, 'to') ?? 0)),
    )
    .get('/runs/:run/found-events', opened, (c) =>
      streamLines(c, c.var.run.model.findEvents(textIn(c, 'text'))),
    )
    .get('/runs/:run/events/:seq', opened, (c) => {
      const seq = c.req.param('seq')
      if (!/^\d{1,15}$/.test(seq)) throw viewerErrors.VIEWER_BAD_REQUEST('event', seq)
      return c.json({ event: c.var.run.model.event(Number(seq)) as object })
    })
    .get('/runs/:run/source', opened, (c) =>
      c.json({ excerpt: c.var.run.source(textIn(c, 'site')) }),
    )
    .get('/runs/:run/findings/:tab', opened, (c) =>
      c.json({ findings: c.var.run.findings?.(c.req.param('tab')) as object | undefined }),
    )
    .get('/runs/:run/steps/:step', opened, (c) => {
      const messagesFrom = numberIn(c, 'messagesFrom')
      return c.json({ step: c.var.run.model.step(c.req.param('step'), { messagesFrom }) })
    })
    .get('/runs/:run/steps/:step/stream', opened, (c) =>
      c.json({ stream: c.var.run.model.stream(c.req.param('step')) }),
    )
    .get('/runs/:run/steps/:step/state', opened, (c) =>
      c.json({ state: c.var.run.state(c.req.param('step')) }),
    )
    .get('/runs/:run/steps/:step/body/:side', opened, (c) => {
      const { run, step, side: requestedSide } = c.req.param()
      const side = BODY_SIDES.find((each) => each === requestedSide)
      const body = side && c.var.run.model.body(step, side)
      if (body === undefined) throw viewerErrors.VIEWER_NO_SUCH_ADDRESS(c.req.path)
      // Marks a response as a download. The browser must never render content of a tape, because on
      // our origin it could do everything that the viewer can.
      const name = `${run}-${step}-${side}`
      c.header('content-type', 'application/octet-stream')
      c.header('content-disposition', `attachment; filename="${name.replaceAll(/[^\w.-]+/g, '_')}"`)

      return c.body(new Uint8Array(body))
    })
    .route('/', changeRoutes(repository))
    .all('*', (c) => {
      throw viewerErrors.VIEWER_NO_SUCH_ADDRESS(c.req.path)
    })
}
