import zlib from 'node:zlib'
import { currentSession } from '../kernel/scope.js'
import { ownerOf, replace, replaceLazyClass, undoAll, type Undo } from './patching/patch.js'

/** The native object of a zlib stream; not public, but the same in Node 20 to 26. */
interface ZlibHandle {
  init(...args: unknown[]): unknown
  write(...args: unknown[]): unknown
  writeSync(...args: unknown[]): unknown
  onerror: (...args: unknown[]) => unknown
}

const STREAMS = [
  'createGzip',
  'createBrotliCompress',
  'createBrotliDecompress',
  'createZstdCompress',
  'createZstdDecompress',
]

/**
 * zlib streams work piece by piece in the thread pool. Inside a run they work synchronously instead
 * and call back in the next tick, in record and replay. This makes the order deterministic without
 * recording it.
 */
export function patchZlibStreams(): Undo {
  const undos: Undo[] = []
  const callbacks = new WeakMap<ZlibHandle, () => void>()
  const seen = new Set<object>()
  for (const name of STREAMS) {
    const create = (zlib as unknown as Record<string, (() => any) | undefined>)[name]
    if (create === undefined) continue
    const stream = create()
    const handle = Object.getPrototypeOf(stream._handle) as object
    stream.close()
    undos.push(...patchHandle(handle, callbacks, seen))
  }
  return undoAll(undos)
}

function patchHandle(
  handle: object,
  callbacks: WeakMap<ZlibHandle, () => void>,
  seen: Set<object>,
): Undo[] {
  const undos: Undo[] = []
  const initOwner = ownerOf(handle, 'init') as ZlibHandle | undefined
  if (initOwner && !seen.has(initOwner)) {
    seen.add(initOwner)
    const native = initOwner.init
    undos.push(
      replace(initOwner, 'init', function (this: ZlibHandle, ...args: unknown[]) {
        callbacks.set(this, args.find((argument) => typeof argument === 'function') as () => void)
        return native.apply(this, args)
      }),
    )
  }
  const writeOwner = ownerOf(handle, 'write') as ZlibHandle | undefined
  if (writeOwner && !writePatched.has(writeOwner)) {
    writePatched.add(writeOwner)
    const native = writeOwner.write
    const undo = replace(writeOwner, 'write', function (this: ZlibHandle, ...args: unknown[]) {
      const callback = callbacks.get(this)
      if (callback === undefined || currentSession() === undefined) return native.apply(this, args)
      let failed = false
      const report = this.onerror
      this.onerror = function (this: unknown, ...details) {
        failed = true
        return report.apply(this, details)
      }
      this.writeSync(...args)
      this.onerror = report
      if (!failed) process.nextTick(() => callback.call(this))
      return undefined
    })
    undos.push(() => {
      writePatched.delete(writeOwner)
      undo()
    })
  }
  return undos
}

const writePatched = new WeakSet<object>()

const WEB_FORMATS: Record<string, readonly [compress: string, decompress: string]> = {
  gzip: ['createGzip', 'createGunzip'],
  deflate: ['createDeflate', 'createInflate'],
  'deflate-raw': ['createDeflateRaw', 'createInflateRaw'],
  brotli: ['createBrotliCompress', 'createBrotliDecompress'],
}

/**
 * `CompressionStream` and `DecompressionStream`, rebuilt on the zlib streams above, because newer
 * versions of Node implement them out of reach of patches.
 */
export function patchCompressionStreams(): Undo {
  return undoAll(
    ['CompressionStream', 'DecompressionStream'].map((name, index) =>
      replaceLazyClass(name, {
        construct(Native, args: [string], newTarget) {
          const creator = WEB_FORMATS[args[0]]?.[index as 0 | 1]
          if (currentSession() === undefined || creator === undefined)
            return Reflect.construct(Native, args, newTarget) as object
          return webStream(Native.prototype as object, (zlib as any)[creator]())
        },
      }),
    ),
  )
}

function webStream(prototype: object, zlibStream: zlib.Gzip): object {
  let controller!: TransformStreamDefaultController<Uint8Array>
  const settle =
    (resolve: () => void, reject: (error: unknown) => void) => (error?: Error | null) => {
      if (error) reject(new TypeError(error.message, { cause: error }))
      else resolve()
    }
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>({
    start: (started) => {
      controller = started
      zlibStream.on('data', (chunk: Buffer) => controller.enqueue(new Uint8Array(chunk)))
      zlibStream.on('error', (error) =>
        controller.error(new TypeError(error.message, { cause: error })),
      )
    },
    transform: (chunk) =>
      new Promise((resolve, reject) => zlibStream.write(chunk, settle(resolve, reject))),
    flush: () =>
      new Promise((resolve) => {
        zlibStream.once('end', resolve)
        zlibStream.end()
      }),
  })
  return Object.create(prototype, {
    readable: { value: readable, enumerable: true },
    writable: { value: writable, enumerable: true },
  }) as object
}
