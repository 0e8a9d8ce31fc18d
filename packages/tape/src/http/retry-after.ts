/** How long to wait according to a server: `retry-after-ms`, or `retry-after` in seconds or as a date. */
export function retryAfterMs(
  headers: Iterable<readonly [name: string, value: string]>,
  now: number,
): number | undefined {
  const named = new Map([...headers].map(([name, value]) => [name.toLowerCase(), value.trim()]))
  const ms = numberIn(named.get('retry-after-ms'))
  if (ms !== undefined) return ms
  const after = named.get('retry-after')
  const seconds = numberIn(after)
  if (seconds !== undefined) return seconds * 1000
  const date = Date.parse(after ?? '')
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

const numberIn = (text = ''): number | undefined =>
  /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : undefined
