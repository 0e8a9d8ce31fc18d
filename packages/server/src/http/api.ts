import { Readable } from 'node:stream'
import { isRecord, parseJson } from '@retake/tape/format'
import { type Context, Hono } from 'hono'
import { serverErrors } from '../edge/errors.js'
import type { PushRequest } from '../runs/team-runs.js'
import type { ServerEnv } from './access.js'
import type { RouteParts } from './route-parts.js'
import { SCOPES, type RequestedCall, type StoredFile } from '../database/tables.js'

const BODY_MAX = 4 << 20
const LINK_MS = 5 * 60_000
const WAIT_SECONDS_MAX = 60
const APPROVAL_MS = 5 * 60_000

/** The API for the command line and other programs, below `/api/v1`. */
export function teamApi(parts: RouteParts) {
  const { access, runs, apiKeys, approvals, keys, version } = parts
  const links = keys.tokens('links', 'blob')
  return new Hono<ServerEnv>()
    .get('/', (c) => c.json({ name: 'retake', version }))
    .get('/me', async (c) => {
      const { caller } = c.var
      if (caller === undefined) throw serverErrors.NOT_SIGNED_IN()
      if (caller.kind === 'person') return c.json({ person: caller.person })
      return c.json({ key: { name: caller.key.name, scopes: caller.key.scopes } })
    })
    .get('/:org/projects', async (c) => {
      const member = await access.member(c, 'read')
      access.checkWholeOrganization(member)
      return c.json({ projects: await runs.projects(member.actor) })
    })
    .post('/:org/projects', async (c) => {
      const member = await access.member(c, 'push')
      access.checkWholeOrganization(member)
      const { slug, name } = await readJsonBody(c)
      return c.json(
        {
          project: await runs.createProject(member.actor, {
            slug: stringField(slug, 'slug'),
            name: stringField(name ?? slug, 'name'),
          }),
        },
        201,
      )
    })
    .post('/:org/projects/:project/uploads', async (c) => {
      const { actor } = await access.project(c, 'push')
      const { files } = await readJsonBody(c)
      return c.json({ missing: await runs.missing(actor, files as StoredFile[]) })
    })
    .patch('/:org/projects/:project/uploads/:digest', async (c) => {
      const { actor } = await access.project(c, 'push')
      const { digest } = c.req.param()
      const [offset, size] = [wholeNumber(c, 'offset'), wholeNumber(c, 'size')]
      const received = await runs.receive(actor, { digest, offset, size }, requestBody(c))
      return c.json({ received })
    })
    .post('/:org/projects/:project/runs', async (c) => {
      const { actor, project } = await access.project(c, 'push')
      const pushed = (await readJsonBody(c)) as unknown as PushRequest
      const outcome = await runs.commit(actor, project, {
        run: stringField(pushed.run, 'run'),
        files: pushed.files,
        allowSecrets: pushed.allowSecrets === true,
        ...(pushed.tags !== undefined && { tags: stringListField(pushed.tags, 'tags') }),
        ...(pushed.note !== undefined && { note: stringField(pushed.note, 'note') }),
      })
      return c.json({ outcome }, outcome === 'created' ? 201 : 200)
    })
    .get('/:org/projects/:project/runs', async (c) => {
      const { actor, project } = await access.project(c, 'read')
      const { q = '', before } = c.req.query()
      const isFirst = q === '' && before === undefined
      return c.json({
        ...(await runs.list(actor, project, { query: q, ...(before && { before }) })),
        ...(isFirst && { live: await runs.liveRuns(actor, project) }),
      })
    })
    .get('/:org/projects/:project/clusters', async (c) => {
      const { actor, project } = await access.project(c, 'read')
      const since = new Date(Date.now() - wholeNumber(c, 'days', 7) * 86_400_000)
      return c.json({ clusters: await runs.clusters(actor, project, since) })
    })
    .get('/:org/projects/:project/runs/:run', async (c) => {
      const { actor, project, organization } = await access.project(c, 'read')
      const { run } = c.req.param()
      const row = await runs.run(actor, project, run)
      const files = await runs.files(actor, project, run)
      const until = Date.now() + LINK_MS
      const linked = files.map((file) => ({
        ...file,
        link: `blobs/${links.make(organization.id, file.digest, until)}`,
      }))
      return c.json({ run: row, files: linked, comments: await runs.comments(actor, project, run) })
    })
    .patch('/:org/projects/:project/runs/:run', async (c) => {
      const { actor, project } = await access.project(c, 'push')
      const { tags, note } = await readJsonBody(c)
      return c.json({
        run: await runs.setTags(actor, project, c.req.param('run'), {
          ...(tags !== undefined && { tags: stringListField(tags, 'tags') }),
          ...(note !== undefined && { note: note === null ? null : stringField(note, 'note') }),
        }),
      })
    })
    .delete('/:org/projects/:project/runs/:run', async (c) => {
      const { actor, project } = await access.project(c, 'push')
      await runs.remove(actor, project, c.req.param('run'))
      return c.json({ removed: true })
    })
    .post('/:org/projects/:project/runs/:run/comments', async (c) => {
      const { actor, project } = await access.project(c, 'push')
      const { step, text: said } = await readJsonBody(c)
      const comment = await runs.addComment(actor, project, c.req.param('run'), {
        step: step === undefined || step === null ? null : stringField(step, 'step'),
        text: stringField(said, 'text'),
      })
      return c.json({ comment }, 201)
    })
    .get('/:org/projects/:project/filters', async (c) => {
      const { actor, project } = await access.project(c, 'read')
      return c.json({ filters: await runs.savedFilters(actor, project) })
    })
    .put('/:org/projects/:project/filters/:name', async (c) => {
      const { actor, project } = await access.project(c, 'push')
      const { query } = await readJsonBody(c)
      await runs.saveFilter(actor, project, {
        name: c.req.param('name'),
        query: stringField(query, 'query'),
      })
      return c.json({ filters: await runs.savedFilters(actor, project) })
    })
    .delete('/:org/projects/:project/filters/:name', async (c) => {
      const { actor, project } = await access.project(c, 'push')
      await runs.removeFilter(actor, project, c.req.param('name'))
      return c.json({ removed: true })
    })
    .get('/:org/approval-key', async (c) => {
      const { actor } = await access.member(c, 'read')
      return c.json({ key: approvals.publicKey(actor) })
    })
    .get('/:org/projects/:project/approvals', async (c) => {
      const { actor, project } = await access.project(c, 'read')
      return c.json({ approvals: await approvals.list(actor, project) })
    })
    .post('/:org/projects/:project/approvals', async (c) => {
      const { actor, project } = await access.project(c, 'push')
      const { run, call, expiresMs = APPROVAL_MS } = await readJsonBody(c)
      const approval = await approvals.request(actor, project, {
        run: stringField(run, 'run'),
        call: (call ?? {}) as RequestedCall,
        expiresMs: Number(expiresMs),
      })
      return c.json({ approval }, 201)
    })
    .get('/:org/projects/:project/approvals/:id', async (c) => {
      const { actor, project } = await access.project(c, 'read')
      const seconds = Math.min(wholeNumber(c, 'wait', 0), WAIT_SECONDS_MAX)
      const approval = await approvals.wait(actor, project, c.req.param('id'), {
        waitMs: seconds * 1000,
        signal: c.req.raw.signal,
      })
      return c.json({ approval })
    })
    .post('/:org/projects/:project/approvals/:id', async (c) => {
      const { actor, project } = await access.project(c, 'approve')
      const { approved, reason } = await readJsonBody(c)
      if (typeof approved !== 'boolean')
        throw serverErrors.REQUEST_INVALID('The field "approved"', 'It must be true or false.')
      const approval = await approvals.decide(actor, project, c.req.param('id'), {
        approved,
        ...(reason !== undefined && { reason: stringField(reason, 'reason') }),
      })
      return c.json({ approval })
    })
    .get('/blobs/:token', async (c) => {
      const [org, digest, until] = links.read(c.req.param('token')) ?? []
      if (org === undefined || digest === undefined || !(Number(until) > Date.now()))
        throw serverErrors.LINK_INVALID()
      const content = await runs.readFile({ org, user: 'link', role: 'viewer' }, digest)
      c.header('content-type', 'application/octet-stream')
      c.header('content-disposition', `attachment; filename="${digest}"`)
      return c.body(Readable.toWeb(Readable.from(content)) as ReadableStream)
    })
    .get('/:org/keys', async (c) => {
      const { actor } = await access.member(c, 'read', 'member')
      return c.json({ keys: await apiKeys.list(actor) })
    })
    .post('/:org/keys', async (c) => {
      const { actor } = await access.member(c, 'read', 'member')
      const { name, scopes = SCOPES, project, days = 90 } = await readJsonBody(c)
      const limited =
        project === undefined
          ? null
          : (await runs.project(actor, stringField(project, 'project'))).id
      const made = await apiKeys.create(actor, {
        name: stringField(name, 'name'),
        scopes: stringListField(scopes, 'scopes'),
        project: limited,
        days: days === null ? null : Number(days),
      })
      return c.json(made, 201)
    })
    .delete('/:org/keys/:id', async (c) => {
      const { actor } = await access.member(c, 'read', 'member')
      await apiKeys.revoke(actor, c.req.param('id'))
      return c.json({ revoked: true })
    })
}

export async function readJsonBody(c: Context): Promise<Readonly<Record<string, unknown>>> {
  const body = parseJson(await readText(c))
  if (!isRecord(body))
    throw serverErrors.REQUEST_INVALID('The request', 'Its body is not a JSON object.')
  return body
}

/** The body as text. Enforces the limit whatever `content-length` says. */
export async function readText(c: Context, max = BODY_MAX): Promise<string> {
  const parts: Uint8Array[] = []
  let length = 0
  const { body } = c.req.raw
  for await (const part of (body ?? []) as AsyncIterable<Uint8Array>) {
    length += part.length
    if (length > max) throw serverErrors.TOO_LARGE('The request', length, max)
    parts.push(part)
  }
  return Buffer.concat(parts).toString()
}

/** The body of a request as a stream; empty without a body. */
export const requestBody = (c: Context): Readable =>
  c.req.raw.body === null ? Readable.from([]) : Readable.fromWeb(c.req.raw.body)

export function stringField(value: unknown, name: string): string {
  if (typeof value !== 'string' || value.length > 10_000)
    throw serverErrors.REQUEST_INVALID(
      `The field "${name}"`,
      'It must be a string of up to 10,000 characters.',
    )
  return value
}

export function stringListField(value: unknown, name: string): string[] {
  if (!Array.isArray(value) || value.length > 200)
    throw serverErrors.REQUEST_INVALID(`The field "${name}"`, 'It must be a list of strings.')
  return value.map((each) => stringField(each, name))
}

export function wholeNumber(c: Context, name: string, fallback?: number): number {
  const given = c.req.query(name)
  if (given === undefined && fallback !== undefined) return fallback
  if (given === undefined || !/^\d{1,15}$/.test(given))
    throw serverErrors.REQUEST_INVALID(`The parameter "${name}"`, 'It must be a whole number.')
  return Number(given)
}
