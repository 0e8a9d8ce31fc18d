import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { Hono } from 'hono'
import { viewerErrors } from './errors.js'
import { webRoot } from '../built/package-root.js'
import { escapeHtml } from '../report/make-report.js'
import { createApi } from './api.js'
import { securityHeaders, errorPage, type GuardEnv } from './responses.js'
import type { RunRepository } from './run-repository.js'

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
}

const built = fileURLToPath(new URL('dist/live/', webRoot))

/** Paths as the browser sees them, without a trailing slash. */
export interface ViewerPaths {
  /** Path of the viewer; empty at the root. */
  readonly base: string
  /** Path of `viewerAssets`, which several viewers can share. */
  readonly assets: string
}

/**
 * The pages and API of a viewer, relative to the path where it is mounted. Does not check who sends a
 * request; the server that mounts it must.
 */
export const mountViewer = (repository: RunRepository, paths: ViewerPaths): Hono<GuardEnv> =>
  new Hono<GuardEnv>()
    .onError(errorPage)
    .use(securityHeaders())
    .route('/api', createApi(repository))
    .get('/favicon.ico', (c) => {
      throw viewerErrors.VIEWER_NO_SUCH_ADDRESS(c.req.path)
    })
    .get('*', async (c) => {
      const page = await readFile(path.join(built, 'index.html'), 'utf8')
      return c.html(viewerPage(page, paths, c.get('nonce')))
    })
    .all('*', (c) => {
      throw viewerErrors.VIEWER_METHOD_NOT_ALLOWED(c.req.method)
    })

/** The style sheet among `viewerAssets`, for other pages that share the viewer's look. */
export function viewerStyleName(): string {
  const page = readFileSync(path.join(built, 'index.html'), 'utf8')
  return /href="\.\/assets\/([^"]+\.css)"/.exec(page)?.[1] ?? ''
}

export function viewerPage(page: string, { base, assets }: ViewerPaths, nonce: string): string {
  const metas = [
    `<meta name="csp-nonce" content="${nonce}">`,
    ...(base === '' ? [] : [`<meta name="retake-base" content="${escapeHtml(base)}">`]),
  ]
  return page
    .replaceAll('="./assets/', () => `="${escapeHtml(assets)}/`)
    .replace('<head>', () => ['<head>', ...metas].join('\n    '))
}

/** Scripts and styles of the viewer. Their names contain a hash of their content. */
export const viewerAssets = (): Hono<GuardEnv> =>
  new Hono<GuardEnv>()
    .onError(errorPage)
    .use(securityHeaders())
    .get('/:file', async (c) => {
      const file = c.req.param('file')
      // A plain name cannot lead out of the folder.
      if (!/^[\w-][\w.-]*$/.test(file)) throw viewerErrors.VIEWER_NO_SUCH_ADDRESS(c.req.path)
      const bytes = await readFile(path.join(built, 'assets', file)).catch(() => undefined)
      if (bytes === undefined) throw viewerErrors.VIEWER_NO_SUCH_ADDRESS(c.req.path)
      return c.body(new Uint8Array(bytes), 200, {
        'content-type': TYPES[path.extname(file)] ?? 'application/octet-stream',
        'cache-control': 'private, max-age=31536000, immutable',
      })
    })
    .get('*', (c) => {
      throw viewerErrors.VIEWER_NO_SUCH_ADDRESS(c.req.path)
    })
