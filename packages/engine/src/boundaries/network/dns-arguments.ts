import dns from 'node:dns'
import { isIP } from 'node:net'
import { outsideRuns } from '../../scope.js'

/** Native, to try options out on an address that needs no lookup. */
const { lookup } = dns

const RECORD_TYPES = new Set('A AAAA ANY CAA CNAME MX NAPTR NS PTR SOA SRV TLSA TXT'.split(' '))

/**
 * Whether Node answers these arguments without asking anyone: it refuses them, or
 * there is nothing to ask. Such calls go to Node itself and leave no event.
 */
export function needsNoQuery(name: string, args: readonly unknown[]): boolean {
  const [host, second] = args
  if (typeof host !== 'string' || host === '') return true
  const option = typeof second === 'function' ? undefined : second
  switch (name) {
    case 'lookup':
      return isIP(host) > 0 || !isLookupOption(option)
    case 'lookupService':
      return isIP(host) === 0 || !isPort(second)
    case 'resolve':
      return option !== undefined && !RECORD_TYPES.has(option as string)
    default:
      return false
  }
}

function isLookupOption(option: unknown): boolean {
  if (option === undefined || option === 0 || option === 4 || option === 6) return true
  try {
    outsideRuns(() => lookup('127.0.0.1', option as object, () => {}))
    return true
  } catch {
    return false
  }
}

const isPort = (port: unknown): boolean =>
  (typeof port === 'number' || typeof port === 'string') &&
  Number.isInteger(Number(port)) &&
  Number(port) >= 0 &&
  Number(port) <= 65_535
