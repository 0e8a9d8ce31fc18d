import { SITE_NOTE } from '@retake/tape/format'
import { callSite, findSiteLater } from '../../call-site.js'
import { maskHeaders, maskUrl } from '../../headers.js'
import { natives } from '../../natives.js'
import { currentCheck, currentSession, outsideRuns } from '../../scope.js'
import type { Session } from '../../sessions/session.js'
import { replace } from '../patch.js'
import type { Undo } from '../patch.js'
import { FetchAnswer } from './fetch-answer.js'
import { collectBody } from './fetch-body.js'
import type { CollectedBody, FetchInput } from './fetch-body.js'
import { describeRequest } from './fetch-request.js'
import type { DescribedRequest } from './fetch-request.js'

/** `fetch`: the request is an initiation, the head, each chunk and the end are deliveries. */
export function patchFetch(): Undo {
  return replace(
    globalThis,
    'fetch',
    function fetch(input: FetchInput, init?: RequestInit): Promise<Response> {
      const session = currentSession()
      if (session === undefined) return (currentCheck() ?? natives).fetch(input, init)
      return recordedFetch(session, input, init)
    },
  )
}

async function recordedFetch(
  session: Session,
  input: FetchInput,
  init: RequestInit | undefined,
): Promise<Response> {
  const request = describeRequest(input, init)
  if (!/^https?:$/.test(request.url.protocol)) return outsideRuns(() => natives.fetch(input, init))
  if (request.signal?.aborted === true) throw request.signal.reason
  const body = collectBody(session, input, init, request.headers)
  return exchange(session, request, body instanceof Promise ? await body : body)
}

function exchange(
  session: Session,
  request: DescribedRequest,
  body: CollectedBody,
): Promise<Response> {
  if (request.signal?.aborted === true) return Promise.reject(request.signal.reason)
  const site = callSite()
  const { headers } = request
  if (body.contentType !== undefined && (body.isForm === true || !headers.has('content-type')))
    headers.set('content-type', body.contentType)
  return new Promise((resolve, reject) => {
    const answer = new FetchAnswer(request, resolve, reject)
    const operation = session.perform({
      event: {
        type: 'request',
        seam: 'fetch',
        method: request.method,
        url: session.secrets.text(maskUrl(request.url.href)),
        headers: maskHeaders(session, headers),
        ...(site !== undefined && { site }),
      },
      ...(body.bytes && { body: body.bytes }),
      durable: 'deferrable',
      start: (operation, edited) => {
        if (edited) headers.delete('content-length')
        void answer.goLive(operation, edited ? { bytes: edited } : body)
      },
      deliver: (delivery) => answer.deliver(delivery),
    })
    answer.operation = operation
    if (site === undefined)
      findSiteLater(resolve, (found) =>
        session.note({ kind: 'kept', name: SITE_NOTE, site: found, text: String(operation.id) }),
      )
  })
}

/**
 * Node loads its fetch at the first use. What that does, like compiling a
 * parser, belongs to no run, and it must not find the globals patched.
 */
export function loadFetch(): void {
  outsideRuns(() => new Response())
}

/** Loads it and waits until it is ready, so that a whole-process run starts with nothing under way. */
export async function warmUpFetch(): Promise<void> {
  await outsideRuns(() => natives.fetch('data:text/plain,').then((response) => response.text()))
}
