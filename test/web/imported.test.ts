import { expect, test } from 'vitest'
import { workspaceWithImport } from '../support/imported-run.js'
import { openPage } from './support/browser.js'
import { startUi } from './support/start-ui.js'

test('an imported run has a badge, and its actions say why they are disabled', async ({
  onTestFinished,
}) => {
  const { workspace, run } = await workspaceWithImport()
  onTestFinished(() => workspace.remove())
  const ui = await startUi(workspace.folder)
  const page = await openPage()
  await page.goto(ui.url)
  const row = page.getByRole('list', { name: 'Runs' }).getByRole('listitem')
  await row.getByText('imported', { exact: true }).waitFor()
  await row.getByRole('link').first().click()
  await page.getByText('imported', { exact: true }).waitFor()
  await page.getByText('gpt-5').first().click()

  const why = /cannot be run again\..*It was imported/
  for (const name of ['Run again', 'Write test', 'Fork']) {
    const button = page.getByRole('button', { name, exact: true })
    await expect.poll(() => button.getAttribute('title'), { timeout: 20_000 }).toMatch(why)
    expect(await button.isDisabled(), name).toBe(true)
  }
  await page.goto(`${new URL(ui.url).origin}/runs/${run}?list=blame`)
  await page.getByText('A search for causes runs the program again.').waitFor()
  await page.goto(`${new URL(ui.url).origin}/runs/${run}?list=fix`)
  await page.getByText('A search for a fix runs the program again.').waitFor()
  expect(await page.getByText('npx retake').count()).toBe(0)
})
