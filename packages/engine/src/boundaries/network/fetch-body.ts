import type { Session } from '../../sessions/session.js'
import { bindCheck, outsideRuns } from '../../scope.js'

/** What `fetch` takes first. */
export type FetchInput = string | URL | Request

export interface CollectedBody {
  /** Absent when the request has no body. */
  readonly bytes?: Uint8Array
  /** What to hand to native fetch instead of the bytes, when it is the same thing in a better form. */
  readonly native?: string
  /** The content type the body brings along. */
  readonly contentType?: string
  /** A form, whose boundary was swapped for a recorded one: the content type is not the one given. */
  readonly isForm?: boolean
}

/**
 * The bytes a request will send. Strings and buffers are known at once; streams,
 * blobs and forms are read first, which takes its recorded turn like other work.
 */
export function collectBody(
  session: Session,
  input: FetchInput,
  init: RequestInit | undefined,
  headers: Headers,
): CollectedBody | Promise<CollectedBody> {
  const body = init?.body ?? undefined
  if (body === undefined)
    return input instanceof Request && input.body !== null
      ? readBody(session, input, isMultipart(headers))
      : {}
  if (typeof body === 'string')
    return { bytes: Buffer.from(body), native: body, contentType: 'text/plain;charset=UTF-8' }
  if (body instanceof URLSearchParams) {
    return {
      bytes: Buffer.from(String(body)),
      contentType: 'application/x-www-form-urlencoded;charset=UTF-8',
    }
  }
  if (ArrayBuffer.isView(body))
    return { bytes: new Uint8Array(body.buffer, body.byteOffset, body.byteLength).slice() }
  if (body instanceof ArrayBuffer) return { bytes: new Uint8Array(body).slice() }
  const bound = bindCheck()
  const wrapper = outsideRuns(() => bound(() => new Response(body as never)))
  return readBody(session, wrapper, body instanceof FormData && !headers.has('content-type'))
}

const isMultipart = (headers: Headers): boolean =>
  headers.get('content-type')?.startsWith('multipart/form-data;') === true

function readBody(
  session: Session,
  source: Request | Response,
  isForm = false,
): Promise<CollectedBody> {
  const contentType = source.headers.get('content-type') ?? undefined
  // What yields the pieces is code of whoever asked: that of a tool stays within its bounds.
  const bound = bindCheck()
  return new Promise((resolve, reject) => {
    session.perform({
      event: { type: 'work', name: 'fetch.body' },
      reexecuted: true,
      start: (operation) => {
        bound(() => source.arrayBuffer()).then(
          (buffer) => operation.complete({ type: 'deliver', part: 'fire' }, undefined, { buffer }),
          (error: unknown) =>
            operation.complete({ type: 'deliver', part: 'fire' }, undefined, { error }),
        )
      },
      deliver: ({ native }) => {
        const { buffer, error } = native as { buffer?: ArrayBuffer; error?: unknown }
        if (buffer === undefined) return reject(error)
        const collected = {
          bytes: new Uint8Array(buffer),
          ...(contentType !== undefined && { contentType }),
        }
        resolve(isForm ? withRecordedBoundary(session, collected) : collected)
      },
    })
  })
}

/** Node draws the multipart boundary at random inside fetch, where no patch reaches: it is swapped for a recorded one. */
function withRecordedBoundary(
  session: Session,
  body: { bytes: Uint8Array; contentType?: string },
): CollectedBody {
  const drawn = /boundary=(\S+)/.exec(body.contentType ?? '')?.[1]
  if (drawn === undefined) return body
  const boundary = session.draw('FormData boundary', () => drawn)
  const text = Buffer.from(body.bytes).toString('latin1').replaceAll(drawn, boundary)
  return {
    bytes: Buffer.from(text, 'latin1'),
    contentType: `multipart/form-data; boundary=${boundary}`,
    isForm: true,
  }
}
