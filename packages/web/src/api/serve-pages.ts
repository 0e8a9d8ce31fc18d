import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { Hono } from 'hono'
import { noSuchAddress } from '../errors.js'
import type { GuardEnv } from './answer-headers.js'
import { webRoot } from '../package-root.js'

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
}

const built = fileURLToPath(new URL('dist/live/', webRoot))

/** The page, the same for every address of the viewer, and its scripts, styles and fonts. */
export const servePages = () =>
  new Hono<GuardEnv>()
    .get('/assets/:file', async (c) => {
      const file = c.req.param('file')
      // A plain name: nothing in it can lead out of the folder.
      if (!/^[\w-][\w.-]*$/.test(file)) throw noSuchAddress(c.req.path)
      const bytes = await readFile(path.join(built, 'assets', file)).catch(() => undefined)
      if (bytes === undefined) throw noSuchAddress(c.req.path)
      return c.body(new Uint8Array(bytes), 200, {
        'content-type': TYPES[path.extname(file)] ?? 'application/octet-stream',
        // The name changes with the content.
        'cache-control': 'private, max-age=31536000, immutable',
      })
    })
    .get('/assets/*', (c) => {
      throw noSuchAddress(c.req.path)
    })
    .get('/favicon.ico', (c) => {
      throw noSuchAddress(c.req.path)
    })
    .get('*', async (c) => {
      const page = await readFile(path.join(built, 'index.html'), 'utf8')
      const nonce = `<meta name="csp-nonce" content="${c.get('nonce')}">`
      return c.html(page.replace('<head>', () => `<head>\n    ${nonce}`))
    })
