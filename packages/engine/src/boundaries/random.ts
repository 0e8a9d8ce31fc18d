import crypto from 'node:crypto'
import { calledFrom } from '../kernel/call-site.js'
import { natives } from '../kernel/natives.js'
import { outsideRuns } from '../kernel/scope.js'
import { answerLater } from './patching/in-turn.js'
import { NODES_UNDICI } from './network/global-dispatcher.js'
import { dressLike, replace, undoAll, type Undo } from './patching/patch.js'
import { drawnByAgent, observedSession } from './patching/telemetry.js'

/** `node:crypto` and WebCrypto: random numbers, bytes and ids. */
export function patchRandom(): Undo {
  return undoAll([patchNodeCrypto(), patchWebCrypto()])
}

export function patchRealmRandom(realm: typeof globalThis): Undo {
  return replace(realm.Math, 'random', () => drawnByAgent('Math.random', natives.random))
}

function patchNodeCrypto(): Undo {
  const { randomBytes, randomFill, randomFillSync, randomInt } = crypto
  const patchedBytes = dressLike(
    (size: number, callback?: (error: Error | null, bytes: Buffer) => void) => {
      const session = observedSession()
      if (session === undefined) return callback ? randomBytes(size, callback) : randomBytes(size)
      if (callback !== undefined && (!Number.isInteger(size) || size < 0)) natives.randomBytes(size)
      const bytes = drawBytes('crypto.randomBytes', size, () => randomBytes(size))
      return callback ? answerLater('crypto.randomBytes', () => callback(null, bytes)) : bytes
    },
    randomBytes,
  )
  return undoAll([
    replace(crypto, 'randomBytes', patchedBytes),
    replace(crypto, 'randomFillSync', (target: Buffer, offset?: number, size?: number) => {
      const session = observedSession()
      // Node 22 and older look this function up for each mask, later ones copy it before it is
      // patched.
      if (session === undefined || calledFrom(NODES_UNDICI, 4))
        return randomFillSync(target, offset, size)
      fill('crypto.randomFillSync', target, offset, size)
      return target
    }),
    replace(crypto, 'randomFill', (target: Buffer, ...rest: any[]) => {
      const callback = rest.pop() as (error: null, target: Buffer) => void
      if (observedSession() === undefined)
        return (randomFill as Function)(target, ...rest, callback)
      fill('crypto.randomFill', target, rest[0], rest[1])
      answerLater('crypto.randomFill', () => callback(null, target))
    }),
    replace(crypto, 'randomInt', (min: number, max?: any, callback?: any) => {
      const session = observedSession()
      if (session === undefined) return (randomInt as Function)(min, max, callback)
      const done = typeof max === 'function' ? max : callback
      const value = session.draw('crypto.randomInt', () =>
        typeof max === 'number' ? randomInt(min, max) : randomInt(min),
      )
      return done ? answerLater('crypto.randomInt', () => done(undefined, value)) : value
    }),
    // Node 20 and 22 have no `randomUUIDv7`.
    ...Object.entries(crypto as unknown as Record<string, MakeId>)
      .filter(([name]) => name.startsWith('randomUUID'))
      .map(([name, native]) =>
        replace(crypto, name, (options?: object) =>
          drawnByAgent(`crypto.${name}`, () => native(options)),
        ),
      ),
  ])
}

type MakeId = (options?: object) => string

type WebCrypto = typeof globalThis.crypto

/**
 * `crypto.getRandomValues` of node:crypto uses this prototype, too. Next.js puts its own functions
 * in front of it, before it loads the program.
 */
function patchWebCrypto(): Undo {
  const prototype = Object.getPrototypeOf(globalThis.crypto) as WebCrypto
  const isReplaced = WEB_FUNCTIONS.some((name) => Object.hasOwn(globalThis.crypto, name))
  return undoAll([
    patchWebFunctions(prototype),
    isReplaced ? patchWebFunctions(globalThis.crypto) : () => {},
  ])
}

const WEB_FUNCTIONS = ['getRandomValues', 'randomUUID'] as const

function patchWebFunctions(target: WebCrypto): Undo {
  const { getRandomValues, randomUUID } = target
  return undoAll([
    replace(target, 'getRandomValues', function (this: WebCrypto, array: Uint8Array) {
      const session = observedSession()
      if (session === undefined || !ArrayBuffer.isView(array) || array.byteLength > 65_536) {
        return getRandomValues.call(this, array)
      }
      fill('crypto.getRandomValues', array)
      return array
    }),
    replace(target, 'randomUUID', function (this: WebCrypto) {
      return drawnByAgent('crypto.randomUUID', () => outsideRuns(() => randomUUID.call(this)))
    }),
  ])
}

function fill(
  kind: string,
  target: NodeJS.ArrayBufferView | ArrayBuffer,
  offset = 0,
  size?: number,
): void {
  const view = ArrayBuffer.isView(target)
    ? new Uint8Array(target.buffer, target.byteOffset, target.byteLength)
    : new Uint8Array(target)
  const elementSize = (target as { BYTES_PER_ELEMENT?: number }).BYTES_PER_ELEMENT ?? 1
  const start = offset * elementSize
  const length = size === undefined ? view.length - start : size * elementSize
  view.set(
    drawBytes(kind, length, () => natives.randomBytes(length)),
    start,
  )
}

function drawBytes(kind: string, size: number, native: () => Buffer): Buffer {
  const session = observedSession()
  if (session === undefined) return native()
  return Buffer.from(
    session.draw(`${kind} ${size}`, () => native().toString('base64')),
    'base64',
  )
}
