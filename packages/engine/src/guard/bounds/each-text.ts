/** How deep and how far arguments are looked through; what lies beyond is refused by the caller. */
const TEXT_LIMIT = 100_000

/**
 * Visits every text in a value with its path, keys of objects and members of maps and
 * sets included, until `visit` returns something. Bytes are visited as the text they hold.
 */
export function eachText<T>(
  value: unknown,
  visit: (text: string, at: string) => T | undefined,
): T | undefined {
  let left = TEXT_LIMIT
  const look = (each: unknown, at: string): T | undefined => {
    if (typeof each === 'string') return left-- > 0 ? visit(each, at) : undefined
    if (typeof each !== 'object' || each === null) return undefined
    if (each instanceof URL) return visit(each.href, at)
    if (each instanceof Uint8Array) return visit(Buffer.from(each).toString(), at)
    const entries: Iterable<[unknown, unknown]> =
      each instanceof Map ? each : each instanceof Set ? [...each].entries() : Object.entries(each)
    for (const [key, member] of entries) {
      const place = at === '' ? String(key) : `${at}.${String(key)}`
      const found =
        (typeof key === 'string' && !Array.isArray(each) ? look(key, place) : undefined) ??
        look(member, place)
      if (found !== undefined) return found
    }
    return undefined
  }
  return look(value, '')
}
