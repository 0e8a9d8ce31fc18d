import type { FileEdit, SourceFile } from '../candidates.js'
import {
  childNode,
  childNodes,
  findSite,
  nameOfNode,
  type ParsedSource,
  propertyNames,
  type SourceEdit,
  type SyntaxNode,
} from '../source-text.js'
import type { Symptom } from '../symptoms.js'
import {
  callsOf,
  candidateOf,
  isLoopNode,
  operator,
  type Operator,
  type OperatorContext,
  oracleSymptom,
  type Proposal,
  symptomsOf,
} from './operator.js'
import {
  argumentsText,
  outermostLoop,
  statementAround,
  toolAnswers,
  toolNameText,
} from './tool-loop.js'

/** Calls that run tools. `key` is an expression that is equal for equal calls. */
const dispatches = (source: ParsedSource) =>
  toolAnswers(source).flatMap(({ dispatch, isText }) => {
    if (dispatch === undefined) return []
    const tool = toolNameText(source, dispatch)
    const parts = [tool, argumentsText(source, dispatch)].filter((part) => part !== '')
    const { node } = dispatch
    const call = source.textOf(node)
    // Variables are declared before the loop that the call is in.
    const { start } = outermostLoop(dispatch) ?? statementAround(dispatch)
    const declare = (edit: SourceEdit, declaration: string): SourceEdit =>
      edit.insert(start, `${declaration}\n${source.indentAt(start)}`)
    return [{ node, tool, call, isText, key: `JSON.stringify([${parts.join(', ')}])`, declare }]
  })

/** Gives a repeated write its first result instead of running it again. */
const deduplicateWrites = operator(
  'de-duplicate-writes',
  'policy',
  (context) => symptomsOf(context, 'repeated-call').filter(({ facts }) => facts['writes'] === true),
  (source, { facts }) =>
    dispatches(source).map(({ node, tool, call, key, declare }) => ({
      node,
      edit: source.editWith(ONLY_ONCE, (edit, name) => {
        const store = source.freeName('finishedWrites')
        const once = `${name}(${store}, ${key}, () => ${call})`
        const isThisTool = `${tool} === ${JSON.stringify(facts['tool'])}`
        return declare(edit, `const ${store} = new Map()`).replace(
          node,
          tool.startsWith("'") ? once : `(${isThisTool} ? ${once} : ${call})`,
        )
      }),
      title: `Run ${String(facts['tool'])} once for the same arguments`,
    })),
)

const ONLY_ONCE = `
/** Result of a call; the first one if the same call was made before. */
function onlyOnce⟨<Result>⟩(finished⟨: Map<string, Result>⟩, key⟨: string⟩, call⟨: () => Result⟩)⟨: Result⟩ {
  const known = finished.get(key)
  if (known !== undefined) return known
  const result = call()
  finished.set(key, result)
  return result
}`

/** Answers a call that was made before with a hint instead of the same result again. */
const loopBreaker = operator(
  'loop-breaker',
  'policy',
  (context) =>
    symptomsOf(context, 'repeated-call', 'no-progress')
      .filter(({ facts }) => facts['writes'] !== true)
      .slice(0, 1),
  (source, symptom, context) => [
    ...dispatches(source).map(({ node, call, isText, key, declare }) => ({
      node,
      edit: source.editWith(unlessRepeated(isText), (edit, name) => {
        const store = source.freeName('earlierCalls')
        const type = source.isTyped ? '<string>' : ''
        return declare(edit, `const ${store} = new Set${type}()`).replace(
          node,
          `${name}(${store}, ${key}, () => ${call})`,
        )
      }),
      title: 'Say so when the model repeats a call',
    })),
    ...turnLimits(source, symptom, context),
  ],
)

const unlessRepeated = (isText: boolean): string => `
/** Runs a call, unless the same one was made before: then a hint stops the model from repeating itself. */
function unlessRepeated(earlier⟨: Set<string>⟩, key⟨: string⟩, call⟨: () => any⟩) {
  if (!earlier.has(key)) {
    earlier.add(key)
    return call()
  }
  const hint = 'You already made this call, with the same result. Do not repeat it; answer with what you know.'
  return ${isText ? 'hint' : '{ error: hint }'}
}`

/** Ends loops without a limit around a request to a model. */
const turnLimits = (
  source: ParsedSource,
  symptom: Symptom,
  { sources, steps }: OperatorContext,
): Proposal[] => {
  const requests = steps.filter(({ step }) => step.kind === 'model').length
  const turns = Math.max(3, Math.min(20, Math.ceil(requests / 2)))
  return endlessLoops(source, symptom, sources).flatMap((loop) => {
    const body = childNode(loop, 'body')
    if (body?.type !== 'BlockStatement') return []
    const counter = source.freeName('turns')
    const indent = source.indentAt(loop.start)
    const edit = source
      .edit()
      .insert(loop.start, `let ${counter} = 0\n${indent}`)
      .insert(body.start + 1, `\n${indent}  if (++${counter} > ${turns}) break`)
    return [{ node: loop, edit, title: `Stop the loop after ${turns} turns` }]
  })
}

/** `while (true)` and `for (;;)` around the site of a step, or with a request to a model. */
const endlessLoops = (
  source: ParsedSource,
  symptom: Symptom,
  sources: readonly ParsedSource[],
): SyntaxNode[] => {
  const at = findSite(sources, symptom.site)
  return source
    .ofType('WhileStatement', 'ForStatement', 'DoWhileStatement')
    .map(({ node }) => node)
    .filter((node) => {
      const test = childNode(node, 'test')
      return test === undefined || (test.type === 'BooleanLiteral' && test['value'] === true)
    })
    .filter((node) =>
      at?.source === source && node.start <= at.offset && at.offset < node.end
        ? true
        : /\bawait\b/.test(source.textOf(node)),
    )
}

/** Stops when the tokens that a run may use are used up. */
const budgetStop = operator(
  'budget-stop',
  'policy',
  (context) => symptomsOf(context, 'over-budget'),
  (source, symptom, context) => {
    const { unit, limit } = symptom.facts
    if (unit !== 'tokens') return turnLimits(source, symptom, context)
    return source.ofType('VariableDeclarator').flatMap(({ node, around }): Proposal[] => {
      const init = childNode(node, 'init')
      const id = childNode(node, 'id')
      const loop = around.findLast(isLoopNode)
      const isModelCall =
        init?.type === 'AwaitExpression' &&
        /\.create\(|generateText\(|\.chat\(|\.invoke\(/.test(source.textOf(init))
      if (loop === undefined || id?.type !== 'Identifier' || !isModelCall) return []
      const counter = source.freeName('usedTokens')
      const statement = around.at(-1)!
      const indent = source.indentAt(statement.start)
      const usage = `${nameOfNode(id)}.usage`
      const used = `${usage}?.total_tokens ?? (${usage}?.input_tokens ?? 0) + (${usage}?.output_tokens ?? 0)`
      const edit = source
        .edit()
        .insert(loop.start, `let ${counter} = 0\n${source.indentAt(loop.start)}`)
        .insert(
          statement.end,
          `\n${indent}${counter} += ${used}\n${indent}if (${counter} > ${Number(limit)}) break`,
        )
      return [{ node: loop, edit, title: `Stop after ${String(limit)} tokens` }]
    })
  },
)

/** Denies a call by a rule, where a guard decides about it. */
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
        where: source.where(node),
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

/** The head of a list of rules: its name, comments below it, and the dash of the first rule. */
const YAML_RULES = /^rules:[ \t]*(?:#.*)?\r?\n(?:[ \t]*(?:#.*)?\r?\n)*([ \t]*)(?=- )/m
const NO_YAML_RULES = /^rules:[ \t]*\[[ \t]*\](.*\r?\n?)/m

/** Puts a rule before those of a YAML policy. Values are JSON, which YAML includes. */
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

/** Rules of a policy, or the options of a guard that has none. The first matching rule decides. */
const rulePositions = (source: ParsedSource) => [
  ...source.ofType('ObjectProperty').flatMap(({ node, around }) => {
    const list = childNode(node, 'value')
    const isRules = nameOfNode(childNode(node, 'key')) === 'rules'
    if (
      !isRules ||
      list?.type !== 'ArrayExpression' ||
      !propertyNames(around.at(-1)).includes('name')
    )
      return []
    const [first] = childNodes(list, 'elements')
    const gap = first === undefined ? '' : source.text.slice(list.start + 1, first.start)
    const write = (rule: string): string =>
      first === undefined ? rule : `${gap}${rule},${gap.includes('\n') ? '' : ' '}`
    return [{ node, at: list.start + 1, write }]
  }),
  ...callsOf(source, 'guard').flatMap(({ node }) => {
    const [options] = childNodes(node, 'arguments')
    if (options?.type !== 'ObjectExpression' || propertyNames(options).includes('policy')) return []
    const write = (rule: string): string => ` policy: { name: 'fix', rules: [${rule}] },`
    return [{ node, at: options.start + 1, write }]
  }),
]

const literal = (value: unknown, source: ParsedSource): string => {
  if (!source.isCode || typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map((each) => literal(each, source)).join(', ')}]`
  const members = Object.entries(value).map(([key, each]) => {
    const name = /^[\w$]+$/.test(key) && !/^\d/.test(key) ? key : JSON.stringify(key)
    return `${name}: ${literal(each, source)}`
  })
  return `{ ${members.join(', ')} }`
}

export const policyOperators: readonly Operator[] = [
  deduplicateWrites,
  loopBreaker,
  budgetStop,
  guardRule,
]
