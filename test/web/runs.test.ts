import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { makeWorkspace } from '../support/run-retake.mjs'
import { openPage } from './support/browser.js'
import { copySharedDemo } from './support/demo-runs.js'
import { startUi } from './support/start-ui.js'

const rows = (page: Page) => page.getByRole('list', { name: 'Runs' }).getByRole('listitem')

test('the list shows the facts of each run and the problem of each unreadable tape', async ({
  onTestFinished,
}) => {
  const demo = await copySharedDemo()
  onTestFinished(() => demo.remove())
  await writeFile(join(demo.folder, '.retake', 'runs', 'broken.tape'), 'this is no tape')
  const ui = await startUi(demo.folder)
  const page = await openPage()
  await page.goto(ui.url)

  const branch = rows(page).filter({ hasText: demo.branch }).first()
  await branch.getByText('fork', { exact: true }).waitFor()
  expect(await branch.innerText()).toMatch(
    /done[^]*decision: DENIED[^]*gpt-5-mini[^]*7[^]*s[^]*ago|just now/,
  )
  // A branch is right below its parent, whichever was recorded last.
  const ids = await page
    .locator('[data-run]')
    .evaluateAll((links) => links.map((link) => link.dataset['run']))
  expect(ids.indexOf(demo.branch)).toBe(ids.indexOf(demo.run) + 1)
  const broken = rows(page).filter({ hasText: 'unreadable' })
  expect(await broken.innerText()).toMatch(/broken[^]*[A-Z_]{6,}/)

  await page.getByRole('button', { name: '1 unreadable' }).click()
  await page.getByText('1 of 3 runs').waitFor()
  expect(await rows(page).count()).toBe(1)
  await page.getByRole('searchbox').fill('no such name')
  await page.getByRole('button', { name: 'Show all 3' }).click()
  await page.getByText('3 runs').waitFor()
  expect(new URL(page.url()).search).toBe('')

  await writeFile(join(demo.folder, 'short.mjs'), 'console.log(Math.random())')
  await demo.retake(['record', 'short.mjs'])
  await page.getByText('4 runs').waitFor()
  expect(await rows(page).count()).toBe(4)
})

test('an empty folder says how to record a first run', async ({ onTestFinished }) => {
  const workspace = await makeWorkspace()
  onTestFinished(() => workspace.remove())
  const ui = await startUi(workspace.folder)
  const page = await openPage()
  await page.goto(ui.url)
  await page.getByText('There are no runs here yet.').waitFor()
  expect(await page.getByText('retake record agent.ts').count()).toBe(1)
  expect(await page.getByText('retake demo').count()).toBe(1)
})
