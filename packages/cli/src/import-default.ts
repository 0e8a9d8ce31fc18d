import { pathToFileURL } from 'node:url'

/**
 * The default export of a JavaScript or TypeScript file of the user's. It may import
 * the library, which puts itself between a program and the outside; that is undone.
 */
export async function importDefault(file: string): Promise<unknown> {
  const { isInstalled, uninstall } = await import('@retake/engine')
  const wasInstalled = isInstalled()
  try {
    if (/\.[cm]?ts$/.test(file)) await import('./typescript/typescript-loader.js')
    const module = (await import(pathToFileURL(file).href)) as { readonly default?: unknown }
    return module.default
  } finally {
    if (!wasInstalled) uninstall()
  }
}
