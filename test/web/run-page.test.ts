import { existsSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeWorkspace } from '../support/run-retake.mjs'
import { failedRequests, openPage, patiently } from './support/browser.js'
import { describeRunPage, isThere, steps } from './support/run-page-suite.js'
import { launchUi, type Ui } from './support/start-ui.js'
import { writeTeamRun } from './support/team-run.js'

let folder = ''
let ui: Ui
let cleanUp: () => Promise<void>

beforeAll(async () => {
  const workspace = await makeWorkspace()
  folder = workspace.folder
  writeTeamRun(folder)
  writeTeamRun(folder, 'doomed')
  await writeFile(join(folder, '.retake', 'runs', 'broken.tape'), 'this is no tape\n'.repeat(9))
  ui = await launchUi(folder)
  cleanUp = async () => {
    await ui.stop()
    await workspace.remove()
  }
})
afterAll(() => cleanUp())

describeRunPage('the local UI', async (search = '', options = {}) => {
  const page = await openPage(options)
  await page.goto(ui.at(`/runs/team${search}`))
  await page.getByRole('grid').waitFor()
  return page
})

test('zooming in before the steps are loaded can be undone by zooming out', async () => {
  const page = await openPage()
  let letGo = (): void => {}
  const isLetGo = new Promise<void>((resolve) => {
    letGo = resolve
  })
  await page.route('**/rows*', async (route) => {
    await isLetGo
    await route.continue()
  })
  await page.goto(ui.at('/runs/team?step=9'))
  const all = page.getByRole('button', { name: 'Show all of it' })
  await expect.poll(() => all.isDisabled(), patiently).toBe(true)
  expect(await steps(page)).toEqual([])
  await page.keyboard.press('+')
  await expect.poll(() => all.isDisabled(), patiently).toBe(false)
  letGo()
  await page.getByRole('slider', { name: 'Playhead' }).waitFor()
  await page.keyboard.press('-')
  await expect.poll(() => all.isDisabled(), patiently).toBe(true)
})

test('a run deleted while it is open says so and stays visible', async () => {
  const page = await openPage({}, { expected: failedRequests })
  await page.goto(ui.at('/runs/doomed'))
  await page.locator('[data-step="5"]').waitFor()
  const tape = join(folder, '.retake', 'runs', 'doomed.tape')
  expect(existsSync(tape)).toBe(true)
  await rm(tape)
  await page.getByText('This run was deleted.').waitFor()
  expect((await steps(page)).length).toBe(12)
})

test('a missing or unreadable run says what happened, why and what to do', async () => {
  const page = await openPage({}, { expected: failedRequests })
  await page.goto(ui.at('/runs/never-was'))
  expect(await isThere(page, 'UNKNOWN_RUN')).toBe(true)
  expect(await isThere(page, /`retake list` to see the runs/)).toBe(true)
  await page.getByRole('link', { name: 'All runs' }).click()
  await page.getByPlaceholder('Name, error').waitFor()
  await page.goto(ui.at('/runs/broken'))
  expect(await isThere(page, 'TAPE_NOT_A_TAPE')).toBe(true)
})
