import type { Page } from 'playwright-core'

export interface Met {
  /** What a screen reader would say, roughly. */
  readonly name: string
  /** One sees that it has the focus. */
  readonly isSeen: boolean
  readonly html: string
}

/** Things that have one stop for Tab, and arrow keys inside. */
const ROVING = '[role="tablist"], [role="grid"], [role="tree"], [role="listbox"], [role="toolbar"]'

/**
 * Presses Tab once around the page. `met` is what had the focus; `missed` are the buttons,
 * links and fields on the screen that never had it, though no arrow key leads to them.
 */
export async function walkByTab(page: Page): Promise<{ met: Met[]; missed: string[] }> {
  await page.evaluate(() => {
    ;(document.activeElement as HTMLElement | null)?.blur()
    ;(globalThis as { walked?: Set<Element> }).walked = new Set()
  })
  const met: Met[] = []
  while (met.length < 200) {
    await page.keyboard.press('Tab')
    const one = await page.evaluate(readFocus)
    if (one === undefined) break
    met.push(one)
  }
  const missed = await page.evaluate((roving) => {
    const { walked } = globalThis as unknown as { walked: Set<Element> }
    const isRadio = (element: Element): element is HTMLInputElement =>
      element instanceof HTMLInputElement && element.type === 'radio'
    /** Of several radio buttons Tab comes to one, and arrow keys lead to the others. */
    const hasSibling = (element: Element): boolean =>
      isRadio(element) && [...walked].some((other) => isRadio(other) && other.name === element.name)
    return [...document.querySelectorAll<HTMLElement>('button, a[href], input, select, textarea')]
      .filter((element) => element.checkVisibility({ visibilityProperty: true }))
      .filter((element) => !element.matches(':disabled') && !walked.has(element))
      .filter((element) => element.tabIndex >= 0 || element.closest(roving) === null)
      .filter((element) => !hasSibling(element))
      .map((element) => element.outerHTML.slice(0, 200))
  }, ROVING)
  return { met, missed }
}

/** Runs in the page: what has the focus now; undefined when the walk is around. */
function readFocus(): Met | undefined {
  const { walked } = globalThis as unknown as { walked: Set<Element> }
  const element = document.activeElement
  if (!(element instanceof HTMLElement) || element === document.body || walked.has(element))
    return undefined
  walked.add(element)
  const labelled = element.getAttribute('aria-labelledby')
  const label = element instanceof HTMLInputElement || element instanceof HTMLSelectElement
  const name =
    element.getAttribute('aria-label') ??
    (labelled === null ? undefined : document.getElementById(labelled)?.textContent) ??
    (label ? element.labels?.[0]?.textContent : element.textContent) ??
    ''
  const { outlineStyle, outlineWidth } = getComputedStyle(element)
  const { width, height } = element.getBoundingClientRect()
  const isOutlined = outlineStyle !== 'none' && outlineWidth !== '0px'
  return {
    name: name.trim(),
    isSeen: isOutlined && width > 0 && height > 0,
    html: element.outerHTML.slice(0, 200),
  }
}
