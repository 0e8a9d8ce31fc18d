import { isRecord } from '@retake/tape'
import type { FixCandidate } from '../candidates.js'
import {
  childNode,
  childNodes,
  type FoundNode,
  nameOfNode,
  type ParsedSource,
  type SyntaxNode,
} from '../source-text.js'
import type { Symptom } from '../symptoms.js'
import {
  callsOf,
  canAwait,
  candidateOf,
  isAround,
  isFunctionNode,
  operator,
  type Operator,
  oracleSymptom,
  type SourceOffset,
  symptomsOf,
} from './operator.js'

const LIST_METHODS =
  /^(?:map|filter|forEach|reduce|find|findIndex|some|every|flatMap|join|at|entries|length|slice|sort|toSorted|concat|indexOf|push)$/
const TEXT_METHODS =
  /^(?:trim|toLowerCase|toUpperCase|split|replace|replaceAll|startsWith|endsWith|match|matchAll|includes|padStart|charAt|substring)$/

/** Handles a value that is missing where the error says that it is. */
const missingValue: Operator = (context) => {
  const [symptom] = symptomsOf(context, 'exception')
  const [at] = context.thrownAt
  if (symptom === undefined || at === undefined) return []
  const { property, message } = symptom.facts
  const text = {
    operator: 'missing-value',
    layer: 'code' as const,
    symptom,
  }
  if (typeof property === 'string') return missingMember(at, property, text)
  if (
    /is not iterable|Cannot destructure|not a function or its return value is not iterable/.test(
      String(message),
    )
  )
    return missingWhole(at, text)
  return []
}

type CodeText = Omit<Parameters<typeof candidateOf>[1], 'title'>

const missingMember = (
  { source, offset }: SourceOffset,
  property: string,
  text: CodeText,
): FixCandidate[] => {
  const line = source.lineAt(offset)
  const read = source
    .ofType('MemberExpression')
    .filter(({ node }) => nameOfNode(node) === property || computedText(node) === property)
  const exact = read.filter(({ node }) => isAround(childNode(node, 'property')!, offset))
  const near =
    exact.length > 0
      ? exact
      : read.filter(({ node }) => source.lineAt(childNode(node, 'property')!.start) === line)
  return near.flatMap(({ node, around }) => {
    const object = childNode(node, 'object')!
    const value = source.textOf(object)
    const empty = LIST_METHODS.test(property)
      ? '[]'
      : TEXT_METHODS.test(property)
        ? "''"
        : undefined
    const isTarget =
      around.at(-1)?.type === 'AssignmentExpression' && around.at(-1)?.['left'] === node
    const withDefault =
      empty === undefined
        ? []
        : candidateOf(source.edit().replace(object, `(${value} ?? ${empty})`), {
            ...text,
            title: `Treat a missing \`${value}\` as empty in ${source.where(node)}`,
          })
    const access = node['computed'] === true ? '?.[' : '?.'
    const optional = isTarget
      ? []
      : candidateOf(
          source
            .edit()
            .replace({ start: object.end, end: childNode(node, 'property')!.start }, access),
          { ...text, title: `Allow \`${value}\` to be missing in ${source.where(node)}` },
        )
    return [...withDefault, ...optional]
  })
}

const computedText = (node: SyntaxNode): string | undefined => {
  const property = node['computed'] === true ? childNode(node, 'property') : undefined
  return property?.type === 'NumericLiteral' ? String(property['value']) : undefined
}

/** A list that is iterated, or an object that is taken apart. */
const missingWhole = ({ source, offset }: SourceOffset, text: CodeText): FixCandidate[] => {
  const line = source.lineAt(offset)
  const isHere = ({ node }: FoundNode): boolean => source.lineAt(node.start) === line
  const values: (readonly [SyntaxNode | undefined, string])[] = [
    ...source
      .ofType('ForOfStatement')
      .filter(isHere)
      .map(({ node }) => [childNode(node, 'right'), '[]'] as const),
    ...source
      .ofType('SpreadElement')
      .filter(isHere)
      .map(({ node }) => [childNode(node, 'argument'), '[]'] as const),
    ...source
      .ofType('VariableDeclarator')
      .filter(isHere)
      .flatMap(({ node }): (readonly [SyntaxNode | undefined, string])[] => {
        const pattern = childNode(node, 'id')?.type
        if (pattern === 'ObjectPattern') return [[childNode(node, 'init'), '{}'] as const]
        return pattern === 'ArrayPattern' ? [[childNode(node, 'init'), '[]'] as const] : []
      }),
  ]
  return values.flatMap(([value, empty]) =>
    value === undefined
      ? []
      : candidateOf(source.edit().wrap(value, '(', ` ?? ${empty})`), {
          ...text,
          title: `Treat a missing \`${source.textOf(value)}\` as empty in ${source.where(value)}`,
        }),
  )
}

/** Waits for an async function of the project whose promise is used as a value. */
const missingAwait = operator(
  'missing-await',
  'code',
  (context) => {
    const promise = context.symptoms.find(({ facts }) => facts['kind'] === 'promise')
    const [exception] = symptomsOf(context, 'exception')
    const isTypeError = /TypeError/.test(String(exception?.facts['error']))
    return [promise ?? (isTypeError ? exception : undefined)].filter((each) => each !== undefined)
  },
  (source, _symptom, { sources }) => {
    const names = new Set(sources.flatMap(asyncNames))
    return source
      .ofType('CallExpression')
      .filter(({ node }) => names.has(nameOfNode(childNode(node, 'callee')) ?? ''))
      .filter((found) => canAwait(found) && isValueUsed(found))
      .slice(0, 6)
      .map(({ node, around }) => {
        const isMember = /^(?:Optional)?MemberExpression$/.test(around.at(-1)?.type ?? '')
        const edit = source.edit()
        return {
          node,
          edit: isMember ? edit.wrap(node, '(await ', ')') : edit.insert(node.start, 'await '),
          title: `Wait for \`${source.textOf(childNode(node, 'callee')!)}\``,
        }
      })
  },
)

const asyncNames = (source: ParsedSource): string[] =>
  source.nodes
    .filter(({ node }) => isFunctionNode(node) && node['async'] === true)
    .flatMap(({ node, around }) => {
      const parent = around.at(-1)
      const named =
        childNode(node, 'id') ??
        childNode(node, 'key') ??
        childNode(parent, 'id') ??
        childNode(parent, 'key')
      const name = nameOfNode(named)
      return name === undefined ? [] : [name]
    })

/** Not awaited, not returned, not passed to Promise.all, not left alone on purpose. */
const isValueUsed = ({ around }: FoundNode): boolean => {
  const parent = around.at(-1)
  if (parent === undefined) return false
  if (
    /^(?:AwaitExpression|ReturnStatement|ArrayExpression|ArrowFunctionExpression)$/.test(
      parent.type,
    )
  )
    return false
  if (parent.type === 'UnaryExpression' && parent['operator'] === 'void') return false
  return !/^(?:then|catch|finally)$/.test(nameOfNode(parent) ?? '')
}

/** Assignments in conditions, and loops that run one too far. */
const wrongComparison: Operator = (context) => {
  const [exception] = symptomsOf(context, 'exception')
  const isTooFar = exception?.facts['of'] === 'undefined'
  const symptom = exception ?? oracleSymptom(context)
  return context.sources.flatMap((source) => {
    const text = {
      operator: 'wrong-comparison',
      layer: 'code' as const,
      symptom,
    }
    const assigned = source.ofType('IfStatement', 'WhileStatement').flatMap(({ node }) => {
      const test = childNode(node, 'test')
      if (test?.type !== 'AssignmentExpression' || test['operator'] !== '=') return []
      const left = childNode(test, 'left')!
      const right = childNode(test, 'right')!
      if (!/Literal$|^Identifier$/.test(right.type)) return []
      return candidateOf(source.edit().replace({ start: left.end, end: right.start }, ' === '), {
        ...text,
        title: `Compare instead of assigning in ${source.where(test)}`,
      })
    })
    const tooFar = !isTooFar
      ? []
      : source
          .ofType('ForStatement')
          .filter(
            ({ node }) =>
              context.thrownAt[0]?.source === source && isAround(node, context.thrownAt[0].offset),
          )
          .flatMap(({ node }) => {
            const test = childNode(node, 'test')
            const right = childNode(test, 'right')
            if (test?.['operator'] !== '<=' || nameOfNode(right) !== 'length') return []
            const left = childNode(test, 'left')!
            return candidateOf(
              source.edit().replace({ start: left.end, end: right!.start }, ' < '),
              {
                ...text,
                title: `End the loop before the length in ${source.where(test)}`,
              },
            )
          })
    return [...assigned, ...tooFar]
  })
}

const DATE = /^\d{4}-\d\d(?:-\d\d)?/

/** Takes the newest of several records, where a tool gave the first one and records have a date. */
const newestMatch: Operator = (context) => {
  const fields = new Set(
    context.steps.flatMap(({ step, result }) =>
      step.kind === 'tool' && isRecord(result)
        ? Object.entries(result)
            .filter(([, value]) => typeof value === 'string' && DATE.test(value))
            .map(([name]) => name)
        : [],
    ),
  )
  const symptom = oracleSymptom(context)
  return [...fields].flatMap((field) =>
    context.sources.flatMap((source) =>
      source.ofType('CallExpression').flatMap(({ node }) => {
        const callee = childNode(node, 'callee')
        const object = childNode(callee, 'object')
        const [predicate] = childNodes(node, 'arguments')
        if (nameOfNode(callee) !== 'find' || object === undefined || predicate === undefined)
          return []
        // A search by key returns a single record, so there is nothing to sort.
        const list = source.textOf(object)
        const tested = source.textOf(predicate)
        if (/\bid\b/i.test(tested)) return []
        const access = /^[\w$]+$/.test(field) ? `.${field}` : `[${JSON.stringify(field)}]`
        const newestFirst = `(left, right) => String(right${access}).localeCompare(String(left${access}))`
        return candidateOf(
          source.edit().replace(node, `${list}.filter(${tested}).sort(${newestFirst})[0]`),
          {
            operator: 'newest-match',
            layer: 'code',
            title: `Take the newest match by \`${field}\` in ${source.where(node)}`,
            why: `The tool gave the first record that matches; records have \`${field}\`.`,
            symptom,
          },
        )
      }),
    ),
  )
}

/** Compares a word of the model without regard to case and punctuation. */
const normalizeLabel: Operator = (context) => {
  const answers = context.steps
    .filter(
      ({ step, answerText }) => step.kind === 'model' && /^[^\n]{1,40}$/.test(answerText.trim()),
    )
    .map(({ step, answerText }) => ({ step, raw: answerText, plain: plainWord(answerText) }))
  return context.sources.flatMap((source) => {
    const labels = new Set([
      ...source.ofType('StringLiteral').map(({ node }) => String(node['value'])),
      ...source
        .ofType('ObjectProperty')
        .map(({ node }) => nameOfNode(childNode(node, 'key')) ?? ''),
    ])
    const hit = answers.find(
      ({ raw, plain }) =>
        plain !== '' &&
        !labels.has(raw) &&
        [...labels].some((label) => label !== '' && plainWord(label) === plain),
    )
    if (hit === undefined) return []
    const label = [...labels].find((each) => plainWord(each) === hit.plain)!
    const symptom: Symptom = {
      ...oracleSymptom(context),
      step: hit.step.label,
      evidence: `The model answered “${hit.raw.trim()}”; the code expects “${label}”.`,
    }
    return labelUses(source, label).flatMap((use) => {
      const casing = label === label.toLowerCase() ? 'toLowerCase' : 'toUpperCase'
      return candidateOf(
        source.editWith(plainWordText(casing), (edit, name) => edit.wrap(use, `${name}(`, ')')),
        {
          operator: 'normalize-label',
          layer: 'code',
          title: `Ignore case and punctuation of \`${source.textOf(use)}\` in ${source.where(use)}`,
          symptom,
        },
      )
    })
  })
}

const plainWord = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()

/** Expressions that are compared with a label, or looked up in an object that has it. */
const labelUses = (source: ParsedSource, label: string): SyntaxNode[] => {
  const isLabel = (node: SyntaxNode | undefined): boolean =>
    node?.type === 'StringLiteral' && node['value'] === label
  const compared = source.ofType('BinaryExpression').flatMap(({ node }) => {
    const [left, right] = [childNode(node, 'left')!, childNode(node, 'right')!]
    if (!/^[!=]==?$/.test(String(node['operator']))) return []
    return isLabel(left) ? [right] : isLabel(right) ? [left] : []
  })
  const looked = source
    .ofType('MemberExpression')
    .filter(
      ({ node }) => node['computed'] === true && childNode(node, 'property')?.type === 'Identifier',
    )
    .map(({ node }) => childNode(node, 'property')!)
  const included = source.ofType('CallExpression').flatMap(({ node }) => {
    const callee = childNode(node, 'callee')
    const list = childNode(callee, 'object')
    const isList = nameOfNode(callee) === 'includes' && list?.type === 'ArrayExpression'
    return isList && childNodes(list, 'elements').some(isLabel) ? childNodes(node, 'arguments') : []
  })
  const switched = source
    .ofType('SwitchStatement')
    .filter(({ node }) =>
      childNodes(node, 'cases').some((each) => isLabel(childNode(each, 'test'))),
    )
    .map(({ node }) => childNode(node, 'discriminant')!)
  return [...compared, ...looked, ...included, ...switched].slice(0, 4)
}

const plainWordText = (casing: string): string => `
/** A word of a model without punctuation, in the case that the code uses. */
function plainWord(text⟨: string⟩) {
  return text.replace(/[^\\p{L}\\p{N} _-]+/gu, '').trim().${casing}()
}`

/** Reads a number that a model wrote with a unit or separators. */
const readNumber: Operator = (context) => {
  const hit = context.steps.find(
    ({ step, answerText }) =>
      step.kind === 'model' &&
      /\d/.test(answerText) &&
      answerText.trim().length < 60 &&
      Number.isNaN(Number(answerText)),
  )
  if (hit === undefined) return []
  const symptom: Symptom = {
    ...oracleSymptom(context),
    step: hit.step.label,
    evidence: `The model wrote “${hit.answerText.trim()}”, which is not a plain number.`,
  }
  return context.sources.flatMap((source) =>
    ['Number', 'parseFloat', 'parseInt', 'Number.parseFloat', 'Number.parseInt']
      .flatMap((callee) => callsOf(source, callee))
      .filter(({ node }) => childNodes(node, 'arguments').length > 0)
      .slice(0, 4)
      .flatMap(({ node }) =>
        candidateOf(
          source.editWith(READ_NUMBER, (edit, name) =>
            edit.replace(childNode(node, 'callee')!, name),
          ),
          {
            operator: 'read-number',
            layer: 'code',
            title: `Read numbers with units and separators in ${source.where(node)}`,
            symptom,
          },
        ),
      ),
  )
}

const READ_NUMBER = `
/** The number in a text such as "1,299.00 EUR"; NaN if there is none. */
function readNumber(text⟨: unknown⟩) {
  const found = /-?\\d[\\d,]*(?:\\.\\d+)?/.exec(String(text))
  return found === null ? Number.NaN : Number(found[0].replace(/,/g, ''))
}`

export const codeOperators: readonly Operator[] = [
  missingValue,
  missingAwait,
  wrongComparison,
  normalizeLabel,
  readNumber,
  newestMatch,
]
