import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { atOldPort } from '../support/at-old-port.js'
import { seriousViolations } from './support/axe.js'
import { failedRequests, openPage } from './support/browser.js'
import { makeDemoRuns, type DemoRuns } from './support/demo-runs.js'
import { makeWorkspace } from '../support/run-retake.mjs'
import { launchUi, startUi, type Ui } from './support/start-ui.js'
import { writeFirstRun } from './support/write-branches.js'
import { soakOnly } from '../support/soak.js'

let demo: DemoRuns
let ui: Ui
beforeAll(async () => {
  demo = await makeDemoRuns()
  ui = await launchUi(demo.folder)
})
afterAll(async () => {
  await ui.stop()
  await demo.remove()
})

const CORRECT = 'Customers may return an item within 30 days of delivery.'

/** The page of the recorded run, at one of its steps. */
async function openStep(step = demo.step): Promise<Page> {
  const page = await openPage({}, { expected: failedRequests })
  await page.goto(ui.at(`/runs/${demo.run}?step=${step}`))
  return page
}

const dialogOf = (page: Page) => page.getByRole('dialog')
const forkOf = (page: Page) => dialogOf(page).getByRole('button', { name: 'Fork', exact: true })
const textOf = (page: Page) => dialogOf(page).getByRole('textbox', { name: 'text', exact: true })
const editorOf = (page: Page) => dialogOf(page).getByRole('textbox', { name: 'The answer' })

async function pressFork(page: Page): Promise<void> {
  await page.locator('button:enabled', { hasText: /^Fork/ }).waitFor()
  await page.keyboard.press('f')
  await dialogOf(page).getByRole('radio', { name: 'Change the answer' }).waitFor()
}

/** Puts a whole text into the editor. */
async function write(page: Page, text: string): Promise<void> {
  await editorOf(page).click()
  await page.keyboard.press('Control+a')
  await page.keyboard.insertText(text)
}

describe('a fork', () => {
  test('with an edited tool result runs as a branch that the page follows to its different outcome', async () => {
    await demo.startModel()
    const page = await openStep()
    await pressFork(page)
    expect(await seriousViolations(page)).toEqual([])
    expect(await textOf(page).inputValue()).toContain('60 days')
    await textOf(page).fill(CORRECT)
    await dialogOf(page).getByRole('textbox', { name: 'Name of the branch' }).fill('thirty days')
    await page.keyboard.press('Control+Enter')

    await page.getByText('fork done').waitFor()
    const branch = new URL(page.url()).pathname.split('/').at(-1) ?? ''
    expect(branch).not.toBe(demo.run)
    await page.getByRole('row', { name: /DENIED/ }).waitFor()

    await page.keyboard.press('b')
    const item = page.getByRole('treeitem', { name: /thirty days/ })
    await item.waitFor()
    const said = await item.innerText()
    expect(said).toContain(`fork at step ${demo.step}`)
    expect(said).toContain('DENIED')
    expect(said).toContain(CORRECT)

    await item.getByRole('link').click()
    await page.getByRole('button', { name: 'Compare' }).waitFor()
    await page.keyboard.press('d')
    await page.getByRole('article', { name: /APPROVED.*changed/ }).waitFor()
    expect(new URL(page.url()).pathname).toBe(`/compare/${demo.run}/${branch}`)
  })

  test('can be stopped while it runs, and keeps what it recorded', async ({ onTestFinished }) => {
    soakOnly()
    const silent = await atOldPort(async () => {
      const server = createServer(() => {}).listen(demo.port, '127.0.0.1')
      await once(server, 'listening')
      return server
    })
    onTestFinished(() => void silent.close())
    const page = await openStep()
    await pressFork(page)
    await dialogOf(page).getByRole('radio', { name: 'Retry live' }).check()
    await forkOf(page).click()
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByText('fork stopped').waitFor()
    expect(await page.getByRole('row', { name: /search_policy/ }).count()).toBeGreaterThan(0)
  })

  test('that the server refuses keeps the draft, shows the whole reason, and can then be forced', async () => {
    soakOnly()
    const page = await openStep('1')
    await pressFork(page)
    expect(await dialogOf(page).getByRole('checkbox').count()).toBe(0)
    await dialogOf(page).getByRole('button', { name: 'Edit as JSON' }).click()
    await write(page, '{"choices": []}')
    await forkOf(page).click()
    const alert = dialogOf(page).getByRole('alert')
    await alert.getByText('EDIT_INVALID_ANSWER').waitFor()
    expect(await alert.innerText()).toContain('choices is empty')
    expect(await editorOf(page).innerText()).toContain('{"choices": []}')
    const force = dialogOf(page).getByRole('checkbox', { name: /anyway/ })
    await force.check()
    expect(await forkOf(page).isEnabled()).toBe(true)
  })
})

describe('a draft', () => {
  test('with invalid JSON shows the position of the mistake and cannot be submitted', async () => {
    const page = await openStep()
    await pressFork(page)
    await dialogOf(page).getByRole('button', { name: 'Edit as JSON' }).click()
    await write(page, '{\n  "text": 30 days\n}')
    await dialogOf(page).getByText('Line 2, column 14').waitFor()
    expect(await forkOf(page).isEnabled()).toBe(false)
    await dialogOf(page).getByRole('button', { name: 'Show changes' }).click()
    await dialogOf(page).locator('.cm-deletedChunk', { hasText: '60 days' }).waitFor()
    await dialogOf(page).getByRole('button', { name: 'Restore the recording' }).click()
    await dialogOf(page).getByText('Nothing is changed yet.').waitFor()
  })

  test('survives closing its dialog and visiting other steps, warns before the page unloads, and is private to its tab', async () => {
    soakOnly()
    const page = await openStep()
    await pressFork(page)
    await textOf(page).fill('mine')
    await page.keyboard.press('Escape')
    await dialogOf(page).waitFor({ state: 'detached' })
    await page.locator('[data-step="1"]').click()
    await page.getByRole('button', { name: 'Fork', exact: true }).waitFor()
    await page.goBack()
    await page.getByRole('button', { name: 'Fork · draft' }).click()
    expect(await textOf(page).inputValue()).toBe('mine')

    const other = await page.context().newPage()
    await other.goto(ui.at(`/runs/${demo.run}?step=${demo.step}`))
    await pressFork(other)
    expect(await textOf(other).inputValue()).toContain('60 days')
    await textOf(other).fill('theirs')
    expect(await textOf(page).inputValue()).toBe('mine')

    const asked = page.waitForEvent('dialog')
    void page.close({ runBeforeUnload: true })
    expect((await asked).type()).toBe('beforeunload')
    await (await asked).accept()
  })
})

describe('running again', () => {
  test('of an unchanged program says that nothing differs', async () => {
    soakOnly()
    const page = await openStep()
    await page.getByRole('button', { name: 'Run again' }).click()
    await dialogOf(page).getByRole('button', { name: 'Run again' }).click()
    const said = dialogOf(page).getByText('Identical from beginning to end')
    expect(await said.innerText()).toContain('no branch was created')
  })

  test('of a changed program opens the branch and shows where it left the tape', async ({
    onTestFinished,
  }) => {
    await demo.startModel()
    const recorded = await readFile(demo.agent, 'utf8')
    onTestFinished(() => writeFile(demo.agent, recorded))
    await writeFile(demo.agent, recorded.replace('careful', 'generous'))
    const page = await openStep()
    await page.getByRole('button', { name: 'Run again' }).click()
    await dialogOf(page).getByRole('button', { name: 'Run again' }).click()
    await page.getByText('rerun done').waitFor()
    await page.getByRole('button', { name: 'Where it went live' }).click()
    const divergence = dialogOf(page).getByRole('region', { name: 'Divergence' })
    expect(await divergence.innerText()).toMatch(/careful.*generous/s)
  })
})

test('one button writes a test of a run', async () => {
  const page = await openStep()
  await page.getByRole('button', { name: 'Write test' }).click()
  await dialogOf(page).getByRole('button', { name: 'Write test' }).click()
  await dialogOf(page).getByText('node --test test/demo.test.mjs').waitFor()
  const text = await readFile(join(demo.folder, 'test/demo.test.mjs'), 'utf8')
  expect(text).toContain(`retake test ${demo.run}`)
  expect(await seriousViolations(page)).toEqual([])
})

test('the table of a comparison is shown', async () => {
  const row = { trials: 5, judged: 5, costUsd: 0.01, medianMs: 1200 }
  const rows = [
    { name: 'gpt-4o', ...row, passed: 5, interval: { low: 0.5, high: 1 } },
    { name: 'gpt-4o-mini', ...row, passed: 1, note: '1 missing: stopped' },
  ]
  const folder = join(demo.folder, '.retake/runs', `${demo.run}.compare`)
  await mkdir(folder, { recursive: true })
  const table = { at: '2', oracle: 'exit:0', rows }
  await writeFile(join(folder, 'table.json'), JSON.stringify({ version: 1, table }))
  const page = await openStep()
  await page.getByRole('button', { name: 'Models' }).click()
  await dialogOf(page)
    .getByRole('row', { name: /gpt-4o-mini 1 of 5.*1 missing/ })
    .waitFor()
  expect(await seriousViolations(page)).toEqual([])
})

test('a disabled action says why, on its button and in the palette', async ({ onTestFinished }) => {
  const workspace = await makeWorkspace()
  onTestFinished(() => workspace.remove())
  writeFirstRun(workspace.folder, 'first')
  const other = await startUi(workspace.folder)
  const page = await openPage()
  await page.goto(other.at('/runs/first?step=1'))
  const fork = page.getByRole('button', { name: 'Fork', exact: true })
  await fork.and(page.locator('[title*="program"]')).waitFor()
  expect(await fork.isDisabled()).toBe(true)
  const why = (await fork.getAttribute('title')) ?? ''
  await page.keyboard.press('Control+k')
  await page.keyboard.type('fork at step')
  const offered = page.getByRole('option', { name: /Fork at step 1/ })
  expect(await offered.innerText()).toContain(why)
})
