import axe from 'axe-core'
import type { Page } from 'playwright-core'

/** What can be serious: the rest are matters of taste. */
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']

/**
 * Everything serious or worse that axe finds on the page as it is now, or in a part of it:
 * the rule and where it is, a line each.
 */
export async function seriousViolations(page: Page, part = 'html'): Promise<string[]> {
  const isThere = await page.evaluate(() => 'axe' in globalThis)
  if (!isThere) await page.evaluate(axe.source)
  const { violations } = await page.evaluate(
    async ([tags, selector]): Promise<axe.AxeResults> =>
      (globalThis as unknown as { axe: typeof axe }).axe.run(selector, {
        runOnly: { type: 'tag', values: tags },
        resultTypes: ['violations'],
      }),
    [TAGS, part] as const,
  )
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ target, html }) => `${id}: ${target.join(' ')} ${html.slice(0, 160)}`),
    )
}
