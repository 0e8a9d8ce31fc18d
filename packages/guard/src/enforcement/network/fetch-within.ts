import { type FetchInput, natives } from '@retake/engine/hook'
import type { CallBounds } from '../../bounds/call-bounds.js'
import {
  divideSharedPool,
  sharedDispatcher,
  withDispatch,
  type Dispatcher,
} from './undici-requests.js'

/** `fetch` on behalf of guarded calls: the request is judged, and so is each that a redirect leads to. */
export async function fetchWithin(
  bounds: readonly CallBounds[],
  input: FetchInput,
  init: RequestInit | undefined,
): Promise<Response> {
  const url = urlOf(input)
  const method = init?.method ?? (input instanceof Request ? input.method : 'GET')
  if (url !== undefined && !LOCAL.test(url.protocol))
    for (const each of bounds) each.request(method, url)
  return natives.fetch(input, { ...init, ...hopsWithin(bounds, input, init) })
}

/** Nothing is connected to for these. */
const LOCAL = /^(?:data|blob|about):$/

/** A dispatcher for one fetch, called once for every hop. */
export function hopsWithin(
  bounds: readonly CallBounds[],
  input: FetchInput,
  init: RequestInit | undefined,
): Pick<RequestInit, 'dispatcher'> {
  divideSharedPool()
  const given = (init as { dispatcher?: Dispatcher } | undefined)?.dispatcher
  const dispatcher = given ?? ofRequest(input) ?? sharedDispatcher()
  if (dispatcher === undefined) return {}
  let from: URL | undefined
  const checked = withDispatch(dispatcher, (options, handler) => {
    const url = new URL(options.path, options.origin)
    const method = options.method ?? 'GET'
    const before = from
    from = url
    for (const each of bounds) {
      if (before === undefined) each.request(method, url)
      else each.network((scope) => scope.checkRedirect(method, url, before))
    }
    return dispatcher.dispatch(options, handler)
  })
  return { dispatcher: checked } as unknown as Pick<RequestInit, 'dispatcher'>
}

/** A request stores its dispatcher under a symbol. */
function ofRequest(input: FetchInput): Dispatcher | undefined {
  if (!(input instanceof Request)) return undefined
  const key = Object.getOwnPropertySymbols(input).find(
    ({ description }) => description === 'dispatcher',
  )
  return key && (input as unknown as Record<symbol, Dispatcher | undefined>)[key]
}

function urlOf(input: FetchInput): URL | undefined {
  const text = input instanceof Request ? input.url : String(input)
  return URL.canParse(text) ? new URL(text) : undefined
}
