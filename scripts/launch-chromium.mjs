import { setTimeout as sleep } from 'node:timers/promises'
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

/** Unpacked once in this process. */
let executable

const optionsWith = async (more) => ({
  executablePath: await (executable ??= chromium.executablePath()),
  args: [...args, ...more],
  headless: true,
})

/**
 * Waits while another process still unpacks the file, which the package does not notice.
 *
 * @template Browser
 * @param {() => Promise<Browser>} launch
 * @returns {Promise<Browser>}
 */
async function whenUnpacked(launch) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await launch()
    } catch (error) {
      if (!String(error).includes('ETXTBSY') || attempt === 60) throw error
      await sleep(1000)
    }
  }
}

/**
 * Starts the Chromium that comes with the package registry.
 *
 * @param {readonly string[]} [more] Arguments besides those every test needs.
 */
export const launchChromium = (more = []) =>
  whenUnpacked(async () => playwright.launch(await optionsWith(more)))

/** Starts one that other processes connect to. */
export const launchChromiumServer = () =>
  whenUnpacked(async () => playwright.launchServer(await optionsWith([])))
