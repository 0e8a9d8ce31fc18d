/**
 * Prints the size and structure of the product source: files and lines per package, the modules
 * behind the two entry points that users wait for, exported names that are defined twice, short
 * files with one importer, imports of the kernel, cycles, and helpers that are used once.
 * `docs/decisions/2026-11-19-kernel-figures.md` has the last result.
 *
 * `--root <folder>` measures another checkout. `--list <package>` prints its one-use helpers.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { parseSync } from 'oxc-parser'
import { root as ownRoot } from './run-command.mjs'

const { values: options } = parseArgs({
  options: { root: { type: 'string' }, list: { type: 'string' } },
})
const root = resolve(options.root ?? ownRoot)
const packageNames = readdirSync(join(root, 'packages')).filter((name) =>
  existsSync(join(root, 'packages', name, 'src')),
)

const SHORT = 60

/** @typedef {{ lines: number, imports: Set<string>, needs: Set<string>, exports: string[], helpers: Helper[], verbs: string[] }} Source */
/** @typedef {{ name: string, line: number, lines: number }} Helper */

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
    helpers: [],
    verbs: [],
  }
  sources.set(path, source)
  if (path.endsWith('.css')) return
  const { module, program } = parseSync(path, text)
  source.helpers = oneUseHelpers(program, text)
  source.verbs = verbsOf(program)
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

/**
 * Functions of a module that are not exported, and private methods, that their file calls exactly
 * once. Rendering a component counts as a call. A function that is only handed to another one, such
 * as a callback, is not counted. Names are compared without scopes, so a local function that hides
 * one of the module may hide it here too. For commit 5ca9e2a2 this finds 17.1 per 1,000 lines; the
 * review that asked for the figure found 17.6 with a script of its own.
 */
function oneUseHelpers(program, text) {
  const helpers = new Map()
  const calls = new Map()
  const declare = (name, node, body) => {
    if (body) helpers.set(name, { node, body })
  }
  for (const node of program.body) {
    if (node.type === 'FunctionDeclaration') declare(node.id.name, node, node.body)
    if (node.type !== 'VariableDeclaration') continue
    for (const { id, init } of node.declarations) {
      if (/^(ArrowFunction|Function)Expression$/.test(init?.type)) declare(id.name, node, init.body)
    }
  }
  const visit = (node, owner) => {
    if (Array.isArray(node)) {
      for (const item of node) visit(item, owner)
      return
    }
    if (typeof node?.type !== 'string') return
    const call = (name) => calls.set(name, (calls.get(name) ?? 0) + 1)
    if (node.type === 'JSXOpeningElement') call(node.name.name)
    if (node.type === 'CallExpression') {
      const { callee } = node
      if (callee.type === 'Identifier') call(callee.name)
      if (callee.property?.type === 'PrivateIdentifier') call(`${owner}#${callee.property.name}`)
    }
    if (
      node.type === 'MethodDefinition' &&
      node.kind === 'method' &&
      node.key.type === 'PrivateIdentifier'
    )
      declare(`${owner}#${node.key.name}`, node, node.value.body)
    const inner = node.type.startsWith('Class') && node.id ? node.id.name : owner
    for (const child of Object.values(node)) {
      if (child !== null && typeof child === 'object') visit(child, inner)
    }
  }
  visit(program.body, '')
  const lineAt = (offset) => text.slice(0, offset).split('\n').length
  return [...helpers]
    .filter(([name]) => calls.get(name) === 1)
    .map(([name, { node, body }]) => {
      const lines = lineAt(body.end) - lineAt(body.start) + 1
      const isBlock = body.type === 'BlockStatement' && lines > 1
      return { name, line: lineAt(node.start), lines: isBlock ? lines - 2 : lines }
    })
}

/** Verbs that `retake --help` lists: entries of a table that have a group. */
function verbsOf(program) {
  return program.body
    .flatMap((statement) => (statement.declaration ?? statement).declarations ?? [])
    .filter(({ id, init }) => /verbs$/i.test(id.name) && init?.type === 'ObjectExpression')
    .flatMap(({ init }) => init.properties)
    .filter(({ value }) => value?.properties?.some((each) => each.key?.name === 'group'))
    .map(({ key }) => key.name ?? key.value)
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
  ['a recorded process', 'packages/engine/src/process/preload.ts'],
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

const helpersOf = (paths) =>
  paths.reduce((count, path) => count + sources.get(path).helpers.length, 0)
const perThousand = (paths) => ((helpersOf(paths) * 1000) / sum(paths)).toFixed(1)
const ownFiles = (name) => all.filter((path) => path.startsWith(join(root, 'packages', name, '/')))
if (options.list) {
  console.log(`one-use helpers of ${options.list}:`)
  for (const path of ownFiles(options.list)) {
    for (const { name, line, lines } of sources.get(path).helpers)
      console.log(`  ${relative(root, path)}:${line} ${name}, ${lines} lines`)
  }
}
console.log('one-use helpers per 1,000 lines')
for (const name of packageNames)
  console.log(`  ${name}: ${perThousand(ownFiles(name))} (${helpersOf(ownFiles(name))})`)

const verbs = new Set([...sources.values()].flatMap((source) => source.verbs))
console.log(`
summary
  lines                            ${sum(all)}
  lines of cli                     ${sum(ownFiles('cli'))}
  kernel files, lines              ${kernel.length}, ${sum(kernel)}
  files the kernel imports         ${outsideKernel.size}
  largest cycle, types included    ${knots[0]?.length ?? 0} files
  folders that import each other   ${pairs.length} pairs
  one-use helpers per 1,000 lines  ${perThousand(all)} (${helpersOf(all)})
  verbs                            ${verbs.size}
  words of docs                    ${words}`)
