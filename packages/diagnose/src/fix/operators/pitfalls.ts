import type { FixCandidate } from '../candidates.js'
import {
  childNode,
  childNodes,
  type FoundNode,
  nameOfNode,
  type ParsedSource,
  propertyNames,
  type SyntaxNode,
} from '../source-text.js'
import {
  callsOf,
  candidateOf,
  functionAround,
  isAround,
  isFunctionNode,
  isLoopNode,
  operator,
  type Operator,
  type OperatorContext,
  oracleSymptom,
  type Proposal,
  symptomsOf,
} from './operator.js'

/**
 * Traps of the standard library that type checkers accept and that give a wrong result instead of
 * an error. An operator finds the code by its shape, not by the failure, so its candidates come
 * after those that a symptom points to; the trials decide.
 */

/** Candidates of one operator in a file are alike: the first few must do. */
const MOST_IN_FILE = 3

const pitfall = (
  name: string,
  why: string,
  find: (source: ParsedSource, context: OperatorContext) => readonly Proposal[],
): Operator =>
  operator(
    name,
    'code',
    (context) => [symptomsOf(context, 'exception')[0] ?? oracleSymptom(context)],
    (source, _symptom, context) =>
      source.isCode
        ? find(source, context)
            .slice(0, MOST_IN_FILE)
            .map((each) => ({ ...each, why }))
        : [],
  )

/** Calls of methods by name: `….sort(…)`. */
const methodCalls = (
  source: ParsedSource,
  pattern: RegExp,
): (FoundNode & { readonly object: SyntaxNode; readonly method: string })[] =>
  source.ofType('CallExpression', 'OptionalCallExpression').flatMap((found) => {
    const callee = childNode(found.node, 'callee')
    const object = childNode(callee, 'object')
    const method = nameOfNode(callee)
    return object === undefined || method === undefined || !pattern.test(method)
      ? []
      : [{ ...found, object, method }]
  })

// ── Lists ───────────────────────────────────────────────────────────────────

const compareNumbers = pitfall(
  'compare-numbers',
  'Without a comparator, lists are sorted as texts: 100 comes before 25.',
  (source) =>
    methodCalls(source, /^(?:sort|toSorted)$/)
      .filter(({ node }) => childNodes(node, 'arguments').length === 0)
      .map(({ node }) => ({
        node,
        edit: source
          .edit()
          .insert(
            node.end - 1,
            source.isTyped
              ? '(left, right) => Number(left) - Number(right)'
              : '(left, right) => left - right',
          ),
        title: 'Sort numbers by value',
      })),
)

/** Swaps the sides of `a.x - b.x` and `a.x.localeCompare(b.x)`. */
const reverseOrder = pitfall(
  'reverse-order',
  'The list may be sorted in the wrong direction: the code uses its first members.',
  (source) =>
    methodCalls(source, /^(?:sort|toSorted)$/).flatMap(({ node }) => {
      const [comparator] = childNodes(node, 'arguments')
      const names = childNodes(comparator, 'params').map(nameOfNode)
      const body = childNode(comparator, 'body')
      const [left, right] = names
      if (body === undefined || left === undefined || right === undefined) return []
      const returned =
        body.type === 'BlockStatement' ? childNode(childNodes(body, 'body')[0], 'argument') : body
      if (returned === undefined) return []
      const swapped = source
        .textOf(returned)
        .replaceAll(/[\p{L}_$][\p{L}\p{N}_$]*/gu, (word, at: number, text: string) =>
          text[at - 1] === '.' ? word : word === left ? right : word === right ? left : word,
        )
      return [
        { node, edit: source.edit().replace(returned, swapped), title: 'Sort the other way round' },
      ]
    }),
)

/** A method that changes a list that belongs to the caller, used for its result. */
const copyBeforeChange = pitfall(
  'copy-before-change',
  'The method changes the list of the caller, who uses it later.',
  (source) =>
    methodCalls(source, /^(?:reverse|sort|splice|shift|pop|fill)$/)
      .filter(
        (found) =>
          found.object.type === 'Identifier' &&
          found.around.at(-1)?.type !== 'ExpressionStatement' &&
          isShared(found, String(found.object['name'])),
      )
      .map(({ node, object, method }) => ({
        node,
        edit: source.edit().wrap(object, '[...', ']'),
        title: `Copy \`${source.textOf(object)}\` before ${method}()`,
      })),
)

/** True if a name is a parameter of a function around, or declared outside of it. */
const isShared = (found: FoundNode, name: string): boolean => {
  const inner = functionAround(found)
  if (inner === undefined) return true
  return !declares(inner, name) || paramNames(inner).includes(name)
}

const paramNames = (node: SyntaxNode): string[] =>
  childNodes(node, 'params').flatMap((param) => {
    const plain = param.type === 'AssignmentPattern' ? childNode(param, 'left') : param
    if (plain?.type === 'ObjectPattern') return propertyNames(plain)
    return [nameOfNode(plain) ?? '']
  })

const declares = (node: SyntaxNode, name: string): boolean =>
  paramNames(node).includes(name) ||
  childNodes(childNode(node, 'body'), 'body').some(
    (statement) =>
      statement.type === 'VariableDeclaration' &&
      childNodes(statement, 'declarations').some(
        (each) => nameOfNode(childNode(each, 'id')) === name,
      ),
  )

/** The last piece of a list that a loop collects: pushed inside of the loop, but not behind it. */
const flushLast = pitfall(
  'flush-last',
  'The loop starts a new piece whenever one is full; the last one is never added.',
  (source) =>
    source.ofType('ForStatement', 'ForOfStatement', 'WhileStatement').flatMap((loop) => {
      const block = loop.around.at(-1)
      const statements = childNodes(block, 'body')
      const next = statements[statements.indexOf(loop.node) + 1]
      return methodCalls(source, /^push$/)
        .filter(({ node, around }) => {
          const conditions = around.slice(around.indexOf(loop.node) + 1)
          return (
            isAround(loop.node, node.start) &&
            conditions.some(({ type }) => type === 'IfStatement') &&
            !conditions.some((each) => isFunctionNode(each) || isLoopNode(each))
          )
        })
        .flatMap(({ node, object }) => {
          const [piece] = childNodes(node, 'arguments')
          const name = piece?.type === 'Identifier' ? String(piece['name']) : undefined
          const after = next === undefined ? '' : source.text.slice(next.start, block!.end)
          if (name === undefined || !isCollected(source, loop.node, name)) return []
          if (next === undefined || new RegExp(`\\b${name}\\b`).test(after)) return []
          const push = `if (${name}.length > 0) ${source.textOf(object)}.push(${name})`
          return [
            {
              node,
              edit: source.edit().insert(next.start, `${push}\n${source.indentAt(next.start)}`),
              title: `Add the last \`${name}\` behind the loop`,
            },
          ]
        })
    }),
)

/** True if a loop extends a variable and starts it again. */
const isCollected = (source: ParsedSource, loop: SyntaxNode, name: string): boolean => {
  const assigned = source
    .ofType('AssignmentExpression')
    .filter(
      ({ node }) => isAround(loop, node.start) && nameOfNode(childNode(node, 'left')) === name,
    )
  const isReset = assigned.some(
    ({ node }) =>
      node['operator'] === '=' &&
      /^(?:''|""|``|\[\])$/.test(source.textOf(childNode(node, 'right')!)),
  )
  const isExtended =
    assigned.some(({ node }) => node['operator'] === '+=') ||
    methodCalls(source, /^push$/).some(
      ({ node, object }) => isAround(loop, node.start) && nameOfNode(object) === name,
    )
  return isReset && isExtended
}

// ── Text and files ──────────────────────────────────────────────────────────

const READERS =
  /^(?:readFile|readFileSync|createReadStream|toString|setEncoding|decode|TextDecoder|text)$/

const readAsUtf8 = pitfall(
  'read-as-utf8',
  'The text is read with an encoding that has no letters outside of ASCII, or other ones than UTF-8.',
  (source) =>
    source
      .ofType('StringLiteral')
      .filter(
        ({ node, around }) =>
          /^(?:latin1|binary|ascii|iso-8859-1|windows-1252)$/i.test(String(node['value'])) &&
          around.some(
            (each) =>
              /^(?:Call|New)Expression$/.test(each.type) &&
              READERS.test(nameOfNode(childNode(each, 'callee')) ?? ''),
          ),
      )
      .map(({ node }) => ({
        node,
        edit: source
          .edit()
          .replace(node, `${source.text[node.start]}utf8${source.text[node.start]}`),
        title: 'Read the text as UTF-8',
      })),
)

const splitQuoted = pitfall(
  'split-quoted',
  'Cells of CSV files may be quoted and then contain commas.',
  (source, { sources }) =>
    methodCalls(source, /^split$/)
      .filter(({ node }) => {
        const [separator] = childNodes(node, 'arguments')
        const isCsv = sources.some(({ text }) => /csv/i.test(text))
        return isCsv && separator?.['value'] === ','
      })
      .map(({ node, object }) => ({
        node,
        edit: source.editWith(SPLIT_CSV_LINE, (edit, name) =>
          edit.replace(node, `${name}(${source.textOf(object)})`),
        ),
        title: 'Mind quotes when a line of CSV is split',
      })),
)

const SPLIT_CSV_LINE = `
/** Cells of a line of CSV; a quoted cell may contain commas and doubled quotes. */
function splitCsvLine(line⟨: string⟩) {
  const cells = line.match(/(?<=^|,)(?:"(?:[^"]|"")*"|[^,]*)/g) ?? []
  return cells.map((cell) => (cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell))
}`

/** A pattern for identifiers that grew longer than they were. */
const openQuantifier = pitfall(
  'open-quantifier',
  'The pattern takes a fixed number of digits; a longer number is cut off.',
  (source) =>
    source
      .ofType('RegExpLiteral')
      .filter(({ node }) => !/[-/:.]\\d|\\d\{\d\}[-/:.]/.test(String(node['pattern'])))
      .flatMap(({ node }) => {
        const text = source.textOf(node)
        const open = text.replace(/(\\d|\[0-9\])\{(\d+)\}/, '$1{$2,}')
        return open === text
          ? []
          : [{ node, edit: source.edit().replace(node, open), title: 'Accept longer numbers' }]
      }),
)

/** A file that does not exist in the case that was asked for. */
const lowerCasePath: Operator = (context) => {
  const [symptom] = symptomsOf(context, 'exception')
  const missing = /ENOENT[^']*'([^']+)'/.exec(context.error?.message ?? '')?.[1]
  const [at] = context.thrownAt
  if (symptom === undefined || at === undefined || missing === undefined) return []
  if (!/[A-Z]/.test(missing.slice(missing.search(/[^/\\]*[/\\]?[^/\\]*$/)))) return []
  const { source } = at
  const call = source
    .enclosing(at.offset, 'CallExpression')
    .find(({ node }) => /^(?:readFile|readFileSync|open|openSync|import)$/.test(calleeName(node)))
  const [path] = childNodes(call?.node, 'arguments')
  if (call === undefined || path === undefined) return []
  const names = source
    .ofType('Identifier')
    .filter(({ node, around }) => {
      const parent = around.at(-1)
      const isMember = parent?.type === 'MemberExpression' && parent['computed'] !== true
      const isCallee = parent?.type === 'CallExpression' && parent['callee'] === node
      return isAround(path, node.start) && !isMember && !isCallee
    })
    .slice(0, MOST_IN_FILE)
  return names.flatMap(({ node }) =>
    candidateOf(source.edit().insert(node.end, '.toLowerCase()'), {
      operator: 'lower-case-path',
      layer: 'code',
      title: `Look up \`${source.textOf(node)}\` in lower case in ${source.where(node)}`,
      why: `${symptom.evidence} Names of files have a case.`,
      symptom,
    }),
  )
}

const calleeName = (node: SyntaxNode): string => nameOfNode(childNode(node, 'callee')) ?? ''

// ── Values ──────────────────────────────────────────────────────────────────

const mapsInJson = pitfall(
  'maps-in-json',
  'JSON has no Map and no Set: JSON.stringify writes {} for them.',
  (source, { sources }) =>
    !sources.some(({ text }) => /new (?:Map|Set)\b/.test(text))
      ? []
      : callsOf(source, 'JSON.stringify')
          .filter(({ node }) => childNodes(node, 'arguments').length === 1)
          .map(({ node }) => ({
            node,
            edit: source.editWith(WITH_PLAIN_MAPS, (edit, name) =>
              edit.insert(node.end - 1, `, ${name}`),
            ),
            title: 'Write maps and sets as JSON',
          })),
)

const WITH_PLAIN_MAPS = `
/** For JSON.stringify, which writes {} for maps and sets. */
function withPlainMaps(_key⟨: string⟩, value⟨: unknown⟩) {
  if (value instanceof Map) return Object.fromEntries(value)
  return value instanceof Set ? [...value] : value
}`

const DATE_SETTER = /^set(UTC)?(?:Month|FullYear)$/

/** `setMonth` on the 31st overflows into the month after the next one. */
const lastDayOfMonth = pitfall(
  'last-day-of-month',
  'A day that the new month does not have becomes a day of the month after it.',
  (source) =>
    methodCalls(source, DATE_SETTER)
      .filter(
        ({ object, around, node }) =>
          object.type === 'Identifier' &&
          around.at(-1)?.type === 'ExpressionStatement' &&
          childNodes(node, 'arguments').length === 1,
      )
      .map(({ node, object, method, around }) => {
        const date = source.textOf(object)
        const utc = DATE_SETTER.exec(method)?.[1] ?? ''
        const day = source.freeName('dayBefore')
        const statement = around.at(-1)!
        const indent = source.indentAt(statement.start)
        return {
          node,
          edit: source
            .edit()
            .insert(statement.start, `const ${day} = ${date}.get${utc}Date()\n${indent}`)
            .insert(
              statement.end,
              `\n${indent}if (${date}.get${utc}Date() !== ${day}) ${date}.set${utc}Date(0)`,
            ),
          title: 'Stay in the month that was meant',
        }
      }),
)

/** A key of a cache that leaves out arguments on which the value depends. */
const wholeCacheKey = pitfall(
  'whole-cache-key',
  'The key of the cache leaves out arguments of the function, so calls that differ share a value.',
  (source) =>
    methodCalls(source, /^(?:get|has)$/).flatMap((found): Proposal[] => {
      const inner = functionAround(found)
      const [key] = childNodes(found.node, 'arguments')
      if (inner === undefined || key?.type !== 'Identifier') return []
      const params = paramNames(inner)
      const name = String(key['name'])
      const uses = methodCalls(source, /^(?:get|has|set)$/).filter(
        ({ node, object }) =>
          isAround(inner, node.start) &&
          source.textOf(object) === source.textOf(found.object) &&
          nameOfNode(childNodes(node, 'arguments')[0]) === name,
      )
      if (!uses.some(({ method }) => method === 'set') || params.length < 2) return []
      const whole = `JSON.stringify([${params.join(', ')}])`
      const title = 'Use all arguments as the key of the cache'
      const declared = source
        .ofType('VariableDeclarator')
        .find(
          ({ node }) => isAround(inner, node.start) && nameOfNode(childNode(node, 'id')) === name,
        )
      const init = childNode(declared?.node, 'init')
      if (init !== undefined)
        return [{ node: init, edit: source.edit().replace(init, whole), title }]
      if (!params.includes(name)) return []
      const edit = source.edit()
      for (const { node } of uses) edit.replace(childNodes(node, 'arguments')[0]!, whole)
      return [{ node: found.node, edit, title }]
    }),
)

/** A word of the model that no route is named after, but almost. */
const aliasLabel: Operator = (context) => {
  const answers = context.steps
    .filter(({ step, answerText }) => step.kind === 'model' && /^[\w -]{3,40}$/.test(answerText))
    .map(({ step, answerText }) => ({ step, word: answerText.trim() }))
  const isNear = (label: string, word: string): boolean => {
    const [short, long] = [label, word].toSorted((a, b) => a.length - b.length) as [string, string]
    return short.length >= 3 && label !== word && long.toLowerCase().startsWith(short.toLowerCase())
  }
  return context.sources.flatMap((source) =>
    answers.flatMap(({ step, word }): FixCandidate[] => {
      const symptom = {
        ...oracleSymptom(context),
        step: step.label,
        evidence: `The model answered “${word}”; the code has no such label.`,
      }
      const text = {
        operator: 'alias-label',
        layer: 'code' as const,
        symptom,
      }
      const keys = source.ofType('ObjectExpression').flatMap(({ node }) => {
        const properties = childNodes(node, 'properties')
        const named = propertyNames(node)
        const at = named.findIndex((name) => isNear(name, word))
        const property = properties[at]
        const value = childNode(property, 'value')
        if (property === undefined || value === undefined || named.includes(word)) return []
        if (named.length < 2 || property['shorthand'] === true) return []
        return candidateOf(
          source.edit().insert(property.start, `${keyText(word)}: ${source.textOf(value)}, `),
          { ...text, title: `Accept “${word}” for “${named[at]}” in ${source.where(property)}` },
        )
      })
      const cases = source.ofType('SwitchCase').flatMap(({ node }) => {
        const test = childNode(node, 'test')
        const label = test?.type === 'StringLiteral' ? String(test['value']) : ''
        if (!isNear(label, word)) return []
        return candidateOf(source.edit().insert(node.start, `case ${JSON.stringify(word)}: `), {
          ...text,
          title: `Accept “${word}” for “${label}” in ${source.where(node)}`,
        })
      })
      return [...keys, ...cases].slice(0, MOST_IN_FILE)
    }),
  )
}

const keyText = (word: string): string => (/^[\w$]+$/.test(word) ? word : JSON.stringify(word))

export const pitfallOperators: readonly Operator[] = [
  aliasLabel,
  lowerCasePath,
  compareNumbers,
  copyBeforeChange,
  mapsInJson,
  lastDayOfMonth,
  readAsUtf8,
  splitQuoted,
  flushLast,
  wholeCacheKey,
  openQuantifier,
  reverseOrder,
]
