import chromium from '@sparticuz/chromium'
import { chromium as playwright } from 'playwright-core'

/**
 * The package's own arguments are made for scraping in a tiny container: one process,
 * which dies with its first page, and no web security, which is what we test. Of them
 * only what a machine without screen and sandbox needs is kept.
 */
const args = [
  '--no-sandbox',
  '--disable-setuid-sandbox',
  '--disable-gpu',
  '--in-process-gpu',
  '--no-zygote',
]

/** Unpacked once: while a second call waits for the file, it must not be started (ETXTBSY). */
let executable

const optionsWith = async (more) => ({
  executablePath: await (executable ??= chromium.executablePath()),
  args: [...args, ...more],
  headless: true,
})

/**
 * Starts the Chromium that comes with the package registry.
 *
 * @param {readonly string[]} [more] Arguments besides those every test needs.
 */
export const launchChromium = async (more = []) => playwright.launch(await optionsWith(more))

/** Starts one that other processes connect to. */
export const launchChromiumServer = async () => playwright.launchServer(await optionsWith([]))
