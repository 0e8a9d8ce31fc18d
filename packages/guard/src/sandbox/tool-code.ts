import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import { foldersAbove, isBelow } from '../bounds/file-roots.js'

/** Relative names in `import`, `export … from`, `import()` and `require()`. */
const IMPORTED = /(?:\bfrom|\bimport|\bimport\s*\(|\brequire\s*\()\s*(['"])(\.{1,2}\/[^'"\n]*)\1/g
/** Files beside the module, such as those of workers: `new URL('./thread.js', import.meta.url)`. */
const NAMED_BESIDE = /\bnew URL\(\s*(['"])((?!\w+:|\/)[^'"\n]+)\1\s*,\s*import\.meta\.url/g
const ENDINGS = ['', '.js', '.mjs', '.cjs', '.ts', '.mts', '.cts', '.json', '.node']

/**
 * Files that a module needs: itself, its relative imports, and `node_modules` and `package.json` of
 * the folders above. The rest of the project, which may contain secrets, is not visible.
 *
 * Files that the tool may write are not searched: they would choose what else is visible. Computed
 * names are not found; list their folders in `sandbox.code`.
 */
export function toolCode(module: string, writable: readonly string[] = []): string[] {
  const isWritable = (each: string): boolean => writable.some((root) => isBelow(each, root))
  const files = new Set<string>()
  const pending = [module]
  for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
    if (files.has(file) || isWritable(file)) continue
    files.add(file)
    if (!/\.[cm]?[jt]s$/.test(file)) continue
    const text = readFileSync(file, 'utf8')
    for (const [, , name = ''] of [...text.matchAll(IMPORTED), ...text.matchAll(NAMED_BESIDE)]) {
      const found = resolveRelative(path.resolve(path.dirname(file), name))
      if (found !== undefined) pending.push(found)
    }
  }
  const folders = [...new Set([module, ...files].flatMap((file) => foldersAbove(file)))]
  const closed = folders.filter((folder) => !isWritable(folder))
  const around = closed.flatMap((folder) =>
    ['node_modules', 'package.json', 'tsconfig.json'].map((name) => path.join(folder, name)),
  )
  const visible = [...files, ...around.filter((each) => existsSync(each))]
  // Package managers link packages from elsewhere.
  return [...new Set(visible.flatMap((each) => [each, realpathSync(each)]))]
}

/** TypeScript imports `x.js` where the file is `x.ts`. */
function resolveRelative(name: string): string | undefined {
  const source = name.replace(/\.([cm]?)js$/, '.$1ts')
  const candidates = [
    ...ENDINGS.map((ending) => name + ending),
    source,
    path.join(name, 'index.js'),
    path.join(name, 'index.ts'),
  ]
  return candidates.find((each) => statSync(each, { throwIfNoEntry: false })?.isFile())
}
