import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { agentPath, makeWorkspace, type Workspace } from '../support/run-retake.mjs'
import { patiently } from './support/browser.js'
import { openOfflinePage } from './support/report-file.js'

let workspace: Workspace
const path = (name: string): string => join(workspace.folder, name)
beforeAll(async () => {
  workspace = await makeWorkspace()
  await workspace.retake(['record', '--sign', agentPath('guarded-refund.mjs')])
  const files = ['--out', 'r.json', '--html', 'r.html']
  await workspace.retake(['receipt', 'make', 'last', '--steps', '2', ...files])
  await workspace.retake(['receipt', 'check', '--page', 'check.html'])
})
afterAll(() => workspace.remove())

test('a page checks its own receipt offline and shows what the command shows', async () => {
  const page = await openOfflinePage()
  await page.goto(pathToFileURL(path('r.html')).href)
  const result = page.getByRole('status')
  await result.getByText('valid · run').waitFor()
  const { stdout } = await workspace.retake(['receipt', 'check', 'r.json'])
  const shown = (await result.innerText()).replaceAll(/\s+/g, ' ')
  // The page of somebody else does not know whose key it is.
  const said = stdout.replaceAll('this machine', 'a key that nobody has named here')
  expect(shown.replace('✓ ', '').trim()).toBe(said.replaceAll(/\s+/g, ' ').trim())
  expect(readFileSync(path('r.html'), 'utf8')).not.toContain('PRIVATE')
})

test("a reader's own page checks dropped receipts, knows the reader's keys, and refuses changes", async () => {
  const page = await openOfflinePage()
  await page.goto(pathToFileURL(path('check.html')).href)
  const result = page.getByRole('status')
  await page.locator('#file').setInputFiles(path('r.json'))
  await result.getByText('this machine').first().waitFor()
  expect(await result.getAttribute('data-ok')).toBe('true')
  const changed = readFileSync(path('r.json'), 'utf8').replace('250', '251')
  await page
    .locator('#file')
    .setInputFiles({ name: 'r.json', mimeType: 'application/json', buffer: Buffer.from(changed) })
  await result.getByText('not valid: the signature of its issuer does not match').waitFor()
  expect(await result.getAttribute('data-ok')).toBe('false')
})

test('a browser without ed25519 says that signatures are not checked', async () => {
  const page = await openOfflinePage()
  await page.addInitScript(() => Object.defineProperty(crypto, 'subtle', { value: undefined }))
  await page.goto(pathToFileURL(path('r.html')).href)
  const result = page.getByRole('status')
  await expect
    .poll(() => result.innerText(), patiently)
    .toContain('signatures not checked, everything else is valid')
})
