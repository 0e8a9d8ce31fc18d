import crypto from 'node:crypto'
import { promisify } from 'node:util'
import zlib from 'node:zlib'
import { calledFrom } from '../kernel/call-site.js'
import { currentSession, outsideRuns } from '../kernel/scope.js'
import { inTurn } from './patching/in-turn.js'
import { dressLike, replace, undoAll, type Undo } from './patching/patch.js'

const ZLIB = [
  'brotliCompress',
  'brotliDecompress',
  'deflate',
  'deflateRaw',
  'gunzip',
  'gzip',
  'inflate',
  'inflateRaw',
  'unzip',
  'zstdCompress',
  'zstdDecompress',
]
const CRYPTO = [
  'argon2',
  'checkPrime',
  'diffieHellman',
  'hkdf',
  'pbkdf2',
  'scrypt',
  'sign',
  'verify',
]
const SUBTLE = [
  'decapsulateBits',
  'decapsulateKey',
  'decrypt',
  'deriveBits',
  'deriveKey',
  'digest',
  'encrypt',
  'exportKey',
  'importKey',
  'sign',
  'unwrapKey',
  'verify',
  'wrapKey',
]
const WASM = ['compile', 'compileStreaming', 'instantiate', 'instantiateStreaming']

/**
 * Work with a deterministic result whose completion time depends on the thread pool. It runs again
 * on replay; only its completion waits for its recorded turn.
 */
export function patchOrderedWork(): Undo {
  const subtle = Object.getPrototypeOf(globalThis.crypto.subtle) as object
  return undoAll([
    ...ZLIB.map((name) => orderCallback(zlib, name, `zlib.${name}`)),
    ...CRYPTO.map((name) => orderCallback(crypto, name, `crypto.${name}`)),
    ...SUBTLE.map((name) => orderPromise(subtle, name, `subtle.${name}`)),
    ...WASM.map((name) =>
      orderPromise((globalThis as any).WebAssembly, name, `WebAssembly.${name}`, calledByNode),
    ),
    orderPromise(Blob.prototype, 'arrayBuffer', 'Blob.arrayBuffer'),
    orderPromise(Blob.prototype, 'text', 'Blob.text'),
    orderPromise(Blob.prototype, 'bytes', 'Blob.bytes'),
  ])
}

type Outcome = { readonly values: unknown[] } | { readonly error: unknown }

/** Node 22 compiles the parser of its fetch while the agent runs. */
const calledByNode = (): boolean => calledFrom('node:internal/', 3)

function orderPromise(
  target: object,
  method: string,
  name: string,
  isNodesOwn: () => boolean = () => false,
): Undo {
  const native = (target as Record<string, any>)[method]
  if (typeof native !== 'function') return () => {}
  function ordered(this: unknown, ...args: unknown[]): Promise<unknown> {
    const session = currentSession()
    if (session === undefined || isNodesOwn()) return native.apply(this, args)
    return new Promise((resolve, reject) => {
      inTurn<Outcome>(
        session,
        name,
        (done) =>
          void Promise.resolve(native.apply(this, args)).then(
            (value) => done({ values: [value] }),
            (error: unknown) => done({ error }),
          ),
        (outcome) => ('error' in outcome ? reject(outcome.error) : resolve(outcome.values[0])),
      )
    })
  }
  return replace(target, method, dressLike(ordered, native))
}

function orderCallback(target: object, method: string, name: string): Undo {
  const native = (target as Record<string, any>)[method]
  if (typeof native !== 'function') return () => {}
  const ordered = dressLike(function (this: unknown, ...args: any[]): unknown {
    const session = currentSession()
    const callback = args.at(-1)
    if (session === undefined || typeof callback !== 'function') return native.apply(this, args)
    // Makes the call first, so that invalid arguments throw synchronously, as in Node, and nothing
    // is recorded.
    let finish: (outcome: Outcome) => void = () => {}
    let early: Outcome | undefined
    outsideRuns(() =>
      native.call(this, ...args.slice(0, -1), (...values: unknown[]) => {
        early = { values }
        finish(early)
      }),
    )
    inTurn<Outcome>(
      session,
      name,
      (done) => {
        finish = done
        if (early) done(early)
      },
      (outcome) => callback(...('values' in outcome ? outcome.values : [outcome.error])),
    )
  }, native)
  if (native[promisify.custom]) Reflect.deleteProperty(ordered, promisify.custom)
  return replace(target, method, ordered)
}
