import { clipText } from '@retake/tape/format'
import type { Divergence } from '../player/divergence.js'
import type { Mismatch } from '../player/compare.js'
import type { ProxyRequest } from './proxy-request.js'
import type { NearestRequest } from './taped-exchanges.js'

export interface Miss {
  readonly divergence: Divergence
  /** For the body of the answer. */
  readonly nearest?: {
    readonly event: number
    readonly method: string
    readonly url: string
    readonly differences: readonly Mismatch[]
  }
}

/** Says what is different about a request that the tape does not have. */
export function explainMiss({ method, url }: ProxyRequest, near: NearestRequest | undefined): Miss {
  const summaryLine = `${method} ${url}`
  if (near === undefined) {
    const explanation = 'No request at all is on it.'
    return {
      divergence: {
        seq: 0,
        kind: 'unexpected',
        summary: `${summaryLine} is not on the tape`,
        explanation,
        mismatches: [],
      },
    }
  }
  const { request, mismatches, isUsedUp, times } = near
  const nearest = {
    event: request.seq,
    method: request.method,
    url: request.url,
    differences: mismatches,
  }
  if (isUsedUp) {
    const often = times === 1 ? 'once' : `${times} times`
    const explanation = `The same request was recorded ${often}, and its answer was used then.`
    const summary = `${summaryLine} was made more often than recorded`
    return {
      divergence: {
        seq: request.seq,
        kind: 'unexpected',
        summary,
        explanation,
        recorded: request,
        mismatches: [],
      },
      nearest,
    }
  }
  const fields = mismatches.map(({ field }) => field).join(', ')
  return {
    divergence: {
      seq: request.seq,
      kind: 'different',
      summary: `${summaryLine} differs from what was recorded: ${fields}`,
      explanation: `The nearest recorded request is event ${request.seq}; different: ${mismatches.slice(0, 5).map(sentence).join('; ')}.`,
      recorded: request,
      mismatches,
    },
    nearest,
  }
}

function sentence({ field, recorded, current }: Mismatch): string {
  return `${field} was ${short(recorded)}, is ${short(current)}`
}

function short(value: unknown): string {
  return value === undefined ? 'missing' : clipText(JSON.stringify(value), 120)
}
