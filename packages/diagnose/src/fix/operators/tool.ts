import { recordOf } from '@retake/tape'
import { typesOf } from '../argument-problems.js'
import type { FixCandidate } from '../candidates.js'
import {
  childNode,
  childNodes,
  type FoundNode,
  nameOfNode,
  type ParsedSource,
} from '../source-text.js'
import type { Symptom, ToolSchema } from '../symptoms.js'
import {
  callsOf,
  candidateOf,
  functionAround,
  isAround,
  isLoopNode,
  operator,
  type Operator,
  type OperatorContext,
  type Proposal,
  symptomsOf,
} from './operator.js'
import { statementAround, type ToolAnswer, toolAnswers } from './tool-loop.js'

const answersIn = ({ sources }: OperatorContext): ToolAnswer[] => sources.flatMap(toolAnswers)

// ── Arguments ───────────────────────────────────────────────────────────────

/** Converts arguments to the types of the tools' schemas. */
const coerceArguments = operator(
  'coerce-arguments',
  'tool',
  (context) => symptomsOf(context, 'tool-arguments'),
  (source, { facts }) => {
    const types = argumentTypes(facts['tools'] as readonly ToolSchema[])
    if (Object.keys(types).length === 0) return []
    return argumentExpressions(source).map(({ node }) => ({
      node,
      edit: source.editWith(COERCE_ARGUMENTS, (edit, name) =>
        edit.wrap(node, `${name}(`, `, ${typesText(types)})`),
      ),
      title: 'Convert arguments to the types of their schema',
    }))
  },
)

/** Type of every argument that has the same one in all tools. */
const argumentTypes = (tools: readonly ToolSchema[]): Record<string, string> => {
  const types = new Map<string, string>()
  const ambiguous = new Set<string>()
  for (const { schema } of tools) {
    for (const [name, property] of Object.entries(recordOf(schema['properties']))) {
      const [type, ...others] = typesOf(recordOf(property)).filter((each) => each !== 'null')
      if (type === undefined || others.length > 0) continue
      if (types.has(name) && types.get(name) !== type) ambiguous.add(name)
      types.set(name, type)
    }
  }
  return Object.fromEntries([...types].filter(([name]) => !ambiguous.has(name)))
}

const typesText = (types: Record<string, string>): string =>
  `{ ${Object.entries(types)
    .map(([name, type]) => `${/^[\w$]+$/.test(name) ? name : JSON.stringify(name)}: '${type}'`)
    .join(', ')} }`

/** Expressions with the arguments of a tool call: `JSON.parse(call.function.arguments)`, `block.input`. */
const argumentExpressions = (source: ParsedSource): FoundNode[] => [
  ...callsOf(source, 'JSON.parse').filter(({ node }) =>
    /arguments|\bargs\b|\binput\b/i.test(source.textOf(childNodes(node, 'arguments')[0] ?? node)),
  ),
  ...source
    .ofType('MemberExpression')
    .filter(
      ({ node, around }) =>
        nameOfNode(node) === 'input' &&
        /^(?:CallExpression|VariableDeclarator)$/.test(around.at(-1)?.type ?? '') &&
        around.at(-1)?.['callee'] !== node,
    ),
]

const COERCE_ARGUMENTS = `
/** Converts arguments that a model sent with another type or spelling; anything else stays as it is. */
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

/** Answers a call of a tool that does not exist, so that the model can correct itself. */
const answerUnknownTool: Operator = (context) =>
  symptomsOf(context, 'unknown-tool').flatMap((symptom) => {
    const text = {
      operator: 'answer-unknown-tool',
      layer: 'tool' as const,
      why: `${symptom.evidence} The agent does not answer such a call.`,
      symptom,
    }
    const dispatched = answersIn(context).flatMap((answer): FixCandidate[] => {
      const { source, dispatch } = answer
      if (dispatch === undefined) return []
      const title = `Answer calls of unknown tools in ${source.where(dispatch.node)}`
      const edit = unknownToolEdit(answer, dispatch, symptom)
      return edit === undefined ? [] : candidateOf(edit, { ...text, title })
    })
    return [...dispatched, ...throwsToAnswers(context, text, 'Answer calls of unknown tools')]
  })

const unknownToolEdit = ({ source, isText }: ToolAnswer, { node }: FoundNode, symptom: Symptom) => {
  const callee = childNode(node, 'callee')
  const known = JSON.stringify(symptom.facts['tools'] ?? [])
  const helper = unknownTool(isText)
  if (callee === undefined) return undefined
  const object = childNode(callee, 'object')
  if (callee['computed'] === true && object !== undefined) {
    const tool = source.textOf(childNode(callee, 'property')!)
    return source.editWith(helper, (edit, name) =>
      edit.replace(
        callee,
        `(${source.textOf(callee)} ?? ${name}(${tool}, Object.keys(${source.textOf(object)})))`,
      ),
    )
  }
  // A tool that was looked up before: `const tool = tools.find(…)`, then `tool(…)` or `tool.execute(…)`.
  const looked = callee.type === 'Identifier' ? callee : childNode(callee, 'object')
  if (looked?.type !== 'Identifier') return undefined
  const declared = source
    .ofType('VariableDeclarator')
    .some(
      ({ node: each }) =>
        nameOfNode(childNode(each, 'id')) === looked['name'] && each.start < node.start,
    )
  return declared
    ? source.editWith(helper, (edit, name) =>
        edit.replace(
          node,
          `(${source.textOf(looked)} ? ${source.textOf(node)} : ${name}(undefined, ${known})())`,
        ),
      )
    : undefined
}

const unknownTool = (isText: boolean): string => `
/** Answers a call of a tool that does not exist, so that the model can correct itself. */
function unknownTool(name⟨: string | undefined⟩, known⟨: string[]⟩) {
  const message = \`There is no tool \${name ?? 'of this name'}. Use one of: \${known.join(', ')}.\`
  return () => ${isText ? 'message' : '({ error: message })'}
}`

/** A function that runs tools returns an error text instead of throwing it. */
const throwsToAnswers = (
  context: OperatorContext,
  text: Omit<Parameters<typeof candidateOf>[1], 'title'>,
  title: string,
): FixCandidate[] => {
  const [at] = context.thrownAt
  if (at === undefined) return []
  const { source } = at
  const thrown = source.enclosing(at.offset, 'ThrowStatement')[0]
  const argument = childNode(thrown?.node, 'argument')
  if (thrown === undefined || argument === undefined) return []
  const message =
    argument.type === 'NewExpression' ? childNodes(argument, 'arguments')[0] : undefined
  const said = message === undefined ? "'The call failed.'" : source.textOf(message)
  const answers = answersIn(context)
  const inLoop = answers.find(
    ({ source: file, message: node }) =>
      file === source && sharedLoop(source, thrown, node.start) !== undefined,
  )
  if (inLoop !== undefined) return answerInLoop(inLoop, thrown, said, { ...text, title })
  if (functionAround(thrown) === undefined) return []
  const isText = answers.every((answer) => answer.isText)
  return candidateOf(
    source.edit().replace(thrown.node, `return ${isText ? said : `{ error: ${said} }`}`),
    { ...text, title: `${title} in ${source.where(thrown.node)}` },
  )
}

/** The innermost loop around a node, if a position is in it too. */
const sharedLoop = (source: ParsedSource, { around, node }: FoundNode, offset: number) => {
  const loop = around.findLast(isLoopNode)
  return loop !== undefined && isAround(loop, offset) && node.end <= source.text.length
    ? loop
    : undefined
}

/** Writes the message that the loop writes for any other call, with the error as its content. */
const answerInLoop = (
  { source, message, content, isShorthand }: ToolAnswer,
  thrown: FoundNode,
  said: string,
  text: Parameters<typeof candidateOf>[1],
): FixCandidate[] => {
  const push = source
    .ofType('CallExpression')
    .find(({ node }) => childNodes(node, 'arguments').includes(message))
  if (push === undefined) return []
  const call = source.textOf(push.node)
  const from = content.start - push.node.start
  const value = `JSON.stringify({ error: ${said} })`
  const answer =
    call.slice(0, from) +
    (isShorthand ? `${source.textOf(content)}: ${value}` : value) +
    call.slice(from + content.end - content.start)
  const indent = source.indentAt(thrown.node.start)
  const isInBlock = thrown.around.at(-1)?.type === 'BlockStatement'
  const statements = `${answer}\n${indent}${isInBlock ? '' : '  '}continue`
  return candidateOf(
    source
      .edit()
      .replace(thrown.node, isInBlock ? statements : `{\n${indent}  ${statements}\n${indent}}`),
    { ...text, title: `${text.title} in ${source.where(thrown.node)}` },
  )
}

// ── Errors and results ──────────────────────────────────────────────────────

/** Gives the error of a tool to the model instead of ending the run. */
const argumentErrorToModel: Operator = (context) => {
  const [symptom] = symptomsOf(context, 'exception')
  if (symptom === undefined) return []
  return answersIn(context).flatMap((answer): FixCandidate[] => {
    const { source, dispatch, isAwaited, isText } = answer
    if (dispatch === undefined || !isReached(context, answer, dispatch)) return []
    const call = source.textOf(dispatch.node)
    const isAsync = isAwaited || /\bawait\b/.test(call)
    const arrow = /\bawait\b/.test(call) ? 'async () =>' : '() =>'
    return candidateOf(
      source.editWith(orError({ isAsync, isText }), (edit, name) =>
        edit.replace(dispatch.node, `${name}(${arrow} ${call})`),
      ),
      {
        operator: 'argument-error-to-model',
        layer: 'tool',
        title: `Give errors of tools to the model in ${source.where(dispatch.node)}`,
        why: `${symptom.evidence} The model could correct itself, but never saw the error.`,
        symptom,
      },
    )
  })
}

/** True if the error passed through a dispatch, or a tool failed with it. */
const isReached = (
  { thrownAt, steps, error }: OperatorContext,
  { source }: ToolAnswer,
  dispatch: FoundNode,
): boolean => {
  const statement = statementAround(dispatch)
  const isOnStack = thrownAt.some((at) => at.source === source && isAround(statement, at.offset))
  const message = error?.message
  return (
    isOnStack ||
    steps.some(
      ({ step, errorText }) =>
        step.kind === 'tool' &&
        step.state === 'failed' &&
        message !== undefined &&
        errorText.includes(message),
    )
  )
}

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

/** Says so when a tool returns nothing, instead of sending nothing. */
const validateToolResult: Operator = (context) => {
  const empty = context.steps.find(
    ({ step, result }) =>
      step.kind === 'tool' && step.state === 'done' && (result === undefined || result === null),
  )
  const rejected = symptomsOf(context, 'server-error').find(
    ({ facts }) =>
      facts['isRejected'] === true &&
      /content|null|undefined|string/i.test(String(facts['message'])),
  )
  const symptom =
    rejected ??
    (empty === undefined
      ? undefined
      : ({
          class: 'wrong-result',
          step: empty.step.label,
          evidence: `${empty.step.toolName ?? 'A tool'} returned nothing.`,
          confidence: 'hint',
          facts: {},
        } satisfies Symptom))
  if (symptom === undefined) return []
  return answersIn(context).flatMap(
    ({ source, content, isShorthand, dispatch, isText, isAwaited }): FixCandidate[] => {
      const text = {
        operator: 'validate-tool-result',
        layer: 'tool' as const,
        symptom,
      }
      const message = "'The tool returned no result.'"
      const checked =
        dispatch === undefined
          ? undefined
          : candidateOf(
              isAwaited
                ? wrapAwait(source, dispatch, isText ? message : `{ error: ${message} }`)
                : source
                    .edit()
                    .wrap(dispatch.node, '(', ` ?? ${isText ? message : `{ error: ${message} }`})`),
              {
                ...text,
                title: `Say so when a tool returns nothing in ${source.where(dispatch.node)}`,
              },
            )
      const value = source.textOf(content)
      const asText = `typeof ${value} === 'string' ? ${value} : JSON.stringify(${value} ?? ${message})`
      const serialized =
        isText && /^[\w$.]+$/.test(value)
          ? candidateOf(
              source.edit().replace(content, isShorthand ? `${value}: ${asText}` : asText),
              {
                ...text,
                title: `Send results of tools as text in ${source.where(content)}`,
              },
            )
          : []
      return [...(checked ?? []), ...serialized]
    },
  )
}

/** `await call` becomes `((await call) ?? other)`. */
const wrapAwait = (source: ParsedSource, dispatch: FoundNode, other: string) => {
  const parent = dispatch.around.at(-1)
  const edit = source.edit()
  return parent?.type === 'AwaitExpression' ? edit.wrap(parent, '((', `) ?? ${other})`) : edit
}

/** Writes objects as JSON where they reached the model as `[object Object]`. */
const serializeResult = operator(
  'serialize-result',
  'tool',
  (context) =>
    symptomsOf(context, 'malformed-json').filter(({ facts }) => facts['kind'] === 'object'),
  (source) => {
    const joined = source
      .ofType('BinaryExpression')
      .filter(({ node }) => node['operator'] === '+')
      .flatMap(({ node }) => [childNode(node, 'left')!, childNode(node, 'right')!])
    const inserted = source
      .ofType('TemplateLiteral')
      .flatMap(({ node }) => childNodes(node, 'expressions'))
    const contents = toolAnswers(source)
      .filter(({ isText, isShorthand }) => isText && !isShorthand)
      .map(({ content }) => content)
    const strings = callsOf(source, 'String').flatMap(({ node }) => childNodes(node, 'arguments'))
    return [...joined, ...inserted, ...contents, ...strings]
      .filter(({ type }) => /^(?:Identifier|MemberExpression|OptionalMemberExpression)$/.test(type))
      .slice(0, 8)
      .map((node) => ({
        node,
        edit: source.edit().wrap(node, 'JSON.stringify(', ')'),
        title: `Write \`${source.textOf(node)}\` as JSON`,
      }))
  },
)

/** Answers every call of a message, where the code answers only the first. */
const answerEveryCall = operator(
  'answer-every-call',
  'tool',
  (context) =>
    symptomsOf(context, 'server-error').filter(
      ({ facts }) => facts['isRejected'] === true && /tool/i.test(String(facts['message'])),
    ),
  (source) =>
    toolAnswers(source).flatMap(({ message }) =>
      source
        .ofType('VariableDeclarator')
        .filter(({ around }) => around.some((each) => isAround(each, message.start)))
        .flatMap((found): Proposal[] => {
          const first = firstOf(source, found.node)
          const statements = childNodes(found.around.at(-2), 'body')
          const declaration = found.around.at(-1)
          const from = statements.findIndex((each) => each === declaration)
          const to = statements.findIndex((each) => isAround(each, message.start))
          if (first === undefined || declaration === undefined || from < 0 || to <= from) return []
          const edit = source
            .edit()
            .replace(declaration, `for (const ${first.name} of ${first.list}) {`)
            .insert(statements[to]!.end, `\n${source.indentAt(declaration.start)}}`)
          return [{ node: declaration, edit, title: 'Answer every tool call, not only the first,' }]
        }),
    ),
)

/** `const [call] = calls` and `const call = calls[0]`. */
const firstOf = (
  source: ParsedSource,
  node: FoundNode['node'],
): { readonly name: string; readonly list: string } | undefined => {
  const id = childNode(node, 'id')
  const init = childNode(node, 'init')
  if (id === undefined || init === undefined) return undefined
  const elements = childNodes(id, 'elements')
  if (id.type === 'ArrayPattern' && elements.length === 1)
    return { name: source.textOf(elements[0]!), list: source.textOf(init) }
  const isFirst = init['computed'] === true && childNode(init, 'property')?.['value'] === 0
  return isFirst
    ? { name: source.textOf(id), list: source.textOf(childNode(init, 'object')!) }
    : undefined
}

export const toolOperators: readonly Operator[] = [
  coerceArguments,
  answerUnknownTool,
  argumentErrorToModel,
  validateToolResult,
  serializeResult,
  answerEveryCall,
]
