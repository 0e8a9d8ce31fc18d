import cluster from 'node:cluster'
import crypto from 'node:crypto'
import dgram from 'node:dgram'
import net from 'node:net'
import vm from 'node:vm'
import worker from 'node:worker_threads'
import { callSite } from '../call-site.js'
import { errors } from '../errors.js'
import { currentSession } from '../scope.js'
import { lookFirst, replaceClass, undoAll } from './patch.js'
import type { Undo } from './patch.js'

/** Consequence for a replay, as text. */
const VALUE_DIFFERS = 'its value differs on replay'
const TIMING_DIFFERS = 'its timing may differ on replay'
export const REPLAY_STOPS = 'replay stops there'

/** How a listening server is named in notes and errors. */
export const SERVER_LISTEN = 'net.Server.listen'

interface Uncaptured {
  readonly name: string
  readonly why: string
  readonly consequence: string
}

/**
 * Boundaries that Retake knows but does not capture. Each use is noted on the tape
 * with its call site; those that would reach the outside are refused on replay.
 */
export function patchUncaptured(): Undo {
  const subtle = Object.getPrototypeOf(globalThis.crypto.subtle) as object
  const random = (name: string): Uncaptured => ({
    name,
    why: 'its result is random; generate keys before the run or inside tool()',
    consequence: VALUE_DIFFERS,
  })
  const timing = (name: string, why: string): Uncaptured => ({
    name,
    why,
    consequence: TIMING_DIFFERS,
  })
  const refused = (name: string, why: string): Uncaptured => ({
    name,
    why,
    consequence: REPLAY_STOPS,
  })
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
    ].map((name) => report(crypto, name, random(`crypto.${name}`))),
    report(subtle, 'generateKey', random('subtle.generateKey')),
    ...['createContext', 'runInNewContext'].map((name) =>
      report(vm, name, {
        name: `vm.${name}`,
        why: 'a new context has its own Date and Math.random, which are not captured',
        consequence: VALUE_DIFFERS,
      }),
    ),
    report(URL, 'createObjectURL', {
      name: 'URL.createObjectURL',
      why: 'the id in the URL is random',
      consequence: VALUE_DIFFERS,
    }),
    report(Atomics, 'waitAsync', timing('Atomics.waitAsync', 'when it settles is not captured')),
    reportClass(
      [globalThis],
      timing('FinalizationRegistry', 'when its callbacks run depends on garbage collection'),
    ),
    reportClass(
      [globalThis, worker],
      timing('MessageChannel', 'when its messages arrive is not captured'),
    ),
    reportClass(
      [globalThis, worker],
      timing('BroadcastChannel', 'messages between threads are not captured'),
    ),
    refuse(dgram, 'createSocket', refused('dgram.createSocket', 'datagrams are not captured')),
    refuse(
      net.Server.prototype,
      'listen',
      refused(SERVER_LISTEN, 'connections from outside are not captured'),
      () => errors.SERVER_NOT_REPLAYABLE(callSite()),
    ),
    refuse(cluster, 'fork', refused('cluster.fork', 'worker processes are not captured')),
  ])
}

/** Libraries use these for caches that nobody can observe: only uses in the agent's own code are reported. */
const COMMON_IN_LIBRARIES = new Set([
  'FinalizationRegistry',
  'vm.createContext',
  'vm.runInNewContext',
])

function note({ name, why, consequence }: Uncaptured): void {
  const site = callSite()
  if (site === undefined && COMMON_IN_LIBRARIES.has(name)) return
  currentSession()?.note({
    kind: 'boundary',
    name,
    text: why,
    consequence,
    ...(site !== undefined && { site }),
  })
}

/** Harmless on replay, but perhaps different: it is named and goes through. */
function report(target: object, method: string, uncaptured: Uncaptured): Undo {
  return lookFirst(target, method, () => {
    if (currentSession() !== undefined) note(uncaptured)
  })
}

/** Would reach the outside: named while recording, refused where a tape answers. */
function refuse(
  target: object,
  method: string,
  uncaptured: Uncaptured,
  refusal: (name: string) => Error = errors.BOUNDARY_NOT_REPLAYABLE,
): Undo {
  return lookFirst(target, method, () => {
    const session = currentSession()
    if (session?.local === 'tape' || (session?.remote === 'tape' && method !== 'listen'))
      throw refusal(uncaptured.name)
    if (session !== undefined) note(uncaptured)
  })
}

type Constructor = new (...args: unknown[]) => object

function reportClass(targets: readonly object[], uncaptured: Uncaptured): Undo {
  const { name } = uncaptured
  const Native = (targets[0] as Record<string, unknown>)[name] as Constructor | undefined
  if (Native === undefined) return () => {}
  const Reported = new Proxy(Native, {
    construct(native, args, newTarget) {
      if (currentSession() !== undefined) note(uncaptured)
      return Reflect.construct(native, args, newTarget) as object
    },
  })
  return replaceClass(targets, name, Reported)
}
