import type { FileEdit, SourceFile } from '../candidates.js'
import { isVariantName } from '../answer-values.js'
import { findSite, type ParsedSource, type SourceEdit, type SyntaxNode } from '../source-text.js'
import { isWriteName, type Symptom } from '../symptoms.js'
import {
  accessText,
  candidateOf,
  objectKey,
  operator,
  type Operator,
  type OperatorContext,
  oracleSymptom,
  type Proposal,
  symptomsOf,
} from './operator.js'
import { conversationNames, outermostLoop, statementAround, toolAnswers } from './tool-loop.js'
import { errorAnswer } from './tool.js'

/** Calls that run tools. `key` is an expression that has the same value for equal calls. */
const dispatches = (source: ParsedSource) =>
  toolAnswers(source).flatMap(({ dispatch: node, isText }) => {
    if (node === undefined) return []
    const { callee } = node
    // The name of the tool: `handlers[name](…)` or `lookup(…)`.
    const property = callee?.raw['computed'] === true ? callee.child('property') : undefined
    const tool = property?.text ?? `'${callee?.name ?? 'tool'}'`
    const key = `JSON.stringify([${[tool, ...node.args.map(({ text }) => text)].join(', ')}])`
    // Declare variables before the loop around the call.
    const declared = outermostLoop(node) ?? statementAround(node)
    const declare = (declaration: string): SourceEdit =>
      declared.insertBefore(`${declaration}\n${declared.indent}`)
    return [{ node, tool, isText, key, declare }]
  })

/** Returns the first result of a repeated write instead of running it again. */
const deduplicateWrites = operator(
  'de-duplicate-writes',
  'policy',
  (context) => symptomsOf(context, 'repeated-call').filter(({ facts }) => facts['writes'] === true),
  (source, { facts }) => [
    ...inlineCalls(source, String(facts['tool'])),
    ...dispatches(source).map(({ node, tool, key, declare }) => ({
      node,
      edit: source.editWith(ONLY_ONCE, (name) => {
        const store = source.freeName('finishedWrites')
        const once = `${name}(${store}, ${key}, () => ${node.text})`
        const isThisTool = `${tool} === ${JSON.stringify(facts['tool'])}`
        return declare(`const ${store} = new Map()`).replace(
          node,
          tool.startsWith("'") ? once : `(${isThisTool} ? ${once} : ${node.text})`,
        )
      }),
      title: `Run ${String(facts['tool'])} once for the same arguments`,
    })),
  ],
)

/**
 * The same for statements in a loop over calls, where no function runs the tool. Without a name, for
 * all tools.
 */
const inlineCalls = (source: ParsedSource, tool?: string): Proposal[] =>
  toolAnswers(source).flatMap((answer): Proposal[] => {
    const loop = answer.message.around.findLast((each) => each.isLoop)
    const call = loop?.child('left')?.children('declarations')[0]?.child('id')
    const [first] = loop?.child('body')?.children('body') ?? []
    const write = errorAnswer(answer, [])
    if (answer.dispatch !== undefined || loop === undefined || first === undefined) return []
    if (call === undefined || write === undefined) return []
    // All parts of a call but its identifier, which differs.
    const named = call
      .children('properties')
      .filter((each) => !/^(?:call_?)?id$/i.test(each.child('key')?.name ?? ''))
      .flatMap((each) => each.child('value')?.name ?? [])
    const parts =
      call.type === 'Identifier'
        ? `{ ...${call.text}, id: undefined, call_id: undefined }`
        : `{ ${named.join(', ')} }`
    if (call.type !== 'Identifier' && named.length === 0) return []
    const [store, key] =
      tool === undefined
        ? [source.freeName('earlierCalls'), source.freeName('made')]
        : [source.freeName('finishedWrites'), source.freeName('write')]
    const said = tool === undefined ? REPEATED_HINT : 'This call was made before.'
    const lines = [
      `const ${key} = JSON.stringify(${parts})`,
      `if (${store}.has(${key})) {`,
      `  ${write(`'${said}'`)}`,
      '  continue',
      '}',
      tool === undefined
        ? `${store}.add(${key})`
        : `if (${key}.includes('"name":${JSON.stringify(tool)}')) ${store}.add(${key})`,
    ]
    const outer = outermostLoop(answer.message) ?? loop
    const edit = first
      .insertBefore(`${lines.join(`\n${first.indent}`)}\n${first.indent}`)
      .insert(outer.start, `const ${store} = new Set()\n${outer.indent}`)
    const title =
      tool === undefined
        ? 'Warn the model when it repeats a call'
        : `Run ${tool} once for the same arguments`
    return [{ node: loop, edit, title }]
  })

const REPEATED_HINT =
  'You already made this call, with the same result. Do not repeat it; answer with what you know.'

const ONLY_ONCE = `
/** Runs a call once; returns the first result if the same call is made again. */
function onlyOnce⟨<Result>⟩(finished⟨: Map<string, () => Result>⟩, key⟨: string⟩, call⟨: () => Result⟩)⟨: Result⟩ {
  const known = finished.get(key)
  if (known !== undefined) return known()
  // A call whose answer is lost may have had its effect.
  finished.set(key, () => {
    throw new Error('This call was made before, and its answer was lost. Check its effect first.')
  })
  const result = call()
  finished.set(key, () => result)
  return result
}`

/** Does not repeat a write whose answer was lost, or gives it a key, so that it has one effect. */
const writeOnce = operator(
  'write-once',
  'policy',
  (context) =>
    symptomsOf(context, 'repeated-call')
      .filter(({ facts }) => facts['isRetried'] === true)
      .slice(0, 1),
  (source, { facts }) =>
    source.ofType('CallExpression').flatMap((node): Proposal[] => {
      const isWrite =
        facts['isHttp'] === true
          ? isWriteRequest(node)
          : isVariantName(node.callee?.name ?? '', String(facts['tool']))
      return isWrite ? [...withoutRetry(node), ...withKey(node)] : []
    }),
)

/** A request whose method is that of a write, or a variable. */
const isWriteRequest = (node: SyntaxNode): boolean => {
  const method = requestOptions(node)
    ?.children('properties')
    .find((each) => each.child('key')?.name === 'method')
    ?.child('value')
  return method?.type === 'StringLiteral'
    ? /^(?:post|patch)$/i.test(method.name!)
    : method?.type === 'Identifier'
}

const requestOptions = ({ args }: SyntaxNode): SyntaxNode | undefined =>
  args.find(
    ({ type, propertyNames }) => type === 'ObjectExpression' && propertyNames.includes('method'),
  )

/** Ends at the first error instead of trying again. */
function withoutRetry(node: SyntaxNode): Proposal[] {
  const { source, around } = node
  const title = 'Do not repeat a write whose answer was lost'
  const wrapper = around.findLast(
    ({ type, callee, args }) =>
      type === 'CallExpression' &&
      /retr(?:y|ie)|attempts/i.test(callee?.text ?? '') &&
      args[0]?.isFunction === true &&
      args[0].isAround(node.start),
  )
  if (wrapper !== undefined)
    return [{ node, edit: wrapper.replace(`(${wrapper.args[0]!.text})()`), title }]
  const border = around.findLastIndex((each) => each.isFunction)
  const inner = around.slice(border + 1)
  const loop = inner.find((each) => each.isLoop)
  const caught = inner.findLast(
    (each) =>
      each.type === 'TryStatement' &&
      each.child('block')?.isAround(node.start) === true &&
      each.child('handler') !== undefined,
  )
  const handler = caught?.child('handler')
  const body = handler?.child('body')
  if (loop === undefined || caught === undefined || handler === undefined || body === undefined)
    return []
  if (!loop.isAround(caught.start)) return []
  const param = handler.child('param')
  const name = param?.name ?? 'error'
  const edit = source.edit()
  if (param === undefined) edit.insert(handler.start + 'catch'.length, ` (${name})`)
  const method = requestOptions(node)
    ?.children('properties')
    .find((each) => each.child('key')?.name === 'method')
    ?.child('value')
  const indent = `${caught.indent}  `
  if (method?.type === 'Identifier')
    edit.insert(
      body.start + 1,
      `\n${indent}if (!/^(?:get|head)$/i.test(${method.text} ?? 'GET')) throw ${name}`,
    )
  else
    edit.replace(
      body,
      `{\n${indent}// It may have had its effect.\n${indent}throw ${name}\n${caught.indent}}`,
    )
  return [{ node, edit, title }]
}

/** Sends one key with every attempt, for servers that then make a write once. */
function withKey(node: SyntaxNode): Proposal[] {
  const options = requestOptions(node)
  if (options === undefined) return []
  const { source } = node
  const headers = options
    .children('properties')
    .find((each) => each.child('key')?.name === 'headers')
    ?.child('value')
  if (headers !== undefined && headers.type !== 'ObjectExpression') return []
  const key = source.freeName('idempotencyKey')
  const declared = outermostLoop(node) ?? statementAround(node)
  const edit = declared.insertBefore(`const ${key} = crypto.randomUUID()\n${declared.indent}`)
  const header = `'Idempotency-Key': ${key}`
  if (headers === undefined) edit.insert(options.start + 1, ` headers: { ${header} },`)
  else edit.insert(headers.start + 1, ` ${header},`)
  return [{ node, edit, title: 'Send one idempotency key with every attempt of the write' }]
}

/** True if a function is called in a loop that continues after errors, or where a name says so. */
const isRepeated = (name: string, sources: readonly ParsedSource[]): boolean =>
  sources
    .flatMap((source) => source.ofType('CallExpression'))
    .filter(({ callee }) => callee?.name === name)
    .some(({ around, start }) =>
      around.some(
        (each) =>
          /retr(?:y|ie)|attempt|tries/i.test(each.callee?.text ?? '') ||
          (each.type === 'TryStatement' &&
            each.child('block')!.isAround(start) &&
            each.around.some((outer) => outer.isLoop)),
      ),
    )

/** Makes a function that records a write, and may then fail, return the result of an equal one. */
const recordOnce = operator(
  'record-once',
  'policy',
  (context) => [symptomsOf(context, 'exception')[0] ?? oracleSymptom(context)],
  (source, { evidence }, { sources }) =>
    source
      .filter((node) => node.isFunction && node.child('body')?.type === 'BlockStatement')
      .filter((node) => {
        const name = (node.child('id') ?? node.child('key') ?? node.parent?.child('id'))?.name ?? ''
        return isWriteName(name) && isRepeated(name, sources)
      })
      .flatMap((node): Proposal[] => {
        const statements = node.child('body')!.children('body')
        const at = statements.findIndex((each) => each.child('expression')?.callee?.name === 'push')
        const { callee, args: [entry] = [] } = statements[at]?.child('expression') ?? {}
        const list = callee?.object
        const result = statements.at(-1)?.child('argument')
        const later = statements.slice(at + 1)
        const isLost = later.some((each) => /\bthrow\b/.test(each.text))
        const isLocal = source
          .ofType('VariableDeclarator')
          .some((each) => each.functionAround === node && each.child('id')?.name === list?.name)
        if (entry === undefined || list?.type !== 'Identifier' || isLocal || !isLost) return []
        if (statements.at(-1)?.type !== 'ReturnStatement') return []
        const needs = later
          .flatMap((each) => each.children('declarations'))
          .some((each) => new RegExp(`\\b${each.child('id')!.text}\\b`).test(result?.text ?? ''))
        if (needs) return []
        const push = statements[at]!
        const key = source.freeName('written')
        const check = `const ${key} = JSON.stringify(${entry.text})\n${push.indent}if (${list.text}.some((each) => JSON.stringify(each) === ${key})) return ${result?.text ?? ''}\n${push.indent}`
        return [
          {
            node: push,
            edit: push.insertBefore(check),
            title: `Write to \`${list.text}\` once`,
            why: `${evidence} An error after the write makes callers repeat it.`,
          },
        ]
      }),
)

/** Answers a repeated call with a hint instead of the same result again. */
const loopBreaker = operator(
  'loop-breaker',
  'policy',
  (context) =>
    symptomsOf(context, 'repeated-call', 'no-progress')
      .filter(({ facts }) => facts['writes'] !== true)
      .slice(0, 1),
  (source, symptom, context) => [
    ...dispatches(source).map(({ node, isText, key, declare }) => ({
      node,
      edit: source.editWith(unlessRepeated(isText), (name) => {
        const store = source.freeName('earlierCalls')
        const type = source.isTyped ? '<string>' : ''
        return declare(`const ${store} = new Set${type}()`).replace(
          node,
          `${name}(${store}, ${key}, () => ${node.text})`,
        )
      }),
      title: 'Warn the model when it repeats a call',
    })),
    ...inlineCalls(source),
    ...turnLimits(source, symptom, context),
  ],
)

const unlessRepeated = (isText: boolean): string => `
/** Runs a call, or returns a hint to the model if the same call was made before. */
function unlessRepeated(earlier⟨: Set<string>⟩, key⟨: string⟩, call⟨: () => any⟩) {
  if (!earlier.has(key)) {
    earlier.add(key)
    return call()
  }
  const hint = '${REPEATED_HINT}'
  return ${isText ? 'hint' : '{ error: hint }'}
}`

/** Limits unbounded loops around a request to a model. */
const turnLimits = (
  source: ParsedSource,
  symptom: Symptom,
  { sources, steps }: OperatorContext,
): Proposal[] => {
  const requests = steps.filter(({ step }) => step.kind === 'model').length
  const turns = Math.max(3, Math.min(20, Math.ceil(requests / 2)))
  const at = findSite(sources, symptom.site)
  return source
    .ofType('WhileStatement', 'ForStatement', 'DoWhileStatement')
    .filter((loop) => {
      const test = loop.child('test')
      const isEndless =
        test === undefined || (test.type === 'BooleanLiteral' && test.raw['value'] === true)
      const isHere = at?.source === source && loop.isAround(at.offset)
      return isEndless && (isHere || /\bawait\b/.test(loop.text))
    })
    .flatMap((loop) => {
      const body = loop.child('body')
      if (body?.type !== 'BlockStatement') return []
      const counter = source.freeName('turns')
      const edit = loop
        .insertBefore(`let ${counter} = 0\n${loop.indent}`)
        .insert(body.start + 1, `\n${loop.indent}  if (++${counter} > ${turns}) break`)
      return [{ node: loop, edit, title: `Stop the loop after ${turns} turns` }]
    })
}

/** Stops when a run has used up its tokens. */
const budgetStop = operator('budget-stop', 'policy', 'over-budget', (source, symptom, context) => {
  const { unit, limit } = symptom.facts
  if (unit !== 'tokens') return turnLimits(source, symptom, context)
  return source.ofType('VariableDeclarator').flatMap((node): Proposal[] => {
    const init = node.child('init')
    const id = node.child('id')
    const loop = node.around.findLast((each) => each.isLoop)
    const isModelCall =
      init?.type === 'AwaitExpression' &&
      /\.create\(|generateText\(|\.chat\(|\.invoke\(/.test(init.text)
    if (loop === undefined || id?.type !== 'Identifier' || !isModelCall) return []
    const counter = source.freeName('usedTokens')
    const { indent, end } = node.parent!
    const usage = `${id.name}.usage`
    const used = `${usage}?.total_tokens ?? (${usage}?.input_tokens ?? 0) + (${usage}?.output_tokens ?? 0)`
    const count = `${counter} += ${used}\n${indent}if (${counter} > ${Number(limit)}) break`
    const edit = loop
      .insertBefore(`let ${counter} = 0\n${loop.indent}`)
      .insert(end, `\n${indent}${count}`)
    return [{ node: loop, edit, title: `Stop after ${String(limit)} tokens` }]
  })
})

/** Refuses a call whose arguments come from results of tools, and not from the user. */
const refuseForeign = operator(
  'refuse-foreign-arguments',
  'policy',
  (context) =>
    symptomsOf(context, 'untrusted-text')
      .filter(({ facts }) => typeof facts['tool'] === 'string')
      .slice(0, 1),
  (source, { facts }, { sources }) =>
    toolAnswers(source).flatMap(({ dispatch: node, message, isText }): Proposal[] => {
      const args = node?.args.at(-1)
      const list = node && conversationOf(node, message, sources)
      if (node === undefined || args === undefined || list === undefined) return []
      const { callee } = node
      const tool = callee?.raw['computed'] === true ? callee.child('property')?.text : undefined
      const { argument } = facts
      const checked =
        typeof argument === 'string' ? `[${args.text}${accessText(argument)}]` : args.text
      const edit = source.editWith(unlessForeign(isText), (name) => {
        const guarded = `${name}(${list}, ${checked}, () => ${node.text})`
        return node.replace(
          tool === undefined
            ? guarded
            : `(${tool} === ${JSON.stringify(facts['tool'])} ? ${guarded} : ${node.text})`,
        )
      })
      const title = `Refuse ${String(facts['tool'])} with arguments from results of tools`
      return [{ node, edit, title }]
    }),
)

/** The conversation that an answer to a call is added to, maybe after other answers. */
const conversationOf = (
  node: SyntaxNode,
  message: SyntaxNode,
  sources: readonly ParsedSource[],
): string | undefined => {
  const names = conversationNames(sources)
  const list = message.parent?.callee?.name === 'push' ? message.parent.callee.object! : undefined
  if (list !== undefined && names.has(list.text)) return list.text
  const inner = node.source.ofType('VariableDeclarator').find((each) => {
    const name = each.child('id')?.name
    const around = each.functionAround
    return (
      name !== undefined && names.has(name) && (around === undefined || around.isAround(node.start))
    )
  })
  const param = node.around
    .filter((each) => each.isFunction)
    .flatMap((each) => each.children('params'))
    .find((each) => each.type === 'Identifier' && names.has(each.name!))
  return inner?.child('id')?.name ?? param?.name ?? list?.text
}

const unlessForeign = (isText: boolean): string => `
/** Runs a tool, unless its arguments come from results of tools and not from the user. */
function unlessForeign(messages⟨: any[]⟩, args⟨: any⟩, call⟨: () => any⟩) {
  const parts = messages
    .filter(({ role, type }) => !/^(?:assistant|model)$/.test(role) && type !== 'function_call')
    .flatMap((message) => {
      const parts = message.content ?? message.parts
      return Array.isArray(parts) ? parts : [message]
    })
  const isResult = ({ role, type, functionResponse }⟨: any⟩) =>
    role === 'tool' || /^(?:tool_result|function_call_output)$/.test(type) || functionResponse !== undefined
  const foreign = JSON.stringify(parts.filter(isResult))
  const own = JSON.stringify(parts.filter((part) => !isResult(part)))
  const values = Object.values(args ?? {}).filter((value) => typeof value === 'string' && value.length >= 6)
  // A value of its own, such as the address of a customer, is data; one in a text may be an order.
  const isData = (value⟨: string⟩) => foreign.replaceAll('\\\\', '').includes(\`"\${value}"\`)
  if (!values.some((value⟨: any⟩) => foreign.includes(value) && !own.includes(value) && !isData(value))) return call()
  const hint = 'Refused: the arguments come from a result of a tool, and not from the user.'
  return ${isText ? 'hint' : '{ error: hint }'}
}`

/** Denies a call by a rule, if a guard decides about it. */
const guardRule: Operator = (context) =>
  suspectCalls(context).flatMap(({ label, toolName, symptom }) => {
    const rule = context.suggestRule?.(label)
    if (rule === undefined) return []
    const inCode = context.sources.flatMap((source) =>
      rulePositions(source).map(({ node, at, write }) => ({
        edit: source
          .edit()
          .insert(at, write(literal(rule, source)))
          .finish(),
        where: `${source.path}:${node.line}`,
      })),
    )
    const inYaml = context.policies.map((file) => ({
      edit: withYamlRule(file, rule),
      where: file.path,
    }))
    return [...inCode, ...inYaml].flatMap(({ edit, where }) =>
      candidateOf(edit, {
        operator: 'guard-rule',
        layer: 'policy',
        title: `Deny this call of ${toolName} by a rule in ${where}`,
        symptom: { ...symptom, step: label },
      }),
    )
  })

/** The start of a list of rules: its key, comments below it, and the indent of the first dash. */
const YAML_RULES = /^rules:[ \t]*(?:#.*)?\r?\n(?:[ \t]*(?:#.*)?\r?\n)*([ \t]*)(?=- )/m
const NO_YAML_RULES = /^rules:[ \t]*\[[ \t]*\](.*\r?\n?)/m

/** Inserts a rule before the others of a YAML policy. Values are JSON, which is valid YAML. */
const withYamlRule = ({ path, text }: SourceFile, rule: object): FileEdit | undefined => {
  const fields = Object.entries(rule).map(([key, value]) => `${key}: ${JSON.stringify(value)}`)
  const item = (indent: string): string => `- ${fields.join(`\n${indent}  `)}\n`
  const after = NO_YAML_RULES.test(text)
    ? text.replace(NO_YAML_RULES, (_, end: string) => `rules:${end}  ${item('  ')}`)
    : text.replace(YAML_RULES, (head, indent: string) => `${head}${item(indent)}${indent}`)
  return after === text ? undefined : { path, before: text, after }
}

/** Guarded calls that foreign text asked for, that were made twice, or that caused the failure. */
const suspectCalls = (context: OperatorContext) => {
  const { findings, run } = context
  const guarded = run.steps.filter(({ guard, state }) => guard !== undefined && state === 'done')
  const named = [
    ...symptomsOf(context, 'untrusted-text').map((symptom) => {
      const call = guarded.find(
        ({ toolName, label }) =>
          toolName === symptom.facts['tool'] && Number(label) > Number(symptom.step),
      )
      return { symptom, label: call?.label }
    }),
    ...symptomsOf(context, 'repeated-call').map((symptom) => ({ symptom, label: symptom.step })),
    ...(findings?.causes ?? []).flatMap(({ steps }) =>
      steps.map((label) => ({ symptom: oracleSymptom(context), label })),
    ),
  ]
  return named.flatMap(({ symptom, label }) => {
    const call = guarded.find((each) => each.label === label)
    return call === undefined ? [] : [{ label: call.label, toolName: call.toolName, symptom }]
  })
}

/**
 * Where rules can be inserted: the rules of a policy, or the options of a guard without rules. The
 * first matching rule decides.
 */
const rulePositions = (source: ParsedSource) => [
  ...source.ofType('ObjectProperty').flatMap((node) => {
    const list = node.child('key')?.name === 'rules' ? node.child('value') : undefined
    if (list?.type !== 'ArrayExpression' || !node.parent?.propertyNames.includes('name')) return []
    const [first] = list.children('elements')
    const at = list.start + 1
    const gap = source.text.slice(at, first?.start ?? at)
    const write = (rule: string): string =>
      first === undefined ? rule : `${gap}${rule},${gap.includes('\n') ? '' : ' '}`
    return [{ node, at, write }]
  }),
  ...source.calls('guard').flatMap((node) => {
    const [options] = node.args
    if (options?.type !== 'ObjectExpression' || options.propertyNames.includes('policy')) return []
    const write = (rule: string): string => ` policy: { name: 'fix', rules: [${rule}] },`
    return [{ node, at: options.start + 1, write }]
  }),
]

const literal = (value: unknown, source: ParsedSource): string => {
  if (!source.isCode || typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map((each) => literal(each, source)).join(', ')}]`
  const members = Object.entries(value).map(
    ([key, each]) => `${objectKey(key)}: ${literal(each, source)}`,
  )
  return `{ ${members.join(', ')} }`
}

export const policyOperators: readonly Operator[] = [
  deduplicateWrites,
  writeOnce,
  recordOnce,
  loopBreaker,
  budgetStop,
  guardRule,
  refuseForeign,
]
