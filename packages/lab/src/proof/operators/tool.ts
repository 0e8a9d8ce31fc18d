import { recordOf } from '@retake/tape'
import { typesOf } from '../argument-problems.js'
import type { ParsedSource, SourceEdit, SyntaxNode } from '../source-text.js'
import type { Symptom, ToolSchema } from '../symptoms.js'
import {
  isThrownIn,
  objectKey,
  operator,
  type Operator,
  type OperatorContext,
  type Proposal,
  symptomsOf,
  thrown,
} from './operator.js'
import { RESULTS_AFTER_CALLS } from './context.js'
import { statementAround, type ToolAnswer, toolAnswers } from './tool-loop.js'

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
          /^(?:input|args|arguments)$/.test(node.name ?? '') &&
          /^(?:(?:Optional)?CallExpression|VariableDeclarator)$/.test(node.parent?.type ?? '') &&
          node.parent?.callee?.text !== 'JSON.parse' &&
          node.parent?.callee !== node,
      )
    // The last argument of the function that runs a tool, unless the code above has it.
    const passed = toolAnswers(source).flatMap(({ dispatch }) => {
      const last = dispatch?.args.at(-1)
      const isParsed = source
        .ofType('VariableDeclarator')
        .some((each) => each.child('id')?.name === last?.name && /JSON\.parse/.test(each.text))
      return last?.type === 'Identifier' && ARGUMENTS.test(last.name!) && !isParsed ? [last] : []
    })
    return [...parsed, ...read, ...passed].map((node) => ({
      node,
      edit: source.editWith(COERCE_ARGUMENTS, (name) =>
        node.wrap(`${name}(`, `, { ${typesText} })`),
      ),
      title: 'Convert arguments to the types of their schema',
    }))
  },
)

const ARGUMENTS = /^(?:input|args|arguments|params|parameters)$/i

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
    const dispatched = toolAnswers(source).flatMap(({ dispatch: node, isText }) =>
      node === undefined ? [] : [{ node, isText }],
    )
    // The error was thrown in a function that looks a tool up and calls it.
    const isText = context.sources.flatMap(toolAnswers).every((answer) => answer.isText)
    const thrown = source
      .ofType('CallExpression')
      .filter((node) => isThrownIn(context, node))
      .filter((node) => dispatched.every((each) => each.node !== node))
      .map((node) => ({ node, isText }))
    const answered = [...dispatched, ...thrown].flatMap((each) => {
      const edit = unknownToolEdit(each.node, each.isText, symptom)
      return edit === undefined ? [] : [{ node: each.node, edit }]
    })
    return [...answered, ...throwsToAnswers(source, symptom, context)].map((each) => ({
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
  // `tools[name](…)`, and `tools[name].run(…)` with the name of the method.
  for (const [target, method] of [[callee], [object, callee?.name]] as const) {
    const call = target === undefined ? undefined : lookedUp(target, known)
    if (target === undefined || call === undefined) continue
    return source.editWith(unknownTool(isText), (name) => {
      const other = `${name}(${call})`
      return target.replace(
        `(${target.text} ?? ${method === undefined ? other : `{ ${method}: ${other} }`})`,
      )
    })
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

/** Arguments for `unknownTool`, if an expression looks up a tool by its name. */
const lookedUp = (node: SyntaxNode, known: string): string | undefined => {
  if (/^(?:Optional)?MemberExpression$/.test(node.type) && node.raw['computed'] === true) {
    const property = node.child('property')!
    return property.type.endsWith('Literal')
      ? undefined
      : `${property.text}, Object.keys(${node.object!.text})`
  }
  const [key] = node.args
  if (node.callee?.name === 'get' && key !== undefined) return `${key.text}, ${known}`
  return node.callee?.name === 'find' ? `undefined, ${known}` : undefined
}

const unknownTool = (isText: boolean): string => `
/** Answers a call to a tool that does not exist, so that the model can correct itself. */
function unknownTool(name⟨: string | undefined⟩, known⟨: string[]⟩) {
  const message = \`There is no tool \${name ?? 'of this name'}. Use one of: \${known.join(', ')}.\`
  return () => ${isText ? 'message' : '({ error: message })'}
}`

/** Makes a function that runs tools return the error and the names of the tools instead of throwing. */
const throwsToAnswers = (
  source: ParsedSource,
  { facts }: Symptom,
  { thrownAt: [at], sources }: OperatorContext,
): { readonly node: SyntaxNode; readonly edit: SourceEdit }[] => {
  if (at?.source !== source) return []
  const node = source.ofType('ThrowStatement').findLast((each) => each.isAround(at.offset))
  const argument = node?.child('argument')
  if (node === undefined || argument === undefined) return []
  const message = argument.type === 'NewExpression' ? argument.args[0] : undefined
  const names = (facts['tools'] ?? []) as readonly string[]
  const text = message?.text ?? "'The call failed.'"
  const isPlain = /^(?:StringLiteral|TemplateLiteral|BinaryExpression)$/.test(message?.type ?? '')
  const said = `${isPlain || message === undefined ? text : `(${text})`} + '. Use one of: ${names.join(', ')}.'`
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
  // The error that JavaScript throws for an unknown tool does not say which tools there are. A guard
  // stopped the run on purpose: a run that goes on after a denial is not repaired.
  (context) =>
    symptomsOf(context, 'unknown-tool').length > 0 || isDenial(context) ? [] : thrown(context),
  (source, { evidence }, context) => {
    const why = `${evidence} The model could correct itself, but never saw the error.`
    const title = 'Return tool errors to the model'
    return toolAnswers(source).flatMap((answer): Proposal[] => {
      const { content, isAwaited, isText } = answer
      const caught = caughtAnswer(answer, context)
      if (caught !== undefined) return [{ ...caught, title, why }]
      const node = answer.dispatch ?? (isThrownIn(context, content) ? content : undefined)
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
      const wait = awaits && node === content ? 'await ' : ''
      const edit = source.editWith(helper, (name) =>
        node.replace(`${wait}${name}(${awaits ? 'async () =>' : '() =>'} ${node.text})`),
      )
      return [{ node, edit, title, why }]
    })
  },
)

const isDenial = ({ error }: OperatorContext): boolean =>
  error !== undefined && [error.class, error.name].includes('GuardError')

/** Answers a call with the error of the statements that compute its result. */
const caughtAnswer = (
  answer: ToolAnswer,
  context: OperatorContext,
): Pick<Proposal, 'node' | 'edit'> | undefined => {
  const sent = statementAround(answer.message)
  const statements = sent.parent?.children('body') ?? []
  const from = statements.findIndex((each) => isThrownIn(context, each))
  const first = statements[from]
  // A call whose only statement has an expression of its own is repaired there.
  const isDirect = first === undefined || first === sent || isDispatchOf(first, answer)
  if (isDirect || from > statements.indexOf(sent)) return undefined
  const to = statements.indexOf(sent)
  const wrapped = statements.slice(from, to + 1)
  const caught = errorAnswer(answer, wrapped)
  const { source, indent } = first
  const after = source.text.slice(sent.end, statements.at(-1)!.end)
  if (caught === undefined || namesIn(wrapped).some((name) => isNamed(name, after)))
    return undefined
  const hasLines = source
    .ofType('TemplateElement')
    .some((each) => first.start < each.start && each.end < sent.end && each.text.includes('\n'))
  const body = source.text.slice(first.start, sent.end)
  const inner = hasLines ? body : body.replaceAll('\n', '\n  ')
  const lines = ['try {', `  ${inner}`, '} catch (error) {', `  ${caught('error')}`, '}']
  const edit = source
    .edit()
    .replace({ start: first.start, end: sent.end }, lines.join(`\n${indent}`))
  return { node: first, edit }
}

/** Names that statements declare. */
const namesIn = (statements: readonly SyntaxNode[]): string[] =>
  statements
    .flatMap((each) => each.children('declarations'))
    .flatMap((each) => each.child('id')?.text.match(/[\p{L}_$][\p{L}\p{N}_$]*/gu) ?? [])

const isNamed = (name: string, text: string): boolean => new RegExp(`\\b${name}\\b`).test(text)

/** True for a declaration whose only value is the dispatch, such as `const result = run(call)`. */
const isDispatchOf = (statement: SyntaxNode, { dispatch }: ToolAnswer): boolean => {
  const [declared, ...others] = statement.children('declarations')
  const init = declared?.child('init') ?? statement.child('expression')?.child('right')
  const value = init?.type === 'AwaitExpression' ? init.child('argument') : init
  return dispatch !== undefined && others.length === 0 && value === dispatch
}

/**
 * Writes the statement that answers a call, with an error instead of a result; undefined if it needs
 * variables that `lost` statements declare.
 */
export const errorAnswer = (
  { message, content, isShorthand, isText }: ToolAnswer,
  lost: readonly SyntaxNode[],
): ((error: string) => string) | undefined => {
  const push = message.around.findLast(({ callee }) => callee?.name === 'push')
  // A loop without a block has no statements of its own.
  const isAlone = statementAround(message) !== push?.parent
  if (push === undefined || isAlone) return undefined
  const { source } = message
  const [before, after] = [
    source.text.slice(push.start, content.start),
    source.text.slice(content.end, push.end),
  ]
  if (namesIn(lost).some((name) => isNamed(name, `${before} ${after}`))) return undefined
  return (error) => {
    const text = error.startsWith("'")
      ? error
      : `${error} instanceof Error ? ${error}.message : String(${error})`
    const value =
      content.type === 'ObjectExpression'
        ? `{ error: ${text} }`
        : isText
          ? error.startsWith("'")
            ? error
            : `\`Error: \${${text}}\``
          : `JSON.stringify({ error: ${text} })`
    return before + (isShorthand ? `${content.text}: ${value}` : value) + after
  }
}

/** Answers calls that the code skips, or whose error it only logs. */
const answerSkippedCall = operator(
  'answer-skipped-call',
  'tool',
  (context) =>
    symptomsOf(context, 'server-error')
      .filter(
        ({ facts }) =>
          facts['isRejected'] === true && /tool|function/i.test(String(facts['message'])),
      )
      .slice(0, 1),
  (source) =>
    toolAnswers(source).flatMap((answer): Proposal[] => {
      const sent = statementAround(answer.message)
      const loop = sent.around.findLast((each) => each.isLoop)
      const isAnswered = (node: SyntaxNode | undefined): boolean =>
        node !== undefined && ANSWER_ID.test(node.text)
      const inLoop = (node: SyntaxNode): boolean => loop?.isAround(node.start) === true
      const title = 'Answer every call, also if it fails,'
      const caught = sent.around.findLast(
        (each) =>
          each.type === 'TryStatement' && each.child('block')!.isAround(sent.start) && inLoop(each),
      )
      const handler = caught?.child('handler')
      const body = handler?.child('body')
      const proposals: Proposal[] = []
      if (
        caught !== undefined &&
        handler !== undefined &&
        body !== undefined &&
        !isAnswered(body)
      ) {
        const write = errorAnswer(answer, caught.child('block')!.children('body'))
        const param = handler.child('param')
        const edit = source.edit()
        if (param === undefined) edit.insert(handler.start + 'catch'.length, ' (error)')
        if (write !== undefined && (param === undefined || param.type === 'Identifier'))
          proposals.push({
            node: handler,
            edit: edit.insert(
              body.start + 1,
              `\n${caught.indent}  ${write(param?.name ?? 'error')}`,
            ),
            title,
          })
      }
      const write = errorAnswer(answer, [])
      const skipped = source
        .ofType('ContinueStatement')
        .filter((node) => node.around.findLast((each) => each.isLoop) === loop)
        .filter((node) => node.start < sent.start && !isByType(node))
        .filter((node) => !isAnswered(node.parent?.type === 'BlockStatement' ? node.parent : node))
      const branch = sent.around.findLast(
        (each) =>
          each.type === 'IfStatement' &&
          inLoop(each) &&
          each.child('alternate') === undefined &&
          each.child('consequent')!.isAround(sent.start) &&
          !isByType(sent),
      )
      if (write === undefined) return proposals
      const text = write("'Error: this call was not made.'")
      if (skipped.length > 0) {
        const edit = source.edit()
        for (const node of skipped)
          edit.replace(
            node,
            node.parent?.type === 'BlockStatement'
              ? `${text}\n${node.indent}continue`
              : `{\n${node.indent}  ${text}\n${node.indent}  continue\n${node.indent}}`,
          )
        proposals.push({ node: skipped[0]!, edit, title })
      }
      if (branch !== undefined) {
        const { end } = branch.child('consequent')!
        const edit = source
          .edit()
          .insert(end, ` else {\n${branch.indent}  ${text}\n${branch.indent}}`)
        proposals.push({ node: branch, edit, title })
      }
      return proposals
    }),
)

/** True in a branch for parts of an answer that are not calls of tools. */
const isByType = ({ around }: SyntaxNode): boolean => {
  const branch = around.findLast(({ type }) => type === 'IfStatement')
  return /\btype\b/.test(branch?.child('test')?.text ?? '')
}

/** The field that says which call a message answers. */
const ANSWER_ID = /tool_call_id|tool_use_id|call_id|toolUseId|toolCallId/

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
      const isDirect = dispatch?.parent?.type === 'AwaitExpression'
      if (dispatch !== undefined && (isDirect || !isAwaited))
        proposals.push({
          node: dispatch,
          edit: source.editWith(orNoResult(isText ? message : `{ error: ${message} }`), (name) =>
            (isAwaited ? dispatch.parent! : dispatch).wrap(`${name}(`, ')'),
          ),
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

const orNoResult = (other: string): string => `
/** Result of a tool, or a note for the model that there is none. */
function orNoResult(result⟨: any⟩)⟨: any⟩ {
  return result ?? ${other}
}`

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

/** The `messages` of requests. */
const conversationsIn = (source: ParsedSource): SyntaxNode[] =>
  source
    .ofType('ObjectProperty')
    .filter(
      (node) =>
        node.child('key')?.name === 'messages' &&
        node.parent?.propertyNames.includes('model') === true,
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
    toolAnswers(source).flatMap(({ message }) =>
      source
        .ofType('VariableDeclarator')
        .filter(({ around }) => around.some((each) => each.isAround(message.start)))
        .flatMap((node): Proposal[] => {
          const first = firstOf(node)
          const declaration = node.parent
          const statements = declaration?.parent?.children('body') ?? []
          const from = statements.findIndex((each) => each === declaration)
          const to = statements.findIndex((each) => each.isAround(message.start))
          if (first === undefined || declaration === undefined || from < 0 || to <= from) return []
          // Statements that end the outer loop stay before the new one.
          const leaving = statements.findLastIndex(
            (each, at) => at < to && at > from && leaves(each),
          )
          const between = statements.slice(from + 1, leaving + 1)
          if (between.some(({ type }) => type === 'VariableDeclaration')) return []
          const start = `for (const ${first.name.text} of ${first.list}) {`
          const looped = (edit: SourceEdit): SourceEdit =>
            (leaving < 0
              ? edit.replace(declaration, start)
              : edit.insert(statements[leaving + 1]!.start, `${start}\n${declaration.indent}`)
            ).insert(statements[to]!.end, `\n${declaration.indent}}`)
          const title = 'Answer every tool call, not only the first,'
          // Results in blocks belong into one message.
          const lists = conversationsIn(source)
          const edit =
            message.parent?.type === 'ArrayExpression' && lists.length > 0
              ? source.editWith(RESULTS_AFTER_CALLS, (name) =>
                  looped(
                    lists.reduce(
                      (all, each) =>
                        all.replace(each, `messages: ${name}(${each.child('value')!.text})`),
                      source.edit(),
                    ),
                  ),
                )
              : looped(source.edit())
          return [{ node: declaration, edit, title }]
        }),
    ),
)

/** True if a statement may end or skip the loop around it. */
const leaves = (statement: SyntaxNode): boolean =>
  statement.source
    .ofType('BreakStatement', 'ContinueStatement', 'ReturnStatement')
    .some(
      (node) =>
        statement.isAround(node.start) &&
        !node.around.some(
          (each) => statement.isAround(each.start) && (each.isLoop || each.isFunction),
        ),
    )

/** `const [call] = calls`, `const call = calls[0]` and `const call = calls.find(…)`. */
const firstOf = (
  node: SyntaxNode,
): { readonly name: SyntaxNode; readonly list: string } | undefined => {
  const id = node.child('id')
  const init = node.child('init')
  if (id === undefined || init === undefined) return undefined
  const [name, ...others] = id.children('elements')
  if (id.type === 'ArrayPattern' && name && others.length === 0) return { name, list: init.text }
  const { callee } = init
  if (callee?.name === 'find' && callee.object !== undefined)
    return { name: id, list: `${callee.object.text}.filter(${init.args[0]?.text ?? ''})` }
  const isFirst = init.raw['computed'] === true && init.child('property')?.raw['value'] === 0
  return isFirst ? { name: id, list: init.object!.text } : undefined
}

export const toolOperators: readonly Operator[] = [
  coerceArguments,
  answerUnknownTool,
  argumentErrorToModel,
  validateToolResult,
  serializeResult,
  answerSkippedCall,
  answerEveryCall,
]
