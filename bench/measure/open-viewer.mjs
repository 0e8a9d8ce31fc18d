import { launchChromium } from '../../scripts/launch-chromium.mjs'

/** A step in the list of the viewer. */
const STEP = '[data-step]'

/**
 * Opens the viewer in a fresh Chromium and scrolls the list of steps to its end.
 *
 * @param {string} url
 * @param {{ signIn?: string }} [options] An address to open before, for its cookie.
 * @returns {Promise<{ paintMs: number, worstFrameMs: number }>} Time from the start of the
 *   navigation until the first step was painted, and the longest time between two frames
 *   while scrolling.
 */
export async function openViewer(url, { signIn } = {}) {
  const browser = await launchChromium()
  try {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
    const page = await context.newPage()
    if (signIn !== undefined) {
      await context.request.get(signIn)
      await page.goto('about:blank')
    }
    await page.addInitScript(watchFirstPaint, STEP)
    await page.goto(url, { waitUntil: 'commit' })
    await page.waitForFunction(() => globalThis.__paintMs !== undefined)
    const paintMs = await page.evaluate(() => globalThis.__paintMs)
    // Scrolling is measured when everything has been read.
    await page.waitForTimeout(4000)
    await page.locator(STEP).first().hover()
    await page.evaluate(startFrames)
    for (let turn = 0; turn < 120; turn++) await page.mouse.wheel(0, 1200)
    const worstFrameMs = await page.evaluate(() => globalThis.__frames.stop())
    return { paintMs, worstFrameMs }
  } finally {
    await browser.close()
  }
}

/** Runs in the page before anything else. */
function watchFirstPaint(selector) {
  const look = () => {
    if (document.querySelector(selector) === null) requestAnimationFrame(look)
    else
      requestAnimationFrame(() =>
        setTimeout(() => {
          globalThis.__paintMs = performance.now()
        }, 0),
      )
  }
  requestAnimationFrame(look)
}

/** Runs in the page: remembers the longest time between two frames. */
function startFrames() {
  let worst = 0
  let last = performance.now()
  let isOn = true
  const tick = (now) => {
    worst = Math.max(worst, now - last)
    last = now
    if (isOn) requestAnimationFrame(tick)
  }
  requestAnimationFrame(tick)
  globalThis.__frames = {
    stop: () => {
      isOn = false
      return worst
    },
  }
}
