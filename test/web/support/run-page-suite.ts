import type { BrowserContextOptions, Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { seriousViolations } from './axe.js'
import { patiently } from './browser.js'
import { sampled, soakOnly } from '../../support/soak.js'

/** Opens the run of `writeTeamRun` with this in its address, in the home that is tested. */
export type OpenTeamRun = (search?: string, options?: BrowserContextOptions) => Promise<Page>

/** What an address asks for: behind the path, or in a report behind `#`. */
const addressOf = ({ search, hash }: URL): URLSearchParams =>
  new URLSearchParams(search === '' ? hash.slice(hash.indexOf('?') + 1) : search)

const selected = (page: Page) => page.locator('[role=row][aria-selected=true]')
export const steps = (page: Page) =>
  page.locator('[data-step]').evaluateAll((rows) => rows.map((row) => row.dataset['step']))

/** Waits until a step is selected in the list and in the address, and by the playhead, which says which it is. */
async function whenAt(page: Page, step: string): Promise<string | undefined> {
  await page.locator(`[data-step="${step}"][aria-selected=true]`).waitFor()
  await page.waitForURL((url) => addressOf(url).get('step')?.replaceAll('"', '') === step)
  const playhead = page.getByRole('slider', { name: 'Playhead' })
  const named = async (): Promise<string | undefined> =>
    /^step (\S+),/.exec((await playhead.getAttribute('aria-valuetext')) ?? '')?.[1]
  await expect.poll(named, patiently).toBe(step)
  return named()
}

/** Waits until a text is on the page. */
export async function isThere(page: Page, text: string | RegExp): Promise<boolean> {
  await page.getByText(text).first().waitFor()
  return true
}

/** What the page of a run does in every home. */
export function describeRunPage(home: string, openRun: OpenTeamRun): void {
  describe(`in ${home}`, () => {
    describe('the page of a run', () => {
      test('shows known facts, and marks unknown ones as unknown', async () => {
        const page = await openRun()
        for (const fact of [
          'exit code 3',
          '11 steps',
          '1 inferred tool call',
          '6 model calls',
          '4,150 tokens in, 174 out',
          '$0.00397 + 1 call without a price',
          '3 lanes',
        ])
          expect(await isThere(page, fact)).toBe(true)
        await page.getByRole('button', { name: '1 thing not captured' }).click()
        await page.getByRole('dialog').getByText('Datagrams are not captured.').waitFor()
      })

      test('opens at the first failed step and lists all steps in order', async () => {
        const page = await openRun()
        expect(await whenAt(page, '5')).toBe('5')
        expect(await steps(page)).toEqual([
          '1',
          '1.1',
          '2',
          '3',
          '4',
          '5',
          '6',
          '7',
          '8',
          '9',
          '10',
          '11',
        ])
        const row = page.locator('[data-step="9"]')
        expect(await row.innerText()).toContain('unknown')
        expect(await page.getByRole('grid').getAttribute('aria-rowcount')).toBe('13')
        expect(await row.getAttribute('aria-rowindex')).toBe('11')
        expect(await page.getByRole('grid').getAttribute('aria-activedescendant')).toBe(
          await selected(page).getAttribute('id'),
        )
      })

      test('every key moves where the list of keys says', async () => {
        const page = await openRun('?step=1')
        expect(await whenAt(page, '1')).toBe('1')
        for (const [key, step] of [
          ['j', '1.1'],
          ['h', '1'],
          ['l', '1.1'],
          ['k', '1'],
          [']', '1.1'],
          [']', '8'],
          ['[', '1.1'],
          ['.', '5'],
          ['.', '8'],
          [',', '5'],
          ['[', '3'],
          ['l', '5'],
          ['h', '3'],
          ['G', '11'],
          ['g', '1'],
        ] as const) {
          await page.keyboard.press(key)
          expect(await whenAt(page, step)).toBe(step)
        }
        await page.keyboard.press('o')
        await page.waitForFunction(
          () => document.activeElement?.getAttribute('aria-label') === 'Step',
        )
      })

      test('arrow keys move in the list and on the playhead', async () => {
        soakOnly()
        const page = await openRun('?step=2')
        expect(await whenAt(page, '2')).toBe('2')
        await page.getByRole('grid').focus()
        for (const [key, step] of [
          ['ArrowDown', '3'],
          ['ArrowUp', '2'],
          ['End', '11'],
          ['Home', '1'],
        ] as const) {
          await page.keyboard.press(key)
          expect(await whenAt(page, step)).toBe(step)
        }
        await page.getByRole('slider', { name: 'Playhead' }).focus()
        await page.keyboard.press('ArrowRight')
        expect(await whenAt(page, '1.1')).toBe('1.1')
        await page.keyboard.press('End')
        expect(await whenAt(page, '11')).toBe('11')
      })

      test('moving by keys adds no history entries; a click is undone by going back', async () => {
        soakOnly()
        const page = await openRun('?step=1')
        expect(await whenAt(page, '1')).toBe('1')
        await page.locator('[data-step="2"]').click()
        expect(await whenAt(page, '2')).toBe('2')
        for (const step of ['3', '4', '5']) {
          await page.keyboard.press('j')
          expect(await whenAt(page, step)).toBe(step)
        }
        await page.goBack()
        expect(await whenAt(page, '1')).toBe('1')
      })
    })

    describe('filters', () => {
      test('say what they hide, are part of the address and are undone by going back', async () => {
        const page = await openRun('?step=9')
        await page.getByRole('button', { name: 'state' }).click()
        const failed = page.getByRole('menuitemcheckbox', { name: 'failed' })
        await failed.filter({ hasText: /failed\s*2/ }).waitFor()
        await failed.click()
        await page.getByText('2 of 12 rows').waitFor()
        expect(await steps(page)).toEqual(['5', '8'])
        expect(addressOf(new URL(page.url())).get('state')).toBe('failed')
        await page.keyboard.press('Escape')
        await page.getByRole('menu').waitFor({ state: 'detached' })

        // Moving keeps to what is shown; the step that was looked at is hidden and stays selected.
        await page.keyboard.press('k')
        expect(await whenAt(page, '8')).toBe('8')
        await page.goBack()
        await page.getByText('11 steps, 1 inferred tool call', { exact: true }).last().waitFor()
        expect((await steps(page)).length).toBe(12)
      })

      test('in an address show only the matching steps', async () => {
        const addresses: readonly (readonly [string, ...string[]])[] = [
          ['?kind=tool', '1.1', '4', '5', '6', '10', '11'],
          ['?lane=1', '2', '4', '7'],
          ['?tool=timetable', '5', '6'],
          ['?model=gpt-4o', '1', '8'],
          ['?state=["failed","aborted"]', '5', '8', '11'],
          ['?from=1000&to=1450', '1', '1.1'],
          ['?kind=model&lane=0', '1', '8', '9'],
        ]
        for (const [search, ...expected] of sampled(addresses, (_, index) => index > 3)) {
          const page = await openRun(search)
          await page.getByText(`${expected.length} of 12 rows`).waitFor()
          expect([search, ...(await steps(page))]).toEqual([search, ...expected])
        }
      })

      test('by cost say how many steps are hidden because their cost is unknown', async () => {
        soakOnly()
        const page = await openRun()
        await page.getByLabel('cost ≥ $').fill('0.001')
        await page.keyboard.press('Enter')
        await page.getByText('1 of 12 rows, 1 hidden with unknown cost').waitFor()
        expect(await steps(page)).toEqual(['1'])
        await page.getByRole('button', { name: 'Clear filters' }).click()
        await page.getByText('11 steps, 1 inferred tool call', { exact: true }).last().waitFor()
        expect((await steps(page)).length).toBe(12)
      })

      test('without a match say so', async () => {
        soakOnly()
        const page = await openRun('?tool=nothing')
        expect(await isThere(page, 'No step matches the filters.')).toBe(true)
        expect(await isThere(page, '0 of 12 rows')).toBe(true)
      })
    })

    describe('the timeline', () => {
      const canvas = (page: Page) => page.getByTestId('timeline')

      /** Opens the run, and waits until its steps are drawn: before, a pointer finds none. */
      const openDrawn: OpenTeamRun = async (search, options) => {
        const page = await openRun(search, options)
        await page.getByText('11 steps, 1 inferred tool call in 3 lanes').waitFor()
        await page.waitForFunction(() => document.querySelector('canvas')!.width > 300)
        return page
      }

      test('is described in words for screen readers', async () => {
        const page = await openRun()
        const text =
          '11 steps, 1 inferred tool call in 3 lanes over 2 h; lanes: planner, weather, trains; 2 pauses'
        expect(await isThere(page, text)).toBe(true)
      })

      test('selects by click, scrubs on the axis and marks a range that filters', async () => {
        const page = await openDrawn('?step=1')
        const { x, y, width } = (await canvas(page).boundingBox())!
        // Under the names of lanes on the left, `trains` is the third line.
        await page.mouse.click(x + 420, y + 20 + 2 * 20 + 10)
        expect(await whenAt(page, '3')).toBe('3')

        await page.mouse.move(x + 130, y + 8)
        await page.mouse.down()
        expect(await whenAt(page, '1')).toBe('1')
        await page.mouse.move(x + width - 5, y + 8, { steps: 5 })
        await page.mouse.up()
        expect(await whenAt(page, '11')).toBe('11')

        await page.mouse.move(x + 125, y + 30)
        await page.mouse.down()
        await page.mouse.move(x + 250, y + 32, { steps: 4 })
        await page.mouse.up()
        await page.getByText('1 of 12 rows').waitFor()
        expect(await steps(page)).toEqual(['1'])
        await page.getByRole('button', { name: /show all times/ }).click()
        await page.getByText('11 steps, 1 inferred tool call', { exact: true }).last().waitFor()
      })

      test('describes the step under the pointer', async () => {
        soakOnly()
        const page = await openDrawn()
        const { x, y } = (await canvas(page).boundingBox())!
        await page.mouse.move(x + 200, y + 30)
        expect(await isThere(page, 'took 1.3 s · 1,200 → 80 tokens · $0.00380')).toBe(true)
      })

      test('zooms by keys and wheel, folds, and shows figures that add up', async () => {
        const page = await openDrawn('?step=9')
        const all = page.getByRole('button', { name: 'Show all of it' })
        expect(await all.isDisabled()).toBe(true)
        await page.keyboard.press('+')
        await page.waitForFunction(
          () => !document.querySelector('[aria-label="Show all of it"]:disabled'),
        )
        await page.keyboard.press('-')
        await page.waitForFunction(() =>
          document.querySelector('[aria-label="Show all of it"]:disabled'),
        )
        const { x, y } = (await canvas(page).boundingBox())!
        await page.mouse.move(x + 400, y + 30)
        await page.keyboard.down('Control')
        await page.mouse.wheel(0, -300)
        await page.keyboard.up('Control')
        await page.waitForFunction(
          () => !document.querySelector('[aria-label="Show all of it"]:disabled'),
        )
        await page.keyboard.press('0')
        await page.waitForFunction(() =>
          document.querySelector('[aria-label="Show all of it"]:disabled'),
        )

        const overlay = page.getByRole('group', { name: 'Overlay of the timeline' })
        await overlay.getByRole('button', { name: 'cost' }).click()
        await page
          .getByText('up to step 9: $0.00397 of $0.00397, without 1 call of unknown cost')
          .waitFor()
        await page.keyboard.press('t')
        await canvas(page).waitFor({ state: 'detached' })
        // Remembered in this browser.
        await page.reload()
        await page.getByRole('button', { name: 'Timeline', expanded: false }).click()
        await canvas(page).waitFor()
      })

      test('draws in both themes, with other colours in the dark one', async () => {
        soakOnly()
        const page = await openDrawn()
        const pixels = () =>
          canvas(page).evaluate((element) => {
            const { width, height } = element as HTMLCanvasElement
            const { data } = (element as HTMLCanvasElement)
              .getContext('2d')!
              .getImageData(0, 0, width, height)
            const colors = new Set<number>()
            for (let at = 0; at < data.length; at += 4)
              colors.add((data[at]! << 16) | (data[at + 1]! << 8) | data[at + 2]!)
            return { first: (data[0]! << 16) | (data[1]! << 8) | data[2]!, colors: colors.size }
          })
        await expect.poll(async () => (await pixels()).colors, patiently).toBeGreaterThan(10)
        const light = await pixels()
        await page.evaluate(() => {
          document.documentElement.dataset['theme'] = 'dark'
        })
        await expect.poll(async () => (await pixels()).first, patiently).not.toBe(light.first)
      })
    })

    describe('all events', () => {
      test('are listed and shown in full, and keys move between them', async () => {
        const page = await openRun('?step=5')
        expect(await whenAt(page, '5')).toBe('5')
        await page.keyboard.press('e')
        await page.locator('[data-event][aria-selected=true]').getByText('timetable').waitFor()
        expect(await page.getByRole('grid', { name: 'Events' }).getAttribute('aria-rowcount')).toBe(
          '38',
        )
        await page.keyboard.press('g')
        await page.getByRole('heading', { name: 'Event 0' }).waitFor()
        await page.locator('[data-event="1"]').getByText('POST api.openai.com').waitFor()
        await page.keyboard.press('j')
        await page.getByRole('heading', { name: 'Event 1' }).waitFor()
        await page.getByText('"url": "https://api.openai.com/v1/chat/completions"').waitFor()
        await page.keyboard.press('G')
        await page.getByRole('heading', { name: 'Event 36' }).waitFor()
        await page.getByText('"type": "seal"').waitFor()
        expect(addressOf(new URL(page.url())).get('event')).toBe('36')
        await page.keyboard.press('e')
        await page.getByRole('grid', { name: 'Steps' }).waitFor()
      })
    })

    describe('other screens', () => {
      test('on a phone the step is a separate view with a way back', async () => {
        const page = await openRun('', { viewport: { width: 390, height: 800 } })
        await page.locator('[data-step="9"]').click()
        await page.getByRole('button', { name: 'All steps' }).waitFor()
        await page.getByRole('grid').waitFor({ state: 'detached' })
        const width = () => page.evaluate(() => document.documentElement.scrollWidth)
        await expect.poll(width, patiently).toBe(390)
        await page.getByRole('button', { name: 'All steps' }).click()
        await page.locator('[data-step="9"]').waitFor()
        await expect.poll(width, patiently).toBe(390)
      })

      test('widths are changed by keyboard and remembered', async () => {
        soakOnly()
        const page = await openRun()
        const handle = page.getByRole('separator', { name: 'Width of the list' })
        const before = Number(await handle.getAttribute('aria-valuenow'))
        await handle.focus()
        await page.keyboard.press('ArrowRight')
        await page.waitForFunction(
          (width) =>
            Number(
              document
                .querySelector('[aria-label="Width of the list"]')
                ?.getAttribute('aria-valuenow'),
            ) > width,
          before,
        )
        await page.reload()
        await handle.waitFor()
        expect(Number(await handle.getAttribute('aria-valuenow'))).toBe(before + 16)
      })

      test('axe finds nothing serious on steps, events and filters', async () => {
        const page = await openRun('?state=failed')
        expect(await seriousViolations(page)).toEqual([])
        await page.keyboard.press('e')
        await page.getByRole('grid', { name: 'Events' }).waitFor()
        await page.keyboard.press('g')
        await page.getByRole('heading', { name: 'Event 0' }).waitFor()
        expect(await seriousViolations(page)).toEqual([])
      })

      test('global search opens a hit and the palette opens a step, by keyboard', async () => {
        const page = await openRun('?step=1')
        expect(await whenAt(page, '1')).toBe('1')
        await page.keyboard.press('/')
        await page.keyboard.type('timetable')
        // Not those of its beginning, which are seen first when the keys come slowly.
        await page.getByRole('listbox', { name: 'Hits for timetable', exact: true }).waitFor()
        await page.getByText(/of \d+ hits in \d+ steps?/).waitFor()
        await page.keyboard.press('Enter')
        await page.getByRole('dialog').waitFor({ state: 'detached' })
        await page.getByText(/1 of \d+/).waitFor()
        expect(addressOf(new URL(page.url())).get('q')).toBe('timetable')
        await page.keyboard.press('Control+k')
        await page.keyboard.type('9')
        await page.getByRole('option', { selected: true }).getByText(/^9/).first().waitFor()
        await page.keyboard.press('Enter')
        expect(await whenAt(page, '9')).toBe('9')
      })
    })
  })
}
