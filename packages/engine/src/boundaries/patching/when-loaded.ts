import Module from 'node:module'
import { replace, type Undo } from './patch.js'

interface ModuleInternals {
  readonly _load: (this: unknown, request: string, ...rest: unknown[]) => unknown
  readonly _cache: Readonly<Record<string, LoadedModule | undefined>>
}

interface LoadedModule {
  readonly exports: unknown
  /** Loads a module as this one would. */
  require(path: string): unknown
}

const modules = Module as unknown as ModuleInternals

interface Watch {
  readonly entry: RegExp
  found(exports: unknown): void
}

const watches = new Set<Watch>()
let stopWatching: Undo = () => {}

/**
 * Calls `found` with the exports of a CommonJS package, however and whenever it is loaded, even
 * before Retake. `entry` matches its name and its main file.
 */
export function whenLoaded(entry: RegExp, found: (exports: unknown) => void): Undo {
  for (const file of Object.keys(modules._cache)) {
    if (entry.test(file)) found(modules._cache[file]?.exports)
  }
  if (watches.size === 0) {
    const load = modules._load
    stopWatching = replace(modules, '_load', function (
      this: unknown,
      request: string,
      ...rest: unknown[]
    ) {
      const exports = load.call(this, request, ...rest)
      for (const watch of watches) if (watch.entry.test(request)) watch.found(exports)
      return exports
    } satisfies ModuleInternals['_load'])
  }
  const watch = { entry, found }
  watches.add(watch)
  return () => {
    if (watches.delete(watch) && watches.size === 0) stopWatching()
  }
}

/** CommonJS modules whose file matches, which a package uses without exporting them. */
export function loadedModules(file: RegExp): LoadedModule[] {
  const { _cache } = modules
  return Object.keys(_cache).flatMap((path) => (file.test(path) ? (_cache[path] ?? []) : []))
}
