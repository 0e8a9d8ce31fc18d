import cluster from 'node:cluster'
import crypto from 'node:crypto'
import dgram from 'node:dgram'
import net from 'node:net'
import vm from 'node:vm'
import worker from 'node:worker_threads'
import type { Consequence } from '@retake/tape/format'
import { callSite, nearestCaller } from '../kernel/call-site.js'
import { errors, type RetakeError } from '../errors.js'
import { currentSession } from '../kernel/scope.js'
import { type BoundaryNote, noteBoundary } from './patching/note-boundary.js'
import { beforeContact } from './patching/outside-contact.js'
import { lookFirst, replaceClass, undoAll, type Undo } from './patching/patch.js'

export const SERVER_LISTEN = 'net.Server.listen'

const RANDOM = 'its result is random; generate keys before the run or inside tool()'
const OWN_REALM = 'a new context has its own Date and Math.random, which are not captured'

/**
 * Boundaries that Retake knows but does not capture. Each use is noted on the tape with its call
 * site; a replay refuses those that would reach the outside.
 */
export function patchUncaptured(): Undo {
  const subtle = Object.getPrototypeOf(globalThis.crypto.subtle) as object
  return undoAll([
    report(crypto, 'crypto.generateKey', RANDOM, 'value-differs'),
    report(crypto, 'crypto.generateKeyPair', RANDOM, 'value-differs'),
    report(crypto, 'crypto.generateKeyPairSync', RANDOM, 'value-differs'),
    report(crypto, 'crypto.generateKeySync', RANDOM, 'value-differs'),
    report(crypto, 'crypto.generatePrime', RANDOM, 'value-differs'),
    report(crypto, 'crypto.generatePrimeSync', RANDOM, 'value-differs'),
    report(crypto, 'crypto.createECDH', RANDOM, 'value-differs'),
    report(crypto, 'crypto.createDiffieHellman', RANDOM, 'value-differs'),
    report(crypto, 'crypto.publicEncrypt', RANDOM, 'value-differs'),
    report(subtle, 'subtle.generateKey', RANDOM, 'value-differs'),
    report(vm, 'vm.createContext', OWN_REALM, 'value-differs'),
    report(vm, 'vm.runInNewContext', OWN_REALM, 'value-differs'),
    report(URL, 'URL.createObjectURL', 'the id in the URL is random', 'value-differs'),
    report(Atomics, 'Atomics.waitAsync', 'when it settles is not captured', 'timing-differs'),
    reportClass(
      [globalThis],
      'FinalizationRegistry',
      'when its callbacks run depends on garbage collection',
    ),
    reportClass([globalThis, worker], 'MessageChannel', 'when its messages arrive is not captured'),
    reportClass(
      [globalThis, worker],
      'BroadcastChannel',
      'messages between threads are not captured',
    ),
    refuse(dgram, 'dgram.createSocket', 'datagrams are not captured'),
    refuse(cluster, 'cluster.fork', 'worker processes are not captured'),
    refuse(net.Server.prototype, SERVER_LISTEN, 'connections from outside are not captured', () =>
      errors.SERVER_NOT_REPLAYABLE(callSite()),
    ),
  ])
}

/** Libraries and Node use these for internal caches, so only other uses are reported. */
const COMMON_IN_LIBRARIES = new Set([
  'FinalizationRegistry',
  'vm.createContext',
  'vm.runInNewContext',
])

/** For uses that are harmless on replay, but may have a different result: noted and allowed. */
function noteUse(note: BoundaryNote): void {
  const session = currentSession()
  if (session === undefined) return
  if (!COMMON_IN_LIBRARIES.has(note.name) || !isCache(note.name)) noteBoundary(session, note)
}

/**
 * True for a use by Node, whose web streams use `vm`, or by a package on its own. Registries of packages are caches even if the
 * agent has just called the package: undici makes one for each agent.
 */
function isCache(name: string): boolean {
  const caller = nearestCaller()
  if (caller?.startsWith('node:') === true || callSite() === undefined) return true
  return name === 'FinalizationRegistry' && /[\\/]node_modules[\\/]/.test(caller ?? '')
}

/** `name` ends with the name of the method. */
const methodOf = (name: string): string => name.slice(name.lastIndexOf('.') + 1)

function report(target: object, name: string, text: string, consequence: Consequence): Undo {
  return lookFirst(target, methodOf(name), () => noteUse({ name, text, consequence }))
}

/** For uses that would reach the outside: noted while recording, refused while a tape answers. */
function refuse(
  target: object,
  name: string,
  text: string,
  refusal: (name: string) => RetakeError = errors.BOUNDARY_NOT_REPLAYABLE,
): Undo {
  return lookFirst(target, methodOf(name), () => {
    const session = currentSession()
    if (session === undefined && target === dgram) beforeContact('datagram')
    if (session?.local === 'tape' || (session?.remote === 'tape' && name !== SERVER_LISTEN)) {
      const error = refusal(name)
      // A rerun that went live here would open a port and wait for requests.
      if (name === SERVER_LISTEN) session.refuse?.(error, { mayGoLive: false })
      throw error
    }
    noteUse({ name, text, consequence: 'stops' })
  })
}

type Constructor = new (...args: unknown[]) => object

function reportClass(targets: readonly object[], name: string, text: string): Undo {
  const Native = (targets[0] as Record<string, unknown>)[name] as Constructor | undefined
  if (Native === undefined) return () => {}
  const Reported = new Proxy(Native, {
    construct(native, args, newTarget) {
      noteUse({ name, text, consequence: 'timing-differs' })
      return Reflect.construct(native, args, newTarget) as object
    },
  })
  return replaceClass(targets, name, Reported)
}
