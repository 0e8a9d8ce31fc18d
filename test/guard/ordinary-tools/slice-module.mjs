import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { parseSync } from 'oxc-parser'

const slices = []
process.on('exit', () => slices.forEach((each) => rmSync(each, { force: true })))

/**
 * Writes a module beside `file` with one of its functions and what that function needs. A sandboxed
 * tool has a process of its own, and loading all packages of a table there takes a second. The
 * module is removed when this process exits.
 */
export function sliceModule(file, name) {
  const text = readFileSync(file, 'utf8')
  const { body } = parseSync(file, text).program
  const declarations = new Map(
    body.flatMap((each) => declaredIn(each).map((declared) => [declared, each])),
  )
  const needed = new Set()
  const addNamesIn = (node) => {
    if (typeof node !== 'object' || node === null) return
    const statement = node.type === 'Identifier' ? declarations.get(node.name) : undefined
    if (statement !== undefined && !needed.has(statement)) {
      needed.add(statement)
      if (statement.type !== 'ImportDeclaration') addNamesIn(statement)
    }
    Object.values(node).forEach(addNamesIn)
  }
  addNamesIn({ type: 'Identifier', name })
  const slice = path.join(path.dirname(file), `${name}-${process.pid}.slice.mjs`)
  const kept = body.filter((each) => needed.has(each))
  writeFileSync(slice, kept.map(({ start, end }) => text.slice(start, end)).join('\n'))
  slices.push(slice)
  return slice
}

/** Names that a statement at the top of a module declares. */
function declaredIn(statement) {
  const { type, specifiers, declaration, declarations = [], id } = statement
  if (type === 'ImportDeclaration') return specifiers.map(({ local }) => local.name)
  if (type === 'ExportNamedDeclaration') return declaration ? declaredIn(declaration) : []
  return [id, ...declarations.map((each) => each.id)].flatMap(boundIn)
}

const boundIn = (pattern) =>
  pattern?.type === 'ObjectPattern'
    ? pattern.properties.flatMap(({ value, argument }) => boundIn(value ?? argument))
    : pattern?.name
      ? [pattern.name]
      : []
