import path from 'node:path'
import { fileURLToPath } from 'node:url'
import worker, { type WorkerOptions } from 'node:worker_threads'
import { replace, type Undo } from '@retake/engine/hook'
import { currentBounds } from '../current-bounds.js'

/** Threads that guarded tools start: asked about as a program is, and ended with the call. */
export function patchWorkers(): Undo {
  const Patched = new Proxy(worker.Worker, {
    construct(native, args: [string | URL, WorkerOptions?], newTarget) {
      const bounds = currentBounds()
      if (bounds.length === 0) return Reflect.construct(native, args, newTarget) as object
      const [file, options] = args
      const { eval: isCode, ...how } = { ...options }
      const given = typeof file === 'string' ? file : new URL(file)
      // As Node does: anything but false, 0 or nothing makes it code.
      const name = isCode
        ? '(code)'
        : typeof given === 'string'
          ? path.resolve(given)
          : given.protocol === 'file:'
            ? fileURLToPath(given)
            : given.href
      for (const each of bounds) each.worker(name)
      const started = Reflect.construct(
        native,
        [given, { ...how, ...(isCode !== undefined && { eval: isCode }) }],
        newTarget,
      ) as worker.Worker
      const releases = bounds.map((each) => each.hold(() => void started.terminate()))
      started.once('exit', () => {
        for (const release of releases) release()
      })
      return started
    },
  })
  return replace(worker, 'Worker', Patched)
}
