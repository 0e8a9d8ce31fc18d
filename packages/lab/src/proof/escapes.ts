import { processMembers } from './process-members.js'
import type { ParsedSource, SyntaxNode } from './source-text.js'

/** Modules with which code leaves the process, or the reach of the recorder. */
const ESCAPES = /^(?:node:)?(?:child_process|cluster|worker_threads|dgram|inspector)(?:\/|$)/

const PARTS =
  /^(?:globalThis|Array|Date|Error|Function|JSON|Map|Math|Number|Object|Promise|Reflect|Set|String)\.\w+/

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
