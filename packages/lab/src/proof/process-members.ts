import { constantValue } from './constant-values.js'
import type { ParsedSource, SyntaxNode } from './source-text.js'

/** A use of a member of `process`, however the code reaches it. */
export interface ProcessMember {
  /** The member, import or property of a pattern. */
  readonly node: SyntaxNode
  /** Undefined if it is computed while the program runs. */
  readonly name: string | undefined
  /** True if the member is assigned, counted or deleted. */
  readonly isChanged: boolean
}

/** Uses of members of `process`, also through other names, patterns, imports and `Reflect`. */
export function processMembers(source: ParsedSource): ProcessMember[] {
  const names = processNames(source)
  const isProcess = (node: SyntaxNode | undefined): boolean =>
    node !== undefined && isProcessValue(node, names)
  const members = source
    .ofType('MemberExpression', 'OptionalMemberExpression')
    .filter(({ object }) => isProcess(object))
    .map((node) => ({ node, name: memberName(node), isChanged: isWritten(node) }))
  const patterns = source
    .ofType('ObjectPattern')
    .filter(({ parent }) => isProcess(parent?.child('init') ?? parent?.child('right')))
    .flatMap((pattern) => pattern.children('properties'))
    .map((node) => ({ node, name: node.child('key')?.name, isChanged: false }))
  const imports = source
    .ofType('ImportSpecifier')
    .filter(({ parent }) => isProcessModule(parent?.child('source')))
    .map((node) => ({ node, name: node.child('imported')?.name, isChanged: false }))
  const reflected = source
    .ofType('CallExpression')
    .filter(({ callee, args: [target] }) => REFLECTS.test(callee?.text ?? '') && isProcess(target))
    .map((node) => {
      const [, key] = node.args
      const value = constantValue(key)
      const keys = key?.type === 'ObjectExpression' ? key.propertyNames : []
      const isChanged = node.callee?.name !== 'get'
      return { node, name: typeof value === 'string' ? value : keys[0], isChanged }
    })
  return [...members, ...patterns, ...imports, ...reflected]
}

const REFLECTS =
  /^(?:Reflect\.(?:get|set|defineProperty)|Object\.(?:assign|definePropert(?:y|ies)))$/

const isProcessModule = (node: SyntaxNode | undefined): boolean =>
  node !== undefined && /^(?:node:)?process$/.test(node.name ?? '')

/** `process`, and the variables that contain it. */
function processNames(source: ParsedSource): ReadonlySet<string> {
  const names = new Set(['process'])
  for (const specifier of source.ofType('ImportDefaultSpecifier', 'ImportNamespaceSpecifier'))
    if (isProcessModule(specifier.parent?.child('source')))
      names.add(specifier.child('local')?.text ?? '')
  const declarators = source.ofType('VariableDeclarator')
  // A name may be the name of a name.
  for (let size = 0; size < names.size;) {
    size = names.size
    for (const each of declarators) {
      const init = each.child('init')
      const id = each.child('id')
      if (init !== undefined && id?.type === 'Identifier' && isProcessValue(init, names))
        names.add(id.text)
    }
  }
  return names
}

function isProcessValue(node: SyntaxNode, names: ReadonlySet<string>): boolean {
  if (node.type === 'AwaitExpression') return isProcessValue(node.child('argument')!, names)
  if (node.type === 'Identifier') return names.has(node.text)
  if (/^(?:Optional)?MemberExpression$/.test(node.type))
    return /^(?:process|default)$/.test(memberName(node) ?? '') && node.object !== undefined
      ? /^(?:globalThis|global)$/.test(node.object.text) || isProcessValue(node.object, names)
      : false
  const [module] = node.args
  return (
    /^(?:CallExpression|ImportExpression)$/.test(node.type) &&
    /^(?:require|import)$/.test(node.callee?.text ?? 'import') &&
    isProcessModule(module ?? node.child('source'))
  )
}

/** Name of a member, also in brackets; undefined if it is known only while the program runs. */
export function memberName(node: SyntaxNode): string | undefined {
  if (node.raw['computed'] !== true) return node.name
  const value = constantValue(node.child('property'))
  return value === undefined ? undefined : String(value)
}

const isWritten = (node: SyntaxNode): boolean =>
  (node.parent?.type === 'AssignmentExpression' && node.parent.child('left') === node) ||
  node.parent?.type === 'UpdateExpression' ||
  (node.parent?.type === 'UnaryExpression' && node.parent.raw['operator'] === 'delete')
