import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openPage, patiently } from './support/browser.js'
import { openSharedDemo } from './support/demo-runs.js'
import { walkByTab } from './support/walk-by-tab.js'
import { soakOnly } from '../support/soak.js'

const { demo, ui } = await openSharedDemo()

async function open(path: string): Promise<Page> {
  const page = await openPage()
  await page.goto(ui.at(path))
  return page
}

const dialog = (page: Page) => page.getByRole('dialog')
const runLinks = (page: Page) => page.locator('[data-run]')
const focusedText = (page: Page) => page.evaluate(() => document.activeElement?.textContent ?? '')

/** What Tab does not come to, what has no name, and what does not show that it has the focus. */
async function problemsByTab(page: Page) {
  const { met, missed } = await walkByTab(page)
  expect(met.length).toBeGreaterThan(3)
  return {
    missed,
    nameless: met.filter(({ name }) => name === ''),
    unseen: met.filter(({ isSeen }) => !isSeen),
  }
}

const NONE = { missed: [], nameless: [], unseen: [] }

test('the list of runs is navigated, opened, filtered and compared by keyboard alone', async () => {
  const page = await open('/')
  await runLinks(page).nth(1).waitFor()
  expect(await problemsByTab(page)).toEqual(NONE)

  await page.evaluate(() => (document.activeElement as HTMLElement).blur())
  await page.keyboard.press('j')
  await page.keyboard.press('x')
  await page.keyboard.press('j')
  await page.keyboard.press('x')
  await page.getByRole('link', { name: 'Compare' }).waitFor()
  await page.keyboard.press('d')
  await page.waitForURL(/\/compare\//)
  await page.goBack()

  await runLinks(page).nth(1).waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('j?')
  await expect.poll(() => page.getByRole('searchbox').inputValue(), patiently).toBe('j?')
  expect(await dialog(page).count()).toBe(0)
  await page.keyboard.press('Control+a')
  await page.keyboard.press('Delete')
  await page.keyboard.press('Escape')
  await runLinks(page).nth(1).waitFor()
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/runs\//)
})

test('everything on the page of a run is reachable', async () => {
  const page = await open(`/runs/${demo.run}?step=${demo.step}`)
  await page.getByRole('tabpanel').waitFor()
  // What can be done with a run is asked for, and comes a little later.
  for (const hasText of ['Fork', 'Run again', 'Branches', 'Compare'])
    await page.locator('button:enabled, a', { hasText }).first().waitFor()
  expect(await problemsByTab(page)).toEqual(NONE)
})

test('a dialog takes the focus and returns it when Escape closes it', async () => {
  const page = await open(`/runs/${demo.run}?step=${demo.step}`)
  await page.getByRole('tabpanel').waitFor()
  const tab = page.getByRole('tab').first()
  for (const key of ['Control+k', '?', '/', 'f']) {
    await tab.focus()
    await page.keyboard.press(key)
    await dialog(page).waitFor()
    await page.waitForFunction(() => document.activeElement?.closest('[role="dialog"]') !== null)
    await page.keyboard.press('Escape')
    await dialog(page).waitFor({ state: 'detached' })
    await page.waitForFunction(() => document.activeElement?.getAttribute('role') === 'tab')
    const isFocused = () => tab.evaluate((element) => element === document.activeElement)
    await expect.poll(isFocused, patiently).toBe(true)
  }
})

test('the palette has and runs every command of the page of keys', async () => {
  const page = await open(`/runs/${demo.run}?step=${demo.step}`)
  await page.getByRole('tabpanel').waitFor()
  await page.keyboard.press('?')
  await dialog(page).waitFor()
  const titles = await dialog(page).locator('li > span:first-child').allInnerTexts()
  await page.keyboard.press('Escape')
  await dialog(page).waitFor({ state: 'detached' })

  await page.keyboard.press('Control+k')
  await page.getByRole('option').first().waitFor()
  const options = await page.getByRole('option').allInnerTexts()
  expect(titles.length).toBeGreaterThan(15)
  const missing = titles
    .map((title) => title.split('\n')[0] ?? '')
    .filter((title) => !options.some((option) => option.startsWith(title)))
  expect(missing).toEqual([])

  await page.keyboard.type('show all keys')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog', { name: 'Keys' }).waitFor()
})

test('a step is found in the palette by its number', async () => {
  soakOnly()
  const page = await open(`/runs/${demo.run}?step=1`)
  await page.getByRole('tabpanel').waitFor()
  await page.keyboard.press('Control+k')
  await page.keyboard.type('3')
  await page.getByRole('option', { selected: true }).getByText(/^3/).first().waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL((url) => url.searchParams.get('step') !== '1')
  expect(new URL(page.url()).searchParams.get('step')).toBe('3')
})

test('keys can be changed and turned off, and stay so', async () => {
  const page = await open('/')
  await runLinks(page).nth(1).waitFor()
  await page.keyboard.press('?')
  await page.getByRole('button', { name: 'Change the key of “Next run”' }).click()
  await page.keyboard.press('w')
  await page.keyboard.press('Escape')
  await dialog(page).waitFor({ state: 'detached' })
  await page.reload()
  await runLinks(page).nth(1).waitFor()
  await page.keyboard.press('j')
  expect(await focusedText(page)).not.toBe('demo')
  await page.keyboard.press('w')
  await expect.poll(() => focusedText(page), patiently).toBe('demo')

  await page.keyboard.press('?')
  await page.getByRole('checkbox', { name: 'Single-key shortcuts' }).uncheck()
  await page.keyboard.press('Escape')
  await dialog(page).waitFor({ state: 'detached' })
  await page.reload()
  await runLinks(page).nth(1).waitFor()
  await page.keyboard.press('w')
  await page.keyboard.press('?')
  expect(await focusedText(page)).not.toBe('demo')
  expect(await dialog(page).count()).toBe(0)
  await page.keyboard.press('Control+k')
  await dialog(page).waitFor()
})

test('search opens a hit by keyboard, and n opens the next one', async () => {
  soakOnly()
  const page = await open(`/runs/${demo.run}?step=1`)
  await page.getByRole('tabpanel').waitFor()
  await page.keyboard.press('/')
  // At once, as somebody types who knows the key: no letter is lost.
  await page.keyboard.type('refund window')
  // Not those of its beginning, which somebody who types slowly sees first.
  await page.getByRole('listbox', { name: 'Hits for refund window', exact: true }).waitFor()
  await page.getByRole('option').nth(1).waitFor()
  await page.getByText(/of \d+ hits in \d+ steps?/).waitFor()
  await page.keyboard.press('Enter')
  await dialog(page).waitFor({ state: 'detached' })
  await page.getByText(/1 of \d+/).waitFor()
  expect(new URL(page.url()).searchParams.get('q')).toBe('refund window')
  await page.keyboard.press('n')
  await page.getByText(/2 of \d+/).waitFor()
  await page.keyboard.press('N')
  await page.getByText(/1 of \d+/).waitFor()
})
