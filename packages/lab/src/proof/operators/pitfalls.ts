import { answerRoots, objectsIn } from '../answer-values.js'
import type { ParsedSource, SyntaxNode, TextRange } from '../source-text.js'
import {
  objectKey,
  operator,
  type Operator,
  type OperatorContext,
  oracleSymptom,
  type Proposal,
  thrown,
  thrownOrWrong,
} from './operator.js'
import { outermostLoop } from './tool-loop.js'

/**
 * Standard library traps that type checkers accept and that give a wrong result instead of an
 * error. These operators find code by its shape, not by the failure, so their candidates come after
 * those that a symptom points to. The trials decide.
 */

/** Candidates of one operator in a file are similar, so a few are enough. */
export const MAX_PER_FILE = 3

export const pitfall = (
  name: string,
  why: string,
  find: (source: ParsedSource, context: OperatorContext) => readonly Proposal[],
): Operator =>
  operator(name, 'code', thrownOrWrong, (source, _symptom, context) =>
    (source.isCode ? find(source, context) : [])
      .slice(0, MAX_PER_FILE)
      .map((each) => ({ ...each, why })),
  )

/** Calls of methods by name: `….sort(…)`. */
export const methodCalls = (source: ParsedSource, pattern: RegExp) =>
  source.ofType('CallExpression', 'OptionalCallExpression').flatMap((node) => {
    const { object, name: method = '' } = node.callee ?? {}
    return object === undefined || !pattern.test(method) ? [] : [{ node, object, method }]
  })

// ── Lists ───────────────────────────────────────────────────────────────────

const SORTS = /^(?:sort|toSorted)$/

const compareNumbers = pitfall(
  'compare-numbers',
  'Without a comparator, lists are sorted as text: 100 comes before 25.',
  (source, context) => {
    const comparators = comparatorsIn(source, context.sources)
    return [
      ...methodCalls(source, SORTS)
        .filter(({ node }) => node.args.length === 0)
        .map(({ node }) => ({
          node,
          edit: source.editWith(BY_VALUE, (name) => source.edit().insert(node.end - 1, name)),
          title: 'Sort numbers by value',
        })),
      ...methodCalls(source, /^localeCompare$/)
        .filter(({ node }) => node.args.length === 1 && isIn(comparators, node))
        .map(({ node }) => ({
          node,
          edit: source.edit().insert(node.end - 1, ', undefined, { numeric: true }'),
          title: 'Compare the numbers in texts by value',
        })),
      // `a > b ? 1 : -1`, which compares texts by their characters.
      ...source
        .ofType('ConditionalExpression')
        .filter((node) => /^[<>]=?$/.test(String(node.child('test')!.raw['operator'])))
        .filter((node) => isIn(comparators, node))
        .filter((node) => /^-?1$/.test(node.child('consequent')!.text))
        .filter((node) => /^-?1$|\?/.test(node.child('alternate')!.text))
        .map((node) => {
          const test = node.child('test')!
          const [left, right] = [test.child('left')!, test.child('right')!].map(({ text }) => text)
          const isDown =
            String(test.raw['operator']).startsWith('<') ===
            (node.child('consequent')!.text === '1')
          return {
            node,
            edit: source.editWith(BY_VALUE, (name) =>
              node.replace(`${name}(${(isDown ? [right, left] : [left, right]).join(', ')})`),
            ),
            title: 'Sort numbers by value',
          }
        }),
      ...comparators.flatMap(({ returned: node }): Proposal[] => {
        // `a < b`, which never says that the first one comes first, and `a < b ? 1 : 0`.
        const test = node.type === 'ConditionalExpression' ? node.child('test')! : node
        const [left, right] = [test.child('left'), test.child('right')]
        const sign = String(test.raw['operator'])
        const results = [node.child('consequent')?.text, node.child('alternate')?.text]
        const isHalf = results[0] === undefined || results.includes('0')
        if (left === undefined || right === undefined) return []
        if (/^[<>]=?$/.test(sign) && isHalf) {
          const isDown = sign.startsWith('<') === !/^(?:-1|0|false)$/.test(results[0] ?? '')
          const sides = (isDown ? [right, left] : [left, right]).map(({ text }) => text)
          return [
            {
              node,
              edit: source.editWith(BY_VALUE, (name) =>
                node.replace(`${name}(${sides.join(', ')})`),
              ),
              title: 'Compare both ways',
            },
          ]
        }
        // `a.day - b.day`, which is `NaN` for texts.
        const isPlain = [left, right].every(({ type }) =>
          /^(?:Identifier|(?:Optional)?MemberExpression)$/.test(type),
        )
        if (sign !== '-' || !isPlain || !isSortable(left.name, context)) return []
        return [
          {
            node,
            edit: source.editWith(BY_VALUE, (name) =>
              node.replace(`${name}(${left.text}, ${right.text})`),
            ),
            title: 'Compare texts by value, too',
          },
        ]
      }),
      // The sorted copy is lost.
      ...methodCalls(source, /^(?:toSorted|toReversed)$/)
        .filter(({ node }) => node.parent?.type === 'ExpressionStatement')
        .map(({ node, method }) => ({
          node,
          edit: node.callee!.child('property')!.replace(method === 'toSorted' ? 'sort' : 'reverse'),
          title: 'Sort the list itself',
        })),
    ]
  },
)

/** True if all values of a field are texts whose order is that of what they say: days and times. */
const isSortable = (name: string | undefined, context: OperatorContext): boolean => {
  const values = [
    ...answerRoots(context)
      .flatMap((root) => objectsIn(root))
      .map(({ value }) => value[name ?? '']),
    ...context.sources
      .flatMap((each) => each.ofType('ObjectProperty'))
      .filter((each) => each.child('key')?.name === name)
      .flatMap((each) => each.child('value')?.raw['value'] ?? []),
  ].filter((value) => value !== undefined)
  return (
    values.length > 0 &&
    values.every((value) => typeof value === 'string' && /^(?:\d{4}-\d\d|\d\d:\d\d)/.test(value))
  )
}

interface Comparator {
  readonly node: SyntaxNode
  /** What the function returns for two items. */
  readonly returned: SyntaxNode
  readonly params: readonly [left: string, right: string]
  /** Number of lists that are sorted by it. */
  readonly uses: number
}

/** Functions of a file that lists of the project are sorted by. */
const comparatorsIn = (source: ParsedSource, sources: readonly ParsedSource[]): Comparator[] => {
  const names = sources
    .flatMap((each) => methodCalls(each, SORTS))
    .flatMap(({ node }) => node.args[0]?.name ?? [])
  return source
    .filter((node) => node.isFunction)
    .flatMap((node): Comparator[] => {
      const name = (
        node.child('id') ??
        node.child('key') ??
        node.parent?.child('id') ??
        node.parent?.child('key')
      )?.name
      const isInline = SORTS.test(node.parent?.callee?.name ?? '')
      const uses = isInline ? 1 : names.filter((each) => each === name).length
      const [left, right, ...others] = node.children('params').map((param) => param.name)
      const body = node.child('body')
      const [first, ...rest] = body?.type === 'BlockStatement' ? body.children('body') : []
      const only = rest.length === 0 ? first?.child('argument') : undefined
      const returned = body?.type === 'BlockStatement' ? only : body
      if (uses === 0 || left === undefined || right === undefined || others.length > 0) return []
      return returned === undefined ? [] : [{ node, returned, params: [left, right], uses }]
    })
}

/** True inside of a function that a list is sorted by. */
const isIn = (comparators: readonly Comparator[], { around, start }: SyntaxNode): boolean =>
  around.some(({ callee, type }) => type === 'CallExpression' && SORTS.test(callee?.name ?? '')) ||
  comparators.some(({ node }) => node.isAround(start))

const BY_VALUE = `
/** Compares numbers by value, and texts with numbers, such as versions, by these. */
function byValue(left⟨: any⟩, right⟨: any⟩) {
  return typeof left === 'number' && typeof right === 'number'
    ? left - right
    : String(left).localeCompare(String(right), undefined, { numeric: true })
}`

/** Swaps the sides of `a.x - b.x` and `a.x.localeCompare(b.x)`. */
const reverseOrder = pitfall(
  'reverse-order',
  'The list may be sorted in the wrong direction, and the code uses its first items.',
  (source, { sources }) =>
    comparatorsIn(source, sources).flatMap(({ node, returned, params: [left, right], uses }) => {
      if (uses > 1 || /^[<>]=?$/.test(String(returned.raw['operator']))) return []
      const swapped = returned.text.replaceAll(
        /[\p{L}_$][\p{L}\p{N}_$]*/gu,
        (word, at: number, text: string) =>
          text[at - 1] === '.' ? word : word === left ? right : word === right ? left : word,
      )
      return [{ node, edit: returned.replace(swapped), title: 'Sort the other way round' }]
    }),
)

/** A mutating method on the caller's list that is called for its result. */
const copyBeforeChange = pitfall(
  'copy-before-change',
  'The method modifies a list of the caller, which is used later.',
  (source) =>
    methodCalls(source, /^(?:reverse|sort|splice|shift|pop|fill)$/)
      .filter(
        ({ node, object }) =>
          object.type === 'Identifier' &&
          node.parent?.type !== 'ExpressionStatement' &&
          isShared(node, object.name!),
      )
      .map(({ node, object, method }) => ({
        node,
        edit: object.wrap('[...', ']'),
        title: `Copy \`${object.text}\` before ${method}()`,
      })),
)

const CHANGES = /^(?:reverse|sort|splice|shift|pop|fill|push|unshift|set|add|delete|clear)$/

/** A function that changes its argument, a part of it, or a constant that others use. */
const copyArgument = pitfall(
  'copy-argument',
  'The function changes a value of its caller, which is used later.',
  (source) => [
    ...source
      .filter((node) => node.isFunction && node.child('body')?.type === 'BlockStatement')
      .filter((node) => /\breturn\b[^;\n}]/.test(node.text))
      .flatMap((node) =>
        node
          .children('params')
          .flatMap((param) => (param.type === 'Identifier' ? param.name! : []))
          .filter((name) => changesIn(node).some((each) => originOf(each) === name))
          .map((name) => {
            const body = node.child('body')!
            const first = body.children('body')[0]!
            return {
              node,
              edit: first.insertBefore(`${name} = structuredClone(${name})\n${first.indent}`),
              title: `Copy \`${name}\` before it is changed`,
            }
          }),
      ),
    // `const copy = list`, and `const copy = { ...order }` if something inside of it is changed.
    ...source.ofType('VariableDeclarator').flatMap((node) => {
      const [name, init] = [node.child('id')?.name, node.child('init')]
      const inner = node.functionAround ?? source.program
      const changed = changesIn(inner).filter((each) => rootName(each) === name)
      const [spread] = init?.children('properties') ?? init?.children('elements') ?? []
      const isAlias = /^(?:Identifier|(?:Optional)?MemberExpression)$/.test(init?.type ?? '')
      const isShallow =
        spread?.type === 'SpreadElement' && changed.some(({ type }) => type !== 'Identifier')
      if (name === undefined || changed.length === 0 || !(isAlias || isShallow)) return []
      return [
        {
          node,
          edit: init!.wrap('structuredClone(', ')'),
          title: `Copy \`${init!.text}\` before it is changed`,
        },
      ]
    }),
    ...source
      .calls('Object.assign')
      .filter(({ args: [target] }) => target?.type === 'Identifier')
      .filter((node) => node.parent?.type !== 'ExpressionStatement')
      .map((node) => ({
        node,
        edit: node.args[0]!.insertBefore('{}, '),
        title: `Copy \`${node.args[0]!.text}\` before it is changed`,
      })),
  ],
)

/** Objects and lists that code changes: `list` in `list.sort()` and `order.fee` in `order.fee.vat = 1`. */
const changesIn = (inner: SyntaxNode): SyntaxNode[] => [
  ...methodCalls(inner.source, CHANGES)
    .filter(({ node }) => inner.isAround(node.start))
    .map(({ object }) => object),
  ...inner.source
    .ofType('AssignmentExpression', 'UpdateExpression', 'UnaryExpression')
    .filter((node) => inner.isAround(node.start))
    .filter(({ type, raw }) => type !== 'UnaryExpression' || raw['operator'] === 'delete')
    .flatMap((node) => (node.child('left') ?? node.child('argument'))?.object ?? []),
]

const rootName = (node: SyntaxNode): string | undefined =>
  node.object === undefined ? node.name : rootName(node.object)

/** The variable whose value a change reaches, also through a loop or a callback over it. */
const originOf = (node: SyntaxNode): string | undefined => {
  const name = rootName(node)
  for (const each of node.around.toReversed()) {
    const isItem =
      each.type === 'ForOfStatement' &&
      each.child('left')!.children('declarations')[0]?.child('id')?.name === name
    if (isItem) return rootName(each.child('right')!)
    if (!each.isFunction || !paramNames(each).includes(name ?? '')) continue
    const list = each.parent?.type === 'CallExpression' ? each.parent.callee?.object : undefined
    return list === undefined ? name : rootName(list)
  }
  return name
}

/** True if a name is a parameter of the enclosing function or declared outside of it. */
const isShared = ({ functionAround: inner }: SyntaxNode, name: string): boolean => {
  if (inner === undefined || paramNames(inner).includes(name)) return true
  const statements = inner.child('body')?.children('body') ?? []
  return !statements
    .filter(({ type }) => type === 'VariableDeclaration')
    .flatMap((each) => each.children('declarations'))
    .some((each) => each.child('id')?.name === name)
}

const paramNames = (node: SyntaxNode): string[] =>
  node.children('params').flatMap((param) => {
    const plain = param.type === 'AssignmentPattern' ? param.child('left') : param
    return plain?.type === 'ObjectPattern' ? plain.propertyNames : [plain?.name ?? '']
  })

/** A loop that hands on full chunks, but never the last one. */
const flushLast = pitfall(
  'flush-last',
  'The loop starts a new chunk whenever one is full, but never adds the last one.',
  (source) =>
    source.ofType('ForStatement', 'ForOfStatement', 'WhileStatement').flatMap((loop) => {
      const block = loop.parent
      if (block?.children('body').includes(loop) !== true) return []
      const after = source.text.slice(loop.end, block.end)
      const inLoop = (node: SyntaxNode): boolean => loop.isAround(node.start)
      const resets = source
        .ofType('AssignmentExpression')
        .filter((node) => inLoop(node) && node.raw['operator'] === '=')
        .flatMap((node) => {
          // `batch = []` and `batch.length = 0`
          const left = node.child('left')!
          const name = left.name === 'length' ? left.object?.name : left.name
          const value = node.child('right')!
          const statement = node.parent!
          const isExtended =
            source
              .ofType('AssignmentExpression')
              .some(
                (each) =>
                  inLoop(each) &&
                  each.child('left')?.name === name &&
                  each.raw['operator'] === '+=',
              ) ||
            methodCalls(source, /^(?:push|set|add)$/).some(
              ({ node: each, object }) => inLoop(each) && rootName(object) === name,
            )
          if (name === undefined || !isExtended || new RegExp(`\\b${name}\\b`).test(after))
            return []
          return [{ node, name, value, statement }]
        })
      return resets.flatMap(({ node, name, value, statement }): Proposal[] => {
        const handing = handingOn(name, value, statement)
        if (handing === undefined || handing.statements.some(jumps)) return []
        const { statements, replaced } = handing
        const declared = source
          .ofType('VariableDeclarator')
          .filter((one) => inLoop(one) && !statements.some((each) => each.isAround(one.start)))
          .flatMap((one) => one.child('id')!.text.match(/[\p{L}_$][\p{L}\p{N}_$]*/gu) ?? [])
        const texts = statements.map((each) => textWith(each, replaced))
        const isOne = texts.length === 1 && statements[0]!.type !== 'VariableDeclaration'
        const text = isOne ? texts[0]! : `{ ${texts.join('; ')} }`
        if (declared.some((one) => new RegExp(`\\b${one}\\b`).test(text))) return []
        const isNumber = value.type === 'NumericLiteral' && node.child('left')!.name === name
        const size = isNumber ? `${name} !== 0` : `${name}.length > 0`
        const isObject = value.type === 'ObjectExpression' || value.type === 'NewExpression'
        const edit = source
          .edit()
          .insert(loop.end, `\n${loop.indent}if (${isObject ? name : size}) ${text}`)
        return [{ node: statements[0]!, edit, title: `Add the last \`${name}\` after the loop` }]
      })
    }),
)

interface HandingOn {
  readonly statements: readonly SyntaxNode[]
  /** Parts of them that are others for the last chunk. */
  readonly replaced: readonly (TextRange & { readonly text: string })[]
}

/** The statements that hand on a full chunk before a variable gets the next one. */
function handingOn(name: string, value: SyntaxNode, statement: SyntaxNode): HandingOn | undefined {
  const { source } = statement
  const siblings = statement.parent?.children('body') ?? []
  const before = siblings.slice(0, Math.max(0, siblings.indexOf(statement)))
  const uses = (each: SyntaxNode): boolean => new RegExp(`\\b${name}\\b`).test(each.text)
  // `rest = lines.pop()`, where another statement does something with the lines.
  const lines = lastOf(value)
  if (lines !== undefined) {
    const named = source.ofType('Identifier').filter((each) => each.name === lines)
    const hands = siblings
      .filter((each) => each !== statement && each.type !== 'VariableDeclaration')
      .find((each) => named.some(({ start }) => each.isAround(start)))
    return (
      hands && {
        statements: [hands],
        replaced: named
          .filter(({ start }) => hands.isAround(start))
          .map((each) => ({ ...rangeOf(allButLast(each) ?? each), text: `[${name}]` })),
      }
    )
  }
  // `rest = rest.slice(end + 1)` after something was done with `rest.slice(0, end)`.
  const { callee, args } = value
  const isCut = /^(?:slice|substring)$/.test(callee?.name ?? '') && callee?.object?.name === name
  if (isCut && args.length === 1) {
    const heads = source
      .ofType('CallExpression')
      .filter((each) => each.callee?.text === callee?.text && each.args[0]?.text === '0')
      .filter(({ start }) => before.some((each) => each.isAround(start)))
    const statements = siblings.slice(siblings.findIndex(uses)).filter((each) => each !== statement)
    return heads.length === 1 && statements.length <= CUT_STATEMENTS_MAX
      ? { statements, replaced: heads.map((each) => ({ ...rangeOf(each), text: name })) }
      : undefined
  }
  const hands = uses(value) ? undefined : before.findLast(uses)
  return hands && { statements: [hands], replaced: [] }
}

const CUT_STATEMENTS_MAX = 3

/** The list whose last item an expression takes: `lines.pop()`, `lines.at(-1)`, `lines[lines.length - 1]`. */
const lastOf = (node: SyntaxNode): string | undefined => {
  const { callee, object } = node
  if (/^(?:\?\?|\|\|)$/.test(String(node.raw['operator']))) return lastOf(node.child('left')!)
  if (callee?.name === 'pop') return callee.object?.name
  if (callee?.name === 'at' && node.args[0]?.text === '-1') return callee.object?.name
  const index = node.raw['computed'] === true ? node.child('property')?.text : undefined
  return object !== undefined && index === `${object.text}.length - 1` ? object.name : undefined
}

/** `lines.slice(0, -1)` around a list. */
const allButLast = ({ parent }: SyntaxNode): SyntaxNode | undefined => {
  const call = parent?.name === 'slice' ? parent.parent : undefined
  const [from, to] = call?.args ?? []
  return from?.text === '0' && to?.text === '-1' ? call : undefined
}

const rangeOf = ({ start, end }: SyntaxNode): TextRange => ({ start, end })

/** Text of a node with parts replaced. */
const textWith = (
  node: SyntaxNode,
  parts: readonly (TextRange & { readonly text: string })[],
): string => {
  let text = ''
  let at = node.start
  for (const part of parts.filter(({ start }) => node.isAround(start))) {
    text += node.source.text.slice(at, part.start) + part.text
    at = part.end
  }
  return text + node.source.text.slice(at, node.end)
}

/** True if a statement leaves or continues the loop around it. */
const jumps = (node: SyntaxNode): boolean =>
  node.source
    .ofType('BreakStatement', 'ContinueStatement')
    .some(
      (each) =>
        node.isAround(each.start) &&
        !each.around.some((one) => one.isLoop && node.isAround(one.start)),
    )

/** Loops over chunks of a list that end before a last one that is not full. */
const lastChunk = pitfall('last-chunk', 'The last chunk may have fewer items.', (source) => [
  ...source.ofType('ForStatement', 'WhileStatement').flatMap((loop) => {
    const test = loop.child('test')
    const [left, right] = [test?.child('left'), test?.child('right')]
    if (
      !/^[<>]=?$/.test(String(test?.raw['operator'])) ||
      !/\b(?:slice|splice|subarray)\(/.test(loop.text)
    )
      return []
    // `while (rows.length >= 3) send(rows.splice(0, 3))`
    const isTaken = left?.name === 'length' && loop.text.includes(`${left.object!.text}.splice(0`)
    if (isTaken && loop.type === 'WhileStatement' && right?.text !== '0')
      return [
        { node: loop, edit: test!.replace(`${left.text} > 0`), title: 'Read the last chunk, too' },
      ]
    if (/>/.test(String(test!.raw['operator']))) return []
    const isSum = left?.raw['operator'] === '+' && right?.name === 'length'
    const isRest = right?.raw['operator'] === '-' && right.child('left')?.name === 'length'
    if (!isSum && !isRest) return []
    const [index, length] = [
      isSum ? left.child('left')! : left!,
      isRest ? right.child('left')! : right,
    ]
    const edit = test!.replace(`${index.text} < ${length.text}`)
    return [{ node: loop, edit, title: 'Read the last chunk, too' }]
  }),
  ...['Math.floor', 'Math.trunc', 'Math.round', 'parseInt']
    .flatMap((callee) => source.calls(callee))
    .filter(
      ({ args: [count] }) =>
        count?.raw['operator'] === '/' &&
        /^(?:length|size|count|total)$/i.test(count.child('left')!.name ?? ''),
    )
    .map((node) => ({
      node,
      edit: node.callee!.replace('Math.ceil'),
      title: 'Count the last chunk, too',
    })),
])

// ── Text and files ──────────────────────────────────────────────────────────

const READERS =
  /^(?:readFile|readFileSync|createReadStream|toString|setEncoding|decode|TextDecoder|text|from|writeFile|writeFileSync|write|end)$/

const readAsUtf8 = pitfall(
  'read-as-utf8',
  'The text is not read as UTF-8, so characters outside of ASCII are lost or wrong.',
  (source) => [
    ...source
      .ofType('StringLiteral')
      .filter(
        ({ name, around }) =>
          /^(?:latin1|binary|ascii|iso-8859-1|windows-1252)$/i.test(name!) &&
          around.some(
            ({ type, callee }) =>
              /^(?:Call|New)Expression$/.test(type) && READERS.test(callee?.name ?? ''),
          ),
      )
      .map((node) => ({
        node,
        edit: node.replace(`${node.text[0]}utf8${node.text[0]}`),
        title: 'Read the text as UTF-8',
      })),
    ...source.calls('atob').map((node) => ({
      node,
      edit: node.replace(`Buffer.from(${node.args[0]!.text}, 'base64').toString('utf8')`),
      title: 'Read the text as UTF-8',
    })),
    // A chunk of a stream may end within a character.
    ...methodCalls(source, /^decode$/)
      .filter(({ node }) => node.args.length === 1 && node.around.some((each) => each.isLoop))
      .map(({ node, object }) => {
        const isNew = object.type === 'NewExpression'
        const decoder = source.freeName('decoder')
        const loop = outermostLoop(node)!
        const edit = source.edit().insert(node.args[0]!.end, ', { stream: true }')
        if (isNew)
          edit
            .insert(loop.start, `const ${decoder} = ${object.text}\n${loop.indent}`)
            .replace(object, decoder)
        return { node, edit, title: 'Decode the chunks as one text' }
      }),
    ...source
      .ofType('ForOfStatement')
      .filter(({ raw }) => raw['await'] === true)
      .flatMap((loop) => {
        const chunk = loop.child('left')!.children('declarations')[0]?.child('id')?.name
        const decoder = source.freeName('decoder')
        return source
          .ofType('AssignmentExpression')
          .filter((node) => loop.isAround(node.start) && node.raw['operator'] === '+=')
          .map((node) => node.child('right')!)
          .filter(({ text }) => text === chunk || text === `${chunk}.toString()`)
          .map((node) => ({
            node,
            edit: node
              .replace(`${decoder}.decode(${chunk}, { stream: true })`)
              .insert(loop.start, `const ${decoder} = new TextDecoder()\n${loop.indent}`),
            title: 'Decode the chunks as one text',
          }))
      }),
  ],
)

const splitQuoted = pitfall(
  'split-quoted',
  'Quoted CSV cells may contain commas.',
  (source, { sources }) =>
    methodCalls(source, /^split$/)
      .filter(
        ({ node }) =>
          /^[,;\t]$/.test(String(node.args[0]?.raw['value'])) &&
          sources.some(({ text }) => /csv/i.test(text)),
      )
      .map(({ node, object }) => ({
        node,
        edit: source.editWith(splitCsvLine(String(node.args[0]!.raw['value'])), (name) =>
          node.replace(`${name}(${object.text})`),
        ),
        title: 'Respect quotes when splitting a CSV line',
      })),
)

const splitCsvLine = (separator: string): string => {
  const mark = separator === '\t' ? '\\t' : separator
  return `
/** Splits a line of CSV. Quoted cells may contain the separator and doubled quotes. */
function splitCsvLine(line⟨: string⟩) {
  const cells = line.match(/(?<=^|${mark})(?:"(?:[^"]|"")*"|[^${mark}]*)/g) ?? []
  return cells.map((cell) => (cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell))
}`
}

/** A pattern for identifiers that have become longer, or for numbers and names of one kind only. */
const openQuantifier = pitfall(
  'open-quantifier',
  'The pattern matches a fixed number of characters, or not all that belong to a number or a name.',
  (source) =>
    source
      .ofType('RegExpLiteral')
      .filter(({ raw }) => !/[-/:.]\\d|\\d\{\d\}[-/:.]/.test(String(raw['pattern'])))
      .flatMap((node) =>
        WIDER.flatMap(({ from, to, title }) => {
          const wider = node.text.replace(from, to)
          if (wider === node.text) return []
          return [{ node, edit: node.replace(wider), title }]
        }),
      ),
)

const WIDER = [
  {
    from: /(\\[dw]|\[[^\]]+\])\{(\d+)(?:,\d+)?\}/,
    to: '$1{$2,}',
    title: 'Accept longer numbers',
  },
  { from: /\((\\[dw]|\[[^\]]+\])\)/, to: '($1+)', title: 'Accept longer numbers' },
  { from: /\((\\d|\[0-9\])\+\)/, to: String.raw`($1+(?:\.\d+)?)`, title: 'Accept decimal numbers' },
]

/** A file that does not exist with this capitalisation. */
const lowerCasePath = operator(
  'lower-case-path',
  'code',
  thrown,
  (source, { evidence }, { error, thrownAt: [at] }) => {
    const missing = /ENOENT[^']*'([^']+)'/.exec(error?.message ?? '')?.[1]
    if (at?.source !== source || missing === undefined) return []
    if (!/[A-Z]/.test(missing.slice(missing.search(/[^/\\]*[/\\]?[^/\\]*$/)))) return []
    // Errors of promises have no location in the function that reads.
    const reads = source
      .ofType('CallExpression')
      .filter(({ callee }) =>
        /^(?:readFile|readFileSync|open|openSync|import)$/.test(callee?.name ?? ''),
      )
    const [path] = (reads.findLast((node) => node.isAround(at.offset)) ?? reads[0])?.args ?? []
    return source
      .ofType('Identifier')
      .filter((node) => {
        const { parent } = node
        const isMember = parent?.type === 'MemberExpression' && parent.raw['computed'] !== true
        const isCallee = parent?.type === 'CallExpression' && parent.callee === node
        return path?.isAround(node.start) === true && !isMember && !isCallee
      })
      .slice(0, MAX_PER_FILE)
      .map((node) => ({
        node,
        edit: source.edit().insert(node.end, '.toLowerCase()'),
        title: `Look up \`${node.text}\` in lower case`,
        why: `${evidence} File names are case-sensitive.`,
      }))
  },
)

// ── Values ──────────────────────────────────────────────────────────────────

const mapsInJson = pitfall(
  'maps-in-json',
  'JSON.stringify writes {} for a Map or a Set.',
  (source, { sources }) =>
    !sources.some(({ text }) => /new (?:Map|Set)\b/.test(text))
      ? []
      : source
          .calls('JSON.stringify')
          .filter(({ args: [, replacer] }) => /^(?:null|undefined)?$/.test(replacer?.text ?? ''))
          .map((node) => ({
            node,
            edit: source.editWith(WITH_PLAIN_MAPS, (name) =>
              node.args[1] === undefined
                ? source.edit().insert(node.args[0]!.end, `, ${name}`)
                : node.args[1].replace(name),
            ),
            title: 'Write maps and sets as JSON',
          })),
)

/** Properties of lists and objects that maps and sets do not have. */
const mapAccess = pitfall(
  'map-access',
  'A Map and a Set have no length, no keys of their own and no methods of lists.',
  (source) =>
    source.ofType('VariableDeclarator').flatMap((declared) => {
      const name = declared.child('id')?.name
      const kind = declared.child('init')?.callee?.text
      if (name === undefined || !/^(?:Map|Set)$/.test(kind ?? '')) return []
      const title = `Read \`${name}\` as a ${kind}`
      const members = source
        .ofType('MemberExpression')
        .filter(({ object }) => object!.text === name)
        .flatMap((node): Proposal[] => {
          const property = node.child('property')!
          const isComputed = node.raw['computed'] === true
          const isTarget =
            node.parent?.type === 'AssignmentExpression' && node.parent.child('left') === node
          if (!isComputed && property.text === 'length')
            return [{ node, edit: property.replace('size'), title }]
          if (
            !isComputed &&
            /^(?:map|filter|find|some|every|reduce|join|slice|includes|sort)$/.test(property.text)
          )
            return [{ node, edit: node.object!.replace(`[...${name}]`), title }]
          return isComputed && kind === 'Map' && !isTarget
            ? [{ node, edit: node.replace(`${name}.get(${property.text})`), title }]
            : []
        })
      const lists = ['keys', 'values', 'entries']
        .flatMap((method) => source.calls(`Object.${method}`))
        .filter(({ args: [of] }) => of?.text === name)
        .map((node) => ({ node, edit: node.replace(`[...${name}.${node.callee!.name}()]`), title }))
      return [...members, ...lists]
    }),
)

const WITH_PLAIN_MAPS = `
/** Replacer for JSON.stringify, which writes {} for maps and sets. */
function withPlainMaps(_key⟨: string⟩, value⟨: unknown⟩) {
  if (value instanceof Map) return Object.fromEntries(value)
  return value instanceof Set ? [...value] : value
}`

/** A cache key that leaves out arguments on which the value depends. */
const wholeCacheKey = pitfall(
  'whole-cache-key',
  'The cache key leaves out arguments of the function, so different calls share a value.',
  (source) => {
    // `cache.get(key)` and `cache[key]`
    const uses = [
      ...methodCalls(source, /^(?:get|has|set)$/).map(({ node, object, method }) => ({
        node,
        object,
        key: node.args[0],
        isWrite: method === 'set',
      })),
      ...source
        .ofType('MemberExpression')
        .filter(({ raw }) => raw['computed'] === true)
        .map((node) => ({
          node,
          object: node.object!,
          key: node.child('property'),
          isWrite:
            /^(?:\?\?|\|\|)?=$/.test(String(node.parent?.raw['operator'])) &&
            node.parent?.child('left') === node,
        })),
    ]
    const title = 'Use all arguments as the cache key'
    // `memoize((city, unit) => …, (city) => city)`
    const keyFunctions = source.ofType('CallExpression').flatMap((node): Proposal[] => {
      const [cached, keyOf] = node.args
      const [all, some] = [cached, keyOf].map((each) => each?.children('params') ?? [])
      if (keyOf?.isFunction !== true || cached?.isFunction !== true || node.args.length > 3)
        return []
      if (!CACHES.test(node.callee?.text ?? '') || all!.length === 0) return []
      if (some!.length >= all!.length && isWholeKey(keyOf.child('body'), some!)) return []
      const body = keyOf.child('body')!
      const texts = some!.map(({ text }) => text)
      const leavesOut = some!.length < all!.length && body.type !== 'BlockStatement'
      const [rest, args] = ['others', 'args'].map(
        (name) => `...${name}${source.isTyped ? ': any[]' : ''}`,
      )
      // What the key makes the same stays so.
      const whole = leavesOut
        ? `(${[...texts, rest].join(', ')}) => JSON.stringify([${body.text}, ...others])`
        : `(${args}) => JSON.stringify(args)`
      return [{ node: keyOf, edit: keyOf.replace(whole), title }]
    })
    // `const keyOf = (city, unit) => city`
    const named = source
      .filter((node) => node.isFunction && node.children('params').length > 0)
      .flatMap((node): Proposal[] => {
        const name = (node.child('id') ?? node.child('key') ?? node.parent?.child('id'))?.name ?? ''
        const body = node.child('body')
        const [first, ...rest] = body?.type === 'BlockStatement' ? body.children('body') : []
        const key = body?.type === 'BlockStatement' ? first?.child('argument') : body
        const params = paramNames(node)
        if (!/key/i.test(name) || key === undefined || rest.length > 0) return []
        if (params.includes('') || isWholeKey(key, node.children('params'))) return []
        return [{ node: key, edit: key.replace(wholeKey(key, params)), title }]
      })
    const written = uses
      .filter(({ isWrite }) => isWrite)
      .flatMap(({ node, object, key }): Proposal[] => {
        const inner = node.functionAround
        if (inner === undefined || key === undefined) return []
        const params = paramNames(inner).filter((name) => name !== '')
        const rest = inner.children('params').find(({ type }) => type === 'RestElement')
        const init = source
          .ofType('VariableDeclarator')
          .find((each) => inner.isAround(each.start) && each.child('id')?.name === key.name)
          ?.child('init')
        const used: string[] = (init ?? key).text.match(/[\p{L}_$][\p{L}\p{N}_$]*/gu) ?? []
        const args = rest?.child('argument')?.text
        const whole = args === undefined ? wholeKey(init ?? key, params) : `JSON.stringify(${args})`
        const isPart =
          args === undefined
            ? params.some((name) => used.includes(name)) &&
              (params.some((name) => !used.includes(name)) || SHORTENS.test((init ?? key).text))
            : used.includes(args) && (init ?? key).text !== whole
        const same = uses.filter(
          (use) =>
            inner.isAround(use.node.start) &&
            use.object.text === object.text &&
            use.key?.text === key.text,
        )
        if (!isPart || same.length < 2) return []
        if (init !== undefined) return [{ node: init, edit: init.replace(whole), title }]
        const edit = source.edit()
        for (const use of same) edit.replace(use.key!, whole)
        return [{ node, edit, title }]
      })
    return [...written, ...keyFunctions, ...named]
  },
)

/** A key with the parameters that another key leaves out; with all of them if it has a part of each. */
const wholeKey = ({ text }: SyntaxNode, params: readonly string[]): string => {
  const others = params.filter((name) => !new RegExp(`\\b${name}\\b`).test(text))
  const parts = others.length > 0 && others.length < params.length ? [text, ...others] : params
  return `JSON.stringify([${parts.join(', ')}])`
}

/** Names of functions that store what another one returns. */
const CACHES = /cache|memo|once|store|remember/i

/** Methods that make different texts the same. */
const SHORTENS =
  /\.(?:slice|substring|substr|toLowerCase|toUpperCase|trim|split|charAt|at|length|replace|replaceAll)\b|\bMath\.|parseInt/

/** True if a cache key has all arguments as they are. */
const isWholeKey = (key: SyntaxNode | undefined, params: readonly SyntaxNode[]): boolean =>
  key !== undefined &&
  !SHORTENS.test(key.text) &&
  params
    .flatMap((param) => param.text.match(/[\p{L}_$][\p{L}\p{N}_$]*/gu) ?? [])
    .every((name) => new RegExp(`\\b${name}\\b`).test(key.text))

/** A word from the model that almost matches a label in the code. */
const aliasLabel = operator(
  'alias-label',
  'code',
  (context) => [oracleSymptom(context)],
  (source, symptom, { steps }) =>
    steps
      // A label, and not one with the reason of this run.
      .filter(
        ({ step, answerText }) =>
          step.kind === 'model' && /^\w[\w-]{2,30}(?: \w{1,20})?$/.test(answerText.trim()),
      )
      .flatMap(({ step, answerText }) => {
        const word = answerText.trim()
        const evidence = `The model answered “${word}”; the code has no such label.`
        return aliases(source, word)
          .slice(0, MAX_PER_FILE)
          .map(({ node, label, text }) => ({
            node,
            edit: node.insertBefore(text),
            title: `Accept “${word}” for “${label}”`,
            symptom: { ...symptom, step: step.label, evidence },
          }))
      }),
)

/** Labels similar to the word that are keys or cases, with the text to insert before each. */
const aliases = (source: ParsedSource, word: string) => {
  const isNear = (label: string): boolean => {
    const [short, long] = [label, word].toSorted((a, b) => a.length - b.length) as [string, string]
    return short.length >= 3 && label !== word && long.toLowerCase().startsWith(short.toLowerCase())
  }
  const keys = source.ofType('ObjectExpression').flatMap((object) => {
    const named = object.propertyNames
    const at = named.findIndex(isNear)
    const node = object.children('properties')[at]
    const value = node?.child('value')
    if (node === undefined || value === undefined || named.includes(word)) return []
    if (named.length < 2 || node.raw['shorthand'] === true) return []
    return [{ node, label: named[at]!, text: `${objectKey(word)}: ${value.text}, ` }]
  })
  const cases = source.ofType('SwitchCase').flatMap((node) => {
    const test = node.child('test')
    const label = test?.type === 'StringLiteral' ? test.name! : ''
    return isNear(label) ? [{ node, label, text: `case ${JSON.stringify(word)}: ` }] : []
  })
  return [...keys, ...cases]
}

export const pitfallOperators: readonly Operator[] = [
  aliasLabel,
  lowerCasePath,
  compareNumbers,
  copyBeforeChange,
  copyArgument,
  mapsInJson,
  mapAccess,
  readAsUtf8,
  splitQuoted,
  flushLast,
  lastChunk,
  wholeCacheKey,
  openQuantifier,
  reverseOrder,
]
