import { readFile, writeFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openPage } from './support/browser.js'
import { makeDemoRuns, type DemoRuns } from './support/demo-runs.js'
import { startUi, type Ui } from './support/start-ui.js'

let demo: DemoRuns
beforeAll(async () => {
  demo = await makeDemoRuns()
})
afterAll(() => demo.remove())

const CORRECT = 'Customers may return an item within 30 days of delivery.'

/** The page of the recorded run, at one of its steps. */
async function openStep(step = demo.step, tab = ''): Promise<{ page: Page; ui: Ui }> {
  const ui = await startUi(demo.folder)
  const page = await openPage()
  await page.goto(ui.at(`/runs/${demo.run}?step=${step}${tab && `&tab=${tab}`}`))
  await page.getByRole('button', { name: 'Fork' }).waitFor()
  return { page, ui }
}

const dialogOf = (page: Page) => page.getByRole('dialog')

async function pressFork(page: Page): Promise<void> {
  await page.waitForFunction(() => {
    const fork = [...document.querySelectorAll('button')].find((each) =>
      each.textContent?.startsWith('Fork'),
    )
    return fork?.disabled === false
  })
  await page.keyboard.press('f')
  await dialogOf(page).getByRole('radio', { name: 'Another answer' }).waitFor()
}

describe('a fork', () => {
  test('with an edited tool result runs as a branch, is watched to its end, and comes to another outcome', async () => {
    await demo.startModel()
    const { page } = await openStep()
    await pressFork(page)
    const text = dialogOf(page).getByRole('textbox', { name: 'text', exact: true })
    expect(await text.inputValue()).toContain('60 days')
    await text.fill(CORRECT)
    await dialogOf(page).getByRole('textbox', { name: 'Name of the branch' }).fill('thirty days')
    await page.keyboard.press('Control+Enter')

    await page.getByText('fork done').waitFor({ timeout: 15_000 })
    const branch = new URL(page.url()).pathname.split('/').at(-1) ?? ''
    expect(branch).not.toBe(demo.run)
    expect(new URL(page.url()).searchParams.get('step')).toMatch(new RegExp(`^"?${demo.step}"?$`))
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
})
