import { isRecord, parseJson } from '@retake/tape'
import {
  type AnswerObject,
  answerRoots,
  findMoved,
  isNumericText,
  objectsIn,
  type ValuePath,
  type ValueUse,
} from '../answer-values.js'
import type { ParsedSource, SourceEdit, SyntaxNode } from '../source-text.js'
import { fieldPaths, isNearName, leafOf } from '../symptoms.js'
import {
  accessText,
  LIST_METHODS,
  NUMBER_METHODS,
  objectKey,
  operator,
  type Operator,
  type OperatorContext,
  type Proposal,
  symptomsOf,
  TEXT_METHODS,
  thrown,
  thrownOrWrong,
  wholesAt,
} from './operator.js'

/**
 * Values that an answer has under another name, in another position or in another form. These
 * changes keep the value, so they come before those that do without it.
 */

const MEMBERS = ['MemberExpression', 'OptionalMemberExpression']
const PROPOSALS_MAX = 4

// ── Names and positions ─────────────────────────────────────────────────────

/** Reads a value where the answer has it, if the code looks elsewhere. */
const fieldAlias = operator(
  'field-alias',
  'transport',
  (context) => [...symptomsOf(context, 'response-drift'), ...thrownOrWrong(context)],
  (source, symptom, context) => {
    if (!source.isCode) return []
    const { renamed } = symptom.facts as { readonly renamed?: Readonly<Record<string, string>> }
    if (renamed !== undefined)
      return aliasProposals(source, Object.entries(renamed)).map((each) => ({
        ...each,
        why: symptom.evidence,
      }))
    const moved = movedReads(source, context)
    const here = moved.filter((variable) => variable.isFailing)
    const everything =
      moved.length > 1
        ? [
            proposeMoved(
              source,
              moved.flatMap(({ reads }) => reads),
            ),
          ]
        : []
    const groups = [...here, ...moved.filter((variable) => !variable.isFailing)].map(({ reads }) =>
      proposeMoved(source, reads),
    )
    const single = here
      .filter(({ names }) => names.length > 1)
      .flatMap(({ reads }) => reads.filter(({ isFailing }) => isFailing))
      .map((read) => proposeMoved(source, [read]))
    return [
      ...groups.slice(0, 1),
      ...everything,
      ...groups.slice(1),
      ...single,
      ...(moved.length === 0 ? aliasProposals(source, nearMisses(context)) : []),
    ].slice(0, PROPOSALS_MAX)
  },
)

interface MovedRead {
  readonly node: SyntaxNode
  /** The object that is read; missing for a property of a pattern. */
  readonly object?: SyntaxNode
  readonly name: string
  readonly path: ValuePath
  /** Code of the object around, for a value that is one level higher. */
  readonly parent?: string
  readonly isFailing: boolean
}

interface MovedVariable {
  readonly names: readonly string[]
  readonly reads: readonly MovedRead[]
  readonly isFailing: boolean
}

interface FieldRead {
  readonly node: SyntaxNode
  readonly object?: SyntaxNode
  readonly name: string
  /** Value that a pattern takes apart. */
  readonly init?: SyntaxNode
}

/** Reads of fields that no answer has where the code looks, although it has them elsewhere. */
function movedReads(source: ParsedSource, context: OperatorContext): MovedVariable[] {
  const objects = answerRoots(context).flatMap((root) => objectsIn(root))
  if (objects.length === 0) return []
  const missing = missingReads(source, context)
  return [...readsByObject(source).values()].flatMap((reads): MovedVariable[] => {
    const isFailing = reads.some(({ node }) => missing.has(node))
    for (const owner of likelyOwners(objects, reads, missing)) {
      const moved = reads.flatMap((read): MovedRead[] => {
        if (read.name in owner.value) return []
        const use = memberUse(read.node)
        const isHere = missing.has(read.node)
        const base = { ...read, isFailing: isHere }
        const path = findMoved(owner.value, read.name, { use, isLoose: isHere })
        if (path !== undefined) return [{ ...base, path }]
        const parent = read.object && objectAround(read.object)
        const above = owner.around.at(-1)
        return parent !== undefined && above !== undefined && read.name in above
          ? [{ ...base, parent, path: [read.name] }]
          : []
      })
      const names = [...new Set(moved.map(({ name }) => name))]
      if (moved.length > 0) return [{ names, reads: moved, isFailing }]
    }
    return []
  })
}

/**
 * Objects that code may mean: those with the most names that it reads, without a name whose value
 * is known to be missing.
 */
function likelyOwners(
  objects: readonly AnswerObject[],
  reads: readonly FieldRead[],
  missing: ReadonlySet<SyntaxNode>,
): readonly AnswerObject[] {
  const names = [...new Set(reads.map(({ name }) => name))]
  const absent = reads.filter(({ node }) => missing.has(node)).map(({ name }) => name)
  const [{ object, init = object }] = reads as [FieldRead]
  const key = object && fieldName(object)
  const isWhole = init !== undefined && isAnswer(init)
  const hasKey =
    object?.type !== 'Identifier' && objects.some((each) => key !== undefined && each.key === key)
  const scored = objects
    .filter(({ value }) => !absent.some((name) => name in value))
    .filter((each) => (isWhole ? each.around.length === 0 : !hasKey || each.key === key))
    .map((each) => ({ each, score: names.filter((name) => name in each.value).length }))
  const best = Math.max(0, ...scored.map(({ score }) => score))
  if (best === names.length) return []
  const likely = scored.filter(({ score }) => score === best).map(({ each }) => each)
  return best > 0 ? likely : likely.filter(({ around }) => around.length === 0 || hasKey)
}

/** True for a whole answer: an awaited call, parsed JSON, or a variable with one. */
function isAnswer(node: SyntaxNode): boolean {
  if (node.type === 'AwaitExpression') return true
  if (node.type === 'CallExpression') return node.callee?.text === 'JSON.parse'
  const init = declaredBy(node)?.child('init')
  return init !== undefined && isAnswer(init)
}

/** Names that have fields of their own in JavaScript. */
const NOT_ANSWERS =
  /^(?:process|console|Math|JSON|Object|Array|Number|String|Date|import|globalThis)\b/

/** Fields that code reads, by the object that it reads them from. */
function readsByObject(source: ParsedSource): Map<string, FieldRead[]> {
  const groups = new Map<string, FieldRead[]>()
  const add = (key: string, read: FieldRead): void => {
    groups.set(key, [...(groups.get(key) ?? []), read])
  }
  for (const node of source.ofType(...MEMBERS)) {
    const object = node.object!
    const name = fieldName(node)
    if (name === undefined || isTarget(node) || NOT_ANSWERS.test(object.text)) continue
    const isMethod = /^(?:Optional)?CallExpression$/.test(node.parent?.type ?? '')
    if (isMethod && node.parent?.callee === node) continue
    if (name === 'length') continue
    add(objectKeyOf(object), { node, object, name })
  }
  for (const pattern of source.ofType('ObjectPattern')) {
    const init = pattern.parent?.child('init')
    const key = init === undefined ? `pattern ${pattern.start}` : objectKeyOf(init)
    for (const node of pattern.children('properties')) {
      const name = node.child('key')?.name
      if (name !== undefined && node.type === 'ObjectProperty')
        add(key, { node, name, ...(init !== undefined && { init }) })
    }
  }
  return groups
}

/** The same for reads of one object: its text and the function that declares its variable. */
function objectKeyOf(object: SyntaxNode): string {
  if (!isPure(object)) return `at ${object.start}`
  const [root = ''] = /^[\w$]+/.exec(object.text) ?? []
  const declares = (inner: SyntaxNode): boolean =>
    inner
      .children('params')
      .some((param) => new RegExp(`\\b${escapedName(root)}\\b`).test(param.text)) ||
    inner.source
      .ofType('VariableDeclarator')
      .some((each) => each.functionAround === inner && each.child('id')?.name === root)
  const scope = object.around.findLast((each) => each.isFunction && declares(each))
  return `${object.text} ${scope?.start ?? 0}`
}

const escapedName = (name: string): string => name.replaceAll('$', String.raw`\$`)

/** A variable or a chain of members: reading it again has no effect. */
const isPure = (node: SyntaxNode): boolean => /^[\w$]+(?:\??\.[\w$]+)*$/.test(node.text)

const fieldName = (node: SyntaxNode): string | undefined => {
  const property = node.child('property')
  return node.name ?? (property?.type === 'StringLiteral' ? property.name : undefined)
}

const isTarget = (node: SyntaxNode): boolean =>
  node.parent?.type === 'UpdateExpression' ||
  (node.parent?.type === 'AssignmentExpression' && node.parent.child('left') === node)

/** Reads whose value is missing, as the error says; also those that gave a variable its value. */
function missingReads(source: ParsedSource, context: OperatorContext): Set<SyntaxNode> {
  const { thrownAt } = context
  const [symptom] = thrown(context)
  const [at] = thrownAt
  if (symptom === undefined || at?.source !== source) return new Set()
  const { property, isNot } = symptom.facts
  const line = source.lineAt(at.offset)
  const members = source.ofType(...MEMBERS).filter((node) => fieldName(node) === property)
  const exact = members.filter((node) => node.child('property')!.isAround(at.offset))
  const near = members.filter((node) => node.child('property')!.line === line)
  const values =
    property === undefined || isNot === 'iterable'
      ? wholesAt(source, at.offset)
      : (exact.length > 0 ? exact : near).map(({ object }) => object!)
  return new Set(
    values.flatMap((value) => {
      const init = declaredBy(value)?.child('init')
      const taken = source
        .ofType('ObjectPattern')
        .flatMap((pattern) => pattern.children('properties'))
        .filter((each) => value.type === 'Identifier' && each.child('value')?.name === value.name)
      return [value, ...(init === undefined ? [] : [init]), ...taken]
    }),
  )
}

/** How a member is used, by the method that is called on it. */
function memberUse(node: SyntaxNode): ValueUse {
  const { parent } = node
  if (parent?.type === 'ForOfStatement' && parent.child('right') === node) return 'list'
  if (parent?.type === 'SpreadElement' && parent.parent?.type === 'ArrayExpression') return 'list'
  return parent?.object === node ? methodUse(parent.name ?? '') : 'any'
}

function methodUse(name: string): ValueUse {
  if (NUMBER_METHODS.test(name)) return 'number'
  if (TEXT_METHODS.test(name)) return 'text'
  // Texts have these, too.
  return LIST_METHODS.test(name) && !/^(?:at|concat|indexOf|length|slice)$/.test(name)
    ? 'list'
    : 'any'
}

/** Code of the object that contains another: `data` for `data.basket`, also through a variable. */
function objectAround(object: SyntaxNode): string | undefined {
  const init =
    object.type === 'Identifier'
      ? object.source
          .ofType('VariableDeclarator')
          .find((each) => each.child('id')?.name === object.name)
          ?.child('init')
      : object
  const outer = init?.object
  return outer !== undefined && isPure(outer) ? outer.text : undefined
}

const pathText = (path: ValuePath): string =>
  path.map((part) => (typeof part === 'number' ? `[${part}]` : accessText(part))).join('')

function proposeMoved(source: ParsedSource, reads: readonly MovedRead[]): Proposal {
  const edit = source.edit()
  for (const read of reads) addMoved(edit, read)
  const names = new Map(
    reads.map(({ name, path, parent }) => [
      name,
      `${parent ?? ''}${pathText(path)}`.replace(/^\./, ''),
    ]),
  )
  const listed = (texts: Iterable<string>): string =>
    [...texts].map((text) => `\`${text}\``).join(' and ')
  return {
    node: reads[0]!.node,
    edit,
    title: `Also read ${listed(names.values())} where the code reads ${listed(names.keys())}`,
    why: `The answer has ${[...names.values()].join(' and ')}, not ${[...names.keys()].join(' and ')}.`,
  }
}

function addMoved(edit: SourceEdit, { node, object, name, path, parent }: MovedRead): void {
  if (object === undefined) return addMovedProperty(edit, node, name, path)
  if (!isPure(object)) {
    const { start, end } = node.child('property')!
    const access = pathText(path)
    const isDotted = access.startsWith('.') || node.raw['optional'] === true
    edit.replace({ start: isDotted ? start : start - 1, end }, access.replace(/^\./, ''))
    return
  }
  const isOptional = node.raw['optional'] === true && pathText(path).startsWith('.')
  edit.replace(
    node,
    `(${node.text} ?? ${parent ?? object.text}${isOptional ? '?' : ''}${pathText(path)})`,
  )
}

/** Changes a property of a pattern; of a plain one, the old name keeps working. */
function addMovedProperty(
  edit: SourceEdit,
  property: SyntaxNode,
  name: string,
  path: ValuePath,
): void {
  const value = property.child('value')!
  const outer = path.slice(0, -1)
  if (outer.length === 0 && value.type === 'Identifier') {
    const renamed = edit.source.freeName('renamed')
    edit.replace(
      property,
      `${objectKey(String(path[0]))}: ${renamed}, ${objectKey(name)}${property.raw['shorthand'] === true ? '' : `: ${value.text}`} = ${renamed}`,
    )
    return
  }
  const inner = `${objectKey(String(path.at(-1)))}: ${value.text}`
  edit.replace(
    property,
    outer.reduceRight<string>(
      (text, part) =>
        typeof part === 'number' ? `[${text}]` : `${objectKey(part)}: ${braced(text)}`,
      inner,
    ),
  )
}

const braced = (text: string): string => (text.startsWith('[') ? text : `{ ${text} }`)

const aliasProposals = (
  source: ParsedSource,
  names: readonly (readonly [from: string, to: string])[],
): Proposal[] => {
  const one = names.map(([from, to]) => ({
    edit: aliasEdit(source.edit(), [[from, to]]),
    title: `Also read \`${to}\` where the code reads \`${from}\``,
    why: `The answer has ${to}, not ${from}.`,
  }))
  if (names.length < 2) return one
  const [froms, tos] = [0, 1].map((at) => names.map((pair) => `\`${pair[at]}\``).join(' and '))
  const all = {
    edit: aliasEdit(source.edit(), names),
    title: `Also read ${tos} where the code reads ${froms}`,
    why: `The answer has ${tos}, not ${froms}.`,
  }
  return [all, ...one]
}

/** Members that the failing line reads and no answer has, with a similar name that exists. */
const nearMisses = ({
  steps,
  thrownAt: [at],
}: OperatorContext): (readonly [from: string, to: string])[] => {
  const known = new Set(
    steps
      .flatMap(({ result, answerText, toolCalls }) => [
        result,
        answerText,
        ...toolCalls.map(({ args }) => args),
      ])
      .flatMap((value) => fieldPaths(value).map(leafOf)),
  )
  if (at === undefined) return []
  const line = at.source.lineAt(at.offset)
  const read = at.source
    .ofType(...MEMBERS)
    .filter((node) => node.line === line || node.isAround(at.offset))
    .flatMap(({ name }) => name ?? [])
    .filter((name) => !known.has(name))
  return [...new Set(read)].flatMap((from) => {
    const to = [...known].find((name) => isNearName(name, from))
    return to === undefined ? [] : [[from, to] as const]
  })
}

const aliasEdit = (
  edit: SourceEdit,
  names: readonly (readonly [from: string, to: string])[],
): SourceEdit => {
  const { source } = edit
  const aliases = new Map(names)
  for (const node of source.ofType(...MEMBERS)) {
    const { parent } = node
    const to = aliases.get(node.name ?? '')
    const isCallee = parent?.type === 'CallExpression' && parent.callee === node
    const object = node.object!.text
    if (to === undefined || isTarget(node) || isCallee || /\bawait\b|\(/.test(object)) continue
    const access = accessText(to)
    const isOptional = node.raw['optional'] === true && access.startsWith('.')
    edit.replace(node, `(${node.text} ?? ${object}${isOptional ? '?' : ''}${access})`)
  }
  for (const property of source
    .ofType('ObjectPattern')
    .flatMap((node) => node.children('properties'))) {
    const isPlain =
      property.raw['shorthand'] === true && property.child('value')?.type === 'Identifier'
    const from = property.child('key')?.name ?? ''
    const to = aliases.get(from)
    if (!isPlain || to === undefined) continue
    const renamed = source.freeName('renamed')
    edit.replace(property, `${objectKey(to)}: ${renamed}, ${from} = ${renamed}`)
  }
  return edit
}

// ── Forms ───────────────────────────────────────────────────────────────────

/** Accepts a value in another form than the code expects: one item, an object with a list, a text. */
const otherForm = operator('other-form', 'transport', thrown, (source, { facts }, context) => {
  const [at] = context.thrownAt
  if (at?.source !== source) return []
  return failingValues(at.offset, source, facts['isNot']).flatMap(({ node, use }) =>
    valuesOf(node, context)
      .flatMap((value) => formProposals(node, use, value))
      .slice(0, PROPOSALS_MAX),
  )
})

/** Expressions of the failing code whose value has the wrong form. */
function failingValues(
  offset: number,
  source: ParsedSource,
  isNot: unknown,
): { readonly node: SyntaxNode; readonly use: ValueUse }[] {
  if (isNot === 'iterable')
    return wholesAt(source, offset).map((node) => ({ node, use: 'list' as const }))
  const members = source
    .ofType(...MEMBERS)
    .filter(
      (node) => node.isAround(offset) || node.child('property')!.line === source.lineAt(offset),
    )
  if (isNot === 'a function')
    return members
      .filter((node) => node.parent?.callee === node)
      .flatMap(({ object, name = '' }) => {
        const use = methodUse(name)
        return use === 'any' ? [] : [{ node: object!, use }]
      })
  // `rows[0].name`, where `rows` is not a list.
  return members
    .filter(
      (node) => node.raw['computed'] === true && node.child('property')!.type === 'NumericLiteral',
    )
    .map((node) => ({ node: node.object!, use: 'list' as const }))
}

/** Values that an expression may have had: fields of its name, or whole answers. */
function valuesOf(node: SyntaxNode, context: OperatorContext): unknown[] {
  const roots = answerRoots(context)
  const init = declaredBy(node)?.child('init')
  const name = fieldName(node) ?? (init === undefined ? undefined : fieldName(init))
  const isField = MEMBERS.includes(node.type) || MEMBERS.includes(init?.type ?? '')
  const fields = roots
    .flatMap((root) => objectsIn(root))
    .flatMap(({ value }) => (name !== undefined && name in value ? [value[name]] : []))
  return isField ? fields : [...fields, ...roots]
}

const declaredBy = (node: SyntaxNode): SyntaxNode | undefined =>
  node.type === 'Identifier'
    ? node.source.ofType('VariableDeclarator').find((each) => each.child('id')?.name === node.name)
    : undefined

function formProposals(node: SyntaxNode, use: ValueUse, value: unknown): Proposal[] {
  const { source } = node
  // At the declaration, so that every use is repaired.
  const target = declaredBy(node)?.child('init') ?? node
  if (use === 'number')
    return isNumericText(value)
      ? [
          {
            node,
            edit: node.wrap('Number(', ')'),
            title: `Read the text \`${node.text}\` as a number`,
          },
        ]
      : []
  if (use === 'text')
    return typeof value === 'number'
      ? [
          {
            node,
            edit: node.wrap('String(', ')'),
            title: `Write the number \`${node.text}\` as text`,
          },
        ]
      : []
  if (!isRecord(value)) return []
  const lists = Object.entries(value).filter(([, member]) => Array.isArray(member))
  if (lists.length === 0)
    return [
      { node, edit: target.wrap('[', '].flat()'), title: `Accept one item for \`${node.text}\`` },
    ]
  return lists.slice(0, 2).map(([name]) => ({
    node,
    edit: source.editWith(LIST_IN, (helper) =>
      target.wrap(`${helper}(`, `, ${JSON.stringify(name)})`),
    ),
    title: `Take the list from \`${name}\` of \`${node.text}\``,
    why: `The answer has its list in ${name}.`,
  }))
}

const LIST_IN = `
/** A list, or the list in a field of an object. */
function listIn(value⟨: any⟩, name⟨: string⟩)⟨: any⟩ {
  return Array.isArray(value) ? value : value[name]
}`

/** Reads a field from the item of a list that has it, where the code expects it in the first one. */
const otherItem = operator('other-item', 'transport', thrownOrWrong, (source, symptom, context) => {
  const roots = [
    ...context.steps.map(({ responseText }) => parseJson(responseText)),
    ...answerRoots(context),
  ]
  const lists = roots.flatMap((root) => listsIn(root))
  const found = firstItems(source).flatMap(({ node, list, names, isPattern }): Proposal[] => {
    const name = names.find((each) =>
      lists.some(
        ([first, ...others]) =>
          first?.[each] === undefined && others.some((item) => item[each] !== undefined),
      ),
    )
    if (name === undefined) return []
    const item = `${list.text}.find((each${source.isTyped ? ': any' : ''}) => each${accessText(name)} !== undefined)`
    return [
      {
        node,
        edit: node.replace(isPattern ? `[${item}]` : `${item}${source.isTyped ? '!' : ''}`),
        title: `Read \`${name}\` from the item of \`${list.text}\` that has it`,
        why: `${symptom.evidence} The first item has no ${name}, but another one has.`,
      },
    ]
  })
  return found.slice(0, PROPOSALS_MAX)
})

type Items = readonly Readonly<Record<string, unknown>>[]

const listsIn = (value: unknown, depth = 0): Items[] => {
  if (depth > 6 || typeof value !== 'object' || value === null) return []
  const inner = Object.values(value).flatMap((member) => listsIn(member, depth + 1))
  return Array.isArray(value) && value.length > 1 && value.every(isRecord)
    ? [value, ...inner]
    : inner
}

interface FirstItem {
  /** The expression, or what a pattern takes apart. */
  readonly node: SyntaxNode
  readonly list: SyntaxNode
  /** Fields that the code reads from it. */
  readonly names: readonly string[]
  readonly isPattern: boolean
}

/** `list[0].name`, `list.at(0).name`, `const [first] = list`, and fields of a variable for it. */
function firstItems(source: ParsedSource): FirstItem[] {
  const readFrom = (name: string | undefined): string[] =>
    source
      .ofType(...MEMBERS)
      .flatMap((each) => (each.object?.text === name ? (fieldName(each) ?? []) : []))
  const namesOf = (node: SyntaxNode): string[] => {
    const { parent } = node
    const id = parent?.type === 'VariableDeclarator' ? parent.child('id') : undefined
    const direct = parent?.object === node ? fieldName(parent) : undefined
    return direct === undefined ? [...(id?.propertyNames ?? []), ...readFrom(id?.name)] : [direct]
  }
  const single = [
    ...source
      .ofType(...MEMBERS)
      .filter((node) => node.raw['computed'] === true && node.child('property')?.text === '0')
      .map((node) => ({ node, list: node.object! })),
    ...source
      .ofType('CallExpression')
      .filter(({ callee, args }) => callee?.name === 'at' && args[0]?.text === '0')
      .map((node) => ({ node, list: node.callee!.object! })),
  ].map((each) => ({ ...each, names: namesOf(each.node), isPattern: false }))
  const patterns = source.ofType('ArrayPattern').flatMap((pattern): FirstItem[] => {
    const [item, ...others] = pattern.children('elements')
    const list = pattern.parent?.child('init')
    if (item === undefined || others.length > 0 || list === undefined) return []
    return [
      { node: list, list, names: [...item.propertyNames, ...readFrom(item.name)], isPattern: true },
    ]
  })
  return [...single, ...patterns].filter(({ list }) => !/\bawait\b/.test(list.text))
}

// ── Numbers as text ─────────────────────────────────────────────────────────

/** Converts numbers that came as text before `+` joins them or `<` compares them as text. */
const numberFromText = operator(
  'number-from-text',
  'code',
  thrownOrWrong,
  (source, symptom, context) => {
    if (!source.isCode) return []
    const names = numericTextNames(context)
    const operands = source
      .ofType('BinaryExpression', 'AssignmentExpression')
      .filter((node) => {
        const sign = String(node.raw['operator'])
        if (/^[!=]==$/.test(sign))
          return [node.child('left'), node.child('right')].some(
            (each) => each?.type === 'NumericLiteral',
          )
        return /^(?:\+=?|[<>]=?)$/.test(sign) && !joinsText(node)
      })
      .flatMap((node) => {
        const isAssigned = node.type === 'AssignmentExpression'
        return [...(isAssigned ? [] : [node.child('left')!]), node.child('right')!]
      })
      .filter((node) => isNumericSource(node, names) || isSummed(node))
    const texts = [...new Set(operands.map(({ text }) => text))]
    const convert = (nodes: readonly SyntaxNode[]): SourceEdit => {
      const edit = source.edit()
      for (const node of nodes) edit.replace(node, `Number(${node.text})`)
      return edit
    }
    const why = `${symptom.evidence} Numbers that came as text are joined, not added.`
    return [
      ...(texts.length > 1 ? [{ nodes: operands, text: texts.slice(0, 3).join('` and `') }] : []),
      ...texts
        .slice(0, 2)
        .map((text) => ({ nodes: operands.filter((each) => each.text === text), text })),
    ].map(({ nodes, text }) => ({
      node: nodes[0]!,
      edit: convert(nodes),
      title: `Read \`${text}\` as a number`,
      why,
    }))
  },
)

/** Names of fields and arguments whose values are numbers as text. */
const numericTextNames = (context: OperatorContext): Set<string> =>
  new Set([
    ...answerRoots(context)
      .flatMap((root) => objectsIn(root))
      .flatMap(({ value }) =>
        Object.entries(value).flatMap(([name, member]) => (isNumericText(member) ? [name] : [])),
      ),
    ...(context.steps.some(({ answerText }) => isNumericText(answerText.trim()))
      ? ['content', 'text', 'output_text']
      : []),
  ])

/** True if `+` joins a text, so that this is meant. Only its left side is evaluated before. */
function joinsText(node: SyntaxNode): boolean {
  const isText = (each: SyntaxNode | undefined): boolean =>
    each?.type === 'StringLiteral' ||
    each?.type === 'TemplateLiteral' ||
    (each?.type === 'BinaryExpression' && each.raw['operator'] === '+' && joinsText(each))
  return (
    (node.type !== 'AssignmentExpression' && isText(node.child('left'))) ||
    isText(node.child('right'))
  )
}

/** The second parameter of `reduce((sum, each) => sum + each, 0)`. */
const isSummed = (node: SyntaxNode): boolean => {
  const { parent, functionAround: callback } = node
  const [sum, each, ...others] = callback?.children('params') ?? []
  const [, initial] = callback?.parent?.callee?.name === 'reduce' ? callback.parent.args : []
  return (
    initial?.type === 'NumericLiteral' &&
    others.length === 0 &&
    node.type === 'Identifier' &&
    node.name === each?.name &&
    parent?.child('left')?.name === sum?.name
  )
}

export const isNumericSource = (node: SyntaxNode, names: ReadonlySet<string>): boolean => {
  if (
    /^process\.(?:argv\[\d+\]|env\.(?!\w*(?:URL|HOST|KEY|TOKEN|PATH|DIR|NAME)$)\w+)$/.test(
      node.text,
    )
  )
    return true
  const name = fieldName(node)
  if (name === undefined) return false
  if (MEMBERS.includes(node.type)) return names.has(name)
  if (node.type !== 'Identifier') return false
  const init = declaredBy(node)?.child('init')
  if (init !== undefined) return isNumericSource(init, names)
  const isPart = node.source
    .ofType('ArrayPattern')
    .some(
      (pattern) =>
        pattern.children('elements').some((each) => each.name === name) &&
        /^process\.argv\b|\.(?:split|match|exec)\(/.test(pattern.parent?.child('init')?.text ?? ''),
    )
  if (isPart) return true
  // A destructured field or parameter.
  const isDestructured = node.source
    .ofType('ObjectPattern')
    .some((pattern) => pattern.propertyNames.includes(name))
  return isDestructured && names.has(name)
}

export const fieldOperators: readonly Operator[] = [
  fieldAlias,
  otherForm,
  otherItem,
  numberFromText,
]
