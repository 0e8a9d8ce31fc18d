import { once } from 'node:events'
import os from 'node:os'
import { Hono } from 'hono'
import { createAccess, guardRequests } from './access.js'
import { mountViewer, viewerAssets } from './mount-viewer.js'
import { createNodeServer } from './node-server.js'
import type { RunRepository } from './run-repository.js'
import { securityHeaders, errorPage, type GuardEnv } from './responses.js'

export interface ViewerServer {
  /** The address to open, with the token if there is one. */
  readonly url: string
  readonly port: number
  /** The address of a page such as `/runs/x?step=3`. */
  link(page: string): string
  /** Closes immediately, even while streams are open. */
  close(): Promise<void>
}

export interface ServeOptions {
  /** 0: any free port. */
  readonly port: number
  /** Without a password, only a loopback address is allowed. */
  readonly host?: string
  /** Names that reach the server through a proxy. */
  readonly allowHosts?: readonly string[]
  /** Replaces the token. */
  readonly password?: string
}

const LOOPBACK = ['127.0.0.1', 'localhost', '::1']

/** Accepts IPv6 addresses in brackets, as in a URL. */
export const isLoopback = (host: string): boolean =>
  /^(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)$/i.test(host)

/** Serves the viewer and its API until closed. Rejects with the system error if it cannot listen. */
export async function serveViewer(
  repository: RunRepository,
  options: ServeOptions,
): Promise<ViewerServer> {
  const { allowHosts = [], password } = options
  // `localhost` may be IPv4 or IPv6. Browsers try this address first.
  const { host: requested = 'localhost' } = options
  const host = requested === 'localhost' ? '127.0.0.1' : requested
  if (!isLoopback(host) && password === undefined)
    throw new Error(`the viewer does not listen on ${host} without a password`)
  const app = new Hono<GuardEnv>()
  const server = createNodeServer((request, env) => app.fetch(request, env), host)
  server.maxConnections = 500
  server.listen(options.port, host)
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : options.port
  const access = createAccess({ port, hosts: namesOf(host), allowHosts, password })
  app
    .use(securityHeaders())
    .use(guardRequests(access))
    .route('/assets', viewerAssets())
    .route('/', mountViewer(repository, { base: '', assets: '/assets' }))
    .onError(errorPage)
  // A host name that browsers can open, unlike 0.0.0.0.
  const outer = ownAddresses().find(({ family, internal }) => family === 'IPv4' && !internal)
  const name = isEveryAddress(host) ? (outer?.address ?? '127.0.0.1') : host
  const origin = `http://${name.includes(':') ? `[${name}]` : name}:${port}`
  const link = (page: string): string => {
    const url = new URL(page, origin)
    if (access.token !== undefined) url.searchParams.set('token', access.token)
    return url.href
  }
  return {
    url: link('/'),
    port,
    link,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function namesOf(host: string): string[] {
  if (isLoopback(host)) return [...LOOPBACK, host]
  if (!isEveryAddress(host)) return [host]
  return [...LOOPBACK, os.hostname(), ...ownAddresses().map(({ address }) => address)]
}

const isEveryAddress = (host: string): boolean => host === '0.0.0.0' || host === '::'

const ownAddresses = (): os.NetworkInterfaceInfo[] =>
  Object.values(os.networkInterfaces()).flatMap((each) => each ?? [])
