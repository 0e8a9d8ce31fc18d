import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import path from 'node:path'

/** What a file asks for by a relative path: `import … from`, `export … from`, `import()`, `require()`. */
const ASKED_FOR = /(?:\bfrom|\bimport|\brequire)\s*\(?\s*(['"])(\.{1,2}\/[^'"\n]+)\1/g
const CODE = /\.[cm]?[jt]sx?$/
/** As Node and those who write TypeScript leave them out, or write them otherwise. */
const ENDINGS = ['', '.js', '.ts', '.mjs', '.cjs', '.json', '/index.js', '/index.ts']
/** Larger files are no code that somebody wrote. */
const BYTES_MAX = 16 * 1024 * 1024

/**
 * Differs where the content of one of these files differs, or of one that they import by a
 * relative path, also by way of others. A path without a file counts for nothing. Not
 * seen: packages, and paths that are put together while the program runs.
 */
export function hashOfCode(files: Iterable<string>): string {
  const hash = createHash('sha256')
  const seen = new Set<string>()
  const waiting = [...files].map((file) => path.resolve(file))
  for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
    if (seen.has(file)) continue
    seen.add(file)
    const bytes = contentOf(file)
    if (bytes === undefined) continue
    hash.update(`${file}\0${bytes.length}\0`).update(bytes)
    if (CODE.test(file)) waiting.push(...importedBy(file, bytes.toString()))
  }
  return hash.digest('hex')
}

function importedBy(file: string, code: string): string[] {
  return [...code.matchAll(ASKED_FOR)].flatMap(([, , asked = '']) => {
    const target = path.resolve(path.dirname(file), asked)
    const typed = target.replace(/\.([cm]?)js$/, '.$1ts')
    return [...ENDINGS.map((ending) => target + ending), typed]
  })
}

function contentOf(file: string): Buffer | undefined {
  try {
    const found = statSync(file, { throwIfNoEntry: false })
    return found?.isFile() && found.size <= BYTES_MAX ? readFileSync(file) : undefined
  } catch {
    return undefined
  }
}
