import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { createApi } from './api.js'
import type { Home } from './home.js'

export interface ViewerServer {
  /** Where to open the viewer, with the token in it. */
  readonly url: string
  close(): Promise<void>
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
}

const pages = fileURLToPath(new URL('../live/', import.meta.url))

/** Serves the viewer and its API until it is closed. */
export async function serveViewer(home: Home, { port }: { port: number }): Promise<ViewerServer> {
  const app = new Hono()
    .route('/api', createApi(home))
    .get('/assets/:file', async (c) => {
      const file = path.basename(c.req.param('file'))
      const bytes = await readFile(path.join(pages, 'assets', file))
      return c.body(new Uint8Array(bytes), 200, {
        'content-type': TYPES[path.extname(file)] ?? 'application/octet-stream',
      })
    })
    .get('*', async (c) => c.html(await readFile(path.join(pages, 'index.html'), 'utf8')))
  const server = serve({ fetch: app.fetch, port, hostname: '127.0.0.1' })
  await new Promise((resolve) => server.once('listening', resolve))
  const address = server.address()
  const bound = typeof address === 'object' && address !== null ? address.port : port
  return {
    url: `http://127.0.0.1:${bound}/`,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}
