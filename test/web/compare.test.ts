import { expect, test } from 'vitest'
import { seriousViolations } from './support/axe.js'
import { failedRequests, openPage, patiently } from './support/browser.js'
import { openSharedDemo } from './support/demo-runs.js'

const { demo, ui } = await openSharedDemo()

test('two runs are shown side by side: equal steps folded, different words marked, console and links', async () => {
  const page = await openPage()
  await page.goto(ui.at(`/compare/${demo.run}/${demo.branch}`))
  const changed = page.getByRole('article', { name: /search_policy.*changed/ })
  await changed.waitFor()
  await expect.poll(() => changed.locator('del').allInnerTexts(), patiently).toEqual(['60'])
  await expect.poll(() => changed.locator('ins').allInnerTexts(), patiently).toEqual(['30'])
  const [a, b] = [changed.locator('del'), changed.locator('ins')]
  const apart = async (): Promise<number> =>
    ((await b.boundingBox())?.y ?? Number.NaN) - ((await a.boundingBox())?.y ?? Number.NaN)
  await expect.poll(apart, patiently).toBe(0)
  const console = page.getByRole('region', { name: 'Console' })
  await expect.poll(() => console.innerText(), patiently).toMatch(/APPROVED[^]*DENIED/)
  expect(await seriousViolations(page)).toEqual([])

  const folded = page.getByRole('button', { name: /equal steps?$/ }).first()
  const before = await page.getByRole('article').count()
  await folded.click()
  await expect.poll(() => page.getByRole('article').count(), patiently).toBeGreaterThan(before)

  await changed.getByRole('link', { name: /of run b/ }).click()
  await page.getByRole('heading', { name: /search_policy/ }).waitFor()
  expect(new URL(page.url()).pathname).toBe(`/runs/${demo.branch}`)
})

test('keys move between differences, swap the runs, and choose another run', async () => {
  const page = await openPage()
  await page.goto(ui.at(`/compare/${demo.run}/${demo.branch}`))
  await page.getByRole('article').first().waitFor()
  const focused = () =>
    page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? '')
  await page.keyboard.press('n')
  await expect.poll(focused, patiently).toMatch(/changed$/)
  const first = await focused()
  await page.keyboard.press(']')
  await expect.poll(focused, patiently).not.toBe(first)
  await page.keyboard.press('N')
  await expect.poll(focused, patiently).toBe(first)

  await page.keyboard.press('x')
  await page.waitForURL(`**/compare/${demo.branch}/${demo.run}`)
  await page.getByRole('article').first().waitFor()
  await page.keyboard.press('d')
  await page.getByRole('dialog', { name: 'Change the right run' }).waitFor()
  await page.getByText('No other run matches.').waitFor()
})

test('on a phone the two sides are stacked', async () => {
  const page = await openPage({ viewport: { width: 390, height: 844 } })
  await page.goto(ui.at(`/compare/${demo.run}/${demo.branch}`))
  const changed = page.getByRole('article', { name: /search_policy.*changed/ })
  await changed.waitFor()
  const [a, b] = [changed.locator('del'), changed.locator('ins')]
  const below = async (): Promise<number> =>
    ((await b.boundingBox())?.y ?? Number.NaN) - ((await a.boundingBox())?.y ?? Number.NaN)
  await expect.poll(below, patiently).toBeGreaterThan(0)
  const width = () => page.evaluate(() => document.documentElement.scrollWidth)
  await expect.poll(width, patiently).toBeLessThanOrEqual(390)
})

test('a missing run is reported with what to do', async () => {
  const page = await openPage({}, { expected: failedRequests })
  await page.goto(ui.at(`/compare/${demo.run}/nowhere`))
  expect(await page.getByRole('alert').innerText()).toContain('nowhere')
})
