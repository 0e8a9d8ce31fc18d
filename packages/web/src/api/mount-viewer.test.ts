import { Hono } from 'hono'
import { expect, test } from 'vitest'
import { mountViewer, viewerPage } from './mount-viewer.js'
import { securityHeaders, type GuardEnv } from './responses.js'
import type { RunRepository } from './run-repository.js'

const PAGE = `<html>
  <head>
    <link rel="icon" href="data:," />
    <script type="module" crossorigin src="./assets/index-a.js"></script>
    <link rel="stylesheet" crossorigin href="./assets/index-b.css">
  </head>
</html>`

test('a page at the root names its assets and its nonce, and no base', () => {
  expect(viewerPage(PAGE, { base: '', assets: '/assets' }, 'n0nce')).toBe(`<html>
  <head>
    <meta name="csp-nonce" content="n0nce">
    <link rel="icon" href="data:," />
    <script type="module" crossorigin src="/assets/index-a.js"></script>
    <link rel="stylesheet" crossorigin href="/assets/index-b.css">
  </head>
</html>`)
})

test('a page below a path names its base and the shared assets, escaped', () => {
  const page = viewerPage(PAGE, { base: '/retake/a"$&/b', assets: '/retake/assets' }, '$&')
  expect(page).toContain('<meta name="retake-base" content="/retake/a&quot;$&amp;/b">')
  expect(page).toContain('<meta name="csp-nonce" content="$&">')
  expect(page).toContain('src="/retake/assets/index-a.js"')
  expect(page).toContain('href="/retake/assets/index-b.css"')
  expect(page).not.toContain('./assets')
})

const repository = { name: 'refunds', parent: { title: 'acme', href: '/' } } as RunRepository
const viewer = mountViewer(repository, { base: '/acme/refunds', assets: '/assets' })

test.each([
  ['route', new Hono<GuardEnv>().use(securityHeaders()).route('/acme/refunds', viewer)],
  ['mount', new Hono<GuardEnv>().use(securityHeaders()).mount('/acme/refunds', viewer.fetch)],
])('a viewer that is mounted with %s answers its API below the path', async (_, server) => {
  const answer = await server.request('/acme/refunds/api/repository')
  expect(await answer.json()).toEqual({
    name: 'refunds',
    canChange: false,
    parent: { title: 'acme', href: '/' },
  })
  expect(answer.headers.get('content-security-policy')).toMatch(/^default-src 'none'; [^,]*$/)
  const codeOf = async (path: string, init: RequestInit = {}): Promise<unknown> => {
    const { error } = (await (await server.request(path, init)).json()) as {
      error: { code: string }
    }
    return error.code
  }
  expect(await codeOf('/acme/refunds/api/nothing')).toBe('VIEWER_NO_SUCH_ADDRESS')
  const change = { method: 'POST', body: '{}' }
  expect(await codeOf('/acme/refunds/api/runs/x/rerun', change)).toBe('VIEWER_CHANGE_NOT_MARKED')
  const page = await server.request('/acme/refunds/runs/x', { method: 'DELETE' })
  expect(page.status).toBe(405)
  const nonce = /'nonce-([^']+)'/.exec(page.headers.get('content-security-policy') ?? '')?.[1]
  expect(await page.text()).toContain(`<style nonce="${nonce}">`)
})
