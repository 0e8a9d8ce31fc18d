import type { LookupAddress, LookupOptions } from 'node:dns'
import type { CallBounds } from '../../../guard/bounds/call-bounds.js'
import type { Place } from './socket-watch.js'

type Answered = (
  error: Error | null,
  address?: string | readonly LookupAddress[],
  family?: number,
) => void
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
  { host, port }: Place,
): Lookup {
  return (name, options, answered) =>
    (lookup as Lookup)(name, options, (error, address, family) => {
      if (error) return answered(error)
      let judged: string | readonly LookupAddress[]
      try {
        judged = Array.isArray(address)
          ? judgeAll(bounds, copyOf(address as readonly LookupAddress[]), port, host)
          : judgeOne(bounds, String(address), port, host)
      } catch (refusal) {
        return answered(refusal as Error)
      }
      answered(null, judged, family)
    })
}

const copyOf = (addresses: readonly LookupAddress[]): readonly LookupAddress[] =>
  addresses.map(({ address, family }) => ({ address: String(address), family: Number(family) }))

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
  const isHome = /^(?:.+\.)?localhost\.?$/i.test(host)
  const allowed = isHome
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
