import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeWorkspace, type Workspace } from '../support/run-retake.mjs'
import { failedRequests, openPage } from './support/browser.js'
import { launchUi, startUi, type Ui } from './support/start-ui.js'

/** A home without runs. */
let home: Workspace
let ui: Ui

beforeAll(async () => {
  home = await makeWorkspace()
  ui = await launchUi(home.folder)
})

afterAll(async () => {
  await ui?.stop()
  await home?.remove()
})

const themeOf = (page: Page) => page.evaluate(() => document.documentElement.dataset['theme'])

test('the theme follows the system until the user chooses one, which is remembered', async () => {
  const page = await openPage({ colorScheme: 'dark' })
  await page.goto(ui.url)
  await page.getByRole('button', { name: 'Theme' }).waitFor()
  expect(await themeOf(page)).toBe('dark')
  await page.emulateMedia({ colorScheme: 'light' })
  await page.locator('html[data-theme="light"]').waitFor()

  await page.getByRole('button', { name: 'Theme' }).click()
  await page.getByRole('menuitem', { name: 'Dark' }).click()
  await page.locator('html[data-theme="dark"]').waitFor()
  await page.reload()
  await page.getByRole('button', { name: 'Theme' }).waitFor()
  expect(await themeOf(page)).toBe('dark')
})

test('a lost connection is shown as text and announced to screen readers', async () => {
  const own = await startUi(home.folder)
  const page = await openPage({}, { expected: failedRequests })
  await page.goto(own.url)
  await page.getByText('There are no runs here yet.').waitFor()
  await own.stop()
  const note = page.getByRole('status').filter({ hasText: 'Connection lost, trying again…' })
  await note.waitFor()
  expect(await note.count()).toBe(1)
})

test('a page that fails says what happened and offers the details', async () => {
  const page = await openPage({}, { expected: /./ })
  await page.route('**/api/runs', (route) => route.fulfill({ json: [null] }))
  await page.goto(ui.url)
  await page.getByText('This page failed').first().waitFor()
  await page.getByRole('button', { name: 'Copy details' }).waitFor()
  await page.unroute('**/api/runs')
  await page.reload()
  await page.getByText('There are no runs here yet.').waitFor()
  expect(await page.title()).toMatch(/· Retake$/)
})

test('an address without a page leads back', async () => {
  const page = await openPage()
  await page.goto(ui.at('/nothing/here'))
  await page.getByRole('link', { name: 'All runs' }).click()
  await page.getByText('There are no runs here yet.').waitFor()
  expect(new URL(page.url()).pathname).toBe('/')
})
