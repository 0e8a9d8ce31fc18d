import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { launchChromium } from '../../scripts/launch-chromium.mjs'
import { makeWorkspace } from '../support/run-retake.mjs'
import { patiently } from './support/browser.js'
import { launchUi, type Ui } from './support/start-ui.js'
import { writeTape } from './support/write-tape.js'
import { sampled, soakOnly } from '../support/soak.js'

/**
 * A page that wants to read and change runs, opened in a browser that was let in to
 * the viewer. On 127.0.0.1 it is on the viewer's own site, where cookies are sent
 * along; on localhost it is on another.
 */
let workspace: Awaited<ReturnType<typeof makeWorkspace>>
let ui: Ui
let viewer: string
let hostile: Server
let browser: Browser
let context: BrowserContext

beforeAll(async () => {
  workspace = await makeWorkspace()
  writeTape(workspace.folder, { id: 'private-run' }, (script) =>
    script.chat([{ role: 'user', content: 'Hello' }], 'Hello yourself'),
  )
  ui = await launchUi(workspace.folder)
  viewer = new URL(ui.url).origin
  hostile = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html')
    response.end('<!doctype html><title>hostile</title><body></body>')
  })
  hostile.listen(0, '127.0.0.1')
  await once(hostile, 'listening')
  browser = await launchChromium()
  context = await browser.newContext()
  const own = await context.newPage()
  await own.goto(ui.url)
  await own.getByText('private-run').first().waitFor()
  await own.close()
})

afterAll(async () => {
  await browser.close()
  hostile.close()
  hostile.closeAllConnections()
  await ui.stop()
  await workspace.remove()
})

/** The page at one of its names, and the statuses the viewer answered it with, also what the page never saw. */
async function openHostile(name: string): Promise<{ page: Page; statuses: Set<number> }> {
  const page = await context.newPage()
  await page.goto(`http://${name}:${(hostile.address() as AddressInfo).port}/`)
  const statuses = new Set<number>()
  const devtools = await context.newCDPSession(page)
  devtools.on('Network.responseReceivedExtraInfo', ({ statusCode }) => statuses.add(statusCode))
  await devtools.send('Network.enable')
  return { page, statuses }
}

/** The viewer's own page does the same and is answered: what is refused is who asks. */
async function openOwn(): Promise<Page> {
  const page = await context.newPage()
  await page.goto(`${viewer}/`)
  return page
}

const names = sampled(['127.0.0.1', 'localhost'], (name) => name === '127.0.0.1')

describe.each(names)('a page at another port of %s', (name) => {
  test('reads nothing with fetch, and changes nothing', async () => {
    const { page, statuses } = await openHostile(name)
    const attempts = await page.evaluate(async (to) => {
      const json = { 'content-type': 'application/json' }
      const marked = { ...json, 'x-retake': '1' }
      const tries: [string, string, RequestInit][] = [
        ['read', '/api/runs', {}],
        ['read with cookie', '/api/runs', { credentials: 'include' }],
        ['read unseen', '/api/runs', { credentials: 'include', mode: 'no-cors' }],
        ['page', '/', { credentials: 'include' }],
        [
          'change',
          '/api/jobs/x/stop',
          { method: 'POST', headers: marked, body: '{}', credentials: 'include' },
        ],
        [
          'change unseen',
          '/api/jobs/x/stop',
          { method: 'POST', body: '{}', credentials: 'include', mode: 'no-cors' },
        ],
        [
          'delete',
          '/api/sessions/x',
          { method: 'DELETE', headers: marked, credentials: 'include' },
        ],
      ]
      const told: Record<string, string> = {}
      for (const [what, path, init] of tries)
        told[what] = await fetch(to + path, init).then(
          (response) => `${response.type} ${response.status}`,
          () => 'failed',
        )
      return told
    }, viewer)
    expect(attempts).toEqual({
      read: 'failed',
      'read with cookie': 'failed',
      // The page cannot look into these; the viewer has refused them all the same.
      'read unseen': expect.stringMatching(/^failed$|^opaque 0$/),
      page: 'failed',
      change: 'failed',
      'change unseen': expect.stringMatching(/^failed$|^opaque 0$/),
      delete: 'failed',
    })
    await expect.poll(() => statuses, patiently).toEqual(new Set([403, 405]))
    await page.close()

    const own = await openOwn()
    const answers = await own.evaluate(async () => {
      const headers = { 'content-type': 'application/json', 'x-retake': '1' }
      const read = await fetch('/api/runs')
      const change = await fetch('/api/jobs/x/stop', { method: 'POST', headers, body: '{}' })
      const { error } = (await change.json()) as { error: { code: string } }
      return [read.status, error.code]
    })
    expect(answers).toEqual([200, 'NO_SUCH_JOB'])
    await own.close()
  })

  test('gets nothing as an image, a script, a style or a frame', async () => {
    soakOnly()
    const { page, statuses } = await openHostile(name)
    const attempts = await page.evaluate(async (to) => {
      const load = (tag: string, attributes: Record<string, string>) =>
        new Promise<string>((resolve) => {
          const element = Object.assign(document.createElement(tag), attributes)
          element.addEventListener('load', () => resolve('loaded'))
          element.addEventListener('error', () => resolve('failed'))
          document.body.append(element)
        })
      return {
        image: await load('img', { src: `${to}/api/runs/private-run/steps/1/body/request` }),
        script: await load('script', { src: `${to}/api/runs` }),
        style: await load('link', { rel: 'stylesheet', href: `${to}/api/runs` }),
      }
    }, viewer)
    expect(attempts).toEqual({ image: 'failed', script: 'failed', style: 'failed' })
    await page.evaluate((to) => {
      const frame = Object.assign(document.createElement('iframe'), { src: to })
      document.body.append(frame)
      return new Promise((resolve) => frame.addEventListener('load', resolve))
    }, viewer)
    const frame = page.frames().find((each) => each !== page.mainFrame())
    expect(await frame?.getByText('private-run').count()).toBe(0)
    await expect.poll(() => statuses, patiently).toEqual(new Set([403]))
    await page.close()
  })

  test('cannot send a form', async () => {
    const { page } = await openHostile(name)
    const [answer] = await Promise.all([
      page.waitForResponse((response) => response.request().method() === 'POST'),
      page.evaluate((to) => {
        const form = document.createElement('form')
        Object.assign(form, {
          method: 'post',
          action: `${to}/api/jobs/x/stop`,
          enctype: 'text/plain',
        })
        document.body.append(form)
        form.submit()
      }, viewer),
    ])
    expect(answer.status()).toBe(403)
    await page.close()
  })

  test('receives no changes over a stream or a socket', async () => {
    soakOnly()
    const { page, statuses } = await openHostile(name)
    const attempts = await page.evaluate(async (to) => {
      const heard = (source: EventSource | WebSocket) =>
        new Promise<string>((resolve) => {
          source.addEventListener('open', () => resolve('open'))
          source.addEventListener('message', () => resolve('message'))
          source.addEventListener('error', () => resolve('failed'))
        })
      return [
        await heard(new EventSource(`${to}/api/changes`, { withCredentials: true })),
        await heard(new WebSocket(`${to.replace('http', 'ws')}/api/changes`)),
      ]
    }, viewer)
    expect(attempts).toEqual(['failed', 'failed'])
    await expect.poll(() => statuses, patiently).toEqual(new Set([403]))
    await page.close()

    const own = await openOwn()
    const first = await own.evaluate(async () => {
      const reader = (await fetch('/api/changes')).body?.getReader()
      const { value } = (await reader?.read()) ?? {}
      await reader?.cancel()
      return new TextDecoder().decode(value)
    })
    expect(first).toBe('{"type":"alive"}\n')
    await own.close()
  })

  test('can open the viewer in a tab but has no reference to it', async () => {
    soakOnly()
    const { page } = await openHostile(name)
    const [opened, held] = await Promise.all([
      context.waitForEvent('page'),
      page.evaluate(async (to) => {
        const handle = window.open(`${to}/runs/private-run`)
        await new Promise((resolve) => {
          const look = setInterval(() => {
            if (handle?.closed !== true) return
            clearInterval(look)
            resolve(undefined)
          }, 20)
        })
        return handle?.closed
      }, viewer),
    ])
    expect(held).toBe(true)
    // From another site the browser keeps our cookie back; one click on our own page sends it.
    if (name === 'localhost') await opened.getByRole('link', { name: /continue$/ }).click()
    await opened.getByText('Hello yourself').first().waitFor()
    await opened.close()
    await page.close()
  })
})

describe('a name that was made to resolve to this machine', () => {
  test('opens nothing, even with the key', async () => {
    soakOnly()
    const rebound = await launchChromium(['--host-resolver-rules=MAP rebound.test 127.0.0.1'])
    try {
      const page = await rebound.newPage()
      const { port } = new URL(viewer)
      const answer = await page.goto(`http://rebound.test:${port}/?token=${ui.token}`)
      expect(answer?.status()).toBe(421)
      expect(await page.textContent('h1')).toContain(`rebound.test:${port}`)
      const inside = await page.evaluate(async () => (await fetch('/api/runs')).status)
      expect(inside).toBe(421)
    } finally {
      await rebound.close()
    }
  })
})

describe('the key in the address', () => {
  test('is in no later request and nowhere a page could read it', async () => {
    const fresh = await browser.newContext()
    const page = await fresh.newPage()
    const sent: string[] = []
    page.on('request', (request) => {
      sent.push(`${request.url()} ${JSON.stringify(request.headers())}`)
    })
    await page.goto(ui.at('/runs/private-run?step=1'))
    await page.getByText('Hello yourself').first().waitFor()
    expect(sent.filter((each) => each.includes(ui.token))).toHaveLength(1)
    expect(page.url()).not.toContain('token')
    expect(await page.evaluate(() => document.cookie + document.referrer)).toBe('')
    await page.goto(`http://localhost:${(hostile.address() as AddressInfo).port}/`)
    expect(await page.evaluate(() => document.referrer)).toBe('')
    await fresh.close()
  })
})
