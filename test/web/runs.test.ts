import { expect, test } from 'vitest'
import { makeWorkspace } from '../support/run-retake.mjs'
import { openPage } from './support/browser.js'
import { startUi } from './support/start-ui.js'

test('the viewer shows the steps of a recorded run', async ({ onTestFinished }) => {
  const workspace = await makeWorkspace()
  onTestFinished(() => workspace.remove())
  await workspace.retake(['demo'])
  const ui = await startUi(workspace.folder)
  const page = await openPage()
  await page.goto(ui.url)
  await page.getByRole('link').last().click()
  await page.getByText('search_policy({"query":"refund window"})').waitFor()
  expect(await page.getByRole('button').count()).toBeGreaterThanOrEqual(7)
})
