import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createAdaptorServer } from '@hono/node-server'
import { mountViewer, type RunRepository, viewerAssets } from '@retake/web'
import { Hono } from 'hono'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { RunStore } from '../../packages/runner/dist/runs/run-store.js'
import { localRuns } from '../../packages/web/dist/ui/local-runs.js'
import { makeWorkspace } from '../support/run-retake.mjs'
import { bytesOf, openPage, patiently } from './support/browser.js'
import { openSharedDemo } from './support/demo-runs.js'
import type { DemoFacts } from './support/shared-fixtures.js'
import { writeTeamRun } from './support/team-run.js'

let demo: DemoFacts
let origin = ''
let cleanUp: () => Promise<unknown>

/** The runs of a folder, of which nothing can be executed. */
function readOnly(folder: string, name: string): RunRepository {
  const { actions: _, ...runs } = localRuns(new RunStore(join(folder, '.retake', 'runs')))
  return { ...runs, name }
}

beforeAll(async () => {
  ;({ demo } = await openSharedDemo())
  const other = await makeWorkspace()
  writeTeamRun(other.folder)
  const refunds = {
    ...readOnly(demo.folder, 'refunds'),
    parent: {
      title: 'acme/refunds',
      href: '/retake/acme/refunds/about',
      run: { title: 'Comments and jobs', href: '/retake/acme/refunds/about#{run}' },
    },
  }
  const research = readOnly(other.folder, 'research')
  const assets = '/retake/assets'
  const app = new Hono()
    .route(assets, viewerAssets())
    .get('/retake/acme/refunds/about', (c) => c.html('<title>About refunds</title>'))
    .route('/retake/acme/refunds', mountViewer(refunds, { base: '/retake/acme/refunds', assets }))
    .mount(
      '/retake/acme/research',
      mountViewer(research, { base: '/retake/acme/research', assets }).fetch,
    )
  const server = createAdaptorServer({ fetch: app.fetch, hostname: '127.0.0.1' })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  cleanUp = async () => {
    if ('closeAllConnections' in server) server.closeAllConnections()
    server.close()
    await refunds.close?.()
    await research.close?.()
    await other.remove()
  }
})

afterAll(() => cleanUp())

test('on a phone, a mounted viewer shows the outcome of a run, and buttons do not overlap', async () => {
  const page = await openPage({ viewport: { width: 390, height: 844 } })
  await page.goto(`${origin}/retake/acme/refunds/runs/${demo.branch}`)
  await page.locator('h1', { hasText: 'done' }).waitFor()
  const boxes = []
  for (const name of ['Branches', 'Compare with parent', 'Comments and jobs'])
    boxes.push(await page.getByText(name, { exact: true }).boundingBox())
  const [first, second, third] = boxes.map((box) => ({ x: 0, width: 0, ...box }))
  expect(second?.x).toBeGreaterThanOrEqual((first?.x ?? 0) + (first?.width ?? 0))
  expect(third?.x).toBeGreaterThanOrEqual((second?.x ?? 0) + (second?.width ?? 0))
})

test('a mounted viewer stays below its path', async () => {
  const page = await openPage({ permissions: ['clipboard-read', 'clipboard-write'] })
  const requested: string[] = []
  page.on('request', (request) => requested.push(new URL(request.url()).pathname))
  const base = '/retake/acme/refunds'
  const runPath = `${base}/runs/${demo.run}`
  const here = (): string => page.url().slice(origin.length)

  await page.goto(`${origin}${runPath}?step=${demo.step}`)
  const heading = page.getByRole('heading', { name: /search_policy/ })
  await heading.waitFor()
  await page.getByRole('button', { name: 'Branches' }).waitFor()
  for (const name of ['Run again', 'Write test', /^Fork/])
    expect(await page.getByRole('button', { name }).count(), String(name)).toBe(0)

  await page.keyboard.press('/')
  await page.keyboard.type('customer')
  await page.getByRole('listbox', { name: 'Hits for customer', exact: true }).waitFor()
  await page.getByText(/of \d+ hits in \d+ steps?/).waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.getByText(/1 of \d+/).waitFor()
  const hit = here()
  expect(hit.startsWith(`${runPath}?`)).toBe(true)
  expect(hit).toContain('q=customer')
  await page.goBack()
  await expect.poll(here, patiently).toBe(`${runPath}?step=${demo.step}&q=customer`)
  await heading.waitFor()
  await page.goForward()
  await expect.poll(here, patiently).toBe(hit)
  await page.goBack()
  await page.reload()
  await heading.waitFor()

  await page.keyboard.press('y')
  await page.getByText('Copied the link').waitFor()
  const copied = await page.evaluate<string>('navigator.clipboard.readText()')
  expect(copied).toBe(`${origin}${runPath}?step=${demo.step}`)

  const step = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Copy', exact: true }).click()
  await page.getByRole('menuitem', { name: 'Download step as JSON' }).click()
  expect(JSON.parse(String(await bytesOf(await step)))).toMatchObject({ label: demo.step })

  await page.getByRole('button', { name: 'Branches' }).click()
  await expect.poll(here, patiently).toBe(`${runPath}/branches`)
  await expect.poll(() => page.getByRole('treeitem').count(), patiently).toBe(2)
  await page.getByRole('treeitem').last().getByRole('link').first().click()
  await page.getByRole('button', { name: 'Compare with parent' }).click()
  await expect.poll(here, patiently).toBe(`${base}/compare/${demo.run}/${demo.branch}`)
  await page
    .getByText(/^Run b/i)
    .first()
    .waitFor()

  const list = page.getByRole('link', { name: 'acme/refunds' })
  expect(await list.getAttribute('href')).toBe(`${base}/about`)
  // The server has its own list.
  await page.getByRole('link', { name: 'Retake' }).click()
  await page.waitForURL(`${origin}${base}/about`)
  expect(await page.title()).toBe('About refunds')

  const outside = requested.filter(
    (path) => !path.startsWith(`${base}/`) && !path.startsWith('/retake/assets/'),
  )
  expect(outside).toEqual([])
})

test('two viewers of one server do not mix their runs', async () => {
  const page = await openPage()
  // Without the slash at the end.
  await page.goto(`${origin}/retake/acme/research`)
  await page.getByRole('link', { name: /research team/ }).click()
  await page.getByRole('grid').waitFor()
  expect(new URL(page.url()).pathname).toBe('/retake/acme/research/runs/team')
  await page.goto(`${origin}/retake/acme/refunds/runs/${demo.run}`)
  await page.getByRole('grid').waitFor()
  const listed = await page.evaluate<string>(
    "fetch('/retake/acme/refunds/api/runs').then((answer) => answer.text())",
  )
  expect(listed).toContain(demo.run)
  expect(listed).not.toContain('"id":"team"')
})
