import Module from 'node:module'
import { pathToFileURL, fileURLToPath } from 'node:url'
import { findSource, loadSource } from './typescript-hooks.js'

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

/** `require` of TypeScript, the same way on every Node. */
export function hookRequire(): void {
  const loader = Module as unknown as CommonJsLoader
  const compile = (module: CommonJsModule, file: string): void => {
    const loaded = loadSource(pathToFileURL(file).href)
    if (loaded) module._compile(loaded.source, file, loaded.format)
  }
  for (const extension of ['.ts', '.mts', '.cts']) loader._extensions[extension] = compile
  const resolveFilename = loader._resolveFilename.bind(Module)
  loader._resolveFilename = (request, parent, ...rest) => {
    const parentUrl =
      parent?.filename === undefined ? undefined : pathToFileURL(parent.filename).href
    const found = findSource(request, parentUrl)
    return resolveFilename(found ? fileURLToPath(found) : request, parent, ...rest)
  }
}
