import type { RecordedError } from './values/recorded-error.js'

/**
 * Every record that a tape can contain. A change here changes the format: AGENTS.md says when it
 * needs a new number and a migration.
 *
 * A tape lists the events of a run in the order in which they happened. There are four kinds:
 *
 * - *draws*: values that the agent read from outside, such as the time. A replay serves them.
 * - *initiations*: operations that the agent started, such as a request. A replay compares their
 *   bodies and the fields that identify them (`compareInitiation` lists these).
 * - *deliveries*: answers, or parts of them, that reached the agent. A replay serves them.
 * - *output*: bytes that the agent wrote to its terminal or to a child process. A replay compares
 *   them.
 *
 * The other records describe the run itself: how it was started, notes, how it ended, the seal.
 */
export const TAPE_FORMAT = 1

export { errorName, type RecordedError } from './values/recorded-error.js'

/** Fields of every event; the writer sets `seq` and `at`. */
export interface EventBase {
  /** Position in the run, from 0, without gaps. */
  readonly seq: number
  /** Milliseconds since the run started, to the microsecond. */
  readonly at: number
  /**
   * Fingerprints of the hidden values that occur in this event and in none before it, made with the
   * key of the machine that recorded.
   */
  readonly hides?: readonly string[]
  /**
   * For heavy events (see `HEAVY`) of a run with receipts: random text. A receipt has the hashes of
   * events that it hides; without the salt, likely contents could be tried until a hash fits.
   */
  readonly salt?: string
}

// ── Frame ───────────────────────────────────────────────────────────────────

/** First record. Body: JSON of `RunDetails`. */
export interface RunEvent extends EventBase {
  readonly type: 'run'
  readonly format: number
  readonly id: string
  readonly name: string
  /** Wall-clock time at the start, epoch milliseconds. */
  readonly startedAt: number
  /** `process`: a whole process was recorded. `function`: one call of `record()`. */
  readonly scope: 'process' | 'function'
  /** Node version that recorded, for example `v20.20.2`. */
  readonly node: string
  /**
   * Set if receipts can disclose single events: the seal is signed, heavy events have a `salt`, and
   * a `linkNote` separates them from earlier light events.
   */
  readonly receipts?: true
  /** Set on a branch: the run it continues. */
  readonly parent?: ParentLink
  /** Set if the tape was not synced while it was written; missing for `machine`. */
  readonly durability?: Durability
  /** Missing on systems that do not show open files. */
  readonly creator?: TapeCreator
}

/** The process that created a tape. While it has the tape open, nobody else may write to it. */
export interface TapeCreator {
  readonly pid: number
  /** Start time of the process in ticks: distinguishes it from a later one with the same id. */
  readonly started: string
  /** Descriptor of the tape in that process. */
  readonly fd: number
}

/**
 * Failures that a tape survives while it is written. `machine`: a power cut, because everything is
 * synced to disk before an effect leaves the process. `process`: the death of the process,
 * because everything is written to the operating system before then.
 */
export type Durability = 'machine' | 'process'

/** A branch begins with the first `seq` events of another run and stores only what follows. */
export interface ParentLink {
  /** Id of the parent; its tape is in the same folder. */
  readonly run: string
  readonly seq: number
  /** Chain hash of the parent up to that event. */
  readonly chain: string
}

export interface BranchDetails {
  readonly kind: 'fork' | 'rerun' | 'resume' | 'chaos'
  /** Label of the step at which it was forked, or `e123` for an event. */
  readonly at?: string
  readonly edits: readonly BranchEdit[]
  /** `offline`: only answers of the parent were used, even after the fork. */
  readonly tail?: 'live' | 'offline'
  /** Seed of the delivery order, for chaos. */
  readonly seed?: number
}

/** One change to the parent's run. */
export interface BranchEdit {
  readonly target: 'answer' | 'request' | 'draw' | 'every request'
  /** Label of the step, if it is not that of the fork. */
  readonly at?: string
  /** Path in the payload; missing if all of it was replaced. */
  readonly path?: string
  readonly value: unknown
}

/** A module named by `--import` or `--require`. */
export interface Preload {
  readonly how: 'import' | 'require'
  readonly name: string
}

/**
 * The code that a run was recorded with. Its list is stored beside the runs, once for all runs of
 * the same code.
 */
export interface RecordedCode {
  /** SHA-256 of the `SourceList`. */
  readonly list: string
  /** Number of files in the list, for readers that do not have it. */
  readonly files: number
}

/**
 * The code of a program: SHA-256 of files by their path, relative to the working directory, and
 * versions of packages. Not included: files named at run time, dependencies of packages.
 */
export interface SourceList {
  readonly files: Readonly<Record<string, string>>
  readonly packages: Readonly<Record<string, string>>
  /**
   * Files that decide how code is loaded: `package.json`, `tsconfig.json`, the lock file. Also
   * source maps, their sources, and for a function run texts that its modules read.
   */
  readonly settings: Readonly<Record<string, string>>
  /** Imported paths that are links, and the files of the code that they lead to. */
  readonly links?: Readonly<Record<string, string>>
}

/** Facts needed to start a run again, and its name. Secret values are masked. */
export interface RunDetails {
  /**
   * File of the program. For a function run: the module and the export that is called, as
   * `src/agent.ts#handle`.
   */
  readonly entry?: string
  readonly args?: readonly string[]
  readonly cwd?: string
  /** For a function run: wire value of the input with which `entry` is called again. */
  readonly input?: unknown
  /**
   * Set if secrets in `input` were replaced by placeholders. The machine that recorded can check
   * with it that an input is the recorded one.
   */
  readonly inputProof?: string
  readonly tags?: readonly string[]
  /** For a function run with an entry: proves, on the machine that recorded, that it was recorded there. */
  readonly proof?: string
  /** For a function run with an entry: facts that modules may have stored when they were loaded. */
  readonly host?: HostFacts
  /** For a function run: the project folder, which may differ on replay. */
  readonly root?: string
  /** Flags of Node that the agent can see, `process.execArgv`. */
  readonly execArgv?: readonly string[]
  readonly code?: RecordedCode
  /**
   * Modules that flags of Node or `NODE_OPTIONS` preload. They are loaded inside the run.
   */
  readonly preloads?: readonly Preload[]
  /** Variables that Node needs; others are noted where they were read. */
  readonly env?: Readonly<Record<string, string>>
  /** Properties of `process.stdout` and `stderr`: TTY or not, size, colours. */
  readonly stdio?: Readonly<Record<string, unknown>>
  readonly platform?: string
  readonly branch?: BranchDetails
  /** Set for a process that another recorded run started: that run, and the event in it. */
  readonly startedBy?: { readonly run: string; readonly seq: number }
  /** Set instead of `entry` if a command in any language was recorded: program and arguments. */
  readonly command?: readonly string[]
  /** Set on a copy that `retake scrub` wrote: the digest of the original. */
  readonly scrubbedFrom?: string
  /** Set if personal data in that copy was replaced by pseudonyms: names the key, see `VaultKey`. */
  readonly pseudonymKey?: string
  /** Set if personal data was replaced by pseudonyms while recording. */
  readonly redaction?: RedactionDetails
  /** Set if a proxy recorded the exchanges, outside the program that made them. */
  readonly proxy?: ProxyDetails
  /** Set if the run was imported: it can be read and compared, never run again. */
  readonly imported?: ImportDetails
}

/** The process and machine that recorded, as loggers write them into each line. */
export interface HostFacts {
  readonly pid: number
  readonly ppid: number
  readonly hostname: string
  /** `process.argv[1]`, relative to the working directory. Missing in a REPL or with `node -e`. */
  readonly script?: string
}

/** Where an imported run comes from. */
export interface ImportDetails {
  /** Format that was read, such as `otlp` or `har`. */
  readonly from: string
  /** File or address that it was read from. */
  readonly source?: string
  /** Id of the trace there. */
  readonly trace?: string
  /** Number of spans or requests in the run. */
  readonly spans: number
  /** Number of problems, by description. */
  readonly problems?: Readonly<Record<string, number>>
}

/** A redacted recording: personal data is sealed in notes. */
export interface RedactionDetails {
  /** Names the key that opens them, see `VaultKey`. */
  readonly key: string
  /** The kinds of hidden data, to show to people. */
  readonly kinds: readonly string[]
  /** The rules, sealed and in base64; a branch uses the same rules. */
  readonly rules: string
}

/** How requests reached a recording proxy. A replay needs the same names and variables. */
export interface ProxyDetails {
  readonly port: number
  /** First part of the path at the proxy, and its target. */
  readonly routes: readonly { readonly name: string; readonly upstream: string }[]
  /** Matchers that were requested, by name or file. */
  readonly matchers?: readonly string[]
  /** Variables that pointed the command at the proxy, with the path of each. */
  readonly variables?: Readonly<Record<string, string>>
  /** True if HTTPS of the command was decrypted, with certificates made for the run. */
  readonly tls?: boolean
}

/**
 * Name of the notes of a redacted run. `values` and `original` are sealed. `readable` contains
 * pieces of streams that were blanked when written, because the rest of the stream was not yet
 * known: a JSON list of events and lengths, a line feed, and the pieces.
 */
export const REDACTION_NOTE = 'redaction'

/** A note: a boundary that is not captured, a mark of the user, or data that an adapter stores in its body. */
export interface NoteEvent extends EventBase {
  readonly type: 'note'
  readonly kind: 'boundary' | 'mark' | 'attachment'
  readonly name: string
  /** Line of the agent's code, as `file:line:column`. */
  readonly site?: string
  readonly text?: string
  /** For a boundary: the consequence for a replay (default: `may-differ`). */
  readonly consequence?: Consequence
  /** Number of uses, if more than one. */
  readonly count?: number
}

/** What follows for a replay if a boundary is not captured; `read-model/not-captured.ts` has the sentences. */
export type Consequence = (typeof CONSEQUENCES)[number]
export const CONSEQUENCES = [
  'may-differ',
  'stops',
  'stops-at-use',
  'ends',
  'never-replays',
  'value-differs',
  'timing-differs',
  'loss-ignored',
  'not-called',
  'file-changed',
  'not-on-tape',
  'answers-missing',
  'lines-missing',
  'refused',
  'not-recorded',
  'needs-tls',
] as const

/** The end of the run. Body: the encoded output of a function run, if any. */
export interface EndEvent extends EventBase {
  readonly type: 'end'
  readonly as?: BodyForm
  readonly exitCode?: number
  readonly signal?: string
  readonly error?: RecordedError
}

/** Last record of a finished tape. */
export interface SealEvent extends EventBase {
  readonly type: 'seal'
  /** Number of events before this one. */
  readonly count: number
  /** Merkle root (RFC 6962) over the heavy events' chain hashes. */
  readonly root: string
  /** ed25519 public key and signature over count, chain and root, base64. */
  readonly key?: string
  readonly signature?: string
}

// ── Values ──────────────────────────────────────────────────────────────────

/** A value drawn from outside: clock, random, an id, a fact about the host. */
export interface DrawEvent extends EventBase {
  readonly type: 'draw'
  /** Source, for example `Date.now`, `Math.random`, `crypto.randomBytes`, `os.freemem`. */
  readonly kind: string
  /** Wire value (see `to-wire.ts`). */
  readonly value: unknown
}

// ── Initiations: the agent starts something ─────────────────────────────────

/** A part of the agent as its framework names it. Added by adapters, and not compared on replay. */
export interface FrameworkScope {
  readonly kind: FrameworkScopeKind
  readonly name: string
  /** Distinguishes concurrent scopes with the same name. */
  readonly id?: string
}
export type FrameworkScopeKind = 'workflow' | 'agent' | 'node' | 'task' | 'tool' | 'server'

/** An HTTP request is sent. Body: the request body. */
export interface RequestEvent extends EventBase {
  readonly type: 'request'
  readonly seam: 'fetch' | 'http' | 'http2'
  readonly method: string
  readonly url: string
  /** In the order in which they were sent; values of secret headers are masked. */
  readonly headers: readonly HeaderPair[]
  /**
   * For seam `http`: seq of the `socket` event whose chunks contain the answer. Missing if a proxy
   * recorded it.
   */
  readonly socket?: number
  readonly site?: string
  /** Scopes of the framework around it, outermost first. */
  readonly within?: readonly FrameworkScope[]
}

/** A call whose answer is stored: tool, file, child process, DNS, database. Body: encoded arguments. */
export interface CallEvent extends EventBase {
  readonly type: 'call'
  readonly kind: CallKind
  /** Tool name, `fs.readFile`, `spawn`, `dns.lookup`, … */
  readonly name: string
  /**
   * Short text to show without decoding the body: a path, a command line. Compared on replay only
   * for files and DNS.
   */
  readonly title?: string
  readonly as?: BodyForm
  /** True if the answer is part of the same synchronous call. */
  readonly sync?: boolean
  readonly site?: string
  /** For tools and processes: as for a request. */
  readonly within?: readonly FrameworkScope[]
  /** For writes: the file immediately before the call. Not compared on replay. */
  readonly file?: FileBefore
}

/**
 * A file before a call that writes to it. If the run is killed during the call, this and the bytes
 * of the call show how much of it was done.
 */
export interface FileBefore {
  /** Absolute. */
  readonly path: string
  /** In bytes; missing if the file did not exist. */
  readonly size?: number
  /** Where the bytes go; missing if they replace the whole content. */
  readonly at?: number
  /** Number of bytes that the call writes. */
  readonly length: number
  /** True if the file is cut or extended to `at`. */
  readonly isCut?: boolean
  /**
   * Digest of the bytes that the call overwrites or, if it appends, of the last bytes before them.
   * Made with a key of this machine, so that no other machine can check it.
   */
  readonly content?: string
  /** Such a digest of the bytes that the call writes. Set if the tape has placeholders in them. */
  readonly proof?: string
  /** True if another write to the file was in progress; nothing else is known then. */
  readonly isShared?: boolean
}
export type CallKind = 'tool' | 'file' | 'process' | 'dns' | 'input' | 'worker' | 'database'

export interface TimerEvent extends EventBase {
  readonly type: 'timer'
  readonly kind: 'timeout' | 'interval' | 'immediate'
  readonly ms: number
}

/** Deterministic work with its own completion time (zlib, scrypt, …): executed again on replay. */
export interface WorkEvent extends EventBase {
  readonly type: 'work'
  readonly name: string
}

/** The agent opens a connection with a client that is not recorded as `fetch` or `http2`. */
export interface SocketEvent extends EventBase {
  readonly type: 'socket'
  readonly kind: 'tcp' | 'tls' | 'pipe'
  readonly host?: string
  readonly port?: number
  readonly path?: string
}

// ── Deliveries: something reaches the agent ─────────────────────────────────

interface DeliveryBase extends EventBase {
  /** Number of the initiation that it answers. */
  readonly op: number
  /** On a branch: the number of the parent's event that this part repeats. Missing if it is live. */
  readonly from?: number
}

/** Status and headers of the answer to `op`. */
export interface ResponseEvent extends DeliveryBase {
  readonly type: 'response'
  readonly status: number
  readonly statusText: string
  readonly headers: readonly HeaderPair[]
  readonly url?: string
  readonly redirected?: boolean
  readonly responseType?: string
  /** True if the response has no body at all (`Response.body` is null). */
  readonly empty?: boolean
  /** True if the content is still compressed as `content-encoding` says: npm undici does not decode it. */
  readonly encoded?: true
}

/** The answer to a `call`. Body: the encoded value; `error` if it failed. */
export interface ResultEvent extends DeliveryBase {
  readonly type: 'result'
  readonly as?: BodyForm
  readonly error?: RecordedError
  /** For a guarded tool: what the guard did with the call, as `GuardFacts` of `guards/`. */
  readonly guard?: unknown
  /**
   * For a file with placeholders instead of secrets: proves, on the machine that recorded, that
   * some content is the recorded one. Empty if no proof could be made.
   */
  readonly proof?: string
}

/** Any smaller delivery. Body: raw bytes for `chunk`. */
export interface DeliverEvent extends DeliveryBase {
  readonly type: 'deliver'
  /** `chunk`, `end`, `error`, `fire`, `connect`, `close`, `exit`, … */
  readonly part: string
  /** The pipe of a chunk, for child processes. */
  readonly pipe?: number
  /** Wire value (see `to-wire.ts`). */
  readonly value?: unknown
  readonly error?: RecordedError
  /** Sockets: why a connection that was open only on the tape was lost when the run continued live. */
  readonly lost?: string
  /** Connections, processes and threads: bytes that the agent had written so far, and their digest. */
  readonly written?: number
  readonly digest?: string
  /** True if it reached the agent in the same turn of the event loop as the previous part. */
  readonly joined?: true
}

// ── Output ──────────────────────────────────────────────────────────────────

/** Bytes the agent wrote to stdout or stderr. Body: the bytes. */
export interface OutputEvent extends EventBase {
  readonly type: 'output'
  readonly stream: 'stdout' | 'stderr'
}

/**
 * Bytes that the agent wrote to the stdin of a child process, or, with `as`, a message that it
 * sent. Body: the bytes.
 */
export interface WriteEvent extends EventBase {
  readonly type: 'write'
  /** The `call` that started the process. */
  readonly op: number
  readonly as?: BodyForm
  readonly site?: string
  /** Set if a protocol frame is a step; as for a request. */
  readonly within?: readonly FrameworkScope[]
}

export type InitiationEvent = RequestEvent | CallEvent | TimerEvent | WorkEvent | SocketEvent
export type DeliveryEvent = ResponseEvent | ResultEvent | DeliverEvent
export type TapeEvent =
  | RunEvent
  | NoteEvent
  | EndEvent
  | SealEvent
  | DrawEvent
  | InitiationEvent
  | DeliveryEvent
  | OutputEvent
  | WriteEvent

/** An event before the writer has added its number and time. */
export type NewEvent<E extends TapeEvent = TapeEvent> = E extends TapeEvent
  ? Omit<E, 'seq' | 'at'>
  : never

/** Encoding of a body: raw bytes, UTF-8 text, or JSON of a wire value (see `to-wire.ts`). */
export type BodyForm = 'bytes' | 'text' | 'json'

export type HeaderPair = readonly [name: string, value: string]

/**
 * Every record has a CRC. A heavy event also ends a link of the hash chain, which covers it and the
 * light events before it. A long body of a heavy event is linked by its sha256.
 */
const HEAVY: ReadonlySet<TapeEvent['type']> = new Set([
  'run',
  'note',
  'end',
  'seal',
  'request',
  'call',
  'response',
  'result',
])
export const isHeavy = (type: TapeEvent['type']): boolean => HEAVY.has(type)

/** Ends a link of the hash chain. Ignored by readers. */
export const linkNote = { type: 'note', kind: 'attachment', name: 'link' } as const

export const isLinkNote = (event: NewEvent): boolean =>
  event.type === 'note' && event.kind === linkNote.kind && event.name === linkNote.name

/** Last record of a branch that ended because its parent has no further answer. */
export const stoppedNote = { type: 'note', kind: 'attachment', name: 'stopped' } as const

export const isStoppedNote = (event: NewEvent): boolean =>
  event.type === 'note' && event.kind === stoppedNote.kind && event.name === stoppedNote.name

/** True for a guard's decision about the next call. */
export const isGuardDraw = (event: NewEvent): boolean =>
  event.type === 'draw' && (event.kind === 'guard' || event.kind === 'guard-before')

export const isDelivery = (event: TapeEvent): event is DeliveryEvent =>
  event.type === 'deliver' || event.type === 'response' || event.type === 'result'

export const isInitiation = (event: TapeEvent): event is InitiationEvent =>
  event.type === 'request' ||
  event.type === 'call' ||
  event.type === 'timer' ||
  event.type === 'work' ||
  event.type === 'socket'

/**
 * Name of a note with the call site of an earlier request, whose number is the text. Written if the
 * stack did not reach the agent's code when the request was made.
 */
export const SITE_NOTE = 'site'
