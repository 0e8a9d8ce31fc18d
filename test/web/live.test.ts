import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeWorkspace } from '../support/run-retake.mjs'
import { failedRequests, openPage, patiently } from './support/browser.js'
import { runsOf } from './support/desk.js'
import { recordSlowly } from './support/slow-agent.js'
import { startUi } from './support/start-ui.js'
import { soakOnly } from '../support/soak.js'
import { freePort } from '../support/free-port.mjs'

/** A run that is being recorded, and the viewer, open at it. */
async function openGrowing(expected?: RegExp) {
  const workspace = await makeWorkspace()
  onTestFinished(() => workspace.remove())
  const { folder } = workspace
  const agent = await recordSlowly(folder)
  await agent.asked(1)
  const [run = ''] = runsOf(workspace)
  const ui = await startUi(folder, { port: await freePort() })
  const page = await openPage({}, { ...(expected && { expected }) })
  await page.goto(ui.at(`/runs/${run}`))
  const step = (number: number) => page.getByText(`/page/${number}`, { exact: false }).first()
  const status = (name: string) => page.getByText(new RegExp(`^${name}\\b`)).first()
  await step(1).waitFor()
  // Parts of the page that come after the run itself.
  await page.getByText('Branches').first().waitFor()
  return { folder, agent, ui, page, step, status }
}

/**
 * A port that a server can be restarted on. Ephemeral ports (32768 and up on Linux) may be
 * taken by another process in between.
 */
describe('a run that is being recorded', () => {
  test('grows on the page and ends there when it ends', async () => {
    const { agent, status, step } = await openGrowing()
    expect(await step(2).isVisible()).toBe(false)
    await agent.answer('one')
    await step(2).waitFor()
    await agent.answer('two')
    await step(3).waitFor()
    await status('recording').waitFor()
    await agent.answer('last')
    await agent.ended
    await status('done').waitFor()
    await status('recording').waitFor({ state: 'detached' })
  })

  test('appears in the list of runs when it begins', async () => {
    const workspace = await makeWorkspace()
    onTestFinished(() => workspace.remove())
    const ui = await startUi(workspace.folder)
    const page = await openPage()
    await page.goto(ui.url)
    await page.getByText('0 runs').waitFor()
    const agent = await recordSlowly(workspace.folder)
    await agent.asked(1)
    const [run = ''] = runsOf(workspace)
    const line = page.getByRole('listitem').filter({ hasText: run })
    await expect.poll(() => line.textContent(), patiently).toContain('recording')
    await agent.answer('last')
    await agent.ended
    await line.filter({ hasText: 'done' }).waitFor()
  })

  test('is shown as killed when it was killed', async () => {
    soakOnly()
    const { agent, status, step } = await openGrowing()
    await agent.answer('one')
    await step(2).waitFor()
    expect(await status('killed').count()).toBe(0)
    agent.kill()
    await agent.ended
    await status('killed').waitFor()
  })

  test('says so when it is deleted, and keeps what was loaded', async () => {
    soakOnly()
    const { folder, page, step } = await openGrowing(failedRequests)
    rmSync(join(folder, '.retake/runs'), { recursive: true })
    await page.getByText('This run was deleted.').waitFor()
    expect(await step(1).isVisible()).toBe(true)
  })
})

describe('a connection', () => {
  test('that was lost for a while reconnects and catches up', async () => {
    const { agent, page, step } = await openGrowing(failedRequests)
    await page.context().setOffline(true)
    const answers = () =>
      page.evaluate(() =>
        fetch('/').then(
          ({ ok }) => ok,
          () => false,
        ),
      )
    await expect.poll(answers, patiently).toBe(false)
    // A busy browser may say it before it is so: a stream that came back in between would stay.
    await page.evaluate(() => window.dispatchEvent(new Event('offline')))
    await page.getByText('Connection lost').waitFor()
    await agent.answer('one')
    await agent.asked(2)
    expect(await step(2).isVisible()).toBe(false)
    await page.context().setOffline(false)
    await step(2).waitFor()
    await page.getByText('Connection lost').waitFor({ state: 'detached' })
  })

  test('to a restarted server asks for its new address and then continues', async () => {
    const { folder, agent, page, step, ui } = await openGrowing(failedRequests)
    await ui.stop()
    await page.getByText('Connection lost').waitFor()
    const again = await startUi(folder, { port: Number(new URL(ui.url).port) })
    await page.getByText('Open the address that').first().waitFor()
    await agent.answer('one')
    await agent.asked(2)
    const other = await page.context().newPage()
    expect(await step(2).isVisible()).toBe(false)
    await other.goto(again.url)
    await step(2).waitFor()
  })
})
