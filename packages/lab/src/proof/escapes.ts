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

/**
 * Calls of functions of `node:fs` that write, unless the path is a text inside of the project. They
 * may wait for a day on which nobody watches.
 */
export const writesElsewhere = (source: ParsedSource): SyntaxNode[] =>
  source.ofType('CallExpression', 'OptionalCallExpression').filter(({ callee, args: [target] }) => {
    const name = callee?.name ?? ''
    const isFile =
      name.includes('File') || /^(?:fs|fsp|promises|node_fs)$/.test(callee?.object?.name ?? '')
    return (
      WRITES.test(name) &&
      (isFile || callee?.type === 'Identifier') &&
      !(target?.type === 'StringLiteral' && /^(?!\/|~|[A-Za-z]:|.*\.\.)/.test(target.name ?? ''))
    )
  })

/** Texts with the address of a host. */
export const addresses = (source: ParsedSource): SyntaxNode[] =>
  source
    .ofType('StringLiteral', 'TemplateElement')
    .filter(({ text }) => /^["'`]?(?:https?|wss?):\/\/[\w[]/.test(text))
