import { processMembers } from './process-members.js'
import type { ParsedSource, SyntaxNode } from './source-text.js'

/** Modules with which code leaves the process, or the reach of the recorder. */
const ESCAPES = /^(?:node:)?(?:child_process|cluster|worker_threads|dgram|inspector)(?:\/|$)/

const PARTS =
  /^(?:globalThis|console|Array|Date|Error|Function|JSON|Map|Math|Number|Object|Promise|Reflect|Set|String)\.\w+/

/** Expressions that name a module to load. */
const loaded = (source: ParsedSource): SyntaxNode[] => [
  ...source.ofType('ImportExpression').flatMap((node) => node.child('source') ?? []),
  ...source
    .ofType('CallExpression')
    .filter(
      ({ callee }) =>
        callee?.type === 'Import' ||
        /^(?:require|(?:process\.)?getBuiltinModule|(?:\w+\.)+require)$/.test(callee?.text ?? ''),
    )
    .flatMap(({ args }) => args.slice(0, 1)),
]

/** Modules whose names are known only while the program runs. */
export const computedModules = (source: ParsedSource): SyntaxNode[] =>
  loaded(source).filter(({ type }) => type !== 'StringLiteral')

/** Imports of modules with which code leaves the process, by their names. */
export const escapingModules = (source: ParsedSource): SyntaxNode[] =>
  [
    ...source
      .ofType('ImportDeclaration', 'ExportNamedDeclaration', 'ExportAllDeclaration')
      .flatMap((node) => node.child('source') ?? []),
    ...loaded(source),
  ].filter(({ type, name = '' }) => type === 'StringLiteral' && ESCAPES.test(name))

/** Assignments to parts of JavaScript or `process`, which the whole program and Retake use. */
export const replacedParts = (source: ParsedSource): SyntaxNode[] => [
  ...source
    .ofType('AssignmentExpression')
    .filter((node) => PARTS.test(node.child('left')?.text ?? '')),
  ...processMembers(source).flatMap(({ node, name, isChanged }) =>
    isChanged && name !== 'exitCode' ? [node] : [],
  ),
]

const WRITES =
  /^(?:append|write|copy|rename|unlink|rm|rmdir|mkdir|mkdtemp|symlink|link|truncate|chmod|chown|cp|createWriteStream|utimes)(?:File)?(?:Sync)?$/

const FILE_MODULE = /^['"`](?:node:)?fs(?:\/promises)?['"`]$/

/** Names under which code has the functions of `node:fs` that write, and the module itself. */
function writersIn(source: ParsedSource): {
  readonly functions: ReadonlySet<string>
  readonly modules: ReadonlySet<string>
} {
  const functions = new Set<string>()
  const modules = new Set(['fs', 'fsp', 'promises', 'node_fs'])
  const isModule = (node: SyntaxNode | undefined): boolean => {
    const inner = node?.type === 'AwaitExpression' ? node.child('argument') : node
    const loadedName = inner?.child('source') ?? inner?.args[0]
    return (
      modules.has(inner?.name ?? '') ||
      (/^(?:import|require|(?:process\.)?getBuiltinModule)$/.test(
        inner?.type === 'ImportExpression' ? 'import' : (inner?.callee?.text ?? ''),
      ) &&
        FILE_MODULE.test(loadedName?.text ?? ''))
    )
  }
  for (const node of source.ofType('ImportDeclaration')) {
    if (!FILE_MODULE.test(node.child('source')?.text ?? '')) continue
    for (const each of node.children('specifiers')) {
      const local = each.child('local')?.text ?? ''
      const imported = each.child('imported')?.name
      if (imported === undefined || /^(?:default|promises)$/.test(imported)) modules.add(local)
      else if (WRITES.test(imported)) functions.add(local)
    }
  }
  for (const node of source.ofType('VariableDeclarator')) {
    const [id, init] = [node.child('id')!, node.child('init')]
    if (id.type === 'Identifier' && isModule(init)) modules.add(id.text)
    if (id.type === 'Identifier' && WRITES.test(init?.name ?? '') && isModule(init?.object))
      functions.add(id.text)
    if (id.type === 'ObjectPattern' && isModule(init))
      for (const each of id.children('properties'))
        if (WRITES.test(each.child('key')?.name ?? ''))
          functions.add(each.child('value')?.text ?? '')
  }
  return { functions, modules }
}

/**
 * Uses of functions of `node:fs` that write, unless the path is a text inside of the project. They
 * may wait for a day on which nobody watches.
 */
export const writesElsewhere = (source: ParsedSource): SyntaxNode[] => {
  const { functions, modules } = writersIn(source)
  const isInside = (target: SyntaxNode | undefined): boolean =>
    target?.type === 'StringLiteral' && /^(?!\/|~|[A-Za-z]:|.*\.\.)/.test(target.name ?? '')
  return source.ofType('CallExpression', 'OptionalCallExpression').filter(({ callee, args }) => {
    const name = callee?.name ?? ''
    const isOfModule = modules.has(callee?.object?.name ?? '')
    const isWrite =
      functions.has(callee?.text ?? '') ||
      // A member that only the running program knows may be any.
      (isOfModule && callee?.raw['computed'] === true) ||
      (WRITES.test(name) && (isOfModule || name.includes('File') || callee?.type === 'Identifier'))
    // A function that is given away may be called with any path.
    return args.some((each) => functions.has(each.text)) || (isWrite && !isInside(args[0]))
  })
}

/** Texts with the address of a host. */
export const addresses = (source: ParsedSource): SyntaxNode[] =>
  source
    .ofType('StringLiteral', 'TemplateElement')
    .filter(({ text }) => /^["'`]?(?:https?|wss?):\/\/[\w[]/.test(text))
