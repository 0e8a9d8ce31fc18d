/**
 * Prints the size and structure of the product source: files and lines per package, the modules
 * behind the two entry points that users wait for, exported names that are defined twice, and short
 * files with one importer. `docs/decisions/2026-11-17-size.md` has the last result.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { parseSync } from 'oxc-parser'
import { packageNames, root } from './run-command.mjs'

const SHORT = 60

/** @typedef {{ lines: number, imports: Set<string>, needs: Set<string>, exports: string[] }} Source */

/** @type {Map<string, Source>} */
const sources = new Map()
for (const name of packageNames) {
  const folder = join(root, 'packages', name, 'src')
  for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (/\.(tsx?|css)$/.test(path) && !path.includes('.test.')) read(join(folder, path))
  }
}

function read(path) {
  const text = readFileSync(path, 'utf8')
  const source = {
    lines: text.split('\n').length - 1,
    imports: new Set(),
    needs: new Set(),
    exports: [],
  }
  sources.set(path, source)
  if (path.endsWith('.css')) return
  const { module } = parseSync(path, text)
  const add = (request, isType) => {
    const target = resolveSource(path, request)
    if (target === undefined) return
    source.imports.add(target)
    if (!isType) source.needs.add(target)
  }
  for (const { moduleRequest, entries } of module.staticImports) {
    add(moduleRequest.value, entries.length > 0 && entries.every(({ isType }) => isType))
  }
  for (const { entries } of module.staticExports) {
    for (const { moduleRequest, isType, exportName } of entries) {
      if (moduleRequest) add(moduleRequest.value, isType)
      else if (exportName.name) source.exports.push(exportName.name)
    }
  }
  for (const { moduleRequest } of module.dynamicImports) {
    const request = text.slice(moduleRequest.start + 1, moduleRequest.end - 1)
    const target = resolveSource(path, request)
    if (target !== undefined) source.imports.add(target)
  }
}

/** The source file of a relative import or of an entry point of our own packages. */
function resolveSource(from, request) {
  const [, name, entry = 'index'] = /^@retake\/([a-z]+)(?:\/([a-z-]+))?$/.exec(request) ?? []
  const bare = name
    ? join(root, 'packages', name, 'src', entry)
    : request.startsWith('.')
      ? join(dirname(from), request.replace(/\.jsx?$/, ''))
      : undefined
  if (bare === undefined) return undefined
  return [bare, `${bare}.ts`, `${bare}.tsx`, join(bare, 'index.ts')].find(
    (path) => /\.(tsx?|css)$/.test(path) && existsSync(path),
  )
}

/** Every file that is evaluated when this one is imported. */
function loadedBy(entry, seen = new Set()) {
  if (seen.has(entry)) return seen
  seen.add(entry)
  for (const next of sources.get(entry)?.needs ?? []) loadedBy(next, seen)
  return seen
}

const sum = (paths) => paths.reduce((lines, path) => lines + sources.get(path).lines, 0)
const all = [...sources.keys()]
for (const name of packageNames) {
  const own = all.filter((path) => path.startsWith(join(root, 'packages', name, '/')))
  console.log(`${name}: ${own.length} files, ${sum(own)} lines`)
}
console.log(`all: ${all.length} files, ${sum(all)} lines`)

for (const [title, path] of [
  ["import 'retake'", 'packages/cli/src/index.ts'],
  ['a recorded process', 'packages/engine/src/preload.ts'],
]) {
  const loaded = [...loadedBy(join(root, path))]
  console.log(`${title}: ${loaded.length} source modules, ${sum(loaded)} lines`)
}

const defined = new Map()
for (const [path, { exports }] of sources) {
  for (const name of new Set(exports))
    defined.set(name, [...(defined.get(name) ?? []), relative(root, path)])
}
const twice = [...defined].filter(([name, paths]) => name !== 'default' && paths.length > 1)
console.log(`exported names defined twice: ${twice.length}`)
for (const [name, paths] of twice) console.log(`  ${name}: ${paths.join(', ')}`)

const importers = new Map()
for (const [path, { imports }] of sources) {
  for (const target of imports) importers.set(target, [...(importers.get(target) ?? []), path])
}
const single = all.filter((path) => importers.get(path)?.length === 1)
const short = single.filter((path) => sources.get(path).lines < SHORT)
console.log(`files with one importer: ${single.length}, under ${SHORT} lines: ${short.length}`)
for (const path of short) {
  const [importer] = importers.get(path)
  console.log(
    `  ${relative(root, path)} (${sources.get(path).lines}) in ${relative(root, importer)}`,
  )
}

/** What users read: the pages of docs, without records of decisions, stories of errors and comments. */
const docs = join(root, 'docs')
const words = readdirSync(docs)
  .filter((file) => file.endsWith('.md'))
  .map((file) => readFileSync(join(docs, file), 'utf8').replaceAll(/<!--[^]*?-->/g, ''))
  .reduce((count, text) => count + text.split(/\s+/).filter(Boolean).length, 0)
console.log(`docs: ${words} words`)

/** The heart of the product. A newcomer reads these folders first, and they import nothing else. */
const KERNEL = ['packages/tape/src/format/', 'packages/engine/src/kernel/']
const kernel = all.filter((path) =>
  KERNEL.some((folder) => relative(root, path).startsWith(folder)),
)
const outsideKernel = new Map()
for (const path of kernel) {
  for (const target of sources.get(path).imports) {
    if (kernel.includes(target)) continue
    outsideKernel.set(target, [...(outsideKernel.get(target) ?? []), path])
  }
}
console.log(
  `kernel: ${kernel.length} files, ${sum(kernel)} lines, imports ${outsideKernel.size} outside files`,
)
for (const [target, paths] of outsideKernel)
  console.log(
    `  ${relative(root, target)} in ${paths.map((path) => relative(root, path)).join(', ')}`,
  )

/** Groups of files that import each other, types included, largest first (Tarjan). */
function cycles() {
  const groups = []
  const order = new Map()
  const lowest = new Map()
  const stack = []
  const visit = (path) => {
    order.set(path, order.size)
    lowest.set(path, order.get(path))
    stack.push(path)
    for (const next of sources.get(path)?.imports ?? []) {
      if (!sources.has(next)) continue
      if (!order.has(next)) {
        visit(next)
        lowest.set(path, Math.min(lowest.get(path), lowest.get(next)))
      } else if (stack.includes(next)) {
        lowest.set(path, Math.min(lowest.get(path), order.get(next)))
      }
    }
    if (lowest.get(path) !== order.get(path)) return
    const group = stack.splice(stack.indexOf(path))
    if (group.length > 1) groups.push(group)
  }
  for (const path of all) if (!order.has(path)) visit(path)
  return groups.toSorted((a, b) => b.length - a.length)
}
const knots = cycles()
console.log(
  `cycles, types included: ${knots.length}, of ${knots.map(({ length }) => length).join(', ')} files`,
)
for (const path of knots[0] ?? []) console.log(`  ${relative(root, path)}`)

/** Pairs of folders of one package that import each other. */
const folderImports = new Map()
for (const [path, { imports }] of sources) {
  const from = dirname(path)
  for (const target of imports) {
    if (dirname(target) === from) continue
    folderImports.set(from, (folderImports.get(from) ?? new Set()).add(dirname(target)))
  }
}
const pairs = [...folderImports].flatMap(([from, targets]) =>
  [...targets]
    .filter((target) => from < target && folderImports.get(target)?.has(from))
    .map((target) => [relative(root, from), relative(root, target)]),
)
console.log(`folders that import each other: ${pairs.length} pairs`)
for (const [a, b] of pairs) console.log(`  ${a} ${b}`)
