import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeWorkspace } from '../support/run-retake.mjs'
import { askRaw, type Answer } from './support/ask-raw.js'
import { failedRequests, openPage } from './support/browser.js'
import { launchUi, type Ui } from './support/start-ui.js'
import { writeTape } from './support/write-tape.js'

/** Made up here, so that nothing in this file looks like a password. */
const password = ['correct', 'horse', String(process.pid)].join(' ')

let workspace: Awaited<ReturnType<typeof makeWorkspace>>
let ui: Ui
let port: number

beforeAll(async () => {
  workspace = await makeWorkspace()
  writeTape(workspace.folder, { id: 'private-run' }, (script) =>
    script.chat([{ role: 'user', content: 'Hello' }], 'Hello yourself'),
  )
  ui = await launchUi(workspace.folder, { env: { RETAKE_PASSWORD: password } })
  port = Number(new URL(ui.url).port)
})

afterAll(async () => {
  await ui.stop()
  await workspace.remove()
})

const post = (given: string, headers: Record<string, string> = {}, page = '/'): Promise<Answer> =>
  askRaw(port, '/sign-in', {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: new URLSearchParams({ password: given, page }).toString(),
  })

test('a user signs in after a mistake and gets to the requested page', async () => {
  const page = await openPage({}, { expected: failedRequests })
  await page.goto(new URL('/runs/private-run?step=1', ui.url).href)
  expect(await page.getByText('private-run').count()).toBe(0)
  await page.getByLabel('Password').fill('something else')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('alert').getByText('Wrong password.').waitFor()
  await page.getByLabel('Password').fill(password)
  await page.keyboard.press('Enter')
  await page.getByText('Hello yourself').first().waitFor()
  expect(new URL(page.url()).pathname).toBe('/runs/private-run')
})

test('a token does not replace the password, and without it nothing is served', async () => {
  expect(ui.token).toBe('')
  expect((await askRaw(port, '/api/runs')).code).toBe('VIEWER_SIGN_IN_NEEDED')
  expect((await askRaw(port, '/?token=')).status).toBe(401)
  for (const bearer of ['', 'undefined', password]) {
    const headers = { authorization: `Bearer ${bearer}` }
    expect((await askRaw(port, '/api/runs', { headers })).status).toBe(401)
  }
})

test('no other page can sign a user in, and signing in redirects nowhere else', async () => {
  for (const origin of ['https://evil.test', 'null', `http://localhost:${port}`])
    expect((await post(password, { origin })).status, origin).toBe(403)
  for (const page of ['//evil.test', 'https://evil.test', '/\\evil.test', '\t//evil.test', '']) {
    const { status, headers } = await post(password, {}, page)
    expect(status).toBe(303)
    expect(headers.location, page).toBe('/')
  }
  const { headers } = await post(password, { origin: `http://127.0.0.1:${port}` }, '/runs/x?step=2')
  expect(headers.location).toBe('/runs/x?step=2')
  expect(headers['set-cookie']?.[0]).toContain('HttpOnly; SameSite=Strict')
})

test('guesses are slow, limited, and counted before they are checked', async () => {
  const start = performance.now()
  const answers = await Promise.all(Array.from({ length: 30 }, (_, each) => post(`guess ${each}`)))
  const statuses = answers.map(({ status }) => status)
  expect(statuses.filter((status) => status === 401)).toHaveLength(10)
  expect(statuses.filter((status) => status === 429)).toHaveLength(20)
  expect(performance.now() - start).toBeGreaterThanOrEqual(1000)
  const blocked = await post(password)
  expect(blocked.status).toBe(429)
  expect(Number(blocked.headers['retry-after'])).toBeGreaterThan(0)
  expect(blocked.headers['set-cookie']).toBeUndefined()
})
