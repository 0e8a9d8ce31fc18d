import type { LookupAddress, LookupOptions } from 'node:dns'
import type { CallBounds } from '../../bounds/call-bounds.js'
import type { Endpoint } from './socket-watch.js'

type Answered = (error: Error | null, address?: unknown, family?: number) => void
type Lookup = (host: string, options: LookupOptions, answered: Answered) => unknown

/**
 * A look-up whose answers are judged before anybody sees them, and handed on as
 * copies: the address that was judged is the one connected to, whatever the name means
 * a moment later. One address that is not allowed among several is enough to refuse,
 * except for `localhost`, which has one in each family by nature.
 */
export function checkedLookup(
  bounds: readonly CallBounds[],
  lookup: unknown,
  { host, port }: Endpoint,
): Lookup {
  return (name, options, answered) =>
    (lookup as Lookup)(name, options, (error, address, family) => {
      if (error) return answered(error)
      let judged: unknown
      try {
        judged = Array.isArray(address)
          ? judgeAll(bounds, copyOf(address), port, host)
          : judgeOne(bounds, asText(address), port, host)
      } catch (refusal) {
        return answered(refusal as Error)
      }
      answered(null, judged, family)
    })
}

/** Read once: an answer may say something else the next time. */
const copyOf = (addresses: readonly unknown[]): readonly LookupAddress[] =>
  addresses.map((each) => {
    const { address, family } = each as { address: unknown; family: unknown }
    return { address: asText(address), family: Number(family) }
  })

// oxlint-disable-next-line no-base-to-string
const asText = (address: unknown): string => String(address)

function judgeOne(bounds: readonly CallBounds[], address: string, port: number, host: string) {
  for (const each of bounds) each.address(address, port, host)
  return address
}

function judgeAll(
  bounds: readonly CallBounds[],
  found: readonly LookupAddress[],
  port: number,
  host: string,
): readonly LookupAddress[] {
  const isLocalhost = /^(?:.+\.)?localhost\.?$/i.test(host)
  const allowed = isLocalhost
    ? found.filter(({ address }) =>
        bounds.every(({ scopes }) =>
          scopes.every(({ network }) => !network?.checkAddress(address, port, host)),
        ),
      )
    : []
  const used = allowed.length > 0 ? allowed : found
  for (const { address } of used) judgeOne(bounds, address, port, host)
  return used
}
