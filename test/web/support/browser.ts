import chromium from '@sparticuz/chromium'
import {
  chromium as playwright,
  type Browser,
  type BrowserContextOptions,
  type Page,
} from 'playwright-core'
import { afterAll, onTestFinished } from 'vitest'

let browser: Promise<Browser> | undefined

afterAll(async () => {
  await (await browser)?.close()
})

/** A fresh page of a real Chromium, without anything from earlier ones. Errors in it fail the test. */
export async function openPage(options: BrowserContextOptions = {}): Promise<Page> {
  browser ??= launch()
  const context = await (
    await browser
  ).newContext({
    viewport: { width: 1280, height: 800 },
    reducedMotion: 'reduce',
    ...options,
  })
  const page = await context.newPage()
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text())
  })
  onTestFinished(async () => {
    await context.close()
    if (problems.length > 0) throw new Error(`the page reported: ${problems.join('\n')}`)
  })
  return page
}

const launch = async (): Promise<Browser> =>
  playwright.launch({
    executablePath: await chromium.executablePath(),
    args: chromium.args,
    headless: true,
  })
