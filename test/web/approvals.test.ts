import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { agentPath, makeWorkspace } from '../support/run-retake.mjs'
import { seriousViolations } from './support/axe.js'
import { openPage } from './support/browser.js'
import { runsOf } from './support/desk.js'
import { startUi } from './support/start-ui.js'

/** A guarded call that waits, and the viewer, open at its run. */
async function openWaiting() {
  const workspace = await makeWorkspace()
  onTestFinished(() => workspace.remove())
  const agent = spawn(process.execPath, [agentPath('guard-approval.mjs'), 'viewer'], {
    cwd: workspace.folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void agent.kill())
  const said = text(agent.stdout)
  const run = await vi.waitFor(() => runsOf(workspace)[0] ?? Promise.reject(), 60_000)
  const ui = await startUi(workspace.folder)
  const page = await openPage()
  await page.goto(ui.at('/'))
  await page.getByRole('link', { name: 'call waits for approval' }).waitFor()
  await page.goto(ui.at(`/runs/${run}`))
  const waiting = page.getByRole('region', { name: 'Waiting for approval' })
  await waiting.getByText('refund waits for approval').waitFor()
  return { page, waiting, ended: async () => JSON.parse(await said) as Record<string, unknown> }
}

describe('a call that waits for approval', () => {
  test('is shown with its arguments as text, and runs once it is approved', async () => {
    const { page, waiting, ended } = await openWaiting()
    expect(await waiting.textContent()).toContain('It is a lot.')
    expect(await waiting.getByLabel('Arguments of refund').textContent()).toContain('"<b>Ann</b>"')
    // In the header of the page, the list of steps and the header of the step.
    await expect.poll(() => page.getByText(/^waits for approval/).count()).toBe(3)
    expect(await seriousViolations(page)).toEqual([])
    await waiting.getByLabel('Reason (stored with the run)').fill('a good customer')
    await waiting.getByRole('button', { name: 'Approve' }).click()
    expect(await ended()).toMatchObject({
      status: 'done',
      output: 'refunded 900',
      how: 'viewer',
      reason: 'a good customer',
    })
    await waiting.waitFor({ state: 'detached' })
    await page.getByText(/^waited$/).waitFor()
  })

  test('does not run if refused, and the run shows it as denied', async () => {
    const { page, waiting, ended } = await openWaiting()
    await waiting.getByRole('button', { name: 'Refuse' }).focus()
    await page.keyboard.press('Enter')
    expect(await ended()).toMatchObject({ status: 'denied', code: 'APPROVAL_REFUSED' })
    await page.getByText('denied').first().waitFor()
  })
})
