import type { Envelope } from './codec.js'
import { TAPE_FORMAT, type TapeEvent } from './events.js'

/**
 * Checks of what a record says, made once, when it is read. A checksum shows that a record is what
 * somebody wrote, not that Retake wrote it: a tape from a stranger may contain any JSON. Everything
 * above the reader relies on the types in `events.ts` and `codec.ts`.
 *
 * A check returns what is wrong, or `undefined`. Unknown fields are ignored. Not checked: bodies,
 * which contain whatever a server or an agent sent, and the meaning of texts, such as whether a URL
 * can be parsed.
 */
type Check = (value: unknown) => string | undefined
type Fields = Readonly<Record<string, Check>>

/** The latest time that a `Date` can represent is 8.64e15. */
const TIME_MAX_MS = 4e15
const ID_MAX_LENGTH = 200
/** As the name of a tape file without its extension: an id becomes part of paths. */
const RUN_ID = /^[\w-][\w.-]*$/
const HASH = /^[0-9a-f]{64}$/

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const any: Check = () => undefined
const text: Check = (value) => (typeof value === 'string' ? undefined : 'is not a text')
const flag: Check = (value) => (typeof value === 'boolean' ? undefined : 'is not true or false')
const number: Check = (value) => (Number.isFinite(value) ? undefined : 'is not a number')
const whole: Check = (value) => (Number.isSafeInteger(value) ? undefined : 'is not a whole number')
const natural: Check = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? undefined : 'is not a whole number from 0'
const positive: Check = (value) =>
  Number.isSafeInteger(value) && (value as number) > 0 ? undefined : 'is not a whole number from 1'
const time: Check = (value) =>
  Number.isFinite(value) && (value as number) >= 0 && (value as number) <= TIME_MAX_MS
    ? undefined
    : 'is not a time'
const hash: Check = (value) =>
  typeof value === 'string' && HASH.test(value) ? undefined : 'is not a sha256'
const runId: Check = (value) =>
  typeof value === 'string' && value.length <= ID_MAX_LENGTH && RUN_ID.test(value)
    ? undefined
    : 'is not the id of a run'

const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined ? undefined : check(value)

const oneOf = (...values: readonly unknown[]): Check => {
  const allowed = new Set(values)
  return (value) => (allowed.has(value) ? undefined : 'has an unknown value')
}

const listOf =
  (check: Check): Check =>
  (value) => {
    if (!Array.isArray(value)) return 'is not a list'
    for (const member of value) {
      const problem = check(member)
      if (problem !== undefined) return `has a member that ${problem}`
    }
    return undefined
  }

const mapOf =
  (check: Check): Check =>
  (value) => {
    if (!isObject(value)) return 'is not an object'
    for (const member of Object.values(value)) {
      const problem = check(member)
      if (problem !== undefined) return `has a member that ${problem}`
    }
    return undefined
  }

function object(fields: Fields): Check {
  const entries = Object.entries(fields)
  return (value) => {
    if (!isObject(value)) return 'is not an object'
    for (const [name, check] of entries) {
      // Own fields only: a field named like a member of `Object.prototype` is not there.
      const problem = check(Object.hasOwn(value, name) ? value[name] : undefined)
      if (problem !== undefined) return `has a field "${name}" that ${problem}`
    }
    return undefined
  }
}

const pairs: Check = (value) => {
  if (!Array.isArray(value)) return 'is not a list'
  const isRight = value.every(
    (pair) =>
      Array.isArray(pair) &&
      pair.length === 2 &&
      typeof pair[0] === 'string' &&
      typeof pair[1] === 'string',
  )
  return isRight ? undefined : 'is not a list of names and values'
}

const texts = listOf(text)
const form = optional(oneOf('bytes', 'text', 'json'))
const site = optional(text)
const within = optional(
  listOf(
    object({
      kind: oneOf('workflow', 'agent', 'node', 'task', 'tool', 'server'),
      name: text,
      id: optional(text),
    }),
  ),
)

/** The depth of a record is limited, so these recursive checks end. */
const recordedError: Check = (value) => errorFields(value)
const errorFields = object({
  class: text,
  base: optional(text),
  name: optional(text),
  message: text,
  stack: optional(text),
  text: optional(text),
  code: optional((value) =>
    typeof value === 'string' ? undefined : number(value) && 'is not a text or number',
  ),
  props: optional(mapOf(any)),
  symbols: optional(mapOf(any)),
  cause: optional(recordedError),
  errors: optional(listOf(recordedError)),
})

const usage = object({
  inputTokens: optional(number),
  outputTokens: optional(number),
  costUsd: optional(number),
})
const exitReason = optional(text)
const served = object({ run: runId, seq: natural })

const approval = object({
  by: text,
  how: text,
  reason: optional(text),
  digest: text,
  askedAt: time,
  decidedAt: time,
  expiresAt: time,
})

const guardFacts = object({
  status: oneOf('done', 'denied', 'failed', 'stopped', 'in doubt'),
  exitReason,
  attempts: optional(natural),
  usage: optional(usage),
  overused: optional(usage),
  counted: optional(usage),
  drift: optional(listOf(object({ code: text, path: text, expected: text, found: text }))),
  approval: optional(approval),
  served: optional(served),
  verified: optional(flag),
  blocked: optional(texts),
  acted: optional(flag),
  tookMs: optional(number),
})

const guardIntent = object({
  guard: text,
  call: natural,
  fingerprint: text,
  occurrence: natural,
  verdict: oneOf('allow', 'deny', 'ask'),
  rule: optional(text),
  code: optional(text),
  why: optional(text),
  allowed: optional(text),
  exitReason,
  policy: text,
  effects: optional(texts),
  idempotent: optional(flag),
  verifiable: optional(flag),
  key: optional(text),
  within: optional(text),
  again: optional(flag),
  argumentDrift: optional(
    object({
      score: number,
      reasons: listOf(object({ path: text, what: text, weight: number })),
      calls: number,
    }),
  ),
  served: optional(served),
  reserved: optional(usage),
})

const op = natural

/** The notes of a guard, by the keys of `GUARD_NOTES`. */
const GUARD_NOTE_CONTENTS = {
  opened: object({
    guard: text,
    policy: object({ hash: text, policies: listOf(any) }),
    environment: object({
      node: text,
      platform: text,
      retake: mapOf(text),
      git: optional(object({ revision: text, branch: optional(text) })),
      lockfile: optional(object({ name: text, sha256: text })),
    }),
    resumes: optional(listOf(object({ run: runId, chain: text }))),
  }),
  approved: object({ op, approval: optional(approval) }),
  again: object({ op, intent: guardIntent, spent: optional(usage) }),
  call: object({ intent: guardIntent, tool: text, as: oneOf('bytes', 'text', 'json'), body: text }),
  result: object({
    op,
    facts: guardFacts,
    as: form,
    body: optional(text),
    error: optional(recordedError),
  }),
  leftOpen: object({
    guard: text,
    calls: listOf(object({ tool: text, fingerprint: text, occurrence: natural, from: served })),
  }),
  spent: object({
    guard: text,
    usage,
    tool: optional(text),
    op: optional(op),
    isSaidAgain: optional(flag),
  }),
} as const

/** The fault in the content of a guard's note. */
export const guardNoteProblem = (
  kind: keyof typeof GUARD_NOTE_CONTENTS,
  content: unknown,
): string | undefined => GUARD_NOTE_CONTENTS[kind](content)

const delivery: Fields = { op: natural, from: optional(natural) }

/** The fields of each event; `seq` and `at` are checked for all of them. */
const EVENTS: { readonly [Type in TapeEvent['type']]: Check } = {
  run: object({
    format: oneOf(TAPE_FORMAT),
    id: runId,
    name: text,
    startedAt: time,
    scope: oneOf('process', 'function'),
    node: text,
    receipts: optional(oneOf(true)),
    parent: optional(object({ run: runId, seq: positive, chain: text })),
    durability: optional(oneOf('machine', 'process')),
    creator: optional(object({ pid: natural, started: text, fd: natural })),
  }),
  note: object({
    kind: oneOf('boundary', 'mark', 'attachment'),
    name: text,
    site,
    text: optional(text),
    consequence: optional(text),
    count: optional(natural),
  }),
  end: object({
    as: form,
    exitCode: optional(whole),
    signal: optional(text),
    error: optional(recordedError),
  }),
  seal: object({ count: natural, root: text, key: optional(text), signature: optional(text) }),
  draw: object({ kind: text }),
  request: object({
    seam: oneOf('fetch', 'http', 'http2'),
    method: text,
    url: text,
    headers: pairs,
    socket: optional(natural),
    site,
    within,
  }),
  call: object({
    kind: oneOf('tool', 'file', 'process', 'dns', 'input', 'worker', 'database'),
    name: text,
    title: optional(text),
    as: form,
    sync: optional(flag),
    site,
    within,
  }),
  // Programs pass anything as the delay.
  timer: object({ kind: oneOf('timeout', 'interval', 'immediate') }),
  work: object({ name: text }),
  socket: object({
    kind: oneOf('tcp', 'tls', 'pipe'),
    host: optional(text),
    port: optional(natural),
    path: optional(text),
  }),
  response: object({
    ...delivery,
    status: natural,
    statusText: text,
    headers: pairs,
    url: optional(text),
    redirected: optional(flag),
    responseType: optional(text),
    empty: optional(flag),
    encoded: optional(flag),
  }),
  result: object({
    ...delivery,
    as: form,
    error: optional(recordedError),
    guard: optional(guardFacts),
    proof: optional(text),
  }),
  deliver: object({
    ...delivery,
    part: text,
    pipe: optional(natural),
    error: optional(recordedError),
    written: optional(natural),
    digest: optional(text),
    joined: optional(flag),
  }),
  output: object({ stream: oneOf('stdout', 'stderr') }),
  write: object({ op: natural, as: form, site, within }),
}

/** The fault in the event at this position of a tape; `undefined` if there is none. */
export function eventProblem(value: unknown, position: number): string | undefined {
  if (!isObject(value)) return 'It is not an event.'
  const { type, seq, at } = value
  if (typeof type !== 'string' || !Object.hasOwn(EVENTS, type)) return 'Its type is unknown.'
  if (seq !== position) return `It has another number than its position, ${position}.`
  if (time(at) !== undefined) return 'Its field "at" is not a time.'
  if ((type === 'run') !== (position === 0))
    return 'Only the first event of a tape is its run record.'
  const problem = EVENTS[type as TapeEvent['type']](value) ?? drawProblem(value)
  return problem && `The event ${problem}.`
}

function drawProblem({ type, kind, value }: Readonly<Record<string, unknown>>): string | undefined {
  const problem = type === 'draw' && kind === 'guard' ? guardIntent(value) : undefined
  return problem && `has a decision of a guard that ${problem}`
}

/** The fault in the numbers by which event `seq` refers to others. */
export function laterReference(event: TapeEvent, seq: number): string | undefined {
  const op = 'op' in event ? event.op : 'socket' in event ? event.socket : undefined
  return op === undefined || op < seq ? undefined : `It names event ${op}, which is not before it.`
}

const ENVELOPE = object({
  stored: optional(natural),
  size: optional(natural),
  sha: optional(hash),
  chain: optional(hash),
  deflate: optional(oneOf(1)),
  same: optional(natural),
  base: optional(natural),
  ops: optional(listOf(whole)),
  parts: optional(listOf(whole)),
})

/** The fault in the envelope of the record at this position. */
export function envelopeProblem(value: unknown, position: number): string | undefined {
  const problem = ENVELOPE(value)
  if (problem !== undefined) return `The envelope ${problem}.`
  const { same, base, deflate, stored = 0 } = value as Envelope
  if (deflate !== undefined && stored === 0) return 'Its body has nothing to inflate.'
  const later = [same, base].find((source) => source !== undefined && source >= position)
  return later === undefined
    ? undefined
    : `Its body refers to event ${later}, which is not before it.`
}

/** Paths and arguments come from the system, whose texts end at a NUL. Functions of Node refuse one. */
const systemText: Check = (value) =>
  text(value) ?? ((value as string).includes('\0') ? 'contains a NUL' : undefined)

const DETAILS = object({
  entry: optional(systemText),
  args: optional(listOf(systemText)),
  cwd: optional(systemText),
  inputProof: optional(text),
  tags: optional(texts),
  proof: optional(text),
  host: optional(object({ pid: natural, ppid: natural, hostname: text, script: optional(text) })),
  root: optional(systemText),
  execArgv: optional(listOf(systemText)),
  code: optional(object({ files: mapOf(text), packages: mapOf(text) })),
  preloads: optional(listOf(object({ how: oneOf('import', 'require'), name: text }))),
  env: optional(mapOf(text)),
  stdio: optional(mapOf(any)),
  platform: optional(text),
  branch: optional(
    object({
      kind: oneOf('fork', 'rerun', 'resume', 'chaos'),
      at: optional(text),
      edits: listOf(
        object({
          target: oneOf('answer', 'request', 'draw', 'every request'),
          at: optional(text),
          path: optional(text),
        }),
      ),
      tail: optional(oneOf('live', 'offline')),
      seed: optional(number),
    }),
  ),
  startedBy: optional(object({ run: runId, seq: natural })),
  command: optional(listOf(systemText)),
  scrubbedFrom: optional(text),
  pseudonymKey: optional(text),
  redaction: optional(object({ key: text, kinds: texts, rules: text })),
  proxy: optional(
    object({
      port: natural,
      routes: listOf(object({ name: text, upstream: text })),
      matchers: optional(texts),
      variables: optional(mapOf(text)),
      tls: optional(flag),
    }),
  ),
  imported: optional(
    object({
      from: text,
      source: optional(text),
      trace: optional(text),
      spans: natural,
      problems: optional(mapOf(number)),
    }),
  ),
})

/** The fault in the details of a run. */
export function detailsProblem(value: unknown): string | undefined {
  const problem = DETAILS(value)
  return problem && `The record of the run details ${problem}.`
}
