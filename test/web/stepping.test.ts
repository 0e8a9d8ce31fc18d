import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { seriousViolations } from './support/axe.js'
import { openPage, patiently } from './support/browser.js'
import { openSharedDemo } from './support/demo-runs.js'

const { demo, ui } = await openSharedDemo()

const stepIn = (page: Page): string =>
  new URL(page.url()).searchParams.get('step')?.replaceAll('"', '') ?? ''

test('a program paused at a step shows real variables, steps both ways with the list, and evaluates expressions', async () => {
  const page = await openPage()
  await page.goto(ui.at(`/runs/${demo.run}?step=${demo.step}&tab=state`))
  await page.locator('button:enabled', { hasText: 'Pause the program here' }).click()
  const program = page.getByRole('region', { name: 'The program at this step' })
  const at = (step: string) => program.getByText(`paused at step ${step}`, { exact: true })
  await at(demo.step).waitFor()

  await program.getByText('log(`${name}: ${call.name} ${call.arguments}`)').waitFor()
  const variables = await program.innerText()
  expect(variables).toContain('messages')
  expect(variables).toContain('Customers may return an item within 60 days of delivery.')

  const box = program.getByRole('textbox', { name: 'Evaluate an expression here' })
  await box.fill('messages.length + 40')
  await box.press('Enter')
  await program.getByText('43', { exact: true }).waitFor()
  await box.fill('nowhere.to')
  await box.press('Enter')
  await program.getByText('ReferenceError: nowhere is not defined').waitFor()
  await box.press('ArrowUp')
  await box.press('ArrowUp')
  expect(await box.inputValue()).toBe('messages.length + 40')
  await box.fill('name')
  await program.getByRole('button', { name: 'Watch' }).click()
  const watched = program.getByRole('region', { name: 'Watched' })
  await watched.getByText('policy').waitFor()
  expect(await seriousViolations(page)).toEqual([])

  await page.keyboard.press('F10')
  await program.getByRole('region', { name: 'Changes' }).waitFor()
  await expect.poll(() => stepIn(page), patiently).not.toBe(demo.step)
  const next = stepIn(page)
  await at(next).waitFor()
  await page.keyboard.press('Shift+F10')
  await at(demo.step).waitFor()
  await expect.poll(() => stepIn(page), patiently).toBe(demo.step)

  await page.getByRole('row', { name: /lookup_order\(/ }).click()
  await watched.getByText('order').waitFor()
  await expect.poll(() => stepIn(page), patiently).not.toBe(demo.step)

  await program.getByRole('button', { name: 'Stop debugging' }).click()
  await program.getByRole('button', { name: 'Pause the program here' }).waitFor()
})
