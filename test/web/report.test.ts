import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openTape } from '@retake/tape/node'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { writeLongChat } from '../../bench/measure/long-chat.mjs'
import { cutTape } from '../support/cut-tape.js'
import { blocksOf } from '../support/report-blocks.js'
import { bytesOf, patiently } from './support/browser.js'
import { copySharedDemo } from './support/demo-runs.js'
import { BINARY } from './support/odd-runs.js'
import { hostile, writeHostileRun } from './support/hostile-run.js'
import { makeReportFile, openOfflinePage, reportUrl } from './support/report-file.js'
import { writeTape } from './support/write-tape.js'
import { soakOnly } from '../support/soak.js'

let demo: Awaited<ReturnType<typeof copySharedDemo>>
/** A report of the branch. */
let branchFile = ''
const runs = (): string => join(demo.folder, '.retake', 'runs')
const tapeOf = (run: string): string => join(runs(), `${run}.tape`)
beforeAll(async () => {
  demo = await copySharedDemo()
  branchFile = await makeReportFile(demo, demo.branch)
})
afterAll(() => demo.remove())

test('a report opens from disk without a network, at the step and tab of a link, and goes back', async () => {
  const page = await openOfflinePage()
  await page.goto(reportUrl(branchFile, demo.branch, `?step=${demo.step}&tab=console`))
  await page.getByRole('tab', { name: 'Console', selected: true }).waitFor()
  await page.getByText('ticket', { exact: false }).first().waitFor()
  await page.locator('[data-step]').last().click()
  await expect.poll(() => new URL(page.url()).hash, patiently).not.toContain(`step=${demo.step}&`)
  await page.goBack()
  await expect.poll(() => new URL(page.url()).hash, patiently).toContain(`step=${demo.step}`)
  await page.getByRole('tab', { name: 'Console', selected: true }).waitFor()
  expect(await page.getByRole('button', { name: /fork/i }).count()).toBe(0)
})

test('a report without an address shows its run, and refuses another', async () => {
  soakOnly()
  const page = await openOfflinePage()
  await page.goto(reportUrl(branchFile, demo.branch).replace(/#.*/, ''))
  await page.locator('[data-step]').first().waitFor()
  expect(new URL(page.url()).hash).toContain(demo.branch)
  await page.goto(reportUrl(branchFile, demo.run))
  await page.getByText('This run is not in the report.').waitFor()
})

test('a branch shows what it shares with its parent and contains nothing else of it', async () => {
  const page = await openOfflinePage()
  await page.goto(reportUrl(branchFile, demo.branch))
  await page.getByText('served').first().waitFor()
  await page.getByText('DENIED', { exact: false }).first().waitFor()
  const tapes = [...blocksOf(branchFile)].filter(([id]) => id.startsWith('retake-tape')).map(String)
  expect(tapes.length).toBe(2)
  expect(tapes.join('')).toContain('DENIED')
  expect(tapes.join('')).not.toContain('APPROVED')
})

test('hostile content of a run is shown as text and never executed', async () => {
  writeHostileRun(demo.folder, 'hostile')
  const file = await makeReportFile(demo, 'hostile')
  const page = await openOfflinePage()
  await page.goto(reportUrl(file, 'hostile'))
  await page.locator('[data-step]').first().waitFor()
  const steps = await page.locator('[data-step]').count()
  expect(steps).toBeGreaterThan(3)
  for (let step = 1; step <= steps; step++) {
    await page.goto(reportUrl(file, 'hostile', `?step=${step}`))
    // The previous step stays on screen until this one has loaded.
    const tabs = page.getByRole('tablist', { name: `Views of step ${step}`, exact: true })
    await tabs.waitFor()
    for (const tab of await tabs.getByRole('tab').all()) {
      await tab.click()
      await page.getByRole('tabpanel').first().waitFor()
    }
    expect(
      await page.evaluate(() => (globalThis as { __hacked?: string }).__hacked),
    ).toBeUndefined()
  }
  // The viewer and its four blocks of data: no text has made another.
  expect(await page.locator('script').count()).toBe(5)
})

test('the content policy of a report allows its own script, styles and worker only', async () => {
  const html = readFileSync(await makeReportFile(demo, demo.run), 'utf8')
  const policy = /http-equiv="content-security-policy" content="([^"]*)"/.exec(html)?.[1] ?? ''
  expect(policy.replaceAll(/sha256-[A-Za-z0-9+/=]{44}/g, 'sha256')).toBe(
    "default-src 'none'; script-src 'sha256'; style-src 'sha256'; worker-src blob:; img-src data:; base-uri 'none'; form-action 'none'",
  )
  const page = html.replaceAll(/<(script|style)[^]*?<\/\1>/g, '')
  expect([...page.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address]) => address)).toEqual([
    'data:,',
  ])
  // Editing is for live homes only; its editor alone is as large as the rest.
  expect(html.includes('cm-editor')).toBe(false)
})

test('binary bodies leave a report as they were recorded', async () => {
  soakOnly()
  writeTape(demo.folder, { id: 'binary' }, (tape) =>
    tape.exchange(BINARY, [BINARY], { asked: { url: 'https://files.example.com/' } }),
  )
  const file = await makeReportFile(demo, 'binary')
  const page = await openOfflinePage()
  await page.goto(reportUrl(file, 'binary', '?step=1&tab=response'))
  const download = page.waitForEvent('download')
  await page
    .getByRole('button', { name: /download/i })
    .first()
    .click()
  expect(new Uint8Array(await bytesOf(await download))).toEqual(BINARY)
})

test('a truncated tape gives a report of its complete part, and says so', async () => {
  const cut = cutTape(tapeOf(demo.run), 20, join(demo.folder, 'cut'))
  writeFileSync(cut, Buffer.concat([readFileSync(cut), Buffer.from('{"type":"dra')]))
  const file = join(demo.folder, 'cut.html')
  const { stdout } = await demo.retake(['report', cut, '-o', file, '--json'])
  expect(JSON.parse(stdout)).toMatchObject({
    file,
    notes: [expect.stringContaining('20 intact events')],
  })
  const page = await openOfflinePage()
  await page.goto(reportUrl(file, demo.run))
  await page.getByText('12 bytes at the end could not be read').waitFor()
  await page.getByRole('button', { name: 'report with a note' }).click()
  await page.getByText('its 20 intact events').waitFor()
})

test('the report of a damaged tape has the part before the damage, with a warning', async () => {
  const bytes = readFileSync(tapeOf(demo.run))
  bytes[Math.floor(bytes.length / 2)]! ^= 1
  const damaged = join(demo.folder, 'damaged.tape')
  writeFileSync(damaged, bytes)
  const file = join(demo.folder, 'damaged.html')
  const { stdout, code } = await demo.retake(['report', damaged, '-o', file, '--json'])
  const { notes } = JSON.parse(stdout) as { notes: string[] }
  expect(code).toBe(3)
  expect(notes[0]).toMatch(/^The tape is damaged at event \d+: .* only the \d+ events before it\.$/)
  const page = await openOfflinePage()
  await page.goto(reportUrl(file, demo.run))
  await page.getByRole('alert').getByText('The tape is damaged at event').waitFor()
})

test('a report overwrites a report, but no other file unless forced', async () => {
  const file = join(demo.folder, 'mine.html')
  writeFileSync(file, '<p>mine</p>')
  const refused = await demo.retake(['report', demo.run, '-o', file])
  expect(refused.code).toBe(1)
  expect(refused.stderr).toContain('REPORT_WOULD_OVERWRITE')
  expect(readFileSync(file, 'utf8')).toBe('<p>mine</p>')
  expect((await demo.retake(['report', demo.run, '-o', file, '--force'])).code).toBe(0)
  const again = await demo.retake(['report', demo.run, '-o', file, '--no-source'])
  expect(again.stdout).toMatch(/^mine\.html {2}[\d.]+ [KM]B, shows [\d.]+ KB of recorded data\n$/)
})

test('source lines are in the report unless excluded', async () => {
  const parts = (file: string): { sources: Record<string, { lines: string[] }> } =>
    JSON.parse(String(blocksOf(file).get('retake-parts'))) as never
  const { sources } = parts(await makeReportFile(demo, demo.run))
  const excerpts = Object.values(sources)
  expect(excerpts.length).toBeGreaterThan(2)
  expect(Math.max(...excerpts.map(({ lines }) => lines.length))).toBe(7)
  const without = await makeReportFile(demo, demo.run, ['--no-source'])
  expect(parts(without).sources).toEqual({})
})

test('redacted values are nowhere in the file, and the page mentions the redaction', async () => {
  const secret = `${'x7'.repeat(3)}@${'q9'.repeat(3)}.example`
  const name = `run of ${secret}`
  const details = { env: { OWNER: secret }, args: [secret], cwd: `/home/${secret}` }
  writeTape(demo.folder, { id: 'secret', name, details }, (tape) => {
    tape.add({ type: 'output', stream: 'stdout' }, `to ${secret.slice(0, 8)}`)
    tape.add({ type: 'output', stream: 'stdout' }, `${secret.slice(8)}\n`)
    tape.chat([{ role: 'user', content: hostile(secret) }], `I wrote to ${secret}.`, {
      headers: [['x-owner', secret]],
      url: `https://api.openai.com/v1/chat/completions?u=${encodeURIComponent(secret)}`,
    })
    tape.tool('send', { to: secret }, { result: { [secret]: [secret] } })
  })
  const state = { step: '1', seq: 1, isDirect: true, frames: [], asyncFrames: [], source: secret }
  const header = { format: 1, run: 'secret', events: openTape(tapeOf('secret')).count }
  const lines = [header, state].map((line) => JSON.stringify(line))
  writeFileSync(`${tapeOf('secret')}.state`, `${lines.join('\n')}\n`)
  const whole = await makeReportFile(demo, 'secret')
  expect(String(blocksOf(whole).get('retake-tape-0'))).toContain(secret)
  const file = await makeReportFile(demo, 'secret', ['--redact', 'email'])
  const everything = [readFileSync(file, 'utf8'), ...[...blocksOf(file).values()].map(String)]
  for (const text of everything) {
    expect(text).not.toContain(secret)
    expect(text).not.toContain(encodeURIComponent(secret))
  }
  const page = await openOfflinePage()
  await page.goto(reportUrl(file, 'secret', '?step=1'))
  await page.getByText('redacted', { exact: true }).waitFor()
  expect(await page.locator('body').textContent()).not.toContain(secret)
})

test('a chat of 280 turns and 134 MB on the wire becomes a file under 2 MB', async () => {
  soakOnly()
  const { rawBytes } = writeLongChat(tapeOf('chat'), { turns: 280, chunks: 20 })
  const html = readFileSync(await makeReportFile(demo, 'chat'))
  expect(rawBytes).toBeGreaterThan(120e6)
  expect(html.length).toBeLessThan(2e6)
})
