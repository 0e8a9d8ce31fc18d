import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { makeWorkspace } from '../support/run-retake.mjs'
import { seriousViolations } from '../web/support/axe.js'
import { openPage, patiently } from '../web/support/browser.js'
import { openSharedDemo } from '../web/support/demo-runs.js'
import { startTeamServer, type TeamServer, Visitor } from './support/team-server.js'

let server: TeamServer
/** The owner of the organization Acme. */
let ann: Visitor

beforeAll(async () => {
  server = await startTeamServer({
    RETAKE_PRIVATE_ADDRESSES: 'on',
    // Every visitor has an address, and so a limit of requests.
    RETAKE_TRUST_PROXY: 'on',
  })
  ann = new Visitor(server)
})

afterAll(() => server.remove())

const tokenOf = (link: string | undefined): string =>
  new URL(link ?? 'x:').searchParams.get('token') ?? ''

test('the first owner is created once, with the printed link', async () => {
  const token = tokenOf(server.setupLink)
  const form = { email: 'Ann@example.com', name: 'Ann', organization: 'Acme' }
  expect((await ann.get('/setup?token=wrong')).status).toBe(403)
  expect((await ann.post('/setup', { ...form, token: 'wrong' })).status).toBe(403)
  expect((await ann.get(`/setup?token=${token}`)).text).toContain('Set up Retake')
  const created = await ann.post('/setup', { ...form, token })
  expect([created.status, created.to]).toEqual([303, '/acme?done=created'])
  expect((await ann.get('')).text).toContain('>Acme</a>')
  const again = await new Visitor(server).post('/setup', { ...form, token, email: 'eve@b.c' })
  expect(again.status).toBe(403)
})

/** The newest link for signing in. Pages do not wait for mails: it would show who has an account. */
async function lastLink(email: string, count: number): Promise<string> {
  const sent = () => (server.links.get(email) ?? []).filter((each) => each.includes('/sign-in/'))
  await expect.poll(sent).toHaveLength(count)
  return sent().at(-1) ?? ''
}

test('a link signs in once, and only by its button', async () => {
  const visitor = new Visitor(server)
  const asked = await visitor.get('/acme/members')
  expect([asked.status, asked.to]).toEqual([303, '/sign-in?to=%2Fteam%2Facme%2Fmembers'])
  await visitor.get(asked.to)
  const unknown = await visitor.post('/sign-in', { email: 'nobody@example.com' })
  const known = await visitor.post('/sign-in', { email: 'ann@example.com' })
  // The answer does not say who has an account.
  expect(unknown.text.replaceAll(/nobody@|nonce="[^"]+"/g, '')).toBe(
    known.text.replaceAll(/ann@|nonce="[^"]+"/g, ''),
  )
  expect(server.links.has('nobody@example.com')).toBe(false)
  const link = await lastLink('ann@example.com', 1)
  expect(link).toContain(`${server.url}/sign-in/confirm?token=`)
  for (let times = 0; times < 3; times++) {
    const scanned = await visitor.get(link)
    expect([scanned.status, scanned.headers.getSetCookie()]).toEqual([200, []])
  }
  const token = tokenOf(link)
  const used = await visitor.post('/sign-in/confirm', { token })
  expect([used.status, used.to]).toEqual([303, '/acme/members'])
  expect((await visitor.get('/acme/members')).status).toBe(200)
  const other = new Visitor(server)
  expect((await other.post('/sign-in/confirm', { token })).status).toBe(403)
  expect((await other.post('/sign-in/confirm', { token: 'x' })).status).toBe(403)
  const out = await visitor.post('/sign-out', {})
  expect(out.to).toBe('/sign-in?done=signed-out')
  expect((await visitor.get('/acme')).status).toBe(303)
})

test('pages of other origins can change nothing', async () => {
  const before = await ann.get('/acme/members')
  const form = { action: 'invite', email: 'eve@example.com', role: 'owner' }
  for (const headers of [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    {},
  ])
    expect((await ann.post('/acme/members', form, headers)).status, JSON.stringify(headers)).toBe(
      403,
    )
  // Nor can they sign somebody in.
  const link = { token: 'x' }
  const foreign = await new Visitor(server).post('/sign-in/confirm', link, {
    origin: 'https://evil.example',
  })
  expect(foreign.text).toContain('another origin')
  expect(server.links.has('eve@example.com')).toBe(false)
  const plain = (text: string): string => text.replaceAll(/nonce="[^"]+"/g, '')
  expect(plain((await ann.get('/acme/members')).text)).toBe(plain(before.text))
})

/** Invites, and accepts with the link in the mail. */
async function join(email: string, role: string): Promise<Visitor> {
  const invited = await ann.post('/acme/members', { action: 'invite', email, role })
  // There is no mail server: nothing was sent, so the page shows the link.
  expect(invited.text).not.toContain('Invitation sent')
  expect(invited.text).toContain(server.links.get(email)?.at(-1)?.replaceAll('&', '&amp;'))
  const link = server.links.get(email)?.at(-1) ?? ''
  const path = link.slice(server.url.length, link.indexOf('?'))
  const visitor = new Visitor(server)
  expect((await visitor.get(link)).text).toContain('Join Acme')
  expect((await visitor.post(path, { proof: 'wrong', name: 'Eve' })).status).toBe(403)
  const proof = new URL(link).searchParams.get('proof') ?? ''
  expect((await visitor.post(path, { proof, name: 'New' })).status).toBe(303)
  expect((await new Visitor(server).post(path, { proof, name: 'Eve' })).status).toBe(403)
  return visitor
}

test('roles decide what members may do, and every privileged action is in the audit log', async () => {
  expect((await ann.post('/acme/projects', { name: 'Refunds' })).to).toBe('/acme/refunds')
  const viewer = await join('vic@example.com', 'viewer')
  const member = await join('mia@example.com', 'member')
  const admin = await join('adi@example.com', 'admin')
  const statuses = async (visitor: Visitor): Promise<readonly number[]> => [
    (await visitor.get('/acme')).status,
    (await visitor.get('/acme/refunds')).status,
    (await visitor.get('/acme/keys')).status,
    (await visitor.get('/acme/audit')).status,
    (await visitor.post('/acme/projects', { name: 'Second' })).status,
    (await visitor.post('/acme/refunds/settings', { days: '30' })).status,
    (
      await visitor.post('/acme/members', {
        action: 'invite',
        email: 'x@example.com',
        role: 'viewer',
      })
    ).status,
    (await visitor.post('/acme/settings', { action: 'webhook', url: 'https://a.b', event: 'fix' }))
      .status,
  ]
  expect(await statuses(viewer)).toEqual([200, 200, 403, 403, 403, 403, 403, 403])
  expect(await statuses(member)).toEqual([200, 200, 200, 403, 303, 403, 403, 403])
  // The second project exists by now.
  expect(await statuses(admin)).toEqual([200, 200, 200, 200, 422, 303, 200, 201])
  const owner = { action: 'invite', email: 'o@example.com', role: 'owner' }
  expect((await admin.post('/acme/members', owner)).status).toBe(403)
  const members = (await server.accounts.members((await organization()).id)).map(
    ({ email, id }) => [email, id] as const,
  )
  const idOf = (email: string): string => new Map(members).get(email) ?? ''
  const annId = idOf('ann@example.com')
  for (const form of [
    { action: 'remove', user: annId },
    { action: 'role', user: annId, role: 'viewer' },
    { action: 'role', user: idOf('adi@example.com'), role: 'owner' },
  ])
    expect((await admin.post('/acme/members', form)).status, form.action).toBe(403)
  // The last owner stays.
  expect((await ann.post('/acme/members', { action: 'remove', user: annId })).status).toBe(422)
  const removed = await ann.post('/acme/members', {
    action: 'remove',
    user: idOf('mia@example.com'),
  })
  expect(removed.status).toBe(303)
  expect((await member.get('/acme')).status).toBe(404)
  const { text } = await ann.get('/acme/audit')
  for (const action of [
    'organization.create',
    'project.create',
    'project.retention',
    'member.invite',
    'member.join',
    'member.remove',
    'webhook.create',
  ])
    expect(text, action).toContain(`>${action}</td>`)
})

const organization = async () => {
  const [found] = await server.database.organizations()
  if (found === undefined) throw new Error('there is no organization')
  return found
}

test('people see their sessions, and end one of them', async () => {
  const lost = await join('sam@example.com', 'viewer')
  const sam = new Visitor(server)
  await sam.post('/sign-in', { email: 'sam@example.com' })
  await sam.post('/sign-in/confirm', {
    token: tokenOf(await lastLink('sam@example.com', 1)),
  })
  const sessions = async (): Promise<string[]> =>
    [...(await sam.get('')).text.matchAll(/name="session" value="([^"]+)"/g)].flatMap(
      ([, id = '']) => id,
    )
  const [session = '', ...others] = await sessions()
  expect([session !== '', others]).toEqual([true, []])
  await ann.post('/sign-out', { session })
  expect((await lost.get('/acme')).status, 'only its person ends it').toBe(200)
  expect((await sam.post('/sign-out', { session })).to).toBe('/?done=ended')
  expect([(await lost.get('/acme')).status, (await sam.get('/acme')).status]).toEqual([303, 200])
  expect(await sessions()).toEqual([])
})

test('somebody from elsewhere sees the same as where nothing is', async () => {
  const eve = await join('eve@example.com', 'viewer')
  const members = await server.accounts.members((await organization()).id)
  const user = members.find(({ email }) => email === 'eve@example.com')?.id ?? ''
  await ann.post('/acme/members', { action: 'remove', user })
  const plain = ({ status, text }: { status: number; text: string }): unknown => [
    status,
    text.replaceAll(/nonce="[^"]+"/g, ''),
  ]
  for (const rest of [
    '',
    '/members',
    '/keys',
    '/audit',
    '/settings',
    '/approvals',
    '/events',
    '/refunds',
    '/refunds/runs/x',
    '/refunds/api/runs',
    '/refunds/runs/x/team',
  ]) {
    const [foreign, missing] = [await eve.get(`/acme${rest}`), await eve.get(`/nothing${rest}`)]
    expect(plain(foreign), rest).toEqual(plain(missing))
    expect(foreign.status, rest).toBe(404)
  }
  const asProgram = await fetch(`${server.url}/acme/refunds`, { headers: { cookie: eve.cookies } })
  expect(await asProgram.json()).toMatchObject({ error: { code: 'NOT_FOUND' } })
})

/** Makes a key on the page. */
async function makeKey(scopes: readonly string[]): Promise<string> {
  const form = scopes.map((scope) => ['scope', scope] as const)
  const made = await ann.post('/acme/keys', [['name', scopes.join()], ['days', '1'], ...form])
  expect(made.status).toBe(201)
  const key = /rtk_[\w-]+/.exec(made.text)?.[0] ?? ''
  expect((await ann.get('/acme/keys')).text).not.toContain(key)
  return key
}

const call = {
  tool: 'issue_refund',
  args: { amount: 340, note: '<script>alert(1)</script>' },
  guard: 'refunds',
  rule: 'over-100',
  why: 'The amount is over 100.',
  event: 12,
  digest: 'd1',
}

test('a program waits for a decision that a person makes, and cannot decide itself', async () => {
  const api = `${server.url}/api/v1/acme/projects/refunds/approvals`
  const key = await makeKey(['read', 'push', 'approve'])
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const request = { method: 'POST', headers, body: JSON.stringify({ run: 'r1', call }) }
  const { approval } = (await (await fetch(api, request)).json()) as { approval: { id: string } }
  const repeated = (await (await fetch(api, request)).json()) as { approval: { id: string } }
  expect(repeated.approval.id).toBe(approval.id)
  const decide = { method: 'POST', headers, body: '{"approved":true}' }
  expect((await fetch(`${api}/${approval.id}`, decide)).status).toBe(403)

  const waiting = fetch(`${api}/${approval.id}?wait=30`, { headers })
  const { text } = await ann.get('/acme/approvals')
  expect(text).toContain('&lt;script&gt;')
  expect(text).not.toContain('<script>alert')
  const project = /name="project" value="(\w+)"/.exec(text)?.[1] ?? ''
  const form = { project, id: approval.id, decision: 'approve', reason: 'Checked by phone' }
  expect((await ann.post('/acme/approvals', form)).to).toBe('/acme/approvals?done=decided')
  expect(await (await waiting).json()).toMatchObject({
    approval: { state: 'approved', decidedBy: 'ann@example.com', reason: 'Checked by phone' },
  })
  // The first decision counts.
  expect((await ann.post('/acme/approvals', { ...form, decision: 'deny' })).status).toBe(409)
})

test('a webhook is signed and repeated, and mails end with a link that stops them', async () => {
  const received: { body: string; signature: string; id: string }[] = []
  const receiver = createServer((request, response) => {
    let body = ''
    request.on('data', (part: Buffer) => (body += part.toString()))
    request.on('end', () => {
      const { 'retake-signature': signature, 'retake-delivery': id } = request.headers
      received.push({ body, signature: String(signature), id: String(id) })
      response.writeHead(received.length === 1 ? 500 : 204).end()
    })
  })
  receiver.listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  onTestFinished(() => void receiver.close())
  const { port } = receiver.address() as AddressInfo
  const added = await ann.post('/acme/settings', {
    action: 'webhook',
    url: `http://127.0.0.1:${port}/hook`,
    event: 'approval',
  })
  const secret = /whsec_[\w-]+/.exec(added.text)?.[0] ?? ''
  const headers = {
    authorization: `Bearer ${await makeKey(['push'])}`,
    'content-type': 'application/json',
  }
  const body = JSON.stringify({ run: 'r2', call: { ...call, digest: 'd2' } })
  const api = `${server.url}/api/v1/acme/projects/refunds/approvals`
  expect((await fetch(api, { method: 'POST', headers, body })).status).toBe(201)
  await expect.poll(() => received.length, patiently).toBe(1)
  await server.notifications.deliver(Date.now() + 60_000)
  await expect.poll(() => received.length, patiently).toBe(2)
  expect(received[1]?.id).toBe(received[0]?.id)
  for (const each of received) {
    const [, time = '', signature = ''] = /^t=(\d+),v1=(\w+)$/.exec(each.signature) ?? []
    const own = createHmac('sha256', secret).update(`${time}.${each.body}`).digest('hex')
    expect(signature).toBe(own)
    expect(JSON.parse(each.body)).toMatchObject({ event: 'approval', project: 'refunds' })
  }

  const ids = await server.accounts.members((await organization()).id)
  const { id: user = '' } = ids.find(({ email }) => email === 'ann@example.com') ?? {}
  const link = server.notifications.unsubscribeLink((await organization()).id, user, 'approval')
  const stranger = new Visitor(server)
  expect((await stranger.get(link)).text).toContain('a call needs approval')
  const chosen = async (): Promise<string | undefined> =>
    /name="approval">.*?value="(\w+)"\s+selected/s.exec((await ann.get('/acme/settings')).text)?.[1]
  expect(await chosen()).toBe('each')
  expect((await stranger.post(link.replace(/.$/, '!'), {})).status).toBe(403)
  // Mail programs post without an origin.
  const stopped = await stranger.post(link, { 'List-Unsubscribe': 'One-Click' }, {})
  expect(stopped.text).toContain('Unsubscribed')
  expect(await chosen()).toBe('none')
})

test('from the first link to a comment at a step, in a browser', async () => {
  const { demo } = await openSharedDemo()
  const key = await makeKey(['read', 'push'])
  const workspace = await makeWorkspace()
  onTestFinished(() => workspace.remove())
  const pushed = await workspace.retake(
    ['push', demo.run, '--dir', `${demo.folder}/.retake/runs`, '--json'],
    { env: { RETAKE_SERVER: server.url, RETAKE_PROJECT: 'acme/refunds', RETAKE_API_KEY: key } },
  )
  expect(pushed.stderr + pushed.stdout).toContain(`${server.url}/acme/refunds/runs/${demo.run}`)

  const page = await openPage()
  await page.goto(`${server.url}/acme/refunds`)
  await page.getByLabel('Your email').fill('ann@example.com')
  await page.keyboard.press('Enter')
  await page.getByText('Check your email').first().waitFor()
  await page.goto(await lastLink('ann@example.com', 2))
  await page.getByRole('button', { name: 'Sign in on this device' }).click()
  await page.waitForURL(`${server.url}/acme/refunds`)
  await page.getByLabel('Search runs').fill('tool:search_policy customer')
  await page.keyboard.press('Enter')
  await page.locator(`a.name[href$="/runs/${demo.run}"]`).click()
  await page.getByRole('grid').waitFor()
  await page.goto(`${page.url().split('?')[0]}?step=${demo.step}`)
  await page.getByRole('heading', { name: /search_policy/ }).waitFor()
  const policy = await page.evaluate<string>(
    'fetch(location.href).then((answer) => answer.headers.get("content-security-policy"))',
  )
  expect(policy).toContain("script-src 'self';")
  expect(policy).not.toContain('unsafe')

  await page.getByRole('link', { name: 'Comments and jobs' }).click()
  await page.getByLabel('Comment', { exact: true }).fill('This <b>policy</b> is outdated.')
  await page.getByRole('button', { name: 'Add comment' }).click()
  await page.getByText('This <b>policy</b> is outdated.').waitFor()
  for (const path of ['', '/refunds', '/members', '/keys', '/approvals', '/settings', '/audit']) {
    await page.goto(`${server.url}/acme${path}`)
    expect(await seriousViolations(page), path).toEqual([])
  }
  await page.goto(`${server.url}/acme/refunds/runs/${demo.run}/team`)
  expect(await seriousViolations(page)).toEqual([])
  await page.getByRole('link', { name: `step ${demo.step}` }).click()
  await page.getByRole('heading', { name: /search_policy/ }).waitFor()
  // Back to the list of the server, not to one of the viewer.
  await page.getByRole('link', { name: 'Retake', exact: true }).click()
  await page.waitForURL(`${server.url}/acme/refunds`)

  await page.goto(`${server.url}/acme`)
  const runs = page.locator('.value').first()
  expect(await runs.textContent()).toMatch(/^\d/)
  await page.evaluate('document.querySelector(".value").textContent = "old"')
  const other = (await server.runs.list(await actor(), await project(), {})).runs[0]
  await server.runs.setTags(await actor(), await project(), other?.id ?? '', { tags: ['seen'] })
  await expect.poll(() => runs.textContent(), patiently).toMatch(/^\d/)
})

const actor = async () => ({ org: (await organization()).id, user: 'test', role: 'owner' }) as const
const project = async () => server.runs.project(await actor(), 'refunds')
