import {
  defined,
  errorName,
  type Exchange,
  isRecord,
  type JsonRecord,
  messageText,
  recordOf,
  type RunView,
  stableStringify,
  type Step,
  type ToolCallPart,
  utf8,
  parseJson,
  hashText,
  retryAfterMs,
} from '@retake/tape'
import { asJson } from '@retake/tape/diff'
import type { Occurrence } from '@retake/tape/locate'
import { argumentProblems } from './argument-problems.js'
import { stackSites } from './source-text.js'

/** Kinds of problems that a tape reveals. */
export type SymptomClass =
  | 'rate-limit'
  | 'timeout'
  | 'authentication'
  | 'server-error'
  | 'context-overflow'
  | 'cut-off-answer'
  | 'malformed-json'
  | 'tool-arguments'
  | 'unknown-tool'
  | 'response-drift'
  | 'repeated-call'
  | 'no-progress'
  | 'over-budget'
  | 'nondeterminism'
  | 'missing-context'
  | 'untrusted-text'
  | 'missing-pages'
  | 'exception'
  | 'wrong-output'
  | 'wrong-result'

/**
 * Something unusual on a tape. Orders candidates and never counts as a failure, because passing
 * runs often have symptoms too.
 */
export interface Symptom {
  readonly class: SymptomClass
  readonly step?: string
  /** Location in the agent's code, as `file:line:column`. */
  readonly site?: string
  /** One line in plain English. */
  readonly evidence: string
  readonly confidence: 'certain' | 'likely' | 'hint'
  /** Values that operators need, by name. */
  readonly facts: Readonly<Record<string, unknown>>
}

export interface FailureError {
  readonly class: string
  readonly name?: string
  readonly message: string
  readonly stack?: string
}

/** A user's rule about results of a tool. Returns the problem, or undefined. */
export interface ResultRule {
  readonly tool: string
  readonly check: (result: unknown) => string | undefined
}

export interface SymptomContext {
  /** Earlier runs of the same agent, to compare with. */
  readonly earlier?: readonly RunView[]
  readonly error?: FailureError
  readonly budget?: { readonly usd?: number; readonly tokens?: number; readonly steps?: number }
  readonly rules?: readonly ResultRule[]
  /** Where a text is on the tape, oldest first. */
  readonly trace?: (text: string) => readonly Occurrence[]
}

/** Reads the symptoms of a run, most certain first. */
export function detectSymptoms(run: RunView, context: SymptomContext = {}): Symptom[] {
  const steps = run.steps.map(readStep)
  const error = context.error ?? failureOf(run)
  // ── Comparison with earlier runs ────────────────────────────────────────────
  const before = (context.earlier ?? []).flatMap((run) => run.steps.map(readStep))
  const found = [
    ...exceptionSymptoms(error),
    ...outputSymptoms(run),
    ...transportSymptoms(steps),
    ...answerSymptoms(steps, error),
    ...toolCallSymptoms(steps),
    ...repetitionSymptoms(steps),
    ...pageSymptoms(steps),
    ...budgetSymptoms(run, context),
    ...driftSymptoms(steps, before),
    ...differenceSymptoms(steps, before),
    ...untrustedSymptoms(steps),
    ...foreignSymptoms(steps, context),
    ...droppedSymptoms(steps),
    ...ruleSymptoms(steps, context.rules ?? []),
  ]
  return found.toSorted(
    (left, right) => CONFIDENCES.indexOf(left.confidence) - CONFIDENCES.indexOf(right.confidence),
  )
}

const CONFIDENCES: readonly Symptom['confidence'][] = ['certain', 'likely', 'hint']

const symptomAt = (
  step: Step | undefined,
  kind: SymptomClass,
  confidence: Symptom['confidence'],
  evidence: string,
  facts: Symptom['facts'] = {},
): Symptom => ({
  class: kind,
  ...(step && { step: step.label }),
  ...(step?.site !== undefined && { site: step.site }),
  evidence,
  confidence,
  facts,
})

/** Facts for detectors, without the conversation, which grows with every step. */
export interface StepFacts {
  readonly step: Step
  /** Same for requests and calls with the same content. */
  readonly requestKey: number
  readonly status: number | undefined
  readonly retryAfterMs: number | undefined
  /** Error text of the step and the provider, with the provider's code. */
  readonly errorText: string
  readonly settings: Readonly<Record<string, string | number | boolean>>
  readonly tools: readonly ToolSchema[]
  readonly wantsJson: boolean
  readonly answerText: string
  readonly toolCalls: readonly ToolCallPart[]
  /** Start of the texts of the user; only for an answer with tool calls. */
  readonly userText: string
  /** Identifiers in tool calls that do not occur in the request, in words. */
  readonly unseen: readonly string[]
  /** Text that a program wrote into a request by mistake, such as `[object Object]`. */
  readonly slip: string | undefined
  /** The answer as sent; only its beginning if it is long. */
  readonly responseText: string
  readonly characters: number
  /** Hashes of the messages sent, without instructions. */
  readonly messageKeys: readonly number[]
  /** A sentence in a message that gives the model instructions. */
  readonly order: string | undefined
  /** How messages with results of tools are out of order. */
  readonly messageOrder: 'result-without-call' | 'message-between' | undefined
  /** For a request that may write: true if a second one with the same key has no effect. */
  readonly isKeyed: boolean
  readonly method: string | undefined
  readonly url: string | undefined
  /** Result of a tool, or the parsed body of any answer other than a model's. */
  readonly result: unknown
}

export interface ToolSchema {
  readonly name: string
  readonly schema: JsonRecord
}

/** Unreadable values are treated as missing. */
export function readStep(step: Step): StepFacts {
  try {
    const exchange = step.kind === 'model' || step.kind === 'http' ? step.exchange() : undefined
    if (exchange !== undefined) return exchangeFacts(step, exchange)
    const call = step.call()
    const text = call?.output.map(({ bytes }) => utf8(bytes) ?? '').join('')
    return {
      ...NO_FACTS,
      step,
      requestKey: hashText(`${step.title} ${stableStringify(asJson(call?.args))}`),
      errorText: `${step.error ?? ''} ${step.failure?.code ?? ''}`,
      result: asJson(call?.result) ?? (text === '' ? undefined : text),
    }
  } catch {
    return { ...NO_FACTS, step, requestKey: step.seq, errorText: step.error ?? '' }
  }
}

const NO_FACTS = {
  status: undefined,
  retryAfterMs: undefined,
  errorText: '',
  settings: {},
  tools: [],
  wantsJson: false,
  answerText: '',
  toolCalls: [],
  userText: '',
  unseen: [],
  slip: undefined,
  responseText: '',
  characters: 0,
  messageKeys: [],
  order: undefined,
  messageOrder: undefined,
  isKeyed: false,
  method: undefined,
  url: undefined,
  result: undefined,
}

const exchangeFacts = (step: Step, exchange: Exchange): StepFacts => {
  const { request, response } = exchange
  const settings = recordOf(request.json)
  const isModel = step.kind === 'model'
  const requestText = request.text ?? ''
  const toolCalls = isModel ? step.toolCalls : []
  return {
    step,
    requestKey: hashText(`${request.method} ${request.url} ${requestText}`),
    status: response?.status,
    retryAfterMs: retryAfterMs(response?.headers ?? [], step.startedAt),
    errorText: [
      step.error ?? '',
      step.failure?.name ?? '',
      step.failure?.code ?? '',
      (response?.status ?? 0) >= 400 ? (response?.text?.slice(0, 4000) ?? '') : '',
    ].join(' '),
    settings: isModel ? settingsOf(settings) : {},
    tools: isModel ? toolSchemas(settings) : [],
    wantsJson: isModel && /json/i.test(wordsAboutFormat(settings, exchange)),
    answerText: isModel ? step.answer().map(messageText).join('\n') : '',
    toolCalls,
    userText:
      toolCalls.length === 0
        ? ''
        : exchange.messages
            .filter(({ role }) => role === 'user')
            .map(messageText)
            .join('\n')
            .slice(0, USER_TEXT_MAX),
    unseen: toolCalls.flatMap(({ name, args }) => {
      // Identifiers, addresses and numbers in arguments that do not occur in the request. Ignores
      // words, which may be the model's own.
      if (!isRecord(args)) return []
      const text = requestText.toLowerCase()
      return Object.entries(args).flatMap(([path, given]) => {
        const value = typeof given === 'number' ? String(given) : given
        if (typeof value !== 'string' || !isIdentifier(value)) return []
        if (text.includes(value.toLowerCase())) return []
        return [`${name} was called with ${path} = ${clip(value, 40)}`]
      })
    }),
    slip: isModel ? SLIP.exec(requestText)?.[0] : undefined,
    responseText: response?.text?.slice(0, 4000) ?? '',
    characters: requestText.length,
    messageKeys: exchange.messages
      .filter(({ role }) => role !== 'system' && role !== 'developer')
      .map((message) => hashText(JSON.stringify(message))),
    order: exchange.messages
      .filter(({ role }) => role === 'user' || role === 'tool')
      // Tool results have no text of their own, so they are serialized.
      .map((message) =>
        sentenceWith(
          ORDER,
          message.role === 'tool' ? JSON.stringify(message) : messageText(message),
        ),
      )
      .find((found) => found !== undefined),
    messageOrder: isModel ? orderProblem(exchange.messages) : undefined,
    isKeyed: request.headers.some(([name]) => /idempoten/i.test(name)),
    method: request.method,
    url: request.url,
    result: isModel ? undefined : (response?.json ?? response?.text),
  }
}

/** Providers require results of tools directly after the message with their calls. */
const orderProblem = (messages: Exchange['messages']): StepFacts['messageOrder'] => {
  const called = new Set<string>()
  let open = new Set<string>()
  let isInterrupted = false
  for (const { role, parts } of messages) {
    const results = parts.flatMap((part) => (part.type === 'tool_result' ? [part.id] : []))
    if (results.some((id) => !called.has(id))) return 'result-without-call'
    if (isInterrupted && results.some((id) => open.has(id))) return 'message-between'
    for (const id of results) open.delete(id)
    if (results.length === 0 && open.size > 0) isInterrupted = true
    const calls = parts.flatMap((part) => (part.type === 'tool_call' ? [part.id] : []))
    if (role !== 'assistant' || calls.length === 0) continue
    for (const id of calls) called.add(id)
    open = new Set(calls)
    isInterrupted = false
  }
  return undefined
}

const USER_TEXT_MAX = 20_000

/** How JavaScript prints values that were not meant to become text. */
const SLIP = /\[object (?:Object|Promise|Map|Set)\]|\bundefined\b|\bNaN\b|\[native code\]/

/** Scalar settings of a request, without conversation and tools. */
const settingsOf = (json: JsonRecord): StepFacts['settings'] =>
  Object.fromEntries(
    Object.entries({
      ...recordOf(json['generationConfig']),
      ...recordOf(json['inferenceConfig']),
      ...recordOf(json['options']),
      ...json,
    }).filter((entry): entry is [string, string | number | boolean] =>
      ['number', 'string', 'boolean'].includes(typeof entry[1]),
    ),
  )

const wordsAboutFormat = (json: JsonRecord, { messages }: Exchange): string =>
  [
    json['response_format'],
    json['format'],
    recordOf(json['text'])['format'],
    recordOf(json['generationConfig'])['responseMimeType'],
  ]
    .filter((value) => value !== undefined)
    .map((value) => `json ${JSON.stringify(value)}`)
    .concat(
      messages
        .filter(({ role }) => role !== 'assistant' && role !== 'tool')
        .map((message) => messageText(message)),
    )
    .join(' ')

/** Tools that a request offers, in the formats of all providers. */
const toolSchemas = (json: JsonRecord): ToolSchema[] => {
  const listed = [json['tools'], recordOf(json['toolConfig'])['tools']].flatMap((tools) =>
    Array.isArray(tools) ? (tools as unknown[]) : [],
  )
  return listed.filter(isRecord).flatMap((tool) => {
    const declared = tool['functionDeclarations']
    const many = Array.isArray(declared) ? declared.filter(isRecord) : undefined
    const definitions = many ?? [recordOf(tool['function'] ?? tool['toolSpec'] ?? tool)]
    return definitions.flatMap((definition) => {
      const { name, parameters, input_schema: anthropic, inputSchema } = definition
      const schema = parameters ?? anthropic ?? recordOf(inputSchema)['json'] ?? inputSchema
      return typeof name === 'string' ? [{ name, schema: recordOf(schema) }] : []
    })
  })
}

// ── Exceptions ──────────────────────────────────────────────────────────────

/** The error that ended a run, as recorded or as printed by Node. */
export function failureOf(run: RunView): FailureError | undefined {
  const recorded = run.exit?.error
  if (recorded !== undefined) return recorded
  if (run.exit?.code === 0 || run.exit === undefined) return undefined
  const printed = run.outputs
    .filter(({ stream }) => stream === 'stderr')
    .map((output) => utf8(run.outputBytes(output)) ?? '')
    .join('')
  // The last error with a stack in the output of a program.
  const text = printed.slice(-PRINTED_MAX)
  const pattern =
    /^(?:Uncaught )?([A-Z][\w$]*)(?: \[[^\]\n]+\])?(?:: ([^\n]*(?:\n(?! {4}at )[^\n]*){0,5}?))?\n((?: {4}at [^\n]*\n?)+)/gm
  const last = [...text.matchAll(pattern)].at(-1)
  if (last === undefined) return undefined
  const [stack, name = 'Error', message = ''] = last
  return { class: name, message, stack }
}

const PRINTED_MAX = 100_000

const exceptionSymptoms = (error: FailureError | undefined): Symptom[] => {
  if (error === undefined) return []
  const [site] = stackSites(error.stack)
  const { message } = error
  const name = errorName(error)
  const evidence = `The agent threw ${name}: ${clip(message)}`
  // Names in the messages of V8's type errors.
  const [, of, property] =
    /Cannot (?:read|set) propert(?:y|ies) of (undefined|null) \(\w+ '([^']+)'\)/.exec(message) ?? []
  const [, isNot] = /^[\w$.[\]()'" ]+ is not (a function|iterable|defined)/.exec(message) ?? []
  const facts = {
    error: name,
    message,
    ...(of === undefined ? defined({ isNot }) : { of, property }),
  }
  const symptom = symptomAt(undefined, 'exception', 'certain', evidence, facts)
  return [site === undefined ? symptom : { ...symptom, site }]
}

/** Values that were printed as JavaScript writes what was not meant to become text. */
const outputSymptoms = (run: RunView): Symptom[] => {
  const printed = run.outputs
    .filter(({ stream }) => stream === 'stdout')
    .map((output) => utf8(run.outputBytes(output)) ?? '')
    .join('')
  const lines = printed.slice(-PRINTED_MAX).split('\n')
  const slips = lines.flatMap((line) => {
    const [slip] = SLIP.exec(line) ?? []
    return slip === undefined ? [] : [{ slip, line }]
  })
  const kinds = new Map(slips.map((each) => [each.slip, each]))
  const fraction = lines.find((line) => BINARY_FRACTION.test(line))
  const evidence = `The run printed a number with the error of binary fractions: ${clip(fraction ?? '', 80)}`
  const decimals = symptomAt(undefined, 'wrong-output', 'likely', evidence, { kind: 'decimals' })
  const found = [...kinds.values()].map(({ slip, line }) => {
    const kind = /Promise/.test(slip) ? 'promise' : slip.startsWith('[object') ? 'object' : slip
    const evidence = `The run printed “${slip}” instead of a value: ${clip(line, 80)}`
    const confidence = slip.startsWith('[object') ? 'certain' : 'likely'
    return symptomAt(undefined, 'wrong-output', confidence, evidence, { kind })
  })
  return fraction === undefined ? found : [...found, decimals]
}

/** Such as 0.30000000000000004 and 4.3999999999999995. */
const BINARY_FRACTION = /\d\.\d*?(?:0{8,}|9{8,})\d/

const clip = (text: string, length = 160): string => {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.length <= length ? line : `${line.slice(0, length - 1)}…`
}

// ── Transport ───────────────────────────────────────────────────────────────

const OVERFLOW =
  /context[_ ](?:length|window)|maximum context|prompt is too long|too many (?:input )?tokens|request_too_large|input is too long|exceeds? the (?:maximum|model'?s?) (?:number of tokens|context)/i
const NO_MODEL =
  /(?:model|deployment)\b.{0,80}(?:does not exist|not found|not exist|deprecat|decommission|retired|not supported|unknown|no longer)|unknown model|invalid model/i
/** Ignores the body, where a match could span unrelated sentences. */
const isNoModel = ({ step, status, errorText, settings }: StepFacts): boolean =>
  errorText.includes('model_not_found') ||
  NO_MODEL.test(step.error ?? '') ||
  (status === 404 &&
    typeof settings['model'] === 'string' &&
    (step.error ?? '').includes(settings['model']))
const TIMED_OUT = /time[d-]?[ -]?out|ETIMEDOUT|TimeoutError|deadline exceeded|UND_ERR_\w*TIMEOUT/i
const CONNECTION =
  /ECONNRE\w+|EPIPE|socket hang up|terminated|UND_ERR_SOCKET|fetch failed|other side closed/i

/** Failed requests that no retry repaired. */
const transportSymptoms = (steps: readonly StepFacts[]): Symptom[] => {
  const finished = new Set(
    steps.filter(({ step }) => step.state === 'done').map(({ requestKey }) => requestKey),
  )
  const last = new Map(steps.map((facts) => [facts.requestKey, facts]))
  return [...last.values()]
    .filter(
      ({ step: { kind, state }, requestKey }) =>
        ['model', 'http', 'tool', 'mcp'].includes(kind) &&
        ['failed', 'aborted', 'in doubt'].includes(state) &&
        !finished.has(requestKey),
    )
    .flatMap((facts) => {
      const found = transportSymptom(facts)
      const attempts = steps.filter(({ requestKey }) => requestKey === facts.requestKey).length
      return found === undefined ? [] : [{ ...found, facts: { ...found.facts, attempts } }]
    })
}

const transportSymptom = (facts: StepFacts): Symptom | undefined => {
  const { step, errorText, settings, retryAfterMs, status = 0 } = facts
  const isModel = step.kind === 'model'
  const isRequest = isModel || step.kind === 'http'
  const what = isModel ? 'The model' : step.kind === 'tool' ? 'The tool' : 'The server'
  const error = clip(step.error ?? '')
  const found = (kind: SymptomClass, evidence: string, values: Symptom['facts'] = {}): Symptom =>
    symptomAt(step, kind, 'certain', evidence, { status: facts.status, ...values })
  if (isRequest && (status === 429 || (status === 0 && /rate.?limit/i.test(errorText)))) {
    const after = retryAfterMs === undefined ? '' : `, and asked to wait ${retryAfterMs / 1000} s`
    const evidence = `${what} refused with ${status || 'a rate limit'}${after}.`
    return found('rate-limit', evidence, { retryAfterMs })
  }
  if (isRequest && (status === 401 || status === 403))
    return found('authentication', `${what} refused the credentials with ${status}.`)
  if (isModel && OVERFLOW.test(errorText)) {
    const sizes = [...errorText.matchAll(/\b(\d[\d,]{2,})\b/g)]
      .map(([, number]) => Number(number!.replaceAll(',', '')))
      .filter((number) => number >= 256 && number !== status)
    return found('context-overflow', `The request was longer than the model accepts: ${error}`, {
      characters: facts.characters,
      window: sizes.length > 0 ? Math.min(...sizes) : undefined,
      tokens: sizes.length > 1 ? Math.max(...sizes) : undefined,
    })
  }
  if (isModel && (status === 404 || status === 400) && isNoModel(facts)) {
    const missingModel = settings['model'] ?? step.model
    const evidence = `The provider has no model ${String(missingModel ?? '')}: ${error}`
    return found('server-error', evidence, { missingModel, provider: step.provider })
  }
  const isTimedOut = status === 408 || status === 504 || TIMED_OUT.test(errorText)
  if (isTimedOut || (isRequest && step.state === 'aborted' && status === 0)) {
    const { latencyMs } = step
    const took = latencyMs === undefined ? '' : ` (${Math.round(latencyMs)} ms)`
    const evidence = `No answer in time${took}: ${clip(step.error ?? 'the agent gave up')}`
    return symptomAt(step, 'timeout', isTimedOut ? 'certain' : 'likely', evidence, { latencyMs })
  }
  if (isRequest && (status >= 500 || CONNECTION.test(errorText))) {
    const evidence = `${what} failed with ${status || clip(step.error ?? 'a broken connection', 60)}.`
    return found('server-error', evidence, { isTransient: true })
  }
  if (isRequest && status >= 400)
    return found('server-error', `${what} rejected the request with ${status}: ${error}`, {
      isRejected: true,
      message: clip(errorText, 1000),
      isModel,
      ...defined({ order: facts.messageOrder }),
    })
  return undefined
}

// ── Answers of models ───────────────────────────────────────────────────────

const CUT_OFF = /^(?:length|max_tokens|max_output_tokens|incomplete|MAX_TOKENS)$/
const JSON_ERROR = /\bJSON\b|Unexpected (?:token|end of|non-whitespace|string|number)/

const answerSymptoms = (
  steps: readonly StepFacts[],
  error: FailureError | undefined,
): Symptom[] => {
  const isJsonError =
    error !== undefined && /SyntaxError/.test(error.class) && JSON_ERROR.test(error.message)
  const models = steps.filter(({ step }) => step.kind === 'model' && step.state === 'done')
  return models.flatMap((facts): Symptom[] => {
    const { step, settings, slip, answerText, toolCalls } = facts
    const found: Symptom[] = []
    const { temperature } = settings
    if (typeof temperature === 'number' && temperature > 1) {
      const evidence = `The model ran at temperature ${temperature}.`
      found.push(symptomAt(step, 'nondeterminism', 'hint', evidence))
    }
    if (slip !== undefined) {
      // Text that a program wrote into the request by mistake.
      const evidence = `The model was sent “${slip}” instead of a value.`
      const kind = /Promise/.test(slip) ? 'promise' : 'object'
      found.push(
        slip.startsWith('[object')
          ? symptomAt(step, 'malformed-json', 'certain', evidence, { kind })
          : symptomAt(step, 'missing-context', 'hint', evidence),
      )
    }
    const isCutOff = CUT_OFF.test(step.finishReason ?? '')
    if (isCutOff) {
      const maxTokens = LIMIT_NAMES.map((name) => settings[name]).find(
        (value) => typeof value === 'number',
      )
      const limit = maxTokens === undefined ? '' : ` (${maxTokens})`
      const evidence = `The answer ended at its limit of tokens${limit}, not where the model meant to stop.`
      found.push(symptomAt(step, 'cut-off-answer', 'certain', evidence, { maxTokens }))
    }
    const broken = toolCalls.find(({ args }) => typeof args === 'string' && args.trim() !== '')
    if (broken !== undefined) {
      const text = String(broken.args)
      const evidence = `The arguments of ${broken.name} are not valid JSON: ${clip(text, 80)}`
      const trouble = { kind: jsonTrouble(text) ?? 'broken', isCutOff }
      found.push(symptomAt(step, 'malformed-json', 'certain', evidence, trouble))
    }
    const kind = toolCalls.length === 0 ? jsonTrouble(answerText) : undefined
    const isLast = facts === models.at(-1)
    if (kind !== undefined && (facts.wantsJson || (isJsonError && isLast))) {
      const evidence = `The model was to answer in JSON and wrote ${TROUBLE[kind]}: ${clip(answerText, 80)}`
      const confidence = isJsonError ? 'certain' : 'likely'
      found.push(symptomAt(step, 'malformed-json', confidence, evidence, { kind, isCutOff }))
    }
    return found
  })
}

const LIMIT_NAMES = [
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
  'maxOutputTokens',
  'maxTokens',
  'num_predict',
]

/** Reasons why a text that contains JSON is not JSON itself, as the end of a sentence. */
const TROUBLE = {
  fence: 'it inside a code fence',
  around: 'words around it',
  literals: 'trailing commas or words that JSON does not have',
  broken: 'something that cannot be repaired',
  prose: 'prose',
} as const

/** Returns undefined for valid JSON. */
const jsonTrouble = (text: string): keyof typeof TROUBLE | undefined => {
  if (isJson(text)) return undefined
  const start = text.search(/[[{]/)
  const end = Math.max(text.lastIndexOf('}'), text.lastIndexOf(']'))
  if (start < 0) return 'prose'
  const inner = text.slice(start, end + 1)
  if (isJson(inner)) return text.includes('```') ? 'fence' : 'around'
  // The same replacement as in the function that `repair-json` writes.
  const withoutSlips = inner.replaceAll(
    /("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])|\b(True|False|None)\b/g,
    (_, string?: string, word?: string) =>
      string ?? (word === undefined ? '' : word === 'None' ? 'null' : word.toLowerCase()),
  )
  return isJson(withoutSlips) ? 'literals' : 'broken'
}

const isJson = (text: string): boolean => parseJson(text) !== undefined

// ── Tool calls ──────────────────────────────────────────────────────────────

const toolCallSymptoms = (steps: readonly StepFacts[]): Symptom[] =>
  steps.flatMap(({ step, tools, toolCalls, unseen }) => {
    if (tools.length === 0) return []
    const found = toolCalls.flatMap(({ name, args }): Symptom[] => {
      const tool = tools.find((each) => each.name === name)
      if (tool === undefined) {
        const evidence = `The model called ${name}, which the request does not offer.`
        const facts = { tools: tools.map((each) => each.name) }
        return [symptomAt(step, 'unknown-tool', 'certain', evidence, facts)]
      }
      const problems = isRecord(args) ? argumentProblems(args, tool.schema) : []
      if (problems.length === 0) return []
      const evidence = `Arguments of ${name} do not match its schema: ${problems.slice(0, 3).join('; ')}.`
      return [symptomAt(step, 'tool-arguments', 'certain', evidence, { tools })]
    })
    const missing = unseen.slice(0, 3).map((each) => {
      const evidence = `${each}, which the model had not seen.`
      return symptomAt(step, 'missing-context', 'hint', evidence)
    })
    return [...found, ...missing]
  })

const isIdentifier = (value: string): boolean =>
  value.length >= 4 &&
  value.length <= 80 &&
  !/\s/.test(value) &&
  (/\d{3,}/.test(value) || /@/.test(value) || /\w+[-_]\w*\d/.test(value)) &&
  !/^\d{4}-\d\d-\d\d/.test(value)

// ── Repetition ──────────────────────────────────────────────────────────────

export const WRITING =
  /(?:^|[_\-.]|\b)(?:create|send|add|append|book|pay|charge|refund|transfer|delete|remove|cancel|insert|update|write|save|post|publish|put|submit|order|email|notify|issue|place|reserve|withdraw|deposit|buy|purchase|grant|approve|close|subscribe|invite|reply|assign)/i

export const isWriteName = (name: string): boolean =>
  WRITING.test(name.replaceAll(/([a-z])([A-Z])/g, '$1_$2'))

const REPEATED = 3

const repetitionSymptoms = (steps: readonly StepFacts[]): Symptom[] => {
  const found: Symptom[] = []
  const groups = new Map<string, StepFacts[]>()
  for (const facts of steps) {
    const { step, method = '', isKeyed } = facts
    // A request with an idempotency key has its effect once.
    const isWrite = step.kind === 'http' && /^(?:POST|PATCH)$/.test(method) && !isKeyed
    if (step.kind !== 'tool' && !isWrite) continue
    const key = `${callName(facts)} ${facts.requestKey}`
    groups.set(key, [...(groups.get(key) ?? []), facts])
  }
  for (const group of groups.values()) {
    const name = callName(group[0]!)
    const isHttp = group[0]!.step.kind === 'http'
    const writes = isHttp || isWriteName(name)
    const done = group.filter(({ step }) => step.state === 'done')
    const lost = group.slice(0, -1).find(isAnswerLost)
    const isWriteTwice = writes && (done.length >= 2 || lost !== undefined)
    const results = new Set(
      group.map(({ result, errorText }) => `${stableStringify(asJson(result))} ${errorText}`),
    )
    if (!isWriteTwice && (group.length < REPEATED || results.size > 1)) continue
    const evidence =
      writes && lost !== undefined
        ? `${name} was sent again after its answer was lost, although the first one may have had its effect.`
        : `${name} was called ${group.length} times with the same arguments.`
    const facts = { tool: name, writes, isHttp, isRetried: lost !== undefined }
    const confidence = writes && !isHttp ? 'certain' : 'likely'
    found.push(symptomAt(group.at(-1)!.step, 'repeated-call', confidence, evidence, facts))
  }
  const models = steps.filter(isAnswered)
  return [...found, ...repeatedWrites(steps, models), ...findCycle(models)]
}

/** Writes that a model asked for twice, where the function that makes them was not recorded. */
const repeatedWrites = (steps: readonly StepFacts[], models: readonly StepFacts[]): Symptom[] => {
  const calls = models.flatMap(({ step, toolCalls }) =>
    toolCalls
      .filter(({ name }) => isWriteName(name))
      .filter(({ name }) => steps.every((each) => each.step.toolName !== name))
      .map(({ name, args }) => ({ step, name, key: name + stableStringify(asJson(args)) })),
  )
  const again = calls.filter(({ key }, at) => calls.findIndex((each) => each.key === key) < at)
  return [...new Map(again.map((each) => [each.name, each])).values()].map(({ step, name }) => {
    const evidence = `The model called ${name} again with the same arguments.`
    const facts = { tool: name, writes: true, isHttp: false, isRetried: false }
    return symptomAt(step, 'repeated-call', 'likely', evidence, facts)
  })
}

const callName = ({ step, method, url = '' }: StepFacts): string =>
  step.toolName ?? (step.kind === 'http' ? `${method} ${url.replace(/\?.*$/, '')}` : step.title)

/** True if a call may have had its effect, although it failed. */
const isAnswerLost = ({ step, status = 0, errorText }: StepFacts): boolean =>
  step.state !== 'done' &&
  (status === 408 ||
    status >= 500 ||
    (status === 0 &&
      (TIMED_OUT.test(errorText) ||
        CONNECTION.test(errorText) ||
        /^(?:aborted|in doubt)$/.test(step.state))))

const isAnswered = ({ step }: StepFacts): boolean => step.kind === 'model' && step.state === 'done'

const answerOf = ({ answerText, toolCalls }: StepFacts): string =>
  `${answerText} ${toolCalls.map(({ name, args }) => name + stableStringify(asJson(args))).join()}`

/** Repeated answers at the end of a run. */
const findCycle = (models: readonly StepFacts[]): Symptom[] => {
  const answers = models.map(answerOf)
  for (const period of [1, 2, 3]) {
    const last = answers.slice(-period)
    let count = 0
    while (
      answers.length >= (count + 1) * period &&
      last.every((answer, at) => answer === answers[answers.length - (count + 1) * period + at])
    )
      count++
    if (count < REPEATED || last.every((answer) => answer.trim() === '')) continue
    const { step } = models[models.length - count * period]!
    const what = period === 1 ? 'answer' : `${period} answers`
    const evidence = `From step ${step.label} on the model repeated the same ${what} ${count} times.`
    return [symptomAt(step, 'no-progress', 'likely', evidence)]
  }
  return []
}

// ── Pages ───────────────────────────────────────────────────────────────────

/** Names of fields that say that a list has another page. */
export const NEXT_PAGE =
  /^(?:next|(?:has_?)?more|has_?next(?:_?page)?|continuation(?:_?token)?|(?:next|end)_?(?:page|cursor|token|offset|start|page_?token|id|key))$/i

/** Lists whose next page was never requested. */
const pageSymptoms = (steps: readonly StepFacts[]): Symptom[] =>
  steps.flatMap((facts, at): Symptom[] => {
    const { step } = facts
    if (step.kind === 'model' || step.state !== 'done') return []
    const answer = recordOf(
      typeof facts.result === 'string' ? parseJson(facts.result) : facts.result,
    )
    const [marker, value] =
      Object.entries(answer).find(([name, member]) => NEXT_PAGE.test(name) && Boolean(member)) ?? []
    const [list, items] = Object.entries(answer).find(([, member]) => Array.isArray(member)) ?? []
    if (marker === undefined || list === undefined) return []
    const later = steps
      .slice(at + 1)
      .filter((other) => other.step.kind === step.kind && sourceOf(other) === sourceOf(facts))
    const isFollowed =
      typeof value === 'boolean'
        ? later.length > 0
        : later.some((other) => requestText(other).includes(String(value)))
    if (isFollowed) return []
    const evidence = `The answer of ${callName(facts)} has another page (${marker}), which was not read.`
    const values = { tool: step.toolName, marker, list, value, count: (items as unknown[]).length }
    return [symptomAt(step, 'missing-pages', 'likely', evidence, values)]
  })

const requestText = ({ step }: StepFacts): string => {
  const request = step.kind === 'http' ? step.exchange()?.request : undefined
  return request === undefined
    ? (JSON.stringify(asJson(step.call()?.args)) ?? '')
    : `${request.url} ${request.text ?? ''}`
}

// ── Budget ──────────────────────────────────────────────────────────────────

const budgetSymptoms = (run: RunView, { budget }: SymptomContext): Symptom[] => {
  if (budget === undefined) return []
  const { totals } = run
  const tokens =
    totals.usage.input + totals.usage.cachedInput + totals.usage.cacheWrite + totals.usage.output
  const over = [
    ['usd', totals.knownCostUsd, budget.usd, '$'],
    ['tokens', tokens, budget.tokens, 'tokens'],
    ['steps', run.recordedSteps.length, budget.steps, 'steps'],
  ] as const
  return over.flatMap(([name, spent, limit, unit]): Symptom[] => {
    if (limit === undefined || spent <= limit) return []
    const evidence = `The run used ${spent} ${unit}; its limit is ${limit}.`
    return [symptomAt(undefined, 'over-budget', 'certain', evidence, { unit: name, limit })]
  })
}

/** The endpoint or tool that returned a result. */
const sourceOf = ({ step }: StepFacts): string =>
  step.toolName ?? step.title.replace(/\?.*$/, '').replace(/ \d+$/, '').replaceAll(/\d+/g, '0')

/** Fields that earlier results of a tool or endpoint always had, and that are now missing. */
const driftSymptoms = (steps: readonly StepFacts[], before: readonly StepFacts[]): Symptom[] => {
  const known = new Map<string, Set<string>[]>()
  for (const facts of before) {
    if (facts.step.kind === 'model' || facts.step.state !== 'done') continue
    const paths = new Set(fieldPaths(facts.result))
    if (paths.size > 0) known.set(sourceOf(facts), [...(known.get(sourceOf(facts)) ?? []), paths])
  }
  return steps.flatMap((facts): Symptom[] => {
    const shapes = known.get(sourceOf(facts))
    if (shapes === undefined || facts.step.kind === 'model' || facts.step.state !== 'done')
      return []
    const now = new Set(fieldPaths(facts.result))
    if (now.size === 0) return []
    const always = [...shapes[0]!].filter((path) => shapes.every((shape) => shape.has(path)))
    const missing = always.filter((path) => !now.has(path))
    const ever = new Set(shapes.flatMap((shape) => [...shape]))
    const added = [...now].filter((path) => !ever.has(path))
    if (missing.length === 0) return []
    const renamed = Object.fromEntries(
      missing.flatMap((path) => {
        const same = added.filter((other) => parentOf(other) === parentOf(path))
        const alias =
          same.find((other) => isNearName(leafOf(other), leafOf(path))) ??
          (missing.length === 1 && same.length === 1 ? same[0] : undefined)
        return alias === undefined ? [] : [[leafOf(path), leafOf(alias)]]
      }),
    )
    const news = added.length > 0 ? `; new: ${added.slice(0, 3).join(', ')}` : ''
    const source = facts.step.toolName ?? facts.step.title
    const evidence = `${source} no longer has ${missing.slice(0, 3).join(', ')}${news}.`
    return [symptomAt(facts.step, 'response-drift', 'likely', evidence, { renamed })]
  })
}

const MAX_DEPTH = 6

/** Paths of all fields in a value. List items share one path. */
export const fieldPaths = (value: unknown, path = '', depth = 0): string[] => {
  if (depth > MAX_DEPTH) return []
  if (typeof value === 'string' && /^\s*[[{]/.test(value) && isJson(value))
    return fieldPaths(JSON.parse(value), path, depth)
  if (Array.isArray(value))
    return [
      ...new Set(value.slice(0, 50).flatMap((item) => fieldPaths(item, `${path}[]`, depth + 1))),
    ]
  if (!isRecord(value)) return []
  return Object.entries(value).flatMap(([key, member]) => {
    const at = path === '' ? key : `${path}.${key}`
    return [at, ...fieldPaths(member, at, depth + 1)]
  })
}

export const leafOf = (path: string): string => path.slice(path.lastIndexOf('.') + 1)
const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('.')))

/** True for `order_id` and `orderId`, a few different letters, or one inside the other. */
export const isNearName = (left: string, right: string): boolean => {
  const [a, b] = [left, right].map((name) => name.toLowerCase().replaceAll(/[_\-. ]/g, '')) as [
    string,
    string,
  ]
  if (a === b) return true
  if (Math.min(a.length, b.length) >= 4 && (a.includes(b) || b.includes(a))) return true
  return (
    Math.min(a.length, b.length) >= 4 &&
    editDistance(a, b) <= Math.floor(Math.max(a.length, b.length) / 4)
  )
}

const editDistance = (left: string, right: string): number => {
  let row = Array.from({ length: right.length + 1 }, (_, at) => at)
  for (let i = 1; i <= left.length; i++) {
    const next = [i]
    for (let j = 1; j <= right.length; j++)
      next.push(
        Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + Number(left[i - 1] !== right[j - 1])),
      )
    row = next
  }
  return row[right.length]!
}

/** A request that an earlier run answered differently. */
const differenceSymptoms = (
  steps: readonly StepFacts[],
  before: readonly StepFacts[],
): Symptom[] => {
  const answers = new Map(
    before.filter(isAnswered).map((each) => [each.requestKey, answerOf(each)]),
  )
  for (const facts of steps.filter(isAnswered)) {
    const answer = answerOf(facts)
    if ((answers.get(facts.requestKey) ?? answer) !== answer) {
      const evidence = 'The model answered exactly the same request differently.'
      return [symptomAt(facts.step, 'nondeterminism', 'likely', evidence)]
    }
    answers.set(facts.requestKey, answer)
  }
  return []
}

// ── Untrusted text ──────────────────────────────────────────────────────────

/** Words for instructions that a text asks a model to ignore, in several languages. */
const INSTRUCTIONS =
  '(?:instructions?|prompts?|rules|guidelines|directives|anweisung(?:en)?|auftrag|vorgaben|regeln|consignes|règles|instrucciones|reglas|istruzioni|regole)'
/** An imperative: others may have ignored instructions of the author. */
const IGNORE =
  '(?:ignore|disregard|forget|override|bypass|do not follow|stop following|vergiss|ignorier|missachte|ignorez|oubliez|oublie|ignora|olvida|dimentica)'

/** The most blatant phrases, which no honest document contains. */
const ORDER = new RegExp(
  String.raw`\b${IGNORE}\b(?:(?!\b(?:my|our|his|her|their|mes|nos)\b)[^.!?\n]){0,40}?\b${INSTRUCTIONS}(?!\p{L})|\b${INSTRUCTIONS} (?:zu )?(?:ignorieren|vergessen|missachten)(?!\p{L})`,
  'iu',
)

/** Phrases that address a model rather than state facts. */
export const INJECTION = new RegExp(
  [
    ORDER.source,
    String.raw`\b${IGNORE} (?:all |any |the )*(?:previous|prior|above|earlier)`,
    String.raw`\b(?:important|urgent|attention|note)[^.!?\n]{0,40}\b(?:assistant|agent|ai|model|llm)\b`,
    String.raw`\b(?:you|the assistant|the agent|the ai|the model) must (?:now |immediately |always |only )*(?:call|send|transfer|forward|use|delete|run|pay|reply|email|answer|say|rate|give|approve)`,
    String.raw`\bnew (?:instructions?|task)\s*:`,
    String.raw`\bsystem ?(?:message|prompt|note|override)`,
    String.raw`\b(?:assistants?|agents?|ai|llm|chatbots?)\s*[:,]\s*(?:please |kindly |now |you must )*(?:call|send|forward|transfer|use|delete|run|pay|email|mail|ignore|say|rate|give|answer|reply|approve|recommend|mark|set|write)`,
    String.raw`\b(?:as an?|dear|hey|attention|to (?:the|any|all)|if you are an?) (?:ai|llm|language model|chatbot)s?\b`,
    String.raw`\bals (?:ki|sprachmodell)\b|\ben tant qu['’]ia\b|\bcomo ia\b`,
    String.raw`<\/?(?:system|instructions?)>|\[(?:system|inst)\]`,
  ].join('|'),
  'iu',
)

/**
 * The first sentence with a phrase. A single pattern for whole sentences would take quadratic time:
 * a long text without a period would stall the process.
 */
function sentenceWith(phrase: RegExp, text: string): string | undefined {
  const searched = text.slice(0, 200_000)
  const found = phrase.exec(searched)
  if (found === null) return undefined
  const end = found.index + found[0].length
  const ends = ['.', '!', '?', '\n'].map((mark) => searched.lastIndexOf(mark, found.index - 1))
  const start = found.index === 0 ? 0 : Math.max(...ends) + 1
  return searched.slice(start, end) + (/^[^.!?\n]*[.!?]?/.exec(searched.slice(end))?.[0] ?? '')
}

const untrustedSymptoms = (steps: readonly StepFacts[]): Symptom[] => {
  const obeyed = steps.flatMap(({ step, result }, at) => {
    if (step.kind === 'model' || step.state !== 'done') return []
    const text = typeof result === 'string' ? result : (JSON.stringify(result) ?? '')
    const sentence = sentenceWith(INJECTION, text)
    if (sentence === undefined) return []
    const next = steps.slice(at + 1).find((each) => each.step.kind === 'model')
    const copied = (args: unknown): string | undefined =>
      Object.entries(recordOf(args)).find(
        ([, value]) =>
          typeof value === 'string' &&
          value.length >= 6 &&
          sentence.toLowerCase().includes(value.toLowerCase()),
      )?.[0]
    const led = next?.toolCalls.find(
      ({ name, args }) => sentence.includes(name) || copied(args) !== undefined,
    )
    if (led === undefined) return []
    const evidence = `Text in the result of step ${step.label} led to a call of ${led.name}: ${clip(sentence, 80)}`
    const facts = { tool: led.name, sentence, ...defined({ argument: copied(led.args) }) }
    return [symptomAt(step, 'untrusted-text', 'likely', evidence, facts)]
  })
  // Instructions inside of text that a user message or a tool result quotes.
  const { step, order } = steps.find((each) => each.order !== undefined) ?? {}
  if (order === undefined) return obeyed
  const evidence = `A message gives orders to the model: ${clip(order, 80)}`
  return [...obeyed, symptomAt(step, 'untrusted-text', 'hint', evidence, { sentence: order })]
}

/** Origins of texts that others wrote. */
const OTHERS = /^(?:tool|answer|file|mcp|process|database|connection)$/
/** Shorter arguments occur everywhere. */
const TRACED_LENGTH_MIN = 6

/**
 * Calls of tools that the user did not ask for, with an argument from a text of others that names
 * what the call does: text of a tool, a server or a file.
 */
const foreignSymptoms = (steps: readonly StepFacts[], { trace }: SymptomContext): Symptom[] => {
  if (trace === undefined) return []
  const models = new Set(
    steps.filter(({ step }) => step.kind === 'model').map(({ step }) => step.label),
  )
  return steps.flatMap(({ step, toolCalls, userText }) =>
    toolCalls.flatMap(({ name, args }): Symptom[] => {
      const [verb = ''] = WRITING.exec(name.replaceAll(/([a-z])([A-Z])/g, '$1_$2')) ?? []
      const action = verb.replace(/^[_\-.]/, '').toLowerCase()
      // Text that the user's message quotes is not the user's.
      const own = steps.reduce(
        (text, { result }) => (typeof result === 'string' ? text.replaceAll(result, ' ') : text),
        userText.toLowerCase(),
      )
      if (action === '' || own.includes(action)) return []
      for (const [argument, value] of Object.entries(recordOf(args))) {
        if (typeof value !== 'string' || value.length < TRACED_LENGTH_MIN) continue
        if (own.includes(value.toLowerCase())) continue
        // Results of functions that were not wrapped are found in the request with them.
        const origin = trace(value).find(
          ({ direction, seq, step: label, source, excerpt, via }) =>
            seq < step.answerSeqs[0]! &&
            (via !== undefined ||
              (direction === 'in' && OTHERS.test(source) && !models.has(label ?? ''))) &&
            `${excerpt.before} ${excerpt.after}`.toLowerCase().includes(action),
        )
        if (origin === undefined) continue
        const { before, match, after } = origin.excerpt
        const sentence = `${before}${match}${after}`
        const { step: label = origin.step, tool: from = origin.name } = origin.via ?? {}
        const source = steps.find((each) => each.step.label === label)?.step ?? step
        const evidence = `The user did not ask for ${name}; text of ${from} did: ${clip(sentence, 80)}`
        const facts = { tool: name, sentence, action, argument }
        return [symptomAt(source, 'untrusted-text', 'likely', evidence, facts)]
      }
      return []
    }),
  )
}

/** Conversations whose first message a later request leaves out. */
const droppedSymptoms = (steps: readonly StepFacts[]): Symptom[] => {
  const models = steps.filter(({ step }) => step.kind === 'model')
  for (const [at, later] of models.entries()) {
    const before = models
      .slice(0, at)
      .find(
        ({ messageKeys: [first, ...rest] }) =>
          first !== undefined &&
          !later.messageKeys.includes(first) &&
          rest.some((key) => later.messageKeys.includes(key)),
      )
    if (before === undefined) continue
    const evidence = `The request leaves out the first message of step ${before.step.label}, whose conversation it continues.`
    return [symptomAt(later.step, 'missing-context', 'hint', evidence)]
  }
  return []
}

// ── Rules of the user ───────────────────────────────────────────────────────

const ruleSymptoms = (steps: readonly StepFacts[], rules: readonly ResultRule[]): Symptom[] =>
  steps.flatMap(({ step, result }) =>
    rules
      .filter(({ tool }) => tool === step.toolName && step.state === 'done')
      .flatMap(({ tool, check }): Symptom[] => {
        const problem = check(result)
        if (problem === undefined) return []
        const evidence = `The result of ${tool} breaks a rule: ${clip(problem)}`
        return [symptomAt(step, 'wrong-result', 'certain', evidence)]
      }),
  )
