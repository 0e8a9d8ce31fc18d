import cluster from 'node:cluster'
import crypto from 'node:crypto'
import dgram from 'node:dgram'
import net from 'node:net'
import vm from 'node:vm'
import worker from 'node:worker_threads'
import { callSite } from '../call-site.js'
import { errors } from '../errors.js'
import { messagePortsInUse } from '../module-loads.js'
import { currentSession } from '../scope.js'
import { lookFirst, replaceClass, undoAll } from './patch.js'
import type { Undo } from './patch.js'

/**
 * What Retake knows but does not capture. Each use goes into the run's boundary
 * report with its call site; what would reach the outside is refused on replay.
 */
export function patchUncaptured(): Undo {
  const subtle = Object.getPrototypeOf(globalThis.crypto.subtle) as object
  const random =
    'its result is random and differs on replay; generate keys before the run or inside tool()'
  return undoAll([
    ...[
      'generateKey',
      'generateKeyPair',
      'generateKeyPairSync',
      'generateKeySync',
      'generatePrime',
      'generatePrimeSync',
      'createECDH',
      'createDiffieHellman',
      'publicEncrypt',
    ].map((name) => report(crypto, name, `crypto.${name}`, random)),
    report(subtle, 'generateKey', 'subtle.generateKey', random),
    ...['createContext', 'runInNewContext'].map((name) =>
      report(
        vm,
        name,
        `vm.${name}`,
        'a new context has its own Date and Math.random, which are not captured',
      ),
    ),
    report(
      URL,
      'createObjectURL',
      'URL.createObjectURL',
      'the id in the URL is random and differs on replay',
    ),
    report(Atomics, 'waitAsync', 'Atomics.waitAsync', 'when it settles is not captured'),
    reportClass(
      [globalThis],
      'FinalizationRegistry',
      'when its callbacks run depends on garbage collection',
    ),
    reportClass(
      [globalThis, worker],
      'MessageChannel',
      'when its messages arrive is not captured',
      messagePortsInUse,
    ),
    reportClass(
      [globalThis, worker],
      'BroadcastChannel',
      'messages between threads are not captured',
      messagePortsInUse,
    ),
    refuse(dgram, 'createSocket', 'dgram.createSocket', 'datagrams are not captured'),
    refuse(
      net.Server.prototype,
      'listen',
      'net.Server.listen',
      'connections from outside are not captured',
    ),
    refuse(cluster, 'fork', 'cluster.fork', 'worker processes are not captured'),
  ])
}

/** Libraries use these for caches that nobody can observe: only uses in the agent's own code are reported. */
const COMMON_IN_LIBRARIES = new Set([
  'FinalizationRegistry',
  'vm.createContext',
  'vm.runInNewContext',
])

function note(name: string, text: string): void {
  const site = callSite()
  if (site === undefined && COMMON_IN_LIBRARIES.has(name)) return
  currentSession()?.note({ kind: 'boundary', name, text, ...(site !== undefined && { site }) })
}

/** Harmless on replay, but perhaps different: it is named and goes through. */
function report(target: object, method: string, name: string, text: string): Undo {
  return lookFirst(target, method, () => {
    if (currentSession() !== undefined) note(name, text)
  })
}

/** Would reach the outside: named while recording, refused where a tape answers. */
function refuse(target: object, method: string, name: string, text: string): Undo {
  return lookFirst(target, method, () => {
    const session = currentSession()
    if (session?.replaying === true || (session?.keepsIn === true && method !== 'listen'))
      throw errors.notReplayable(name)
    if (session !== undefined) note(name, text)
  })
}

type Constructor = new (...args: unknown[]) => object

function reportClass(
  places: readonly object[],
  name: string,
  text: string,
  onUse: () => void = () => {},
): Undo {
  const Native = (places[0] as Record<string, unknown>)[name] as Constructor | undefined
  if (Native === undefined) return () => {}
  const Reported = new Proxy(Native, {
    construct(native, args, newTarget) {
      if (currentSession() !== undefined) {
        note(name, text)
        onUse()
      }
      return Reflect.construct(native, args, newTarget) as object
    },
  })
  return replaceClass(places, name, Reported)
}
