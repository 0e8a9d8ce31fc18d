import { isRecord } from '@retake/tape'
import { type Context, Hono } from 'hono'
import { HTTPException } from 'hono/http-exception'
import { validator } from 'hono/validator'
import { viewerErrors } from './errors.js'
import type { ForkRequest, Move, RunActions, RunRepository } from './run-repository.js'
import { answerError } from './responses.js'

const EXPRESSION_MAX = 20_000
const NAME_MAX = 200

type Shape<T> = (value: unknown, field: string) => T

type Shapes<T> = {
  readonly [K in keyof T]-?: Shape<T[K] | (object extends Pick<T, K> ? undefined : never)>
}

/** Expects a JSON object with only these fields. */
const jsonBody = <T extends object, U = T>(
  shapes: Shapes<T>,
  convert: (body: T) => U = (body) => body as unknown as U,
) =>
  validator('json', (body: unknown): U => {
    if (!isRecord(body)) throw viewerErrors.VIEWER_BAD_CHANGE('', 'a JSON object')
    const fields = Object.entries<Shape<unknown>>(shapes)
    const names = fields.map(([name]) => name)
    const unknown = Object.keys(body).find((key) => !names.includes(key))
    if (unknown !== undefined)
      throw viewerErrors.VIEWER_BAD_CHANGE(unknown, `one of ${names.join(', ')}`)
    const read = fields.map(([name, shape]) => [name, shape(body[name], name)] as const)
    return convert(Object.fromEntries(read.filter(([, value]) => value !== undefined)) as T)
  })

const check =
  <T>(expected: string, fits: (value: unknown) => value is T): Shape<T> =>
  (value, field) => {
    if (fits(value)) return value
    throw viewerErrors.VIEWER_BAD_CHANGE(field, expected)
  }

const text = check('a text', (value) => typeof value === 'string')

const flag = check('true or false', (value) => typeof value === 'boolean')

const optional =
  <T>(shape: Shape<T>): Shape<T | undefined> =>
  (value, field) =>
    value === undefined ? undefined : shape(value, field)

const label = check(
  'the label of a step',
  (value): value is string => typeof value === 'string' && value !== '',
)

const textUpTo = (max: number): Shape<string> =>
  check(
    `a text of up to ${max} characters`,
    (value): value is string => typeof value === 'string' && value.trim().length <= max,
  )

/** Trimmed. An empty name counts as missing. */
const name: Shape<string | undefined> = (value, field) =>
  optional(textUpTo(NAME_MAX))(value, field)?.trim() || undefined

const paths = check('an object of paths and values', isRecord)

/** The repository checks edits against the tape. */
const forkBody = jsonBody<ForkRequest>({
  at: label,
  set: optional(paths),
  request: optional(paths),
  response: optional(text),
  requestText: optional(text),
  status: optional(
    check(
      'a number from 100 to 599',
      (value): value is number =>
        Number.isInteger(value) && (value as number) >= 100 && (value as number) <= 599,
    ),
  ),
  tail: optional(
    check(
      'live or offline',
      (value): value is 'live' | 'offline' => value === 'live' || value === 'offline',
    ),
  ),
  name,
  force: optional(flag),
})

const rerunBody = jsonBody<{ readonly name?: string }>({ name })

const MOVES: readonly unknown[] = ['next', 'back', 'next in lane', 'back in lane', 'step']

const moveBody = jsonBody<{ to: Move['to']; step?: string }, Move>(
  {
    to: check('next, back, next in lane, back in lane or step', (value): value is Move['to'] =>
      MOVES.includes(value),
    ),
    step: optional(text),
  },
  ({ to, step }) => (to === 'step' ? { to, step: label(step, 'step') } : { to }),
)

const expressionBody = jsonBody<{ readonly expression: string }>({
  expression: textUpTo(EXPRESSION_MAX),
})

export function changeRoutes(repository: RunRepository) {
  // Hono's error about a body that is not JSON.
  const routes = new Hono()
    .onError((error, c) =>
      answerError(
        error instanceof HTTPException && error.status === 400
          ? viewerErrors.VIEWER_BAD_CHANGE('', 'JSON')
          : error,
        c,
      ),
    )
    .get('/runs/:run/branches', async (c) => c.json(await repository.branches(c.req.param('run'))))
    .get('/compare', async (c) => c.json(await repository.compare(runIn(c, 'a'), runIn(c, 'b'))))
    .get('/runs/:run/steps/:step/editable', async (c) => {
      const { run, step } = c.req.param()
      return c.json(await changesOf(repository).editable(run, step))
    })
    .post('/runs/:run/fork', forkBody, async (c) =>
      c.json(await changesOf(repository).fork(c.req.param('run'), c.req.valid('json'))),
    )
    .post('/runs/:run/rerun', rerunBody, async (c) =>
      c.json(await changesOf(repository).rerun(c.req.param('run'), c.req.valid('json'))),
    )
    .post('/runs/:run/test', async (c) =>
      c.json(await changesOf(repository).writeTest(c.req.param('run'))),
    )
    .get('/jobs', (c) => c.json(repository.actions?.jobs() ?? []))
    .post('/jobs/:job/stop', async (c) => {
      await changesOf(repository).stop(c.req.param('job'))
      return c.json({})
    })
    .post('/runs/:run/sessions', async (c) =>
      c.json(await changesOf(repository).openSession(c.req.param('run'))),
    )
    .post('/sessions/:session/move', moveBody, async (c) => {
      const { signal } = c.req.raw
      const to = c.req.valid('json')
      return c.json(await changesOf(repository).move(c.req.param('session'), to, { signal }))
    })
    .post('/sessions/:session/evaluate', expressionBody, async (c) => {
      const { expression } = c.req.valid('json')
      const value = await changesOf(repository).evaluate(c.req.param('session'), expression)
      // The value comes from the program, so it has no static type.
      return c.json({ ...value, json: value.json as object | null })
    })
    .delete('/sessions/:session', async (c) => {
      await changesOf(repository).closeSession(c.req.param('session'))
      return c.json({})
    })
  for (const route of repository.routes ?? []) {
    const fields = Object.entries(route.body ?? {}).map(([field, given]) => {
      const shape = check(given.expected, (value): value is unknown => given.fits(value))
      return [field, given.isOptional ? optional(shape) : shape] as const
    })
    const send = async (c: Context, body: Record<string, unknown>): Promise<Response> =>
      c.json((await route.answer({ params: c.req.param(), body })) as object)
    if (route.body === undefined) routes.on(route.method, route.path, (c) => send(c, {}))
    else {
      const checkBody = jsonBody<Record<string, unknown>>(Object.fromEntries(fields))
      routes.on(route.method, route.path, checkBody, (c) => send(c, c.req.valid('json')))
    }
  }
  return routes
}

function changesOf({ actions }: RunRepository): RunActions {
  if (actions === undefined) throw viewerErrors.VIEWER_NOTHING_RUNS_HERE()
  return actions
}

function runIn(c: Context, name: string): string {
  const values = c.req.queries(name) ?? []
  const [run = ''] = values
  if (run === '' || values.length > 1)
    throw viewerErrors.VIEWER_BAD_REQUEST(name, JSON.stringify(values))
  return run
}
