import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { seriousViolations } from './support/axe.js'
import { openPage } from './support/browser.js'
import { makeDemoRuns, type DemoRuns } from './support/demo-runs.js'
import { startUi } from './support/start-ui.js'
import { soakOnly } from '../support/soak.js'

interface View {
  readonly name: string
  /** Missing where the view before it is gone on from. */
  readonly path?: (demo: DemoRuns) => string
  /** What to wait for, and to do before it is looked at. */
  readonly prepare: (page: Page) => Promise<void>
}

const runPath = ({ run, step }: DemoRuns): string => `/runs/${run}?step=${step}`
const steps = (page: Page) => page.getByRole('row').or(page.getByRole('listitem'))
const dialog = (page: Page) => page.getByRole('dialog')

const press =
  (key: string, wait: (page: Page) => Promise<void>) =>
  async (page: Page): Promise<void> => {
    await page.getByRole('tabpanel').first().waitFor()
    await page.keyboard.press(key)
    await wait(page)
  }

/** Tabs of a model call, besides the first. */
const TABS = ['Request', 'Response', 'State', 'Console', 'Files', 'Source', 'Events']

const VIEWS: readonly View[] = [
  {
    name: 'runs',
    path: () => '/',
    prepare: (page) => page.getByText('unreadable', { exact: true }).last().waitFor(),
  },
  {
    name: 'runs, two chosen',
    path: () => '/',
    prepare: async (page) => {
      await page.getByRole('checkbox').first().check()
      await page.getByRole('checkbox').nth(1).check()
      await page.getByRole('link', { name: 'Compare' }).waitFor()
    },
  },
  {
    name: 'runs, none matches',
    path: () => '/?text=nothing-is-called-so',
    prepare: (page) => page.getByText('No run matches.').waitFor(),
  },
  {
    name: 'run, tool call',
    path: runPath,
    prepare: (page) => page.getByRole('tabpanel').waitFor(),
  },
  {
    name: 'run, model call',
    path: ({ run }) => `/runs/${run}?step=1`,
    prepare: (page) => page.getByRole('tabpanel').waitFor(),
  },
  ...TABS.map((name): View => ({
    name: `run, tab ${name}`,
    prepare: async (page) => {
      await page.getByRole('tab', { name }).click()
      await page.getByRole('tabpanel', { name }).waitFor()
    },
  })),
  {
    name: 'run, list of events',
    path: ({ run }) => `/runs/${run}?list=events`,
    prepare: (page) => steps(page).first().waitFor(),
  },
  {
    name: 'search',
    path: runPath,
    prepare: press('/', async (page) => {
      await page.getByRole('combobox').fill('refund')
      await page.getByRole('option').first().waitFor()
    }),
  },
  { name: 'palette', path: runPath, prepare: press('Control+k', (page) => dialog(page).waitFor()) },
  { name: 'help', path: runPath, prepare: press('?', (page) => dialog(page).waitFor()) },
  {
    name: 'fork',
    path: runPath,
    prepare: async (page) => {
      await page.locator('button:enabled', { hasText: 'Fork' }).first().click()
      await dialog(page).waitFor()
    },
  },
  {
    name: 'run again',
    path: runPath,
    prepare: async (page) => {
      await page.locator('button:enabled', { hasText: 'Run again' }).first().click()
      await dialog(page).waitFor()
    },
  },
  {
    name: 'theme menu',
    path: () => '/',
    prepare: async (page) => {
      await page.getByRole('button', { name: 'Theme' }).click()
      await page.getByRole('menuitem').first().waitFor()
    },
  },
  {
    name: 'branches',
    path: ({ run }) => `/runs/${run}/branches`,
    prepare: (page) => page.getByRole('heading', { level: 1 }).waitFor(),
  },
  {
    name: 'compare',
    path: ({ run, branch }) => `/compare/${run}/${branch}`,
    prepare: (page) => page.getByRole('heading', { level: 1 }).waitFor(),
  },
  {
    name: 'no such page',
    path: () => '/nothing/here',
    prepare: (page) => page.getByText('There is no page at this address.').waitFor(),
  },
]

test('no view has a serious violation, light on a desk or dark on a phone', async ({
  onTestFinished,
}) => {
  soakOnly()
  const demo = await makeDemoRuns()
  onTestFinished(() => demo.remove())
  await writeFile(join(demo.folder, '.retake', 'runs', 'broken.tape'), 'this is no tape')
  const ui = await startUi(demo.folder)
  const page = await openPage()
  await page.goto(ui.url)
  const found: Record<string, readonly string[]> = {}
  for (const { name, path, prepare } of VIEWS) {
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.evaluate(() => (document.documentElement.dataset['theme'] = 'light'))
    if (path !== undefined) await page.goto(ui.at(path(demo)))
    await prepare(page)
    const look = async (how: string): Promise<void> => {
      const violations = await seriousViolations(page)
      if (violations.length > 0) found[`${name}, ${how}`] = violations
    }
    await look('light')
    await page.evaluate(() => (document.documentElement.dataset['theme'] = 'dark'))
    await page.setViewportSize({ width: 390, height: 844 })
    await look('dark on a phone')
    // An open menu is put in its place a moment after the window has changed.
    const fits = page.waitForFunction(
      () => document.documentElement.scrollWidth <= innerWidth,
      undefined,
      { timeout: 20_000 },
    )
    if (!(await fits.then(Boolean, () => false)))
      found[`${name}, width`] = ['the page is wider than the phone']
  }
  expect(found).toEqual({})
})
