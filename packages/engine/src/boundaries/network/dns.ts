import dns from 'node:dns'
import { isIP } from 'node:net'
import { beforeContact } from '../patching/outside-contact.js'
import { currentCheck, currentSession, outsideRuns } from '../../kernel/scope.js'
import type { Session } from '../../kernel/session.js'
import {
  performCall,
  promiseCall,
  startCall,
  plain,
  type CapturedCall,
} from '../patching/captured-call.js'
import { encodeOptions } from '../files/file-call.js'
import { dressLike, replace, type Undo, undoAll } from '../patching/patch.js'

/** DNS: every query is recorded with its answer. A replay sends none. */
export function patchDns(): Undo {
  return undoAll([
    ...patchQueries(dns, 'dns', withCallback),
    ...patchQueries(dns.promises, 'dns.promises', withPromise),
    ...patchQueries(dns.Resolver.prototype, 'Resolver', withCallback),
    ...patchQueries(dns.promises.Resolver.prototype, 'promises.Resolver', withPromise),
    ...[dns, dns.promises, Object.getPrototypeOf(dns.Resolver.prototype) as object].map(
      patchServers,
    ),
  ])
}

type DnsFunction = (...args: unknown[]) => unknown

const QUERY = /^(?:lookup|lookupService|reverse|resolve(?:[46A-Z].*)?)$/

type RunQuery = (session: Session, label: string, native: DnsFunction, args: unknown[]) => unknown

function patchQueries(target: object, prefix: string, runQuery: RunQuery): Undo[] {
  const functions = target as Record<string, DnsFunction>
  return Object.getOwnPropertyNames(target).flatMap((name) => {
    const native = QUERY.test(name) ? functions[name] : undefined
    if (native === undefined) return []
    return [replace(target, name, query(`${prefix}.${name}`, name, native, runQuery))]
  })
}

function query(label: string, name: string, native: DnsFunction, runQuery: RunQuery): DnsFunction {
  const patched = function (this: unknown, ...args: unknown[]): unknown {
    const refusal = currentCheck()?.lookup(name, args)
    if (refusal !== undefined) {
      // Delivers a refusal in the way that the answer would have come.
      if (runQuery === withPromise) return Promise.reject(refusal)
      const callback = args.at(-1)
      if (typeof callback !== 'function') throw refusal
      process.nextTick(callback, refusal)
      return {}
    }
    const session = currentSession()
    if (session === undefined) {
      beforeContact('dns')
      return native.apply(this, args)
    }
    const isIncomplete = runQuery === withCallback && typeof args.at(-1) !== 'function'
    if (isIncomplete || needsNoQuery(name, args)) return native.apply(this, args)
    return runQuery(session, label, patched.bind(this), args)
  }
  return dressLike(patched, native)
}

function callOf(name: string, [host, ...rest]: readonly unknown[]): CapturedCall {
  return { kind: 'dns', name, title: String(host), input: encodeOptions(rest), form: plain }
}

/** The answer consists of the callback's arguments after the error: address and family, or a list. */
function withCallback(session: Session, name: string, native: DnsFunction, given: unknown[]) {
  const args = given.slice(0, -1)
  // Node throws this error synchronously, but only after it has prepared a query.
  if (name.endsWith('.reverse') && isIP(args[0] as string) === 0) {
    return performCall(session, callOf(name, args), () => native(...given))
  }
  const callback = given.at(-1) as (error: unknown, ...answer: unknown[]) => void
  startCall(
    session,
    callOf(name, args),
    (done) => native(...args, (error: unknown, ...answer: unknown[]) => done(error, answer)),
    (error, answer) =>
      error === null ? callback(null, ...(answer as unknown[])) : callback(error),
  )
  return {}
}

function withPromise(session: Session, name: string, native: DnsFunction, args: unknown[]) {
  return promiseCall(session, callOf(name, args), (done) => {
    const answer = native(...args) as Promise<unknown>
    answer.then((value) => done(null, value), done)
  })
}

/** The configured servers are a fact about the host. */
function patchServers(target: object): Undo {
  const native = (target as { getServers: () => string[] }).getServers
  return replace(
    target,
    'getServers',
    dressLike(function (this: unknown): string[] {
      const session = currentSession()
      if (session === undefined) return native.call(this)
      return session.draw('dns.getServers', () => outsideRuns(() => native.call(this)))
    }, native),
  )
}

/** Captured before the patch, to validate options with an address that needs no lookup. */
const { lookup } = dns

const RECORD_TYPES = new Set('A AAAA ANY CAA CNAME MX NAPTR NS PTR SOA SRV TLSA TXT'.split(' '))

/**
 * True if Node answers without a query: invalid arguments, or nothing to look up. Such calls go to
 * Node and leave no event.
 */
function needsNoQuery(name: string, args: readonly unknown[]): boolean {
  const [host, second] = args
  if (typeof host !== 'string' || host === '') return true
  const option = typeof second === 'function' ? undefined : second
  switch (name) {
    case 'lookup':
      return isIP(host) > 0 || !isLookupOption(option)
    case 'lookupService':
      return (
        isIP(host) === 0 ||
        !(
          (typeof second === 'number' || typeof second === 'string') &&
          Number.isInteger(Number(second)) &&
          Number(second) >= 0 &&
          Number(second) <= 65_535
        )
      )
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
