import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { openTape } from '@retake/tape/node'
import { guard, type ApprovalOptions } from 'retake'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { makeWorkspace } from '../support/run-retake.mjs'
import { type Credentials, createOrganization, startTeam, type Team } from './support/api-team.js'
import { freePort } from '../support/free-port.mjs'

interface Approval {
  readonly id: string
  readonly state: string
  readonly call: { readonly tool: string; readonly args: unknown }
}

let team: Team
let owner: Credentials
let env: Record<string, string>
const approvals = '/api/v1/acme/projects/refunds/approvals'

beforeAll(async () => {
  team = await startTeam()
  owner = (await createOrganization(team, 'acme')).owner
  await team.request(owner, 'POST', '/api/v1/acme/projects', { slug: 'refunds', name: 'Refunds' })
  const made = await team.request(owner, 'POST', '/api/v1/acme/keys', {
    name: 'agent',
    scopes: ['push', 'read'],
  })
  const { key } = (await team.request(owner, 'GET', '/api/v1/acme/approval-key')).json<{
    key: string
  }>()
  env = {
    RETAKE_SERVER: team.server.url,
    RETAKE_PROJECT: 'acme/refunds',
    RETAKE_API_KEY: made.json<{ key: string }>().key,
    RETAKE_APPROVAL_KEY: key,
  }
})

afterAll(() => team.close())

/** Calls a guarded tool that needs approval. */
async function refund(
  amount: number,
  changed: Record<string, string> = {},
  more: ApprovalOptions = {},
) {
  const { folder, remove } = await makeWorkspace()
  onTestFinished(remove)
  for (const [name, value] of Object.entries({ ...env, ...changed })) vi.stubEnv(name, value)
  onTestFinished(() => void vi.unstubAllEnvs())
  const run = guard({
    name: 'refunds',
    dir: join(folder, '.retake', 'runs'),
    policy: { name: 'shop', rules: [{ ask: 'refund' }] },
    approval: { ask: 'team', expiresMs: 60_000, ...more },
  })
  onTestFinished(() => void run.end())
  const started: unknown[] = []
  run.tool('refund', (args: { amount: number }) => void started.push(args))
  const { status, error } = (await run.call('refund', { amount })) as {
    status: string
    error?: { code: string; message: string }
  }
  run.end()
  // The request for approval is not part of the run.
  const runs = join(folder, '.retake', 'runs')
  const name = readdirSync(runs).find((each) => each.endsWith('.tape')) ?? ''
  const tape = openTape(join(runs, name))
  expect([...tape.events()].filter(({ type }) => type === 'request')).toEqual([])
  return { status, code: error?.code, message: error?.message, started: started.length }
}

/** Decides on the next call that waits, and returns what was shown. */
async function decide(approved: boolean, reason?: string): Promise<Approval> {
  return vi.waitFor(async () => {
    const { approvals: all } = (await team.request(owner, 'GET', approvals)).json<{
      approvals: Approval[]
    }>()
    const waiting = all.find(({ state }) => state === 'waiting')
    if (waiting === undefined) throw new Error('no call waits')
    const answer = await team.request(owner, 'POST', `${approvals}/${waiting.id}`, {
      approved,
      reason,
    })
    expect(answer.status).toBe(200)
    return waiting
  }, 10_000)
}

test('people on the server decide on a guarded call, and their decision is signed', async () => {
  const [approved, shown] = await Promise.all([refund(340), decide(true, 'a good customer')])
  expect(shown.call).toMatchObject({ tool: 'refund', args: { amount: 340 } })
  expect(approved).toMatchObject({ status: 'done', started: 1 })
  const [refused] = await Promise.all([refund(350), decide(false, 'wrong order')])
  expect(refused).toMatchObject({
    status: 'denied',
    code: 'APPROVAL_REFUSED',
    started: 0,
    message: expect.stringContaining('wrong order'),
  })
})

test('an identical call of another process waits for a decision of its own', async () => {
  const [first] = await Promise.all([refund(360), decide(true)])
  const [second] = await Promise.all([refund(360), decide(false)])
  expect([first.status, second.status]).toEqual(['done', 'denied'])
})

/** A server between the agent and the real one, which changes answers. */
async function between(change: (text: string) => string, port = 0): Promise<string> {
  const pass = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = 'GET', url = '', headers } = request
    const body = await text(request)
    const answer = await fetch(team.server.url + url, {
      method,
      headers: { authorization: headers.authorization ?? '', 'content-type': 'application/json' },
      ...(method === 'POST' && { body }),
    })
    response.statusCode = answer.status
    response.end(change(await answer.text()))
  }
  const server = createServer((request, response) => void pass(request, response))
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('a decision that was changed, invented or signed by somebody else does not count', async () => {
  const lying = await between((answer) => answer.replace('"denied"', '"approved"'))
  const [changed] = await Promise.all([refund(1, { RETAKE_SERVER: lying }), decide(false)])
  const inventing = await between((answer) =>
    answer.replace('"waiting"', '"approved","decidedBy":"ann","signature":"AAAA"'),
  )
  const invented = await refund(2, { RETAKE_SERVER: inventing })
  await decide(false)
  const other = generateKeyPairSync('ed25519')
    .publicKey.export({ type: 'spki', format: 'der' })
    .toString('base64')
  const [foreign] = await Promise.all([refund(3, { RETAKE_APPROVAL_KEY: other }), decide(true)])
  const unset = await refund(4, { RETAKE_APPROVAL_KEY: '' })
  const refusedKey = await refund(5, { RETAKE_API_KEY: 'rtk_wrong' })
  for (const each of [changed, invented, foreign, unset, refusedKey])
    expect(each).toMatchObject({ status: 'denied', code: 'APPROVAL_FAILED', started: 0 })
})

test('a call waits for a server that is away, and is denied when it expires', async () => {
  const port = await freePort()
  const gone = `http://127.0.0.1:${port}`
  const never = await refund(6, { RETAKE_SERVER: gone }, { expiresMs: 1500 })
  expect(never).toMatchObject({ status: 'denied', code: 'APPROVAL_EXPIRED', started: 0 })
  const late = refund(7, { RETAKE_SERVER: gone })
  await new Promise((resolve) => setTimeout(resolve, 300))
  await between((answer) => answer, port)
  await decide(true)
  expect(await late).toMatchObject({ status: 'done', started: 1 })
})
