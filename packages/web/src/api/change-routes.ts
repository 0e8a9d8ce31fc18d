import { Hono } from 'hono'
import { HTTPException } from 'hono/http-exception'
import { validator } from 'hono/validator'
import { badChange, badRequest, nothingRunsHere } from '../errors.js'
import type {
  ApprovalDecisionRequest,
  ForkRequest,
  Move,
  RunActions,
  RunRepository,
} from './run-repository.js'
import { answerError } from './responses.js'

const EXPRESSION_MAX = 20_000
const NAME_MAX = 200
const REASON_MAX = 1000

type Fields = Readonly<Record<string, unknown>>

/** The body of a fork. Its edits are checked against the tape later. */
const forkBody = validator('json', (body: unknown): ForkRequest => {
  const fields = fieldsOf(body, [
    'at',
    'set',
    'request',
    'response',
    'requestText',
    'status',
    'tail',
    'name',
    'force',
  ])
  const at = text(fields, 'at')
  if (at === undefined || at === '') throw badChange('at', 'the label of a step')
  return compact<ForkRequest>({
    at,
    set: sets(fields, 'set'),
    request: sets(fields, 'request'),
    response: text(fields, 'response'),
    requestText: text(fields, 'requestText'),
    status: status(fields),
    tail: tail(fields),
    name: name(fields),
    force: flag(fields, 'force'),
  })
})

const rerunBody = validator('json', (body: unknown): { readonly name?: string } =>
  compact<{ readonly name?: string }>({ name: name(fieldsOf(body, ['name'])) }),
)

const moveBody = validator('json', (body: unknown): Move => {
  const fields = fieldsOf(body, ['to', 'step'])
  const to = text(fields, 'to') ?? ''
  switch (to) {
    case 'next':
    case 'back':
    case 'next in lane':
    case 'back in lane':
      return { to }
    case 'step': {
      const step = text(fields, 'step')
      if (step === undefined || step === '') throw badChange('step', 'the label of a step')
      return { to, step }
    }
    default:
      throw badChange('to', 'next, back, next in lane, back in lane or step')
  }
})

const decisionBody = validator('json', (body: unknown): ApprovalDecisionRequest => {
  const fields = fieldsOf(body, ['id', 'approved', 'reason'])
  const id = text(fields, 'id')
  const approved = flag(fields, 'approved')
  const reason = text(fields, 'reason')?.trim()
  if (id === undefined || !/^[\da-f]{64}$/.test(id)) throw badChange('id', 'the id of a call')
  if (approved === undefined) throw badChange('approved', 'true or false')
  if (reason !== undefined && reason.length > REASON_MAX)
    throw badChange('reason', `a text of up to ${REASON_MAX} characters`)
  return { id, approved, ...(reason !== undefined && reason !== '' && { reason }) }
})

const expressionBody = validator('json', (body: unknown) => {
  const expression = text(fieldsOf(body, ['expression']), 'expression')
  if (expression === undefined || expression.length > EXPRESSION_MAX)
    throw badChange('expression', `a text of up to ${EXPRESSION_MAX} characters`)
  return { expression }
})

const pairQuery = validator('query', (query: Readonly<Record<string, unknown>>) => ({
  a: runIn(query, 'a'),
  b: runIn(query, 'b'),
}))

function runIn(query: Readonly<Record<string, unknown>>, field: string): string {
  const { [field]: value } = query
  if (typeof value !== 'string' || value === '')
    throw badRequest(field, JSON.stringify(value) ?? '')
  return value
}

/** An object with these fields only: an unknown field is a mistake. */
function fieldsOf(body: unknown, known: readonly string[]): Fields {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw badChange('', 'a JSON object')
  const unknown = Object.keys(body).find((key) => !known.includes(key))
  if (unknown !== undefined) throw badChange(unknown, `one of ${known.join(', ')}`)
  return body as Fields
}

function text(fields: Fields, field: string): string | undefined {
  const { [field]: value } = fields
  if (value !== undefined && typeof value !== 'string') throw badChange(field, 'a text')
  return value
}

function name(fields: Fields): string | undefined {
  const given = text(fields, 'name')?.trim()
  if (given !== undefined && given.length > NAME_MAX)
    throw badChange('name', `a text of up to ${NAME_MAX} characters`)
  return given === '' ? undefined : given
}

function flag(fields: Fields, field: string): boolean | undefined {
  const { [field]: value } = fields
  if (value !== undefined && typeof value !== 'boolean') throw badChange(field, 'true or false')
  return value
}

function sets(fields: Fields, field: string): Fields | undefined {
  const { [field]: value } = fields
  if (value === undefined) return undefined
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw badChange(field, 'an object of paths and values')
  return value as Fields
}

function status({ status: value }: Fields): number | undefined {
  if (value === undefined) return undefined
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 100 || value > 599)
    throw badChange('status', 'a number from 100 to 599')
  return value
}

function tail({ tail: value }: Fields): 'live' | 'offline' | undefined {
  if (value !== undefined && value !== 'live' && value !== 'offline')
    throw badChange('tail', 'live or offline')
  return value
}

const compact = <T extends object>(fields: { [K in keyof T]: T[K] | undefined }): T =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T

/** Routes of everything beyond showing a run. */
export const changeRoutes = (repository: RunRepository) =>
  new Hono()
    .onError((error, c) => answerError(isBadJson(error) ? badChange('', 'JSON') : error, c))
    .get('/runs/:run/branches', async (c) => c.json(await repository.branches(c.req.param('run'))))
    .get('/compare', pairQuery, async (c) => {
      const { a, b } = c.req.valid('query')
      return c.json(await repository.compare(a, b))
    })
    .get('/runs/:run/files-of-branch', async (c) =>
      c.json(await changesOf(repository).branchFiles(c.req.param('run'))),
    )
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
    .get('/runs/:run/approvals', async (c) =>
      c.json(await (repository.actions?.approvals(c.req.param('run')) ?? [])),
    )
    .post('/runs/:run/approvals', decisionBody, async (c) => {
      await changesOf(repository).decide(c.req.param('run'), c.req.valid('json'))
      return c.json({})
    })
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
      // The value comes from the program and has no static type.
      return c.json({ ...value, json: value.json as object | null })
    })
    .delete('/sessions/:session', async (c) => {
      await changesOf(repository).closeSession(c.req.param('session'))
      return c.json({})
    })

/** Hono's error for a body that cannot be parsed. */
const isBadJson = (error: Error): boolean => error instanceof HTTPException && error.status === 400

function changesOf({ actions }: RunRepository): RunActions {
  if (actions === undefined) throw nothingRunsHere()
  return actions
}
