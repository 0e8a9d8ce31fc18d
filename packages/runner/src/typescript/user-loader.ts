/**
 * Loaded by `node --import` after the user's own TypeScript loader, such as tsx, and before the
 * engine. Such a loader compiles in the agent's thread, with processes, threads and a cache, which
 * are not part of the run.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import module from 'node:module'
import { realpathSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { packageType, REQUIRED } from './typescript-hooks.js'

type Next = (value: string, context?: unknown) => unknown
type Hook = (value: string, context: unknown, next: Next) => unknown
interface CommonJsModule {
  _compile?: (this: CommonJsModule, ...args: unknown[]) => unknown
}
type Compile = (module: CommonJsModule, file: string) => void
interface ModuleInternals {
  readonly _extensions: Record<string, Compile>
  /** Missing in Node 20. */
  readonly registerHooks?: (hooks: { resolve: Hook; load: Hook }) => unknown
}
const { _extensions: extensions, registerHooks } = module as unknown as ModuleInternals

let outside = <T>(work: () => T): T => work()
// The engine is loaded next, before the agent's code.
void import('@retake/engine/hook').then(({ outsideRuns }) => (outside = outsideRuns))

// Hooks registered last are called first, so `next` is the user's.
const hook: Hook = (value, context, next) => outside(() => next(value, context))
registerHooks?.({ resolve: hook, load: hook })
if (new URL(import.meta.url).searchParams.has(REQUIRED)) requireEntry(process.argv[1] ?? '')

for (const [extension, compile] of Object.entries(extensions))
  if (/^\.[cm]?[jt]sx?$/.test(extension)) extensions[extension] = compileOutside(compile)

/** Compiles outside the run. The compiled module runs inside it. */
function compileOutside(compile: Compile): Compile {
  return (module, file) => {
    const inside = AsyncLocalStorage.snapshot()
    const evaluate = module._compile
    module._compile = (...args) => {
      delete module._compile
      return inside(() => evaluate?.apply(module, args))
    }
    try {
      outside(() => compile(module, file))
    } finally {
      delete module._compile
    }
  }
}

/**
 * Node would load the program with `require`, which a loader from `--require` hooks. Because of our
 * own `--import`, it imports the program instead; this turns the import back into a `require`.
 */
function requireEntry(program: string): void {
  const file = realpathSync(program)
  if (file.endsWith('.mts') || packageType(path.dirname(file)) === 'module') return
  const entry = pathToFileURL(file).href
  const answer = { format: 'commonjs', shortCircuit: true }
  if (registerHooks)
    registerHooks({
      resolve: (specifier, context, next) =>
        specifier === entry ? { url: entry, ...answer } : next(specifier, context),
      load: (url, context, next) => (url === entry ? answer : next(url, context)),
    })
  else {
    const source = `export const load = (url, context, next) =>
      url === ${JSON.stringify(entry)} ? ${JSON.stringify(answer)} : next(url, context)`
    module.register(`data:text/javascript,${encodeURIComponent(source)}`)
  }
}
