import { sendJson } from './plain-endpoints.mjs'

/**
 * Makes a request fail the first few times. Asked for with `key:times:status`
 * in the query (`/flaky?key=…&times=2&status=503`), in the header `x-flaky`,
 * or, where an SDK leaves no other way, in the body's `user` or
 * `metadata.user_id` as `flaky:key:times:status`.
 */
export class Flaky {
  /** @type {Map<string, number>} */
  #failures = new Map()

  /**
   * Sends the failure if one is due.
   *
   * @param {import('./plain-endpoints.mjs').Exchange} exchange
   * @param {any} json The parsed body, if there is one.
   * @returns {boolean} Whether the request was answered.
   */
  answer(exchange, json) {
    const wish = wishOf(exchange, json)
    if (wish === undefined) return false
    const failed = this.#failures.get(wish.key) ?? 0
    if (failed >= wish.times) return false
    this.#failures.set(wish.key, failed + 1)
    const message = `flaky, failure ${failed + 1} of ${wish.times}`
    sendJson(
      exchange,
      { error: { message, type: 'flaky', param: null, code: null } },
      wish.status,
      {
        'retry-after-ms': String(exchange.dice.between(2, 15)),
      },
    )
    return true
  }
}

function wishOf({ request, url }, json) {
  if (url.pathname === '/flaky') {
    const { key = 'any', times = '2', status = '503' } = Object.fromEntries(url.searchParams)
    return { key, times: Number(times), status: Number(status) }
  }
  const inBody = [json?.user, json?.metadata?.user_id].find(
    (field) => typeof field === 'string' && field.startsWith('flaky:'),
  )
  const wish = request.headers['x-flaky'] ?? inBody?.slice('flaky:'.length)
  if (wish === undefined) return undefined
  const [key, times, status = '429'] = wish.split(':')
  return { key, times: Number(times), status: Number(status) }
}
