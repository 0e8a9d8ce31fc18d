import { buffer } from 'node:stream/consumers'
import {
  chromium,
  type Browser,
  type BrowserContextOptions,
  type Download,
  type Page,
} from 'playwright-core'
import { inject, onTestFinished } from 'vitest'

/** Requests what all test files share; see shared-fixtures.ts. */
export async function requestFixture<T>(name: string): Promise<T> {
  const response = await fetch(`${inject('sharedFixtures')}/${name}`)
  if (!response.ok) throw new Error(`${name} could not be started: ${await response.text()}`)
  return (await response.json()) as T
}

const connect = async (): Promise<Browser> =>
  chromium.connect(await requestFixture<string>(`chromium/${process.pid}`))

/** Shared by the test files that run in this process, and closed with it. */
let browser: Promise<Browser> | undefined

/** Messages of a page whose requests are meant to fail. */
export const failedRequests = /^Failed to load resource/

/**
 * For `expect.poll`: as long as a page has for everything else. The second that a poll
 * has by itself is not enough on a busy machine, nor are the thirty of a page.
 */
export const patiently = { timeout: 90_000 } as const

/**
 * A fresh page of a real Chromium, without anything from earlier ones. Errors in it
 * fail the test, unless their text is one that is `expected`.
 */
export async function openPage(
  options: BrowserContextOptions = {},
  { expected }: { expected?: RegExp } = {},
): Promise<Page> {
  browser ??= connect()
  const context = await (
    await browser
  ).newContext({
    viewport: { width: 1280, height: 800 },
    reducedMotion: 'reduce',
    ...options,
  })
  const page = await context.newPage()
  page.setDefaultTimeout(patiently.timeout)
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

/** The bytes of a download. The browser is another process, so it has no path here. */
export const bytesOf = async (download: Download): Promise<Buffer> =>
  buffer(await download.createReadStream())
