import { recordOf } from '@retake/tape'
import { isVariantName } from '../answer-values.js'
import { typesOf } from '../argument-problems.js'
import type { ParsedSource, SourceEdit, SyntaxNode } from '../source-text.js'
import type { Symptom, ToolSchema } from '../symptoms.js'
import {
  accessText,
  isThrownIn,
  objectKey,
  operator,
  type Operator,
  type OperatorContext,
  type Proposal,
  symptomsOf,
  thrown,
} from './operator.js'
import { statementAround, toolAnswers } from './tool-loop.js'

// ── Arguments ───────────────────────────────────────────────────────────────

/** Converts arguments to the types of the tools' schemas. */
const coerceArguments = operator(
  'coerce-arguments',
  'tool',
  'tool-arguments',
  (source, { facts }) => {
    const types = argumentTypes(facts['tools'] as readonly ToolSchema[])
    if (types.length === 0) return []
    const typesText = types.map(([name, type]) => `${objectKey(name)}: '${type}'`).join(', ')
    // Expressions with the arguments of a tool call, such as `block.input`.
    const parsed = source
      .calls('JSON.parse')
      .filter((node) => /arguments|\bargs\b|\binput\b/i.test((node.args[0] ?? node).text))
    const read = source
      .ofType('MemberExpression')
      .filter(
        (node) =>
          node.name === 'input' &&
          /^(?:CallExpression|VariableDeclarator)$/.test(node.parent?.type ?? '') &&
          node.parent?.callee !== node,
      )
    return [...parsed, ...read].map((node) => ({
      node,
      edit: source.editWith(COERCE_ARGUMENTS, (name) =>
        node.wrap(`${name}(`, `, { ${typesText} })`),
      ),
      title: 'Convert arguments to the types of their schema',
    }))
  },
)

/** Types of arguments that have the same type in all tools. */
const argumentTypes = (tools: readonly ToolSchema[]): [name: string, type: string][] => {
  const types = new Map<string, Set<string>>()
  for (const { schema } of tools)
    for (const [name, property] of Object.entries(recordOf(schema['properties']))) {
      const [type, ...others] = typesOf(recordOf(property)).filter((each) => each !== 'null')
      if (type !== undefined && others.length === 0)
        types.set(name, (types.get(name) ?? new Set()).add(type))
    }
  return [...types].flatMap(([name, [type, ...others]]) =>
    type === undefined || others.length > 0 ? [] : [[name, type]],
  )
}

const COERCE_ARGUMENTS = `
/** Converts arguments that a model sent with another type or spelling. */
function coerceArguments(given⟨: Record<string, any>⟩, types⟨: Record<string, string>⟩) {
  const plain = (name⟨: string⟩) => name.toLowerCase().replace(/[^a-z0-9]/g, '')
  const args⟨: Record<string, any>⟩ = { ...given }
  for (const [name, type] of Object.entries(types)) {
    const alias = Object.keys(args).find((key) => !(key in types) && plain(key) === plain(name))
    if (args[name] === undefined && alias !== undefined) {
      args[name] = args[alias]
      delete args[alias]
    }
    const value = args[name]
    if (typeof value === 'string') {
      const text = value.trim()
      const number = Number(text.replace(/^[^\\d.+-]+|[^\\d.]+$/g, '').replace(/,(?=\\d{3}\\b)/g, ''))
      if (/^(?:number|integer)$/.test(type) && /\\d/.test(text) && Number.isFinite(number)) args[name] = number
      if (type === 'boolean' && /^(?:true|yes|false|no)$/i.test(text)) args[name] = /^(?:true|yes)$/i.test(text)
      if (type === 'array') args[name] = text.startsWith('[') ? JSON.parse(text) : text === '' ? [] : text.split(/\\s*,\\s*/)
      if (type === 'object' && text.startsWith('{')) args[name] = JSON.parse(text)
    } else if (value !== undefined && value !== null) {
      if (type === 'string' && typeof value !== 'object') args[name] = String(value)
      if (type === 'array' && !Array.isArray(value)) args[name] = [value]
    }
  }
  return args
}`

// ── Unknown tools ───────────────────────────────────────────────────────────

/** Answers a call to a tool that does not exist, so that the model can correct itself. */
const answerUnknownTool = operator(
  'answer-unknown-tool',
  'tool',
  'unknown-tool',
  (source, symptom, context) => {
    const dispatched = toolAnswers(source).flatMap(({ dispatch: node, isText }) => {
      const edit = node && unknownToolEdit(node, isText, symptom)
      return node === undefined || edit === undefined ? [] : [{ node, edit }]
    })
    return [...dispatched, ...throwsToAnswers(source, context)].map((each) => ({
      ...each,
      title: 'Answer calls to unknown tools',
      why: `${symptom.evidence} The agent does not answer such a call.`,
    }))
  },
)

const unknownToolEdit = (
  node: SyntaxNode,
  isText: boolean,
  symptom: Symptom,
): SourceEdit | undefined => {
  const { source, callee } = node
  const known = JSON.stringify(symptom.facts['tools'] ?? [])
  const object = callee?.object
  if (callee?.raw['computed'] === true && object !== undefined) {
    const tool = callee.child('property')!.text
    return source.editWith(unknownTool(isText), (name) =>
      callee.replace(`(${callee.text} ?? ${name}(${tool}, Object.keys(${object.text})))`),
    )
  }
  // A tool looked up earlier: `const tool = tools.find(…)`, then `tool(…)` or `tool.execute(…)`.
  const looked = callee?.type === 'Identifier' ? callee : object
  const isDeclared = source
    .ofType('VariableDeclarator')
    .some((each) => each.child('id')?.name === looked?.name && each.start < node.start)
  if (looked?.type !== 'Identifier' || !isDeclared) return undefined
  return source.editWith(unknownTool(isText), (name) =>
    node.replace(`(${looked.text} ? ${node.text} : ${name}(undefined, ${known})())`),
  )
}

const unknownTool = (isText: boolean): string => `
/** Answers a call to a tool that does not exist, so that the model can correct itself. */
function unknownTool(name⟨: string | undefined⟩, known⟨: string[]⟩) {
  const message = \`There is no tool \${name ?? 'of this name'}. Use one of: \${known.join(', ')}.\`
  return () => ${isText ? 'message' : '({ error: message })'}
}`

/** Makes a function that runs tools return an error text instead of throwing. */
const throwsToAnswers = (
  source: ParsedSource,
  { thrownAt: [at], sources }: OperatorContext,
): { readonly node: SyntaxNode; readonly edit: SourceEdit }[] => {
  if (at?.source !== source) return []
  const node = source.ofType('ThrowStatement').findLast((each) => each.isAround(at.offset))
  const argument = node?.child('argument')
  if (node === undefined || argument === undefined) return []
  const message = argument.type === 'NewExpression' ? argument.args[0] : undefined
  const said = message?.text ?? "'The call failed.'"
  const loop = node.around.findLast((each) => each.isLoop)
  const inLoop = toolAnswers(source).find((answer) => loop?.isAround(answer.message.start))
  if (inLoop !== undefined) {
    // Adds the same message as for any other call, with the error as its content.
    const { message: sent, content, isShorthand } = inLoop
    const push = source.ofType('CallExpression').find(({ args }) => args.includes(sent))
    if (push === undefined) return []
    const value = `JSON.stringify({ error: ${said} })`
    const answer =
      push.text.slice(0, content.start - push.start) +
      (isShorthand ? `${content.text}: ${value}` : value) +
      push.text.slice(content.end - push.start)
    const { indent } = node
    const isInBlock = node.parent?.type === 'BlockStatement'
    const statements = `${answer}\n${indent}${isInBlock ? '' : '  '}continue`
    const block = `{\n${indent}  ${statements}\n${indent}}`
    return [{ node, edit: node.replace(isInBlock ? statements : block) }]
  }
  if (node.functionAround === undefined) return []
  const isText = sources.flatMap(toolAnswers).every((answer) => answer.isText)
  return [{ node, edit: node.replace(`return ${isText ? said : `{ error: ${said} }`}`) }]
}

// ── Errors and results ──────────────────────────────────────────────────────

/** Passes tool errors to the model instead of ending the run. */
const argumentErrorToModel = operator(
  'argument-error-to-model',
  'tool',
  thrown,
  (source, { evidence }, context) =>
    toolAnswers(source).flatMap(({ dispatch: node, isAwaited, isText }): Proposal[] => {
      if (node === undefined) return []
      const message = context.error?.message
      // The error passed through the dispatch, or a tool failed with this error.
      const isReached =
        isThrownIn(context, statementAround(node)) ||
        context.steps.some(
          ({ step, errorText }) =>
            step.kind === 'tool' &&
            step.state === 'failed' &&
            message !== undefined &&
            errorText.includes(message),
        )
      if (!isReached) return []
      const awaits = /\bawait\b/.test(node.text)
      const helper = orError({ isAsync: isAwaited || awaits, isText })
      return [
        {
          node,
          edit: source.editWith(helper, (name) =>
            node.replace(`${name}(${awaits ? 'async () =>' : '() =>'} ${node.text})`),
          ),
          title: 'Return tool errors to the model',
          why: `${evidence} The model could correct itself, but never saw the error.`,
        },
      ]
    }),
)

const orError = ({ isAsync, isText }: { isAsync: boolean; isText: boolean }): string => `
/** Result of a tool, or its error for the model to read. */
${isAsync ? 'async ' : ''}function orError(call⟨: () => any⟩) {
  try {
    return ${isAsync ? 'await ' : ''}call()
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return ${isText ? '`Error: ${message}`' : '{ error: message }'}
  }
}`

/** Reports an empty tool result to the model instead of sending nothing. */
const validateToolResult = operator(
  'validate-tool-result',
  'tool',
  (context): Symptom[] => {
    const rejected = symptomsOf(context, 'server-error').filter(
      ({ facts }) =>
        facts['isRejected'] === true &&
        /content|null|undefined|string/i.test(String(facts['message'])),
    )
    const empty = context.steps
      .filter(
        ({ step, result }) =>
          step.kind === 'tool' && step.state === 'done' && (result ?? null) === null,
      )
      .map(({ step }): Symptom => ({
        class: 'wrong-result',
        step: step.label,
        evidence: `${step.toolName ?? 'A tool'} returned nothing.`,
        confidence: 'hint',
        facts: {},
      }))
    return [...rejected, ...empty].slice(0, 1)
  },
  (source) =>
    toolAnswers(source).flatMap(({ content, isShorthand, dispatch, isText, isAwaited }) => {
      const proposals: Proposal[] = []
      const message = "'The tool returned no result.'"
      const other = isText ? message : `{ error: ${message} }`
      const isDirect = dispatch?.parent?.type === 'AwaitExpression'
      if (dispatch !== undefined && (isDirect || !isAwaited))
        proposals.push({
          node: dispatch,
          edit: isAwaited
            ? dispatch.parent!.wrap('((', `) ?? ${other})`)
            : dispatch.wrap('(', ` ?? ${other})`),
          title: 'Report an empty tool result to the model',
        })
      const value = content.text
      const asText = `typeof ${value} === 'string' ? ${value} : JSON.stringify(${value} ?? ${message})`
      if (isText && /^[\w$.]+$/.test(value))
        proposals.push({
          node: content,
          edit: content.replace(isShorthand ? `${value}: ${asText}` : asText),
          title: 'Send tool results as text',
        })
      return proposals
    }),
)

/** Serializes objects that reached the model as `[object Object]`. */
const serializeResult = operator(
  'serialize-result',
  'tool',
  (context) =>
    symptomsOf(context, 'malformed-json', 'wrong-output')
      .filter(({ facts }) => facts['kind'] === 'object')
      .slice(0, 1),
  (source) => {
    const joined = source
      .ofType('BinaryExpression')
      .filter(({ raw }) => raw['operator'] === '+')
      .flatMap((node) => [node.child('left')!, node.child('right')!])
    const inserted = source
      .ofType('TemplateLiteral')
      .flatMap((node) => node.children('expressions'))
    const contents = toolAnswers(source)
      .filter(({ isText, isShorthand }) => isText && !isShorthand)
      .map(({ content }) => content)
    const strings = source.calls('String').flatMap(({ args }) => args)
    return [...joined, ...inserted, ...contents, ...strings]
      .filter(({ type }) => /^(?:Identifier|MemberExpression|OptionalMemberExpression)$/.test(type))
      .slice(0, 8)
      .map((node) => ({
        node,
        edit: node.wrap('JSON.stringify(', ')'),
        title: `Write \`${node.text}\` as JSON`,
      }))
  },
)

/** Answers every tool call of a message if the code answers only the first. */
const answerEveryCall = operator(
  'answer-every-call',
  'tool',
  (context) =>
    symptomsOf(context, 'server-error').filter(
      ({ facts }) => facts['isRejected'] === true && /tool/i.test(String(facts['message'])),
    ),
  (source) =>
    toolAnswers(source).flatMap(({ message: { start } }) =>
      source
        .ofType('VariableDeclarator')
        .filter(({ around }) => around.some((each) => each.isAround(start)))
        .flatMap((node): Proposal[] => {
          const first = firstOf(node)
          const declaration = node.parent
          const statements = declaration?.parent?.children('body') ?? []
          const from = statements.findIndex((each) => each === declaration)
          const to = statements.findIndex((each) => each.isAround(start))
          if (first === undefined || declaration === undefined || from < 0 || to <= from) return []
          const edit = declaration
            .replace(`for (const ${first.name.text} of ${first.list.text}) {`)
            .insert(statements[to]!.end, `\n${declaration.indent}}`)
          return [{ node: declaration, edit, title: 'Answer every tool call, not only the first,' }]
        }),
    ),
)

/** `const [call] = calls` and `const call = calls[0]`. */
const firstOf = (
  node: SyntaxNode,
): { readonly name: SyntaxNode; readonly list: SyntaxNode } | undefined => {
  const id = node.child('id')
  const init = node.child('init')
  if (id === undefined || init === undefined) return undefined
  const [name, ...others] = id.children('elements')
  if (id.type === 'ArrayPattern' && name && others.length === 0) return { name, list: init }
  const isFirst = init.raw['computed'] === true && init.child('property')?.raw['value'] === 0
  return isFirst ? { name: id, list: init.object! } : undefined
}

// ── Pages ───────────────────────────────────────────────────────────────────

/** Reads every page of a list that a tool of the project returns in pages. */
const allPages = operator(
  'all-pages',
  'tool',
  (context) =>
    symptomsOf(context, 'missing-pages').filter(({ facts }) => facts['tool'] !== undefined),
  (source, { facts, evidence }, { steps }) => {
    const { tool, marker, list, value } = facts as {
      readonly [name in 'tool' | 'marker' | 'list']: string
    } & { readonly value: unknown }
    const stem = marker.replace(/^(?:next|has)_?/i, '')
    const declared = [
      ...steps
        .flatMap(({ tools }) => tools.filter(({ name }) => name === tool))
        .flatMap(({ schema }) => Object.keys(recordOf(schema['properties']))),
      ...source.ofType('ObjectPattern').flatMap(({ propertyNames }) => propertyNames),
    ].filter((name) => PAGE_ARGUMENT.test(name))
    const argument = declared.find((name) => isVariantName(name, stem)) ?? declared[0]
    if (argument === undefined) return []
    const next =
      typeof value !== 'boolean'
        ? `page${accessText(marker)}`
        : /offset|start|skip/i.test(argument)
          ? 'all.length'
          : 'count + 1'
    const calls = [
      ...toolAnswers(source).flatMap(({ dispatch: node, isAwaited }) =>
        node === undefined ? [] : [{ node, isAwaited }],
      ),
      ...source
        .ofType('CallExpression')
        .filter(({ callee }) => isVariantName(callee?.name ?? '', tool))
        .map((node) => ({ node, isAwaited: node.parent?.type === 'AwaitExpression' })),
    ]
    return calls.flatMap(({ node, isAwaited }): Proposal[] => {
      const [given, ...others] = node.args
      if (others.length > 0) return []
      const args = given === undefined ? 'more' : `{ ...${given.text}, ...more }`
      const helper = allPagesText({ isAwaited, list, marker, argument, next })
      const edit = source.editWith(helper, (name) =>
        node.replace(
          `${name}((more${source.isTyped ? ': any' : ''}) => ${node.callee!.text}(${args}))`,
        ),
      )
      return [{ node, edit, title: `Read all pages of ${tool}`, why: evidence }]
    })
  },
)

const PAGE_ARGUMENT =
  /^(?:cursor|page(?:_?(?:token|number))?|offset|after|start|skip|token|continuation(?:_?token)?|next)$/i

const allPagesText = ({
  isAwaited,
  list,
  marker,
  argument,
  next,
}: {
  readonly [name in 'list' | 'marker' | 'argument' | 'next']: string
} & { readonly isAwaited: boolean }): string => `
/** Answers of all pages as one. */
${isAwaited ? 'async ' : ''}function allPages(load⟨: (more: any) => any⟩)⟨: any⟩ {
  const first = ${isAwaited ? 'await ' : ''}load({})
  if (!Array.isArray(first?.${list})) return first
  const all = [...first.${list}]
  let page = first
  for (let count = 1; page.${marker} && count < 1000; count++) {
    page = ${isAwaited ? 'await ' : ''}load({ ${objectKey(argument)}: ${next} })
    all.push(...page.${list})
  }
  return { ...first, ${objectKey(list)}: all, ${objectKey(marker)}: null }
}`

export const toolOperators: readonly Operator[] = [
  coerceArguments,
  answerUnknownTool,
  argumentErrorToModel,
  validateToolResult,
  serializeResult,
  answerEveryCall,
  allPages,
]
