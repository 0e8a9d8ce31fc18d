import {
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
import { asJson } from '../json-value.js'
import { argumentProblems } from './argument-problems.js'
import { stackSites } from './source-text.js'

/** Kinds of trouble that can be read from a tape. */
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
  | 'exception'
  | 'wrong-result'

/**
 * Something unusual on a tape. It orders candidates and never counts as a failure: on
 * passing runs symptoms are common too.
 */
export interface Symptom {
  readonly class: SymptomClass
  /** Label of the step, as people see it. */
  readonly step?: string
  /** Location in the agent's code, as `file:line:column`. */
  readonly site?: string
  /** One line in plain English. */
  readonly evidence: string
  readonly confidence: 'certain' | 'likely' | 'hint'
  /** Values that operators need, by name. */
  readonly facts: Readonly<Record<string, unknown>>
}

/** The error that ended a run. */
export interface FailureError {
  readonly class: string
  readonly message: string
  readonly stack?: string
}

/** A user's rule about results of a tool: says what is wrong, or nothing. */
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
}

/** Reads the symptoms of a run, most certain first. */
export function detectSymptoms(run: RunView, context: SymptomContext = {}): Symptom[] {
  const steps = run.steps.map(readStep)
  const error = context.error ?? failureOf(run)
  const found = [
    ...exceptionSymptoms(error),
    ...transportSymptoms(steps),
    ...answerSymptoms(steps, error),
    ...toolCallSymptoms(steps),
    ...repetitionSymptoms(steps),
    ...budgetSymptoms(run, context),
    ...comparisonSymptoms(steps, context.earlier ?? []),
    ...untrustedSymptoms(steps),
    ...orderSymptoms(steps),
    ...droppedSymptoms(steps),
    ...ruleSymptoms(steps, context.rules ?? []),
  ]
  return found.toSorted(
    (left, right) => CONFIDENCES.indexOf(left.confidence) - CONFIDENCES.indexOf(right.confidence),
  )
}

const CONFIDENCES: readonly Symptom['confidence'][] = ['certain', 'likely', 'hint']

/** Facts of a step that several detectors need, without the conversation, which grows with every step. */
export interface StepFacts {
  readonly step: Step
  /** Same for requests and calls with the same content. */
  readonly requestKey: number
  readonly status: number | undefined
  readonly retryAfterMs: number | undefined
  /** Error in the words of the step, the provider and its code. */
  readonly errorText: string
  readonly settings: Settings
  readonly tools: readonly ToolSchema[]
  readonly wantsJson: boolean
  readonly answerText: string
  readonly toolCalls: readonly ToolCallPart[]
  /** Values of identifiers in tool calls that the request does not contain. */
  readonly unseen: readonly {
    readonly tool: string
    readonly path: string
    readonly value: string
  }[]
  /** Words in a request that a program wrote by mistake, such as `[object Object]`. */
  readonly slip: string | undefined
  /** The answer as it was sent; its beginning if it is long. */
  readonly responseText: string
  /** Length of the request. */
  readonly characters: number
  /** Hashes of the messages sent, without instructions. */
  readonly messageKeys: readonly number[]
  /** A sentence in a message that gives orders to the model. */
  readonly order: string | undefined
  /** Result of a tool, or the parsed body of any answer that is not a model's. */
  readonly result: unknown
}

type Settings = Readonly<Record<string, string | number | boolean>>

export interface ToolSchema {
  readonly name: string
  readonly schema: JsonRecord
}

/** Facts of a step. Values that cannot be read are treated as absent. */
export function readStep(step: Step): StepFacts {
  try {
    const exchange = step.kind === 'model' || step.kind === 'http' ? step.exchange() : undefined
    return exchange === undefined ? callFacts(step) : exchangeFacts(step, exchange)
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
  unseen: [],
  slip: undefined,
  responseText: '',
  characters: 0,
  messageKeys: [],
  order: undefined,
  result: undefined,
}

const callFacts = (step: Step): StepFacts => {
  const call = step.call()
  const text = call?.output.map(({ bytes }) => utf8(bytes) ?? '').join('')
  return {
    ...NO_FACTS,
    step,
    requestKey: hashText(`${step.title} ${stableStringify(asJson(call?.args))}`),
    errorText: `${step.error ?? ''} ${step.failure?.code ?? ''}`,
    result: asJson(call?.result) ?? (text === '' ? undefined : text),
  }
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
    unseen: toolCalls.flatMap((call) => unseenValues(call, requestText)),
    slip: isModel ? SLIP.exec(requestText)?.[0] : undefined,
    responseText: response?.text?.slice(0, 4000) ?? '',
    characters: requestText.length,
    messageKeys: exchange.messages
      .filter(({ role }) => role !== 'system' && role !== 'developer')
      .map((message) => hashText(JSON.stringify(message))),
    order: exchange.messages
      .filter(({ role }) => role === 'user' || role === 'tool')
      .map((message) => sentenceWith(ORDER, quotedText(message)))
      .find((found) => found !== undefined),
    result: isModel ? undefined : (response?.json ?? response?.text),
  }
}

/** Text of a message; results of tools are parts of their own. */
const quotedText = (message: Exchange['messages'][number]): string =>
  message.role === 'tool' ? JSON.stringify(message) : messageText(message)

/** How JavaScript writes values that should not be part of a text. */
const SLIP = /\[object (?:Object|Promise|Map|Set)\]|\bundefined\b|\bNaN\b|\[native code\]/

/** Small settings of a request; conversations and tools are left out. */
const settingsOf = (json: JsonRecord): Settings =>
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

/** Tools that a request offers, in the shapes of all providers. */
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

/** The error that ended a run: recorded, or as Node printed it. */
export function failureOf(run: RunView): FailureError | undefined {
  const recorded = run.exit?.error
  if (recorded !== undefined) return recorded
  if (run.exit?.code === 0 || run.exit === undefined) return undefined
  const printed = run.outputs
    .filter(({ stream }) => stream === 'stderr')
    .map((output) => utf8(run.outputBytes(output)) ?? '')
    .join('')
  return printedError(printed.slice(-PRINTED_MAX))
}

const PRINTED_MAX = 100_000

/** The last error with a stack in what a program printed. */
const printedError = (text: string): FailureError | undefined => {
  const pattern =
    /^(?:Uncaught )?([A-Z][\w$]*)(?: \[[^\]\n]+\])?(?:: ([^\n]*(?:\n(?! {4}at )[^\n]*){0,5}?))?\n((?: {4}at [^\n]*\n?)+)/gm
  const last = [...text.matchAll(pattern)].at(-1)
  if (last === undefined) return undefined
  const [stack, name = 'Error', message = ''] = last
  return { class: name, message, stack }
}

const exceptionSymptoms = (error: FailureError | undefined): Symptom[] => {
  if (error === undefined) return []
  const [site] = stackSites(error.stack)
  return [
    {
      class: 'exception',
      ...(site !== undefined && { site }),
      evidence: `The agent threw ${error.class}: ${clip(error.message)}`,
      confidence: 'certain',
      facts: {
        error: error.class,
        message: error.message,
        sites: stackSites(error.stack),
        ...missingProperty(error.message),
      },
    },
  ]
}

/** Names in the messages of V8's type errors. */
const missingProperty = (message: string): Record<string, unknown> => {
  const read = /Cannot (?:read|set) propert(?:y|ies) of (undefined|null) \(\w+ '([^']+)'\)/.exec(
    message,
  )
  if (read !== null) return { of: read[1], property: read[2] }
  const called = /^([\w$.[\]()'" ]+) is not (a function|iterable|defined)/.exec(message)
  return called === null ? {} : { expression: called[1]!.trim(), isNot: called[2] }
}

const clip = (text: string, length = 160): string => {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.length <= length ? line : `${line.slice(0, length - 1)}…`
}

// ── Transport ───────────────────────────────────────────────────────────────

const OVERFLOW =
  /context[_ ](?:length|window)|maximum context|prompt is too long|too many (?:input )?tokens|request_too_large|input is too long|exceeds? the (?:maximum|model'?s?) (?:number of tokens|context)/i
const NO_MODEL =
  /(?:model|deployment)\b.{0,80}(?:does not exist|not found|not exist|deprecat|decommission|retired|not supported|unknown|no longer)|unknown model|invalid model/i
/** By its code or its message; the whole body would join sentences that do not belong together. */
const isNoModel = ({ step, status, errorText, settings }: StepFacts): boolean =>
  errorText.includes('model_not_found') ||
  NO_MODEL.test(step.error ?? '') ||
  (status === 404 &&
    typeof settings['model'] === 'string' &&
    (step.error ?? '').includes(settings['model']))
const TIMED_OUT = /time[d-]?[ -]?out|ETIMEDOUT|TimeoutError|deadline exceeded|UND_ERR_\w*TIMEOUT/i
const CONNECTION =
  /ECONNRE\w+|EPIPE|socket hang up|terminated|UND_ERR_SOCKET|fetch failed|other side closed/i

/** Failed requests that were not repaired by sending them again. */
const transportSymptoms = (steps: readonly StepFacts[]): Symptom[] => {
  const finished = new Set(
    steps.filter(({ step }) => step.state === 'done').map(({ requestKey }) => requestKey),
  )
  const last = new Map(steps.map((facts) => [facts.requestKey, facts]))
  const attemptsOf = (key: number): number =>
    steps.filter(({ requestKey }) => requestKey === key).length
  return [...last.values()]
    .filter(({ step, requestKey }) => isTrouble(step) && !finished.has(requestKey))
    .flatMap((facts) => {
      const found = transportSymptom(facts)
      const attempts = attemptsOf(facts.requestKey)
      return found === undefined
        ? []
        : [{ ...found, ...located(facts.step), facts: { ...found.facts, attempts } }]
    })
}

const isTrouble = ({ kind, state }: Step): boolean =>
  (kind === 'model' || kind === 'http' || kind === 'tool' || kind === 'mcp') &&
  (state === 'failed' || state === 'aborted' || state === 'in doubt')

const located = ({ label, site }: Step): Pick<Symptom, 'step' | 'site'> => ({
  step: label,
  ...(site !== undefined && { site }),
})

const transportSymptom = (facts: StepFacts): Symptom | undefined => {
  const { step, status, errorText, settings } = facts
  const what =
    step.kind === 'model' ? 'The model' : step.kind === 'tool' ? 'The tool' : 'The server'
  const isRequest = step.kind === 'model' || step.kind === 'http'
  if (isRequest && (status === 429 || (status === undefined && /rate.?limit/i.test(errorText)))) {
    const { retryAfterMs } = facts
    const after = retryAfterMs === undefined ? '' : `, and asked to wait ${retryAfterMs / 1000} s`
    return {
      class: 'rate-limit',
      evidence: `${what} refused with ${status ?? 'a rate limit'}${after}.`,
      confidence: 'certain',
      facts: { status, retryAfterMs, isModel: step.kind === 'model' },
    }
  }
  if (isRequest && (status === 401 || status === 403)) {
    return {
      class: 'authentication',
      evidence: `${what} refused the credentials with ${status}.`,
      confidence: 'certain',
      facts: { status },
    }
  }
  if (step.kind === 'model' && OVERFLOW.test(errorText)) {
    const numbers = [...errorText.matchAll(/\b(\d[\d,]{2,})\b/g)].map(([, number]) =>
      Number(number!.replaceAll(',', '')),
    )
    const sizes = numbers.filter((number) => number >= 256 && number !== status)
    return {
      class: 'context-overflow',
      evidence: `The request was longer than the model accepts: ${clip(step.error ?? '')}`,
      confidence: 'certain',
      facts: {
        characters: facts.characters,
        window: sizes.length > 0 ? Math.min(...sizes) : undefined,
        tokens: sizes.length > 1 ? Math.max(...sizes) : undefined,
      },
    }
  }
  if (step.kind === 'model' && (status === 404 || status === 400) && isNoModel(facts)) {
    return {
      class: 'server-error',
      evidence: `The provider has no model ${String(settings['model'] ?? step.model ?? '')}: ${clip(step.error ?? '')}`,
      confidence: 'certain',
      facts: { status, missingModel: settings['model'] ?? step.model, provider: step.provider },
    }
  }
  if (status === 408 || status === 504 || TIMED_OUT.test(errorText))
    return timeoutSymptom(facts, 'certain')
  if (isRequest && step.state === 'aborted' && status === undefined)
    return timeoutSymptom(facts, 'likely')
  if (isRequest && ((status ?? 0) >= 500 || CONNECTION.test(errorText))) {
    return {
      class: 'server-error',
      evidence: `${what} failed with ${status ?? clip(step.error ?? 'a broken connection', 60)}.`,
      confidence: 'certain',
      facts: {
        status,
        retryAfterMs: facts.retryAfterMs,
        isTransient: true,
        isModel: step.kind === 'model',
      },
    }
  }
  if (isRequest && (status ?? 0) >= 400) {
    return {
      class: 'server-error',
      evidence: `${what} rejected the request with ${status}: ${clip(step.error ?? '')}`,
      confidence: 'certain',
      facts: {
        status,
        isRejected: true,
        message: clip(errorText, 1000),
        isModel: step.kind === 'model',
      },
    }
  }
  return undefined
}

const timeoutSymptom = ({ step }: StepFacts, confidence: Symptom['confidence']): Symptom => ({
  class: 'timeout',
  evidence: `No answer in time${step.latencyMs === undefined ? '' : ` (${Math.round(step.latencyMs)} ms)`}: ${clip(step.error ?? 'the agent gave up')}`,
  confidence,
  facts: { latencyMs: step.latencyMs, isTool: step.kind === 'tool' },
})

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
    const { step, settings, answerText, toolCalls } = facts
    const found: Symptom[] = slipSymptoms(facts)
    const isCutOff = CUT_OFF.test(step.finishReason ?? '')
    if (isCutOff) {
      const limit = LIMIT_NAMES.map((name) => settings[name]).find(
        (value) => typeof value === 'number',
      )
      found.push({
        class: 'cut-off-answer',
        ...located(step),
        evidence: `The answer ended at its limit of tokens${limit === undefined ? '' : ` (${String(limit)})`}, not where the model meant to.`,
        confidence: 'certain',
        facts: { maxTokens: limit, output: step.usage?.output },
      })
    }
    const broken = toolCalls.find(({ args }) => typeof args === 'string' && args.trim() !== '')
    if (broken !== undefined) {
      found.push({
        class: 'malformed-json',
        ...located(step),
        evidence: `The arguments of ${broken.name} are not valid JSON: ${clip(String(broken.args), 80)}`,
        confidence: 'certain',
        facts: {
          tool: broken.name,
          text: broken.args,
          kind: jsonTrouble(String(broken.args)) ?? 'broken',
          isCutOff,
        },
      })
    }
    const kind = toolCalls.length === 0 ? jsonTrouble(answerText) : undefined
    const isLast = facts === models.at(-1)
    if (kind !== undefined && (facts.wantsJson || (isJsonError && isLast))) {
      found.push({
        class: 'malformed-json',
        ...located(step),
        evidence: `The model was to answer in JSON and wrote ${TROUBLE[kind]}: ${clip(answerText, 80)}`,
        confidence: isJsonError ? 'certain' : facts.wantsJson ? 'likely' : 'hint',
        facts: { text: answerText, kind, isCutOff },
      })
    }
    return found
  })
}

/** Values that a program wrote into a request by mistake, and settings that invite mistakes. */
const slipSymptoms = ({ step, slip, settings }: StepFacts): Symptom[] => {
  const found: Symptom[] = []
  const { temperature } = settings
  if (typeof temperature === 'number' && temperature > 1) {
    found.push({
      class: 'nondeterminism',
      ...located(step),
      evidence: `The model ran at temperature ${temperature}.`,
      confidence: 'hint',
      facts: { temperature },
    })
  }
  if (slip === undefined) return found
  const kind = /Promise/.test(slip) ? 'promise' : 'object'
  const isObject = slip.startsWith('[object')
  return [
    ...found,
    {
      class: isObject ? 'malformed-json' : 'missing-context',
      ...located(step),
      evidence: `The model was sent “${slip}” instead of a value.`,
      confidence: isObject ? 'certain' : 'hint',
      facts: { slip, ...(isObject && { kind }) },
    },
  ]
}

const LIMIT_NAMES = [
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
  'maxOutputTokens',
  'maxTokens',
  'num_predict',
]

/** Why a text is not JSON, though it contains some. `prose`: it has nothing that could be JSON. */
export type JsonTrouble = 'fence' | 'around' | 'literals' | 'broken' | 'prose'

const TROUBLE: Readonly<Record<JsonTrouble, string>> = {
  fence: 'it inside a code fence',
  around: 'words around it',
  literals: 'trailing commas or words that JSON does not have',
  broken: 'something that cannot be repaired',
  prose: 'prose',
}

/** Undefined for valid JSON. */
export const jsonTrouble = (text: string): JsonTrouble | undefined => {
  if (isJson(text)) return undefined
  const inner = jsonPart(text)
  if (inner === undefined) return /[[{]/.test(text) ? 'broken' : 'prose'
  if (!isJson(inner)) return isJson(withoutSlips(inner)) ? 'literals' : 'broken'
  return /```/.test(text) ? 'fence' : 'around'
}

const isJson = (text: string): boolean => parseJson(text) !== undefined

const jsonPart = (text: string): string | undefined => {
  const start = text.search(/[[{]/)
  const end = Math.max(text.lastIndexOf('}'), text.lastIndexOf(']'))
  return start < 0 || end < start ? undefined : text.slice(start, end + 1)
}

/** The same replacement as in the function that `repair-json` writes. */
export const withoutSlips = (text: string): string =>
  text.replaceAll(
    /("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])|\b(True|False|None)\b/g,
    (_, string?: string, word?: string) =>
      string ?? (word === undefined ? '' : word === 'None' ? 'null' : word.toLowerCase()),
  )

// ── Tool calls ──────────────────────────────────────────────────────────────

const toolCallSymptoms = (steps: readonly StepFacts[]): Symptom[] =>
  steps.flatMap((facts) => {
    const { step, tools, toolCalls, unseen } = facts
    if (tools.length === 0) return []
    const found = toolCalls.flatMap(({ name, args }): Symptom[] => {
      const tool = tools.find((each) => each.name === name)
      if (tool === undefined) {
        return [
          {
            class: 'unknown-tool',
            ...located(step),
            evidence: `The model called ${name}, which the request does not offer.`,
            confidence: 'certain',
            facts: { tool: name, args, tools: tools.map((each) => each.name) },
          },
        ]
      }
      const problems = isRecord(args) ? argumentProblems(args, tool.schema) : []
      if (problems.length === 0) return []
      return [
        {
          class: 'tool-arguments',
          ...located(step),
          evidence: `Arguments of ${name} do not match its schema: ${problems
            .map(({ text }) => text)
            .slice(0, 3)
            .join('; ')}.`,
          confidence: 'certain',
          facts: { tool: name, args, problems, schema: tool.schema, tools },
        },
      ]
    })
    const missing = unseen.slice(0, 3).map(({ tool, path, value }): Symptom => ({
      class: 'missing-context',
      ...located(step),
      evidence: `${tool} was called with ${path} = ${clip(value, 40)}, which the model had not seen.`,
      confidence: 'hint',
      facts: { tool, path, value },
    }))
    return [...found, ...missing]
  })

/** Identifiers, addresses and numbers in arguments that are not in the request. Words may be the model's own. */
const unseenValues = (
  { name, args }: ToolCallPart,
  requestText: string,
): { tool: string; path: string; value: string }[] => {
  if (!isRecord(args)) return []
  const text = requestText.toLowerCase()
  return Object.entries(args).flatMap(([path, given]) => {
    const value = typeof given === 'number' ? String(given) : given
    if (typeof value !== 'string' || !isIdentifier(value)) return []
    return text.includes(value.toLowerCase()) ? [] : [{ tool: name, path, value }]
  })
}

const isIdentifier = (value: string): boolean =>
  value.length >= 4 &&
  value.length <= 80 &&
  !/\s/.test(value) &&
  (/\d{3,}/.test(value) || /@/.test(value) || /\w+[-_]\w*\d/.test(value)) &&
  !/^\d{4}-\d\d-\d\d/.test(value)

// ── Repetition ──────────────────────────────────────────────────────────────

const WRITING =
  /(?:^|[_\-.]|\b)(?:create|send|add|book|pay|charge|refund|transfer|delete|remove|cancel|insert|update|write|post|put|submit|order|email|notify|issue|place|reserve|withdraw|deposit)/i

/** True for a name that says that a tool changes something outside. */
export const isWritingTool = (name: string): boolean =>
  WRITING.test(name.replaceAll(/([a-z])([A-Z])/g, '$1_$2'))

const REPEATED = 3

const repetitionSymptoms = (steps: readonly StepFacts[]): Symptom[] => {
  const found: Symptom[] = []
  const groups = new Map<string, StepFacts[]>()
  for (const facts of steps) {
    if (facts.step.kind !== 'tool') continue
    const name = facts.step.toolName ?? facts.step.title
    const key = `${name} ${facts.requestKey}`
    groups.set(key, [...(groups.get(key) ?? []), facts])
  }
  for (const group of groups.values()) {
    const name = group[0]!.step.toolName ?? group[0]!.step.title
    const writes = isWritingTool(name)
    const done = group.filter(({ step }) => step.state === 'done')
    const isWriteTwice = writes && done.length >= 2
    const results = new Set(
      group.map(({ result, errorText }) => `${stableStringify(asJson(result))} ${errorText}`),
    )
    if (!isWriteTwice && (group.length < REPEATED || results.size > 1)) continue
    const last = group.at(-1)!
    found.push({
      class: 'repeated-call',
      ...located(last.step),
      evidence: `${name} was called ${group.length} times with the same arguments.`,
      confidence: writes ? 'certain' : 'likely',
      facts: {
        tool: name,
        count: group.length,
        writes,
        steps: group.map(({ step }) => step.label),
      },
    })
  }
  const cycle = findCycle(
    steps.filter(({ step }) => step.kind === 'model' && step.state === 'done'),
  )
  if (cycle !== undefined) found.push(cycle)
  return found
}

/** The same answers again and again at the end of a run. */
const findCycle = (models: readonly StepFacts[]): Symptom | undefined => {
  const answers = models.map(
    ({ answerText, toolCalls }) =>
      `${answerText} ${toolCalls.map(({ name, args }) => `${name}${stableStringify(asJson(args))}`).join()}`,
  )
  for (const period of [1, 2, 3]) {
    const last = answers.slice(-period)
    let count = 0
    while (
      answers.length >= (count + 1) * period &&
      last.every((answer, at) => answer === answers[answers.length - (count + 1) * period + at])
    )
      count++
    if (count < REPEATED || last.every((answer) => answer.trim() === '')) continue
    const from = models[models.length - count * period]!
    return {
      class: 'no-progress',
      ...located(from.step),
      evidence: `From step ${from.step.label} on the model repeated the same ${period === 1 ? 'answer' : `${period} answers`} ${count} times.`,
      confidence: 'likely',
      facts: { period, count, models: models.length },
    }
  }
  return undefined
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
  return over.flatMap(([name, spent, limit, unit]): Symptom[] =>
    limit === undefined || spent <= limit
      ? []
      : [
          {
            class: 'over-budget',
            evidence: `The run used ${spent} ${unit}; its limit is ${limit}.`,
            confidence: 'certain',
            facts: { unit: name, spent, limit },
          },
        ],
  )
}

// ── Comparison with earlier runs ────────────────────────────────────────────

const comparisonSymptoms = (
  steps: readonly StepFacts[],
  earlier: readonly RunView[],
): Symptom[] => {
  const before = earlier.flatMap((run) => run.steps.map(readStep))
  return [...driftSymptoms(steps, before), ...differenceSymptoms(steps, before)]
}

/** Name of the endpoint or tool that gave a result. */
const sourceOf = ({ step }: StepFacts): string =>
  step.toolName ?? step.title.replace(/\?.*$/, '').replace(/ \d+$/, '').replaceAll(/\d+/g, '0')

/** Fields that results of the same tool or endpoint always had, and now do not have. */
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
    return [
      {
        class: 'response-drift',
        ...located(facts.step),
        evidence: `${sourceOf(facts)} no longer has ${missing.slice(0, 3).join(', ')}${added.length > 0 ? `; new: ${added.slice(0, 3).join(', ')}` : ''}.`,
        confidence: 'likely',
        facts: { source: sourceOf(facts), missing, added, renamed },
      },
    ]
  })
}

const DEEPEST = 6

/** Paths of the fields of a value; members of lists are one. */
export const fieldPaths = (value: unknown, path = '', depth = 0): string[] => {
  if (depth > DEEPEST) return []
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

/** `order_id` and `orderId`; names that differ by a few letters; one that contains the other. */
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

/** The same request, with another answer. */
const differenceSymptoms = (
  steps: readonly StepFacts[],
  before: readonly StepFacts[],
): Symptom[] => {
  const answers = new Map<number, string>()
  const answerOf = ({ answerText, toolCalls }: StepFacts): string =>
    `${answerText} ${toolCalls.map(({ name, args }) => name + stableStringify(asJson(args))).join()}`
  const isModel = ({ step }: StepFacts): boolean => step.kind === 'model' && step.state === 'done'
  for (const facts of before.filter(isModel)) answers.set(facts.requestKey, answerOf(facts))
  for (const facts of steps.filter(isModel)) {
    const other = answers.get(facts.requestKey)
    if (other === undefined) answers.set(facts.requestKey, answerOf(facts))
    else if (other !== answerOf(facts)) {
      return [
        {
          class: 'nondeterminism',
          ...located(facts.step),
          evidence: 'The model gave another answer to exactly the same request.',
          confidence: 'likely',
          facts: { temperature: facts.settings['temperature'] },
        },
      ]
    }
  }
  return []
}

// ── Untrusted text ──────────────────────────────────────────────────────────

/** Phrases of sentences that address a model rather than inform about the world. English only. */
export const INJECTION =
  /\b(?:ignore (?:all |any |the )*(?:previous|prior|above|earlier)|disregard (?:all |any |the )*(?:previous|prior|above|instructions)|(?:important|urgent|attention|note)[^.!?\n]{0,40}\b(?:assistant|agent|ai|model)\b|(?:you|the assistant|the agent|the ai) must (?:now |immediately )?(?:call|send|transfer|forward|use|delete|run|pay|reply|email)|new instructions?:|system ?(?:message|prompt|note|override)|(?:assistant|agent|ai)\s*[:,]\s*(?:please )?(?:call|send|forward|transfer|use|delete|run|pay|email))/i

/** The plainest of these, which no honest document has. */
const ORDER =
  /\b(?:ignore|disregard) (?:all |any |the )*(?:previous|prior|above|earlier) (?:instructions|rules|messages|prompts)/i

/**
 * The first sentence with a phrase. One pattern for the whole sentence would need quadratic time: a
 * long text without a period would stop the process.
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
  const found: Symptom[] = []
  steps.forEach((facts, at) => {
    if (facts.step.kind === 'model' || facts.step.state !== 'done') return
    const text =
      typeof facts.result === 'string' ? facts.result : (JSON.stringify(facts.result) ?? '')
    const sentence = sentenceWith(INJECTION, text)
    if (sentence === undefined) return
    const next = steps.slice(at + 1).find(({ step }) => step.kind === 'model')
    for (const { name, args } of next?.toolCalls ?? []) {
      const values = Object.values(recordOf(args)).filter((value) => typeof value === 'string')
      const copied = values.find(
        (value) => value.length >= 6 && sentence.toLowerCase().includes(value.toLowerCase()),
      )
      if (copied === undefined && !sentence.includes(name)) continue
      found.push({
        class: 'untrusted-text',
        ...located(facts.step),
        evidence: `Text in the result of step ${facts.step.label} led to a call of ${name}: ${clip(sentence, 80)}`,
        confidence: 'likely',
        facts: {
          tool: name,
          args,
          sentence,
          copied,
          callStep: next!.step.label,
          source: facts.step.toolName,
        },
      })
      return
    }
  })
  return found
}

/** Orders inside of what a user's message or the result of a tool quotes. */
const orderSymptoms = (steps: readonly StepFacts[]): Symptom[] => {
  const hit = steps.find(({ order }) => order !== undefined)
  return hit === undefined
    ? []
    : [
        {
          class: 'untrusted-text',
          ...located(hit.step),
          evidence: `A message gives orders to the model: ${clip(hit.order!, 80)}`,
          confidence: 'hint',
          facts: { sentence: hit.order },
        },
      ]
}

/** The first message of a conversation that a later request of it leaves out. */
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
    return [
      {
        class: 'missing-context',
        ...located(later.step),
        evidence: `The request leaves out the first message of step ${before.step.label}, whose conversation it continues.`,
        confidence: 'hint',
        facts: { isDropped: true },
      },
    ]
  }
  return []
}

// ── Rules of the user ───────────────────────────────────────────────────────

const ruleSymptoms = (steps: readonly StepFacts[], rules: readonly ResultRule[]): Symptom[] =>
  steps.flatMap((facts) =>
    rules
      .filter(({ tool }) => tool === facts.step.toolName)
      .flatMap(({ tool, check }): Symptom[] => {
        const problem = facts.step.state === 'done' ? check(facts.result) : undefined
        return problem === undefined
          ? []
          : [
              {
                class: 'wrong-result',
                ...located(facts.step),
                evidence: `The result of ${tool} breaks a rule: ${clip(problem)}`,
                confidence: 'certain',
                facts: { tool, problem },
              },
            ]
      }),
  )
