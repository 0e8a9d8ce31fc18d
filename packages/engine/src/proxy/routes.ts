import { routedProvider } from '@retake/tape'
import { errors } from '../errors.js'

export interface Route {
  readonly name: string
  /** Target of the requests, without a trailing slash. */
  readonly upstream: string
}

/**
 * Finds the provider of a request. In this order: the first path segment is the name of a route
 * (`/openai/v1/…`), the request names the host of a route (an absolute URL or the `Host` header),
 * there is only one route, or the path belongs to one known route alone. A known client may name
 * any host. Returns the whole upstream address; undefined if nothing decides.
 */
export function findRoute(
  routes: readonly Route[],
  target: string,
  host: string | undefined,
  client?: object,
): URL | undefined {
  const absolute = /^https?:\/\/([^/?#]+)([^]*)$/i.exec(target)
  const path = absolute ? absolute[2] || '/' : target
  if (!absolute) {
    const [, first = '', rest = ''] = /^\/([^/?#]*)([^]*)$/.exec(path) ?? []
    const named = routes.find(({ name }) => name === first)
    if (named) return routed(named, rest)
  }
  const wanted = (absolute?.[1] ?? host ?? '').toLowerCase()
  const [route] = only(routes.filter((route) => addressOf(route).host === wanted))
  if (route) return routed(route, path, true)
  if (absolute) return client && URL.canParse(target) ? new URL(target) : undefined
  const [known] = routes.length === 1 ? routes : only(routes.filter((each) => isPathOf(each, path)))
  return known && routed(known, path)
}

/**
 * The address of a redirect for a client that names a route in its path: it stays on that route
 * instead of leaving the proxy, or of naming none. Other addresses are returned unchanged.
 */
export function redirectOn(
  routes: readonly Route[],
  { target, url }: { readonly target: string; readonly url: URL },
  location: string,
): string {
  const [, first = ''] = /^\/([^/?#]*)/.exec(target) ?? []
  const named = routes.find(({ name }) => name === first)
  if (named === undefined || !URL.canParse(location, url.href)) return location
  const to = new URL(location, url)
  const base = addressOf(named)
  const path = base.pathname.replace(/\/$/, '')
  if (to.origin !== base.origin || !`${to.pathname}/`.startsWith(`${path}/`)) return location
  return `/${named.name}${to.pathname.slice(path.length)}${to.search}${to.hash}`
}

const isPathOf = ({ name, upstream }: Route, path: string): boolean =>
  routedProvider(name, upstream)?.address?.paths.test(path) === true

/**
 * `isWhole`: the request names the origin itself, so its path already includes the base path of the
 * route.
 */
function routed(route: Route, path: string, isWhole = false): URL | undefined {
  const url = (isWhole ? addressOf(route).origin : route.upstream) + path
  return URL.canParse(url) ? new URL(url) : undefined
}

/** Parsed once, because every request needs it. */
const addresses = new WeakMap<Route, URL>()

function addressOf(route: Route): URL {
  const known = addresses.get(route) ?? new URL(route.upstream)
  addresses.set(route, known)
  return known
}

const only = <T>(found: readonly T[]): readonly T[] => (found.length === 1 ? found : [])

/** Reads `https://api.openai.com` or `openai=https://api.openai.com`. */
export function parseUpstreams(texts: readonly string[]): Route[] {
  const routes: Route[] = []
  for (const text of texts) {
    const [, name, address = ''] = /^(?:([a-z][\w-]*)=)?(.*)$/i.exec(text) ?? []
    const isUrl = /^https?:\/\//i.test(address) && URL.canParse(address)
    if (!isUrl) throw errors.UPSTREAM_INVALID(text)
    const upstream = address.replace(/\/+$/, '')
    // `api.openai.com` becomes `openai`; an unknown host keeps its name.
    const route = {
      name:
        name ??
        routedProvider('', upstream)?.address?.route ??
        new URL(upstream).hostname.replaceAll('.', '-'),
      upstream,
    }
    if (routes.some((each) => each.name === route.name)) throw errors.UPSTREAM_TWICE(route.name)
    routes.push(route)
  }
  return routes
}
