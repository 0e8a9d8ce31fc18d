import dns, { type LookupAddress, type LookupOptions } from 'node:dns'
import type { CallBounds } from '../../bounds/call-bounds.js'
import type { Endpoint } from './ended-with-call.js'
import { type Undo, undoAll } from '@retake/engine/hook'
import { checkFirst } from '../current-bounds.js'

/** Why a DNS query is refused. It reveals the name to other servers. */
export function checkQuery(
  bounds: readonly CallBounds[],
  name: string,
  [host]: readonly unknown[],
): Error | undefined {
  if (typeof host !== 'string' || host === '') return undefined
  const isBackwards = name === 'reverse' || name === 'lookupService'
  try {
    for (const each of bounds) {
      if (isBackwards) each.host(host, 0, false)
      else each.network((scope) => scope.checkLookup(host))
    }
    return undefined
  } catch (refusal) {
    return refusal as Error
  }
}

const DNS_PORT = 53

/** Checks the name servers that a guarded call sets. */
export function patchNameServers(): Undo {
  const resolver = Object.getPrototypeOf(dns.Resolver.prototype) as object
  return undoAll(
    [dns, dns.promises, resolver].map((target) =>
      checkFirst(target, 'setServers', (each, [servers]) => checkServers(each, servers)),
    ),
  )
}

function checkServers(bounds: CallBounds, servers: unknown): void {
  for (const server of Array.isArray(servers) ? servers.map(String) : []) {
    const [, bracketed, plain, port] =
      /^(?:\[(.+)\]|([^:]+|.*:.*:.*?))(?::(\d+))?$/.exec(server) ?? []
    const host = bracketed ?? plain ?? server
    bounds.host(host, Number(port ?? DNS_PORT), true)
  }
}

type Answered = (error: Error | null, address?: unknown, family?: number) => void
type Lookup = (host: string, options: LookupOptions, answered: Answered) => unknown

/**
 * A look-up that checks its results, so that the checked address is the one that is used. A single
 * forbidden address among several is refused, except for `localhost`, which has one per family.
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
          ? judgeAll(bounds, address as readonly LookupAddress[], port, host)
          : judgeOne(bounds, asText(address), port, host)
      } catch (refusal) {
        return answered(refusal as Error)
      }
      answered(null, judged, family)
    })
}

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
