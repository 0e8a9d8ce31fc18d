import { truncate } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { makeWorkspace, type Workspace } from '../support/run-retake.mjs'
import { seriousViolations } from './support/axe.js'
import { failedRequests, openPage, patiently } from './support/browser.js'
import { launchUi, startUi, type Ui } from './support/start-ui.js'
import { writeBranch, writeFirstRun } from './support/write-branches.js'
import { soakOnly } from '../support/soak.js'

const fork = (value: unknown) => ({
  kind: 'fork' as const,
  at: '1',
  edits: [{ target: 'answer' as const, path: 'choices.0.message.content', value }],
})

/** A run, two branches of it, and one of the first of these. */
function writeTree(folder: string): void {
  writeFirstRun(folder, 'first')
  writeBranch(folder, {
    id: 'b1',
    name: 'no',
    parent: 'first',
    details: fork('No.'),
    says: 'DENIED',
    exitCode: 3,
  })
  writeBranch(folder, {
    id: 'b2',
    name: 'maybe',
    parent: 'b1',
    details: fork('Maybe.'),
    says: 'UNDECIDED',
  })
  writeBranch(folder, {
    id: 'b3',
    name: 'again',
    parent: 'first',
    details: { kind: 'rerun', edits: [] },
    says: 'APPROVED again',
  })
}

/** The tree of tests that leave it as it is. */
let shared: Workspace
let sharedUi: Ui

beforeAll(async () => {
  shared = await makeWorkspace()
  writeTree(shared.folder)
  sharedUi = await launchUi(shared.folder)
})

afterAll(async () => {
  await sharedUi?.stop()
  await shared?.remove()
})

async function openTree(write?: (folder: string) => void | Promise<void>): Promise<Page> {
  const ui = write === undefined ? sharedUi : await startWith(write)
  const page = await openPage()
  await page.goto(ui.at('/runs/first/branches'))
  await page.getByRole('treeitem').first().waitFor()
  return page
}

/** The viewer on a tree of its own. */
async function startWith(write: (folder: string) => void | Promise<void>): Promise<Ui> {
  const workspace = await makeWorkspace()
  onTestFinished(() => workspace.remove())
  await write(workspace.folder)
  return startUi(workspace.folder)
}

const items = (page: Page): Promise<string[]> =>
  page
    .getByRole('treeitem')
    .evaluateAll((all) =>
      all.map(
        (each) =>
          `${each.getAttribute('aria-level')} ${each.querySelector('a, span.font-medium')?.textContent}`,
      ),
    )

const focused = (page: Page): Promise<string | null | undefined> =>
  page.evaluate(() => document.activeElement?.textContent?.replace(/^[▾▸]/, ''))

test('the tree shows for each branch where it started, what was changed and its outcome', async () => {
  const page = await openTree()
  await expect.poll(() => items(page), patiently).toEqual(['1 first', '2 no', '3 maybe', '2 again'])
  const said = await page.getByRole('treeitem', { name: /^no/ }).innerText()
  expect(said).toContain('fork at step 1')
  expect(said).toContain('choices.0.message.content = "No."')
  expect(said).toContain('DENIED')
  expect(said).toContain('exit code 3')
  expect(await page.getByRole('treeitem', { name: /^again/ }).innerText()).toContain('rerun')
  expect(await seriousViolations(page)).toEqual([])
})

test('keys move through the tree, expand and collapse it, and open a run', async () => {
  const page = await openTree()
  await page.getByRole('treeitem').first().focus()
  await page.keyboard.press('ArrowDown')
  await expect.poll(() => focused(page), patiently).toMatch(/^no/)
  await page.keyboard.press('ArrowLeft')
  await expect.poll(() => items(page), patiently).toEqual(['1 first', '2 no', '2 again'])
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('ArrowRight')
  await expect.poll(() => focused(page), patiently).toMatch(/^maybe/)
  await page.keyboard.press('ArrowLeft')
  await expect.poll(() => focused(page), patiently).toMatch(/^no/)
  await page.keyboard.press('End')
  await expect.poll(() => focused(page), patiently).toMatch(/^again/)
  await page.keyboard.press('Home')
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.getByRole('row', { name: /Yes/ }).waitFor()
  expect(new URL(page.url()).pathname).toBe('/runs/b1')
  await page.goBack()
  await page.getByRole('treeitem').first().waitFor()
})

test('two marked runs are compared', async () => {
  const page = await openTree()
  await page.getByRole('treeitem').first().focus()
  await page.keyboard.press('d')
  await page.locator('[role=treeitem][aria-selected=true]').first().waitFor()
  await page.keyboard.press('End')
  await page.keyboard.press('d')
  await page.getByRole('region', { name: 'Console' }).waitFor()
  expect(new URL(page.url()).pathname).toBe('/compare/first/b3')
})

test('a new branch appears in the open tree, and an unreadable branch says why', async () => {
  soakOnly()
  let folder = ''
  const page = await openTree(async (where) => {
    folder = where
    writeTree(where)
    await truncate(join(where, '.retake', 'runs', 'b2.tape'), 20)
  })
  await page.getByText(/Unreadable tapes.*b2/).waitFor()
  writeBranch(folder, { id: 'late', parent: 'first', details: fork('Later.'), says: 'LATER' })
  await page.getByRole('treeitem', { name: /LATER/ }).waitFor()
  await expect.poll(() => items(page), patiently).toContain('2 late')
})

test('a page whose code fails to load says so, and works after a retry', async () => {
  soakOnly()
  const page = await openPage({}, { expected: failedRequests })
  const part = /assets\/branches-page/
  await page.route(part, (route) => route.abort())
  await page.goto(sharedUi.at('/runs/first/branches'))
  await page.getByText('server is not responding').waitFor()
  await page.route('**/runs/**', (route) => route.abort())
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByText('server is still not responding').waitFor()
  await page.unrouteAll()
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByRole('treeitem').first().waitFor()
  await expect.poll(() => items(page), patiently).toHaveLength(4)
})

/** Ids sort as the runs came. */
const idOf = (index: number): string => `b${String(index).padStart(3, '0')}`

test('two hundred branches, some deeply nested, are all shown', async () => {
  soakOnly()
  const page = await openTree((folder) => {
    writeFirstRun(folder, 'first')
    for (let index = 0; index < 200; index++)
      writeBranch(folder, {
        id: idOf(index),
        parent: index % 10 === 0 ? 'first' : idOf(index - 1),
        details: fork(`answer ${index}`),
        says: `outcome ${index}`,
      })
  })
  await expect.poll(() => page.getByRole('treeitem').count(), patiently).toBe(201)
  await page.getByText('200 branches').waitFor()
  await page.getByRole('treeitem').first().focus()
  await page.keyboard.press('End')
  await expect.poll(() => focused(page), patiently).toContain('outcome 199')
})
