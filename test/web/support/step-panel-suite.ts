import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { seriousViolations } from './axe.js'
import { bytesOf, patiently } from './browser.js'
import { writeHostileRun } from './hostile-run.js'
import { TURNS, writeLongChat, writeOddBodies, writeToolLoop } from './odd-runs.js'
import { soakOnly } from '../../support/soak.js'

/** A place in a run, as a link names it. */
export interface PanelPlace {
  readonly step: string
  readonly tab?: string
  readonly field?: string
}

/** A page that was opened on one run, in whichever home. */
export interface OpenedRun {
  readonly page: Page
  /** Follows a link to a place in the run. */
  readonly goTo: (place: PanelPlace) => Promise<void>
}

/** Opens a run of the folder that `writePanelRuns` wrote to. Its page is fresh, its clipboard open. */
export type OpenPanelRun = (run: 'hostile' | 'odd' | 'long' | 'loop') => Promise<OpenedRun>

/** Writes the runs that these tests look at into the `.retake/runs` of a folder. */
export function writePanelRuns(folder: string): void {
  const agent = join(folder, 'clerk.mjs')
  writeFileSync(agent, 'const one = 1\nconst answer = await ask(one)\nthrow answer\n')
  writeHostileRun(folder, 'hostile')
  writeOddBodies(folder, 'odd')
  writeLongChat(folder, 'long')
  writeToolLoop(folder, 'loop', `${agent}:2:22`)
}

const tabPanel = (page: Page) => page.getByRole('tabpanel')
const stepOf = (page: Page) => page.locator('[data-panel=step]')
const stepTabs = (page: Page) => stepOf(page).getByRole('tab')

/** Everything the panel of a step promises, in one home. */
export function describeStepPanel(home: string, open: OpenPanelRun): void {
  describe(`the panel of a step in ${home}`, () => {
    test('a conversation is shown as a chat: calls beside results, new messages marked, earlier ones folded', async () => {
      const { page, goTo } = await open('loop')
      await goTo({ step: '3' })
      const messages = page.getByRole('list', { name: 'Messages' })
      await messages.getByText('Let me look.').waitFor()
      expect(await page.getByText('2 earlier messages, seen in step 1').isVisible()).toBe(true)
      const call = messages.locator('[data-field="messages.2.parts.1.args"]')
      const result = messages.locator('[data-field="messages.3.parts.0.content"]')
      const boxes = async () => [await call.boundingBox(), await result.boundingBox()] as const
      const [above, below] = await boxes()
      expect(above && below && above.y + above.height <= below.y).toBe(true)
      await page.setViewportSize({ width: 1920, height: 800 })
      const areBeside = async (): Promise<boolean | null> => {
        const [left, right] = await boxes()
        return left && right && left.x + left.width <= right.x
      }
      await expect.poll(areBeside, patiently).toBe(true)
      expect(await result.textContent()).toContain('"Lisbon"')
      expect(await messages.getByText('new', { exact: true }).count()).toBe(1)
      const answer = page.getByRole('list', { name: 'Answer' })
      expect(await answer.textContent()).toContain('It is in Lisbon.')
      const [first, second] = [await answer.boundingBox(), await messages.boundingBox()]
      expect(first && second && first.y < second.y).toBe(true)
      await page.getByRole('button', { name: 'Show them' }).click()
      await messages.getByText('You are a clerk.').waitFor()
    })

    test('a tool call of a model links to the step that ran it, and back', async () => {
      const { page, goTo } = await open('loop')
      await goTo({ step: '1' })
      await page.getByRole('list', { name: 'Answer' }).getByRole('link', { name: 'step 2' }).click()
      const heading = page.getByRole('heading', { level: 2 })
      await heading.filter({ hasText: 'find_order' }).waitFor()
      expect(await heading.innerText()).toContain('step 2 · tool call')
      await page.getByRole('link', { name: 'step 1', exact: true }).click()
      await heading.filter({ hasText: '1 tool call: find_order' }).waitFor()
    })

    test('facts that are not on the tape are unknown, never 0', async () => {
      soakOnly()
      const { page, goTo } = await open('loop')
      await goTo({ step: '3' })
      const fact = (name: string) => page.locator(`[data-field="${name}"]`).innerText()
      await page.locator('[data-field="usage"]').waitFor()
      expect(await fact('usage')).toContain('tokens unknown')
      expect(await fact('costUsd')).toContain('cost unknown')
      await goTo({ step: '1' })
      await page.locator('[data-field="usage.input"]').waitFor()
      expect(await fact('usage.input')).toContain('input 10 tokens')
      expect(await fact('scopes.1')).toContain('node plan')
    })

    test('a streamed answer plays at its recorded pace, but not automatically with reduced motion', async () => {
      const { page, goTo } = await open('loop')
      await goTo({ step: '3', tab: 'stream' })
      const answer = page.getByRole('list', { name: 'Answer so far' })
      await answer.getByText('It is in Lisbon.').waitFor()
      expect(await page.getByText('Time to first token 0.20 s, 5 chunks').isVisible()).toBe(true)
      await page.getByRole('button', { name: '0.40 s' }).click()
      await answer.getByText('It is', { exact: true }).waitFor()
      await page.getByRole('slider', { name: 'Position in the stream' }).fill('650')
      await answer.getByText('It is in', { exact: true }).waitFor()
      await page.getByRole('slider', { name: 'Position in the stream' }).fill('0')
      await answer.getByText('Nothing yet.').waitFor()
      const before = Date.now()
      await page.getByRole('heading', { name: 'When the chunks arrived' }).click()
      await page.keyboard.press(' ')
      await answer.getByText('It is in Lisbon.').waitFor()
      expect(Date.now() - before).toBeGreaterThan(700)
      await page.getByRole('button', { name: 'Play' }).waitFor()
    })

    test('binary bodies are shown as bytes', async () => {
      const { page, goTo } = await open('odd')
      await goTo({ step: '1', tab: 'request' })
      const bytes = page.getByRole('region', { name: 'Bytes' })
      await bytes.getByText('89 50 ff fe 00 0a 41 42').waitFor()
      await goTo({ step: '2', tab: 'response' })
      await bytes.getByText('7b 22 6e 61 6d 65 22 3a').waitFor()
      expect(await page.getByText('not text in UTF-8').isVisible()).toBe(true)
    })

    test('a message of 20 MB is shown in part and can be downloaded', async () => {
      soakOnly()
      const { page, goTo } = await open('odd')
      await goTo({ step: '3' })
      await page.getByText('startxxx').first().waitFor()
      await page.getByRole('button', { name: 'Show more of 20,000,005 characters' }).click()
      await page.getByText('The first 32,768 of 20,000,005 characters.').waitFor()
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Download the whole request' }).click(),
      ])
      expect((await bytesOf(download)).length).toBeGreaterThan(20_000_000)
      await stepOf(page).getByRole('tab', { name: 'Request' }).click()
      await page.getByText('Read all 20.0 MB as a tree').waitFor()
      expect((await tabPanel(page).textContent())?.length).toBeLessThan(200_000)
    })

    test('a list of 100,000 renders only what is on the screen', async () => {
      soakOnly()
      const { page, goTo } = await open('odd')
      await goTo({ step: '4', tab: 'request' })
      await page.getByRole('button', { name: 'as a tree' }).click()
      const tree = page.getByRole('tree')
      await tree.getByText('entry 0', { exact: false }).first().waitFor()
      await tree.getByRole('treeitem').first().focus()
      await page.keyboard.press('End')
      await tree.getByText('"entry 99999"').waitFor()
      expect(await tree.getByRole('treeitem').count()).toBeLessThan(200)
    })

    test('a value nested 10,000 levels deep can be expanded to the last level', async () => {
      const { page, goTo } = await open('odd')
      await goTo({ step: '5', tab: 'request' })
      const tree = page.getByRole('tree')
      await tree.getByRole('treeitem').first().waitFor()
      await page.getByRole('button', { name: 'Open all' }).click()
      await tree.getByRole('treeitem').first().focus()
      await page.keyboard.press('End')
      await tree.getByText('"bottom"').waitFor()
      expect(await tree.getByRole('treeitem').last().getAttribute('aria-level')).toBe('10001')
    })

    test('arrow keys move through a tree, expand and collapse it', async () => {
      const { page, goTo } = await open('loop')
      await goTo({ step: '2' })
      const tree = page.getByRole('tree').first()
      const focused = () => page.evaluate<string>('document.activeElement.textContent')
      await tree.getByRole('treeitem').first().focus()
      await page.keyboard.press('ArrowDown')
      await expect.poll(focused, patiently).toContain('order')
      await page.keyboard.press('ArrowDown')
      await page.keyboard.press('ArrowLeft')
      const closed = tree.getByRole('treeitem', { expanded: false })
      await expect.poll(() => closed.count(), patiently).toBe(1)
      await expect.poll(() => tree.getByText('x.y').count(), patiently).toBe(0)
      await page.keyboard.press('ArrowRight')
      await tree.getByText('x.y').waitFor()
    })

    test('a conversation of 280 turns shows its end first, and the rest on request', async () => {
      soakOnly()
      const { page, goTo } = await open('long')
      await goTo({ step: String(TURNS) })
      await page.getByText(`question ${TURNS} `).waitFor()
      expect(await page.getByText('559 earlier messages, seen in step 279').isVisible()).toBe(true)
      const messages = page.getByRole('list', { name: 'Messages' }).getByRole('listitem')
      await expect.poll(() => messages.count(), patiently).toBe(1)
      await page.getByRole('button', { name: 'Show the 60 before' }).click()
      await expect.poll(() => messages.count(), patiently).toBe(61)
      await page.getByRole('button', { name: 'Show all 499' }).click()
      await expect.poll(() => messages.count(), patiently).toBe(560)
      await page.getByText('Be brief.').waitFor({ state: 'attached' })
    })

    test('a link to a field of an early message loads it, marks it and scrolls to it', async () => {
      soakOnly()
      const { page, goTo } = await open('long')
      await goTo({ step: String(TURNS), field: 'messages.100.parts.0.text' })
      const marked = page.locator('[aria-current="location"]')
      await marked.getByText('answer 50 ').waitFor()
      await expect.poll(() => isOnScreen(page), patiently).toBe(true)
    })

    test('a link to a nested value expands the tree to it', async () => {
      soakOnly()
      const { page, goTo } = await open('loop')
      const field = 'answer.0.parts.1.args.deep."x.y".2.z'
      await goTo({ step: '1', field })
      const marked = page.locator('[role=treeitem][aria-current="location"]')
      await marked.filter({ hasText: 'z: 3' }).waitFor()
      await marked.hover()
      await marked.getByRole('button', { name: `Copy link to ${field}` }).click()
      await page.getByText(`Copied the link to ${field}`).waitFor()
      const link = new URL(await clipboard(page))
      const search = link.hash === '' ? link.search : link.hash.replace(/^[^?]*/, '')
      expect(new URLSearchParams(search).get('field')).toBe(field)
      expect(new URLSearchParams(search).get('tab')).toBe('chat')
    })

    test('the console shows output up to the step; later output is hidden until requested', async () => {
      const { page, goTo } = await open('loop')
      await goTo({ step: '2', tab: 'console' })
      const output = page.getByRole('list', { name: 'Output', exact: true })
      await output.getByText('before').waitFor()
      expect(await output.getByText('between').count()).toBe(0)
      await goTo({ step: '3', tab: 'console' })
      await output.getByText('between', { exact: true }).waitFor()
      // What is written stands there also where the browser leaves drawing for later: no `innerText`.
      expect(await output.getByRole('listitem').last().textContent()).toMatch(/err\s*between$/)
      expect(await page.getByText('after', { exact: true }).count()).toBe(0)
      await page.getByRole('checkbox', { name: 'Show later output, 1 write' }).check()
      await page.getByRole('list', { name: 'Later output' }).getByText('after').waitFor()
    })

    test('files are split into those around this step and earlier ones', async () => {
      soakOnly()
      const { page, goTo } = await open('loop')
      await goTo({ step: '2', tab: 'files' })
      await page.getByText('note.txt').waitFor()
      expect(await tabPanel(page).textContent()).toContain('write')
      await goTo({ step: '3', tab: 'files' })
      await page.getByRole('heading', { name: 'Before, 1 file operation' }).waitFor()
      expect(await tabPanel(page).getByRole('link', { name: 'step 2' }).isVisible()).toBe(true)
    })

    test('an error is shown with its class, code, cause and own frames first', async () => {
      const { page, goTo } = await open('loop')
      await goTo({ step: '4', tab: 'error' })
      await page.getByText('PolicyError: not allowed', { exact: true }).waitFor()
      const text = await tabPanel(page).innerText()
      expect(text).toContain('code E_POLICY')
      expect(text).toContain('1 frame of packages and Node')
      expect(text).toMatch(/Caused by\s+Error: the root of it/)
    })

    test('the events of a step are listed as they are on the tape, and each can be expanded', async () => {
      const { page, goTo } = await open('loop')
      await goTo({ step: '3', tab: 'events' })
      await page.getByText('8 events of this step').waitFor()
      await tabPanel(page).locator('summary').first().click()
      await page.getByRole('tree').getByText('seam').waitFor()
      expect(await tabPanel(page).locator('summary').count()).toBe(8)
    })

    test('keys copy the link and the request as curl; numbers choose the tab', async () => {
      const { page, goTo } = await open('loop')
      await goTo({ step: '3' })
      await stepOf(page).getByRole('tab', { name: 'Chat' }).waitFor()
      await page.keyboard.press('c')
      await page.getByText('Copied the request as curl').waitFor()
      const curl = await clipboard(page)
      expect(curl).toMatch(/^curl -X/)
      expect(curl).toContain('https://api.openai.com/v1/chat/completions')
      expect(curl).toContain('Where is order 1182?')
      await page.keyboard.press('3')
      await stepOf(page).getByRole('tab', { name: 'Request', selected: true }).waitFor()
      expect(page.url()).toContain('tab=request')
      await page.keyboard.press('y')
      await page.getByText('Copied the link').waitFor()
      await expect.poll(() => clipboard(page), patiently).toBe(withoutToken(page.url()))
    })

    test('a missing step is reported', async () => {
      soakOnly()
      const { page, goTo } = await open('loop')
      await goTo({ step: '99' })
      await page.getByText('There is no step 99 in this run.').waitFor()
      await goTo({ step: '1', tab: 'nonsense', field: 'a..b"' })
      await stepOf(page).getByRole('tab', { name: 'Chat', selected: true }).waitFor()
      expect(await page.locator('[aria-current="location"]').count()).toBe(0)
    })

    test('hostile content is shown as plain text in every tab of every step', async () => {
      const { page, goTo } = await open('hostile')
      const asked: string[] = []
      page.on('request', (request) => asked.push(request.url()))
      page.on('dialog', (dialog) => {
        asked.push(`dialog ${dialog.message()}`)
        void dialog.dismiss()
      })
      const seen: string[] = []
      for (const step of ['1', '2', '3', '4', '5']) {
        await goTo({ step })
        await stepTabs(page).first().waitFor()
        for (const tab of await stepTabs(page).all()) {
          await tab.click()
          await tabPanel(page)
            .getByText(/^Reading /)
            .waitFor({ state: 'detached' })
          // All at once: what one of them opens may take the place of others.
          await tabPanel(page)
            .getByRole('button', { name: /^(Show|Open all)/ })
            .evaluateAll((buttons) => {
              for (const button of buttons) (button as HTMLButtonElement).click()
            })
          seen.push((await stepOf(page).textContent()) ?? '')
        }
      }
      expect(await page.evaluate(() => Object.hasOwn(globalThis, '__hacked'))).toBe(false)
      expect(
        await page.locator('#root :is(img, script, iframe, object, embed, base, form)').count(),
      ).toBe(0)
      expect(
        await page
          .locator('#root a:not([href^="http"], [href^="file"], [href^="/"], [href^="#"])')
          .count(),
      ).toBe(0)
      const home = new URL(page.url())
      expect(
        asked.filter((url) => !/^(blob|data):/.test(url) && new URL(url).host !== home.host),
      ).toEqual([])
      const all = seen.join('\n')
      const places = ['mark name', 'system', 'fence', 'code', 'part', 'image url', 'called tool']
      places.push('argument', 'tool content', 'answer', 'header name', 'header value', 'model')
      places.push('finish reason', 'agent place', 'site', 'request body', 'response body', 'url')
      places.push('status text', 'tool name', 'args value', 'result', 'error message', 'error code')
      places.push('prop value', 'cause', 'stdout', 'stderr', 'file path')
      const markup = (where: string) => `${where}<img src=x onerror=`
      expect(places.filter((where) => !all.includes(markup(where)))).toEqual([])
      expect(all).toContain('⟨U+202E⟩')
      // oxlint-disable-next-line no-control-regex -- these are what must not be there
      expect(all).not.toMatch(/[\u202e\u200b\0\u001b]/)
    })

    test('axe finds nothing serious on any tab', async () => {
      const { page, goTo } = await open('loop')
      const found: string[] = []
      for (const [step, ...only] of [['3'], ['4', 'Tool', 'Error', 'Source']] as const) {
        await goTo({ step })
        await stepTabs(page).first().waitFor()
        for (const tab of await stepTabs(page).all()) {
          const name = await tab.innerText()
          if (only.length > 0 && !only.some((each) => each === name)) continue
          await tab.click()
          await tabPanel(page)
            .getByText(/^Reading /)
            .waitFor({ state: 'detached' })
          const violations = await seriousViolations(page, '[data-panel=step]')
          found.push(...violations.map((each) => `${step} ${name}: ${each}`))
        }
      }
      expect(found).toEqual([])
    })
  })
}

const clipboard = (page: Page): Promise<string> =>
  page.evaluate<string>('navigator.clipboard.readText()')

const withoutToken = (address: string): string => {
  const url = new URL(address)
  url.searchParams.delete('token')
  return url.href
}

const isOnScreen = async (page: Page): Promise<boolean> => {
  const box = await page.locator('[aria-current="location"]').boundingBox()
  const height = page.viewportSize()?.height ?? 0
  return box !== null && box.y >= 0 && box.y + box.height <= height
}
