import type { HeaderPair } from '../format/events.js'

/** They describe the bytes of a body, and do not fit another one. */
const OF_BODY = new Set(['content-length', 'content-encoding', 'transfer-encoding', 'trailer'])

/** How the new body is sent: in one piece of a known length, or as it comes. */
export interface Framing {
  readonly length: number | undefined
  /** Set to replace the content type. */
  readonly contentType?: string
}

/**
 * Headers for a new body: all as they were, but those that speak of its bytes.
 * Signatures and digests of the old body, where a server sent some, stay.
 */
export const answerHeaders = (
  headers: readonly HeaderPair[],
  { length, contentType }: Framing,
  isHttp1: boolean,
): HeaderPair[] => {
  const kept = headers.filter(([name]) => {
    const lower = name.toLowerCase()
    return !OF_BODY.has(lower) && !(contentType !== undefined && lower === 'content-type')
  })
  const named = headers.find(([name]) => name.toLowerCase() === 'content-length')?.[0]
  const wasChunked = headers.some(([name]) => name.toLowerCase() === 'transfer-encoding')
  if (contentType !== undefined) kept.push(['content-type', contentType])
  if (length === undefined) {
    if (isHttp1 || wasChunked) kept.push(['transfer-encoding', 'chunked'])
  } else if (isHttp1 || named !== undefined) {
    kept.push([named ?? 'content-length', String(length)])
  }
  return kept
}
