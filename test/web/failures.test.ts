import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findingsFile } from '../support/blame-findings.js'
import { makeWorkspace, type Workspace } from '../support/run-retake.mjs'
import { seriousViolations } from './support/axe.js'
import { openPage, patiently } from './support/browser.js'
import { runsOf } from './support/desk.js'
import { makeReportFile, openOfflinePage, reportUrl } from './support/report-file.js'
import { launchUi, type Ui } from './support/start-ui.js'
import { writeTeamRun } from './support/team-run.js'
import { writeTape } from './support/write-tape.js'

/** Throws in its own code, after a step that is fine. */
const CRASHING = `const now = await new Promise((resolve) => setTimeout(() => resolve('Sure!'), 1))
for (const word of ['Let', 'me', 'think']) process.stdout.write(word + ' ')
console.log()
export const plan = JSON.parse(now)
`

const LONG_KEY =
  'packages/service/src/main/java/com/example/refunds/policy/RefundPolicyService.java'

let workspace: Workspace
let ui: Ui
let crashed: string

beforeAll(async () => {
  workspace = await makeWorkspace()
  const { folder } = workspace
  writeFileSync(join(folder, 'agent.mjs'), CRASHING)
  await workspace.retake(['record', 'agent.mjs'])
  crashed = runsOf(workspace)[0] ?? ''
  writeTeamRun(folder, 'team')
  mkdirSync(join(folder, '.retake', 'blame'), { recursive: true })
  const found = {
    ...findingsFile('blamed'),
    oracle: 'stdout:/DENIED/',
    steps: ['2', '5'].map((label) => ({ label, did: `tool ${label} with nothing` })),
  }
  writeFileSync(join(folder, '.retake', 'blame', 'blamed.json'), JSON.stringify(found))
  writeTape(folder, { id: 'requests' }, (tape) => {
    const asked = { url: 'https://shop.example.com/orders' }
    const told = { status: 500, statusText: 'Internal Server Error' }
    tape.exchange('', ['{"error":"no ', 'stock"}'], { asked, told })
    const refused = { class: 'Error', name: 'Error', message: 'refused', stack: 'Error: refused' }
    const op = tape.add({ type: 'request', seam: 'fetch', method: 'GET', headers: [], ...asked })
    tape.add({ type: 'deliver', op, part: 'error', error: refused })
  })
  writeTape(folder, { id: 'blamed' }, (tape) => {
    for (let step = 1; step <= 12; step++) tape.tool(`tool ${step}`, {}, { result: step })
  })
  const message = 'the model is away'
  const handled = { class: 'Error', name: 'Error', message: 'busy', stack: 'Error: busy' }
  const error = { class: 'Error', name: 'Error', message, stack: `Error: ${message}` }
  writeTape(folder, { id: 'handled', error }, (tape) => {
    tape.tool('first', {}, { error: handled })
    tape.chat([{ role: 'user', content: 'Edit **it**.' }], {
      role: 'assistant',
      content: null,
      tool_calls: [
        {
          id: 'c1',
          type: 'function',
          function: { name: 'edit', arguments: JSON.stringify({ [LONG_KEY]: 'return 30 days' }) },
        },
      ],
    })
    tape.tool('second', {}, { error })
    tape.tool('third', {}, { result: 1 })
  })
  ui = await launchUi(folder)
})

afterAll(async () => {
  await ui.stop()
  await workspace.remove()
})

async function open(path: string, options = {}): Promise<Page> {
  const page = await openPage(options)
  await page.goto(ui.at(path))
  return page
}

const selected = (page: Page, step: string) =>
  page.locator(`[data-step="${step}"][aria-selected=true]`)

test('a run that threw outside its steps opens at the error, with stack, source and message', async () => {
  const page = await open(`/runs/${crashed}`)
  await selected(page, 'crash').waitFor()
  const panel = page.locator('[data-panel=step]')
  await panel.getByRole('heading', { name: /SyntaxError at agent\.mjs:4: Unexpected/ }).waitFor()
  const line = panel.getByRole('listitem').filter({ hasText: 'JSON.parse(now)' })
  expect(await line.getAttribute('aria-current')).toBe('location')
  expect(await panel.getByRole('link', { name: 'Open in editor' }).getAttribute('href')).toMatch(
    /^vscode:\/\/file\/.*agent\.mjs:4:\d+$/,
  )
  expect(await seriousViolations(page)).toEqual([])
  await page.getByRole('tab', { name: 'Console' }).click()
  const output = panel.getByRole('list', { name: 'Output', exact: true })
  await output.filter({ hasText: 'Let me think' }).waitFor()
})

test('a report opens at the error in the same way', async () => {
  const page = await openOfflinePage()
  await page.goto(reportUrl(await makeReportFile(workspace, crashed), crashed))
  await selected(page, 'crash').waitFor()
  await page.getByText('JSON.parse(now)').waitFor()
  expect(await page.getByRole('link', { name: 'Open in editor' }).count()).toBe(0)
})

test('the error of a failed step links to the step, and keys move to earlier failures', async () => {
  const page = await open('/runs/handled')
  await selected(page, '3').waitFor()
  await page.keyboard.press(',')
  await selected(page, '1').waitFor()
  await page.getByRole('button', { name: 'Error: the model is away' }).click()
  await selected(page, '3').waitFor()
  await page.getByRole('button', { name: '2 failed' }).click()
  await page.getByText('2 of 4 rows').waitFor()
  expect(await page.locator('[data-step]').count()).toBe(2)
})

test('a run that failed the oracle of a blame search says so, also in the list, and opens at the cause', async () => {
  const page = await open('/')
  const row = page.getByRole('listitem').filter({ has: page.locator('[data-run=blamed]') })
  await row.getByText('failed your check').waitFor()
  await row.getByRole('link').first().click()
  const cause = page.getByRole('button', { name: /^Steps? .* made this run fail/ })
  const [, step = ''] = /^Steps? (\S+)/.exec(await cause.innerText()) ?? []
  await selected(page, step).waitFor()
  expect(await cause.innerText()).toMatch(
    /^Step 2 \(tool 2 with nothing\) and step 5 \(tool 5 with nothing\) together made this run fail/,
  )
  const verdicts = page.locator('[data-blame]')
  await page.locator('[data-step="1"]').click()
  await expect
    .poll(() => verdicts.innerText(), patiently)
    .toMatch(/clear[^]*pinned with all clear steps passed/)
  await page.getByText('check stdout:/DENIED/').waitFor()
  expect(await page.getByRole('heading', { level: 1 }).innerText()).toContain('failed your check')
})

test('an HTTP step opens at its answer, or at its error, without a time to a first token', async () => {
  const page = await open('/runs/requests?step=1')
  await page.getByText('500 Internal Server Error', { exact: true }).waitFor()
  expect(await page.getByRole('tab', { selected: true }).innerText()).toBe('Response')
  expect(await page.getByText('time to first token').count()).toBe(0)
  await page.locator('[data-step="2"]').click()
  await expect
    .poll(() => page.getByRole('tab', { selected: true }).innerText(), patiently)
    .toBe('Error')
})

test('a long key wraps with its value below it and takes no more space than it needs', async () => {
  const page = await open('/runs/handled?step=2')
  const item = page.getByRole('treeitem').filter({ hasText: 'RefundPolicyService' })
  const value = item.getByText('return 30 days')
  await value.waitFor()
  const [outer, inner] = [await item.boundingBox(), await value.boundingBox()]
  expect(outer?.height).toBeLessThan(90)
  expect(inner?.width).toBeGreaterThan(80)
})

test('the transcript shows messages and calls of all lanes, and renders only what is near the screen', async () => {
  const page = await open('/runs/team?step=1')
  await selected(page, '1').waitFor()
  await page.keyboard.press('v')
  const transcript = page.getByRole('region', { name: 'Transcript' })
  await transcript.getByText('Plan a trip to Bern.').waitFor()
  await transcript.getByText('weather · gpt-4o-mini').first().waitFor()
  expect(await transcript.getByRole('article').count()).toBeLessThan(12)
  await page.keyboard.press('G')
  await transcript.getByText('Booked for tomorrow.').waitFor()
  expect(await seriousViolations(page)).toEqual([])
})

test('after a search or the palette, the focus returns to where it was or to the content', async () => {
  const page = await open('/runs/team?step=1')
  await selected(page, '1').waitFor()
  for (const key of ['/', 'Control+k']) {
    await page.keyboard.press(key)
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await expect.poll(() => page.evaluate(() => document.activeElement?.id), patiently).toBe('main')
  }
})

test('events are filtered by text, and listed from the selected step on', async () => {
  const page = await open('/runs/team?step=9')
  await selected(page, '9').waitFor()
  await page.keyboard.press('e')
  await page.locator('[data-event][aria-selected=true]').waitFor()
  await page.getByRole('searchbox', { name: /Filter events/ }).fill('datagrams')
  await page.getByText('1 found').waitFor()
  expect(await page.locator('[data-event]').count()).toBe(1)
})
