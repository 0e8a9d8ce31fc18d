import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fixOutcome, provenFix, workaround } from '../support/fix-outcome.js'
import { blocksOf } from '../support/report-blocks.js'
import { makeWorkspace, type Workspace } from '../support/run-retake.mjs'
import { seriousViolations } from './support/axe.js'
import { failedRequests, openPage, patiently } from './support/browser.js'
import { makeReportFile, openOfflinePage, reportUrl } from './support/report-file.js'
import { launchUi, type Ui } from './support/start-ui.js'
import { writeTape } from './support/write-tape.js'

const BEFORE = "import { ask } from './model.mjs'\nJSON.parse(await ask())\n// ann@example.com\n"
const AFTER = BEFORE.replace('await ask()', 'unfenced(await ask())')

let workspace: Workspace
let ui: Ui

function store(run: string, outcome: unknown): void {
  const folder = join(workspace.folder, '.retake/fix/results')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${run}.json`), JSON.stringify(outcome))
}

beforeAll(async () => {
  workspace = await makeWorkspace()
  const { folder } = workspace
  writeFileSync(join(folder, 'agent.mjs'), BEFORE)
  for (const id of ['fenced', 'fresh', 'other'])
    writeTape(folder, { id, details: { entry: 'agent.mjs', cwd: folder, args: [] } }, (tape) => {
      tape.tool('look', {}, { result: 1 })
      tape.tool('look', {}, { result: 2 })
    })
  const rejected = { status: 'rejected', reason: 'still fails: exit code 1' } as const
  const outcome = fixOutcome('fenced', [
    provenFix('f1', [BEFORE, AFTER]),
    workaround('f3', [BEFORE, BEFORE.replace('await ask()', "(await ask()) ?? '{}'")]),
    provenFix('f2', [BEFORE, `${BEFORE}// nothing\n`], { verdict: rejected }),
  ])
  store('fenced', outcome)
  store('other', outcome)
  ui = await launchUi(folder)
})

afterAll(async () => {
  await ui.stop()
  await workspace.remove()
})

async function open(run: string, options = {}): Promise<Page> {
  const page = await openPage(options, { expected: failedRequests })
  await page.goto(ui.at(`/runs/${run}?list=fix`))
  return page
}

const panel = (page: Page) => page.getByRole('region', { name: 'Fix' })
const source = (): string => readFileSync(join(workspace.folder, 'agent.mjs'), 'utf8')

test('shows evidence and diff of each candidate, and applies and undoes a proven one', async () => {
  const page = await open('fenced')
  const text = async () => (await panel(page).textContent()) ?? ''
  await page.getByTestId('fix-verdict').waitFor()
  for (const part of [
    'Proven: Strip the code fence in agent.mjs:2 (f1)',
    '5 of 5 trials without the fix',
    '2 of 2 trials with it',
    '59 of 59 passing runs make the same requests and print the same',
    'Printed before and now',
    '-(ended with SyntaxError: Unexpected token)',
    '+RESULT deny for ann@example.com',
    'added: JSON.parse(unfenced(await ask()))',
    'removed: JSON.parse(await ask())',
    'malformed-json (certain)',
  ])
    expect(await text()).toContain(part)
  // A workaround names what it loses, and may be applied like a fix.
  const other = panel(page).locator('[data-fix="f3"]')
  for (const part of [
    'workaround',
    '5 of 5 trials without the change',
    "a constant replaces a missing value at agent.mjs:2: JSON.parse((await ask()) ?? '{}')",
    'it prints undefined: “RESULT undefined”',
  ])
    expect(await other.textContent()).toContain(part)
  // A candidate that was rejected is folded and cannot be applied.
  await panel(page).getByText('(f2)').click()
  await panel(page).getByText('still fails: exit code 1').waitFor()
  expect(await panel(page).getByRole('button', { name: 'Apply' }).count()).toBe(2)
  expect(await seriousViolations(page)).toEqual([])

  const best = (shown: Page) => panel(shown).locator('[data-fix="f1"]')
  await best(page).getByRole('button', { name: 'Apply to 1 file' }).click()
  await panel(page).getByText('Changed agent.mjs.').waitFor()
  expect(source()).toBe(AFTER)
  // Another page notices.
  const second = await open('fenced', {
    colorScheme: 'dark',
    viewport: { width: 390, height: 844 },
  })
  await panel(second).getByText('applied', { exact: true }).waitFor()
  expect(await seriousViolations(second)).toEqual([])
  expect(await panel(second).evaluate((box) => box.scrollWidth - box.clientWidth)).toBe(0)
  await panel(page).getByRole('button', { name: 'Undo' }).click()
  await best(second).getByRole('button', { name: 'Apply to 1 file' }).waitFor()
  expect(source()).toBe(BEFORE)

  // A file that changed since then is not overwritten.
  writeFileSync(join(workspace.folder, 'agent.mjs'), `${BEFORE}// later\n`)
  await best(page).getByRole('button', { name: 'Apply to 1 file' }).click()
  await panel(page).getByText('FIX_FILE_CHANGED').waitFor()
  expect(source()).toBe(`${BEFORE}// later\n`)
  writeFileSync(join(workspace.folder, 'agent.mjs'), BEFORE)
})

test('without a result the page says which command to run, and shows the result once it exists', async () => {
  const page = await open('fresh')
  await panel(page)
    .getByText("npx retake fix fresh --oracle 'stdout:/what it should say/'")
    .waitFor()
  expect(await seriousViolations(page)).toEqual([])
  store('fresh', fixOutcome('fresh', [provenFix('f3', [BEFORE, AFTER])]))
  await page.getByTestId('fix-verdict').waitFor()
  await page.keyboard.press('i')
  await page.getByRole('grid', { name: 'Steps' }).waitFor()
  const other = await open('other')
  await panel(other).getByText('It belongs to another run.').waitFor()
})

test('a report shows the result without buttons and without redacted values', async () => {
  const file = await makeReportFile(workspace, 'fenced', ['--redact', 'email'])
  for (const block of blocksOf(file).values()) expect(block.includes('ann@')).toBe(false)
  const page = await openOfflinePage()
  await page.goto(reportUrl(file, 'fenced', '?list=fix'))
  await page.getByTestId('fix-verdict').waitFor()
  await expect
    .poll(() => panel(page).textContent(), patiently)
    .toContain('The answer for *************** is not JSON.')
  expect(
    await panel(page)
      .getByRole('button', { name: /Apply|Undo/ })
      .count(),
  ).toBe(0)
  const bare = await makeReportFile(workspace, 'fenced', ['--no-source', '--force'])
  for (const block of blocksOf(bare).values())
    expect(String(block)).not.toMatch(/unfenced|await ask/)
})
