import { launchChromium } from '../../scripts/launch-chromium.mjs'

/** A step in the list of the viewer. */
const STEP = '[data-step]'

/**
 * Opens the viewer in a fresh Chromium, moves to the next row and scrolls the list to its end.
 *
 * @param {string} url
 * @param {{ signIn?: string, row?: string }} [options] An address to open before, for its cookie,
 *   and the selector of a row.
 * @returns {Promise<{ firstPaintMs: number, paintMs: number, keyMs: number, worstFrameMs: number }>}
 *   Times from the start of the navigation until anything and until the first row was painted,
 *   from a key until the next row was, and the longest time between two frames while scrolling.
 */
export async function openViewer(url, { signIn, row = STEP } = {}) {
  const browser = await launchChromium()
  try {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
    const page = await context.newPage()
    if (signIn !== undefined) {
      await context.request.get(signIn)
      await page.goto('about:blank')
    }
    await page.addInitScript(watchFirstPaint, row)
    await page.goto(url, { waitUntil: 'commit' })
    await page.waitForFunction(() => globalThis.__paintMs !== undefined)
    const paintMs = await page.evaluate(() => globalThis.__paintMs)
    const firstPaintMs = await page.evaluate(
      () => performance.getEntriesByName('first-contentful-paint')[0].startTime,
    )
    const keyMs = await page.evaluate(pressNext)
    // Scrolling is measured when everything has been read.
    await page.waitForTimeout(4000)
    await page.locator(row).first().hover()
    await page.evaluate(startFrames)
    for (let turn = 0; turn < 120; turn++) await page.mouse.wheel(0, 1200)
    const worstFrameMs = await page.evaluate(() => globalThis.__frames.stop())
    return { firstPaintMs, paintMs, keyMs, worstFrameMs }
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

/** Runs in the page: the time from pressing `j` until the frame after it was painted. */
function pressNext() {
  const startedAt = performance.now()
  document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'j', bubbles: true }))
  return new Promise((resolve) =>
    requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - startedAt), 0)),
  )
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
