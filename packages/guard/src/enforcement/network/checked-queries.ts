import dns from 'node:dns'
import { lookFirst, type Undo, undoAll } from '@retake/engine/hook'
import type { CallBounds } from '../../bounds/call-bounds.js'
import { currentBounds } from '../current-bounds.js'

/** The reason why a query is refused. A query reveals its name to servers of others. */
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

/** Judges which name servers a guarded call may choose. */
export function patchNameServers(): Undo {
  const resolver = Object.getPrototypeOf(dns.Resolver.prototype) as object
  return undoAll(
    [dns, dns.promises, resolver].map((target) =>
      lookFirst(target, 'setServers', (args) => {
        const bounds = currentBounds()
        if (bounds.length > 0) args[0] = checkServers(bounds, args[0])
      }),
    ),
  )
}

/** Name servers are connected to like everything else, only by Node itself. Returns what was judged. */
function checkServers(bounds: readonly CallBounds[], servers: unknown): unknown {
  if (!Array.isArray(servers)) return servers
  const judged = servers.map(String)
  for (const server of judged) {
    const [, bracketed, plain, port] =
      /^(?:\[(.+)\]|([^:]+|.*:.*:.*?))(?::(\d+))?$/.exec(server) ?? []
    const host = bracketed ?? plain ?? server
    for (const each of bounds) each.host(host, Number(port ?? DNS_PORT), true)
  }
  return judged
}
