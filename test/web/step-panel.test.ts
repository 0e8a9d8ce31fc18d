import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPage } from './support/browser.js'
import { recordDesk, type Desk } from './support/desk.js'
import { launchUi, type Ui } from './support/start-ui.js'
import { describeStepPanel, writePanelRuns, type OpenedRun } from './support/step-panel-suite.js'

let desk: Desk
let ui: Ui

beforeAll(async () => {
  desk = await recordDesk()
  await desk.workspace.retake(['debug', 'snapshot', desk.run])
  writePanelRuns(desk.workspace.folder)
  ui = await launchUi(desk.workspace.folder)
})

afterAll(async () => {
  await ui.stop()
  await desk.remove()
})

async function open(run: string): Promise<OpenedRun> {
  const page = await openPage({ permissions: ['clipboard-read', 'clipboard-write'] })
  return {
    page,
    goTo: async (place) => {
      await page.goto(ui.at(`/runs/${run}?${new URLSearchParams({ ...place }).toString()}`))
    },
  }
}

describeStepPanel('the local UI', open)

test('captured variables are shown with changes since the previous step', async () => {
  const { page, goTo } = await open(desk.run)
  await goTo({ step: '2', tab: 'state' })
  await page.getByRole('heading', { name: /changes? since step 1/ }).waitFor()
  const panel = page.getByRole('tabpanel')
  expect(await panel.getByText('changed', { exact: true }).count()).toBeGreaterThan(0)
  expect(await panel.innerText()).toMatch(/handle.*\n/)
})

test('without captured variables, the command that captures them is named', async () => {
  const { page, goTo } = await open('loop')
  await goTo({ step: '1', tab: 'state' })
  const command = page.getByRole('tabpanel').locator('code')
  await command.waitFor()
  expect(await command.innerText()).toBe('retake debug snapshot loop')
})

test('the line that started a step is shown in its file', async () => {
  const { page, goTo } = await open('loop')
  await goTo({ step: '1', tab: 'source' })
  const line = page.locator('li[aria-current="location"]')
  await line.waitFor()
  expect(await line.innerText()).toMatch(/2\s*const answer = await ask\(one\)/)
})
