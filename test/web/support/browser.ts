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

/** Messages of a page whose requests are meant to fail. */
export const failedRequests = /^Failed to load resource/

/**
 * A fresh page of a real Chromium, without anything from earlier ones. Errors in it
 * fail the test, unless their text is one that is `expected`.
 */
export async function openPage(
  options: BrowserContextOptions = {},
  { expected }: { expected?: RegExp } = {},
): Promise<Page> {
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
    if (message.type() === 'error' && expected?.test(message.text()) !== true)
      problems.push(message.text())
  })
  onTestFinished(async () => {
    await context.close()
    if (problems.length > 0) throw new Error(`the page reported: ${problems.join('\n')}`)
  })
  return page
}

/**
 * The package's own arguments are made for scraping in a tiny container: one process,
 * which dies with its first page, and no web security, which is what we test. Of them
 * only what a machine without screen and sandbox needs is kept.
 */
const args = ['--no-sandbox', '--disable-setuid-sandbox', '--use-angle=swiftshader', '--no-zygote']

const launch = async (): Promise<Browser> =>
  playwright.launch({ executablePath: await chromium.executablePath(), args, headless: true })
