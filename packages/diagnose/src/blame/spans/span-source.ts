import type { Fork, ForkSource } from '../fork-source.js'
import { maskRequest } from './mask-request.js'
import type { Span } from './text-place.js'

/** Asks a model what it was asked, changed, and lets the run go on from its answer. */
export type AskMasked = (request: unknown, draw: number) => Promise<Fork>

export interface SpanQuestion {
  /** What the model was asked in the failed run. */
  readonly request: unknown
  /** What is searched: kept as it was, or masked. */
  readonly parts: readonly (readonly Span[])[]
  /** Masked in every fork. */
  readonly masked?: readonly Span[]
  readonly ask: AskMasked
  readonly concurrency?: number
}

/** Parts of a request as if they were steps of a run: kept as recorded, or masked. */
export function spanSource(question: SpanQuestion): ForkSource {
  const { request, parts, masked = [], ask, concurrency = 1 } = question
  return {
    stepCount: parts.length,
    recorded: parts.map(() => RECORDED),
    concurrency,
    async fork({ kept }, draw) {
      const isKept = new Set(kept)
      const free = parts.filter((_, part) => !isKept.has(part)).flat()
      const fork = await ask(maskRequest(request, [...masked, ...free]), draw)
      // A masked part never comes back by itself, so none can be an echo.
      return { ...fork, values: parts.map((_, part) => (isKept.has(part) ? RECORDED : MASKED)) }
    },
  }
}

const RECORDED = 1
const MASKED = 0
