/**
 * Loaded by `node --import` before the engine if the agent is written in TypeScript. Works the same
 * on every Node, whether it strips types or not.
 */
import module from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { loadStripper, stripOutside, useStrippedOf } from './strip-types.js'
import {
  answerFor,
  findImported,
  findSource,
  loadSource,
  type ResolveContext,
} from './typescript-hooks.js'
import { runnerEntry } from '../package-root.js'

type Next<Result> = (value: string, context?: unknown) => Result
interface SyncHooks {
  resolve(specifier: string, context: ResolveContext, next: Next<unknown>): unknown
  load(url: string, context: unknown, next: Next<unknown>): unknown
}
/** APIs of newer Node versions that the types of Node 20 lack. */
interface NewerModule {
  readonly registerHooks?: (hooks: SyncHooks) => unknown
  readonly setSourceMapsSupport?: (enabled: boolean, options: { nodeModules: boolean }) => void
}
const { registerHooks, setSourceMapsSupport } = module as NewerModule

const isStripped = useStrippedOf(import.meta.url)
let mapsEnabled = false

// The engine is loaded before the hooks, which Node 20 calls in another thread for every module.
const { outsideRuns } = await import('@retake/engine/hook')
stripOutside(outsideRuns)

// Makes `require` of TypeScript work the same on every Node.
const loader = module as unknown as CommonJsLoader
const compile = (compiled: CommonJsModule, file: string): void => {
  const loaded = loadSource(pathToFileURL(file).href)
  if (loaded) compiled._compile(loaded.source, file, loaded.format)
}
for (const extension of ['.ts', '.mts', '.cts']) loader._extensions[extension] = compile
const resolveFilename = loader._resolveFilename.bind(module)
loader._resolveFilename = (request, parent, ...rest) => {
  const parentUrl = parent?.filename === undefined ? undefined : pathToFileURL(parent.filename).href
  const found = findSource(request, parentUrl)
  return resolveFilename(found ? fileURLToPath(found) : request, parent, ...rest)
}

if (registerHooks) {
  if (!isStripped) loadStripper()
  registerHooks({
    resolve: (specifier, context, next) =>
      next(findImported(specifier, context) ?? specifier, context),
    load: (url, context, next) => {
      const loaded = loadSource(url)
      if (loaded?.mapped && !mapsEnabled) {
        mapsEnabled = true
        if (setSourceMapsSupport) setSourceMapsSupport(true, { nodeModules: false })
        else process.setSourceMapsEnabled(true)
      }
      return loaded ? answerFor(loaded) : next(url, context)
    },
  })
} else {
  const thread = runnerEntry('typescript-hooks-thread')
  thread.search = new URL(import.meta.url).search
  module.register(thread)
}

/** The parts of Node's CommonJS loader that `require` hooks have always used. */
interface CommonJsLoader {
  _extensions: Record<string, (module: CommonJsModule, file: string) => void>
  _resolveFilename(
    request: string,
    parent: { filename?: string } | undefined,
    ...rest: unknown[]
  ): string
}
interface CommonJsModule {
  _compile(code: string, file: string, format?: string): void
}
