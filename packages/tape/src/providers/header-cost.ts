import type { HeaderPair } from '../format/events.js'
import { headerValue } from '../http/http1-body.js'

/** What LiteLLM says a call cost. It says 0 for a model that it has no price for. */
export const headerCost = (headers: readonly HeaderPair[] = []): number | undefined => {
  const cost = Number(headerValue(headers, 'x-litellm-response-cost') ?? Number.NaN)
  return Number.isFinite(cost) && cost > 0 ? cost : undefined
}
