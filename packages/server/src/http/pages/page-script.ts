import { existsSync, readFileSync } from 'node:fs'

/** A script of a page, and what it reads from the data attributes of its element. */
export interface PageScript {
  readonly code: string
  readonly data: Readonly<Record<string, string>>
}

const packageRoot = (folder: URL): URL =>
  existsSync(new URL('package.json', folder)) ? folder : packageRoot(new URL('..', folder))

/** A script from the folder `pages` of this package, which is shipped as it is. */
export function pageScript(
  name: 'theme' | 'copy-link' | 'live' | 'countdown',
  data: Readonly<Record<string, string | number>> = {},
): PageScript {
  const root = packageRoot(new URL('.', import.meta.url))
  return {
    code: readFileSync(new URL(`pages/${name}.js`, root), 'utf8'),
    data: Object.fromEntries(
      Object.entries(data).map(([key, value]) => [
        `data-${key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
        String(value),
      ]),
    ),
  }
}
