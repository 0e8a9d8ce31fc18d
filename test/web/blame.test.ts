import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findingsFile, sampleFindings, stepIn } from '../support/blame-findings.js'
import { blocksOf } from '../support/report-blocks.js'
import { makeWorkspace, type Workspace } from '../support/run-retake.mjs'
import { seriousViolations } from './support/axe.js'
import { failedRequests, openPage, patiently } from './support/browser.js'
import { makeReportFile, openOfflinePage, reportUrl } from './support/report-file.js'
import { launchUi, type Ui } from './support/start-ui.js'
import { writeTeamRun } from './support/team-run.js'
import { writeTape } from './support/write-tape.js'
import { soakOnly } from '../support/soak.js'

let workspace: Workspace
let ui: Ui

/** Puts what blame found about a run where `retake blame` puts it. */
function keep(run: string, found: unknown): void {
  const folder = join(workspace.folder, '.retake', 'blame')
  mkdirSync(folder, { recursive: true })
  const text = typeof found === 'string' ? found : JSON.stringify(found)
  writeFileSync(join(folder, `${run}.json`), text)
}

beforeAll(async () => {
  workspace = await makeWorkspace()
  for (const run of ['team', 'fresh', 'newer', 'broken']) writeTeamRun(workspace.folder, run)
  keep('team', findingsFile('team'))
  keep('newer', { ...findingsFile('newer'), version: 2 })
  keep('broken', '{"version":1,')
  ui = await launchUi(workspace.folder)
})

afterAll(async () => {
  await ui.stop()
  await workspace.remove()
})

async function open(run: string, search = '', options = {}): Promise<Page> {
  const page = await openPage(options, { expected: failedRequests })
  await page.goto(ui.at(`/runs/${run}${search}`))
  await page
    .getByTestId('timeline')
    .or(page.getByRole('button', { name: '←' }))
    .first()
    .waitFor()
  return page
}

const panel = (page: Page) => page.getByRole('region', { name: 'Blame' })
const verdict = (page: Page) => page.getByTestId('verdict')

/** Waits until the step panel shows a step. */
const whenAt = (page: Page, step: string): Promise<void> =>
  page.getByRole('heading', { name: new RegExp(`^step ${step} · (?:model|tool) call`) }).waitFor()

/**
 * Where the line below the lanes has the colour of a role, in pixels from the left of the
 * timeline: one for each mark.
 */
const marks = (page: Page, role: 'cause' | 'back-up' | 'echo'): Promise<number[]> =>
  page.getByTestId('timeline').evaluate((element, name) => {
    const canvas = element as HTMLCanvasElement
    const ratio = canvas.width / canvas.clientWidth
    const style = getComputedStyle(document.documentElement)
    const wanted = Number.parseInt(style.getPropertyValue(`--role-${name}`).trim().slice(1), 16)
    const top = canvas.height - Math.round(18 * ratio)
    const { data, width } = canvas
      .getContext('2d')!
      .getImageData(0, top, canvas.width, canvas.height - top)
    const found: number[] = []
    for (let x = 0; x < width; x++)
      for (let at = x * 4; at < data.length; at += width * 4) {
        const color = (data[at]! << 16) | (data[at + 1]! << 8) | data[at + 2]!
        if (color === wanted && x / ratio - (found.at(-1) ?? -99) > 12) found.push(x / ratio)
      }
    return found
  }, role)

describe('the findings of blame', () => {
  test('are shown as a sentence with links to causes and steps', async () => {
    const page = await open('team', '?list=blame')
    expect(await verdict(page).textContent()).toBe(
      'Steps 2 and 5 together made this run fail; step 9 only repeats it; step 7 would have made it fail without that.',
    )
    // The first look goes to the cause.
    await whenAt(page, '2')
    const text = await panel(page).textContent()
    for (const part of [
      'At least 96 % sure',
      'Risk rises in two stairs',
      '11 steps searched, 3 in causes, 1 echo, 1 affected, 6 clear',
      '12 of 12 failed',
      'text: Booked for tomorrow',
      '182,400 tokens, $0.42',
      '17 times a pinned step got its recorded answer to a changed request',
      'the agent exited before it printed anything',
    ])
      expect(text).toContain(part)
    await panel(page).getByRole('list', { name: 'Causes' }).getByText('step 7').click()
    await whenAt(page, '7')
    const line = page.locator('[data-blame]')
    await expect
      .poll(() => line.textContent(), patiently)
      .toMatch(/back-up.*necessary no.*only this one pinned 7 of 8/)
    expect(await verdict(page).isVisible()).toBe(true)
    expect(await seriousViolations(page)).toEqual([])
  })

  test('are marked on the timeline in both themes, and the marks can be clicked', async () => {
    const page = await open('team')
    await expect.poll(() => marks(page, 'cause'), patiently).toHaveLength(2)
    expect(await marks(page, 'back-up')).toHaveLength(1)
    await page.getByRole('list', { name: 'Roles' }).getByText('joint').waitFor()
    const [x = 0] = await marks(page, 'echo')
    const bounds = await page.getByTestId('timeline').boundingBox()
    await page.mouse.click(bounds!.x + x + 4, bounds!.y + bounds!.height - 9)
    await whenAt(page, '9')
    await page.evaluate(() => {
      document.documentElement.dataset['theme'] = 'dark'
    })
    await expect.poll(() => marks(page, 'cause'), patiently).toHaveLength(2)
    const other = await open('fresh')
    await expect.poll(() => other.locator('[data-step]').count(), patiently).toBe(12)
    expect(await other.getByRole('list', { name: 'Roles' }).count()).toBe(0)
    expect(await marks(other, 'cause')).toEqual([])
  })

  test('are reachable by keyboard: from cause to cause, and from steps to reasons', async () => {
    soakOnly()
    const page = await open('team', '?step=11')
    await whenAt(page, '11')
    await page.locator('[data-step="2"]').getByText('joint').waitFor()
    for (const [key, step] of [
      ['r', '2'],
      ['r', '5'],
      ['r', '7'],
      ['r', '2'],
      ['R', '7'],
    ] as const) {
      await page.keyboard.press(key)
      await whenAt(page, step)
    }
    await page.keyboard.press('w')
    await verdict(page).waitFor()
    await page.keyboard.press('w')
    await page.getByRole('grid', { name: 'Steps' }).waitFor()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('go to the cause')
    await page.getByRole('option', { selected: true }).getByText('Go to the cause').waitFor()
    await page.keyboard.press('Enter')
    await whenAt(page, '2')
    const line = page.locator('[data-blame]')
    await expect.poll(() => line.textContent(), patiently).toContain('joint')
  })

  test('alternate with the step on a phone, and are readable in dark mode', async () => {
    soakOnly()
    const page = await open('team', '?list=blame', {
      viewport: { width: 390, height: 844 },
      colorScheme: 'dark',
    })
    await panel(page).getByRole('link', { name: 'step 5' }).first().click()
    await whenAt(page, '5')
    await page.getByRole('button', { name: 'Blame' }).click()
    await verdict(page).waitFor()
    const over = () => panel(page).evaluate((box) => box.scrollWidth - box.clientWidth)
    await expect.poll(over, patiently).toBe(0)
    expect(await seriousViolations(page)).toEqual([])
  })

  test('are listed in parts for thousands of steps', async () => {
    soakOnly()
    const count = 10_000
    writeTape(workspace.folder, { id: 'long' }, (tape) => {
      for (let step = 0; step < count; step++) tape.tool('look', {}, { result: 1 })
    })
    const steps = Array.from({ length: count }, (_, place) =>
      stepIn(String(place + 1), place === 6000 ? 'root' : place % 9 === 0 ? 'affected' : 'clear'),
    )
    const rate = sampleFindings().anchors.pinned
    const causes = [{ role: 'root', steps: ['6001'], sufficiency: rate, shares: [1] }] as const
    keep('long', findingsFile('long', sampleFindings({ steps, causes })))
    const page = await open('long', '?list=blame')
    expect(await verdict(page).textContent()).toBe('Step 6001 made this run fail.')
    await expect.poll(() => marks(page, 'cause'), patiently).toHaveLength(1)
    const rows = panel(page).getByRole('table').first().locator('tbody tr')
    await expect.poll(() => rows.count(), patiently).toBe(20)
    await panel(page).getByRole('button', { name: 'Show 200 more of 9,980 steps' }).click()
    await expect.poll(() => rows.count(), patiently).toBe(220)
    await page.keyboard.press('r')
    await whenAt(page, '6001')
  })
})

describe('without findings', () => {
  test('the page says which command to run, and shows findings once they exist', async () => {
    const permissions = ['clipboard-read', 'clipboard-write']
    const page = await open('fresh', '?list=blame', { permissions })
    await panel(page).getByText('There is no search for causes for this run yet.').waitFor()
    await panel(page).getByRole('button', { name: 'Copy the command' }).click()
    await page.getByText('Copied').waitFor()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('npx retake blame fresh')
    expect(await seriousViolations(page)).toEqual([])
    keep('fresh', findingsFile('fresh'))
    await verdict(page).waitFor()
  })

  test.each([
    ['newer', 'It was written by a newer version of Retake (form 2).'],
    ['broken', 'FINDINGS_UNREADABLE'],
  ])('that can be read (%s) the page says so and still shows the run', async (run, sentence) => {
    const page = await open(run, '?list=blame')
    await panel(page).getByText(sentence).waitFor()
    await page.keyboard.press('w')
    await page.locator('[data-step="5"]').waitFor()
    expect(await page.locator('[data-blame]').count()).toBe(0)
  })
})

describe('a report', () => {
  test('shows the findings without redacted values', async () => {
    const notes = ['Asked for ann@example.com.']
    const found = findingsFile('team', sampleFindings({ notes, why: 'ann@example.com said so.' }))
    keep('team', { ...found, oracle: 'text: ann@example.com' })
    const file = await makeReportFile(workspace, 'team', ['--redact', 'email'])
    for (const block of blocksOf(file).values()) expect(block.includes('ann@')).toBe(false)
    const page = await openOfflinePage()
    await page.goto(reportUrl(file, 'team', '?list=blame'))
    await verdict(page).waitFor()
    expect(await panel(page).textContent()).toContain('Asked for ***************.')
    await expect.poll(() => marks(page, 'cause'), patiently).toHaveLength(2)
    await panel(page).getByRole('link', { name: 'step 9' }).first().click()
    await whenAt(page, '9')
  })

  test('says so if a run was not searched or its findings cannot be read', async () => {
    soakOnly()
    const file = join(workspace.folder, 'broken.html')
    const made = await workspace.retake(['report', 'broken', '-o', file])
    expect(made).toMatchObject({ code: 0 })
    expect(made.stderr).toContain('What `retake blame` found about this run could not be read')
    const page = await openOfflinePage()
    await page.goto(reportUrl(file, 'broken', '?list=blame'))
    await panel(page)
      .getByText(/^This report has no search for causes\./)
      .waitFor()
    await panel(page).getByText('npx retake blame broken').waitFor()
  })
})
