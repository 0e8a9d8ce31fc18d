import type { Envelope } from './codec.js'
import { CONSEQUENCES, type SourceList, TAPE_FORMAT, type TapeEvent } from './events.js'
import {
  any,
  type Check,
  type Fields,
  type ObjectCheck,
  flag,
  hash,
  listOf,
  mapOf,
  natural,
  number,
  object,
  oneOf,
  optional,
  pairs,
  positive,
  runId,
  text,
  time,
  whole,
} from './values/checks.js'
import { isRecord } from './values/json-shape.js'

/**
 * Checks of what a record says, made once, when it is read. A checksum shows that a record is what
 * somebody wrote, not that Retake wrote it: a tape from a stranger may contain any JSON. Everything
 * above the reader relies on the types in `events.ts` and `codec.ts`.
 *
 * Not checked: bodies, which contain whatever a server or an agent sent, the facts of capabilities
 * such as a guard, and the meaning of texts, such as whether a URL can be parsed.
 */
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
export const recordedError: Check = (value) => errorFields(value)
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

const delivery: Fields = { op: natural, from: optional(natural) }

/** The fields of each event; `seq` and `at` are checked for all of them. */
const EVENTS: { readonly [Type in TapeEvent['type']]: ObjectCheck } = {
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
    consequence: optional(oneOf(...CONSEQUENCES)),
    count: optional(natural),
  }),
  end: object({
    as: form,
    exitCode: optional(whole),
    signal: optional(text),
    error: optional(recordedError),
  }),
  seal: object({ count: natural, root: text, key: optional(text), signature: optional(text) }),
  draw: object({ kind: text, value: any }),
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
    file: optional(
      object({
        path: text,
        size: optional(natural),
        at: optional(natural),
        length: natural,
        isCut: optional(flag),
        content: optional(text),
        proof: optional(text),
        isShared: optional(flag),
      }),
    ),
  }),
  // Programs pass anything as the delay.
  timer: object({ kind: oneOf('timeout', 'interval', 'immediate'), ms: any }),
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
    guard: any,
    proof: optional(text),
  }),
  deliver: object({
    ...delivery,
    part: text,
    pipe: optional(natural),
    value: any,
    error: optional(recordedError),
    lost: optional(text),
    written: optional(natural),
    digest: optional(text),
    joined: optional(flag),
  }),
  output: object({ stream: oneOf('stdout', 'stderr') }),
  write: object({ op: natural, as: form, site, within }),
}

/** The fault in the event at this position of a tape; `undefined` if there is none. */
export function eventProblem(value: unknown, position: number): string | undefined {
  if (!isRecord(value)) return 'It is not an event.'
  const { type, seq, at } = value
  if (typeof type !== 'string' || !Object.hasOwn(EVENTS, type)) return 'Its type is unknown.'
  if (seq !== position) return `It has another number than its position, ${position}.`
  if (time(at) !== undefined) return 'Its field "at" is not a time.'
  if ((type === 'run') !== (position === 0))
    return 'Only the first event of a tape is its run record.'
  const problem = EVENTS[type as TapeEvent['type']](value)
  return problem && `The event ${problem}.`
}

/** The fault in the numbers by which event `seq` refers to others. */
export function laterReference(event: TapeEvent, seq: number): string | undefined {
  const op = 'op' in event ? event.op : 'socket' in event ? event.socket : undefined
  return op === undefined || op < seq ? undefined : `It names event ${op}, which is not before it.`
}

const ENVELOPE = object({
  crc: optional(text),
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
  input: any,
  inputProof: optional(text),
  tags: optional(texts),
  proof: optional(text),
  host: optional(object({ pid: natural, ppid: natural, hostname: text, script: optional(text) })),
  root: optional(systemText),
  execArgv: optional(listOf(systemText)),
  code: optional(object({ list: hash, files: natural })),
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

const SOURCE_LIST = object({
  files: mapOf(hash),
  packages: mapOf(text),
  settings: mapOf(hash),
  links: optional(mapOf(text)),
})

/** The fault in the list of source files that a run names. */
export function sourceListProblem(value: unknown): string | undefined {
  const problem = SOURCE_LIST(value)
  if (problem !== undefined) return problem
  const { files, settings, links = {} } = value as SourceList
  const names = [...[files, settings, links].flatMap(Object.keys), ...Object.values(links)]
  return names.some((file) => file.includes('\0')) ? 'has a path that contains a NUL' : undefined
}

/** The fault in the details of a run. */
export function detailsProblem(value: unknown): string | undefined {
  const problem = DETAILS(value)
  return problem && `The record of the run details ${problem}.`
}

/** Fields of every event. */
const EVENT_BASE = new Set(['seq', 'at', 'type', 'hides', 'salt'])

/** Fields that no reader knows. Readers ignore them; a writer that writes one made a mistake. */
export function unknownFields(kind: 'event' | 'envelope' | 'details', value: object): string[] {
  const { fields } =
    kind === 'envelope'
      ? ENVELOPE
      : kind === 'details'
        ? DETAILS
        : EVENTS[(value as TapeEvent).type]
  const names = Object.keys(value).filter((name) => !fields.has(name))
  return kind === 'event' ? names.filter((name) => !EVENT_BASE.has(name)) : names
}
