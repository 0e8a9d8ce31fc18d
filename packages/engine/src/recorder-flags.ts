import { ENVIRONMENT_READS, RECEIPTS_FLAG } from '@retake/tape/format'

/**
 * Behaviours of this recorder that a replay must repeat, by name. They are in the run record. A
 * tape without a flag replays the way it was recorded, and so do its branches.
 * - `child-writes`: writes to a child process are events, checked in order. Before, they were only
 * compared by digest.
 * - `returned-streams`: the run of a function that returns a stream ends when the stream does; its
 * reads and chunks are events. Before, the run ended when the function returned.
 * - `outside-signals`: an abort signal from outside the run reaches it as a delivery. Before, it
 * aborted at any moment.
 * - `shared-postgres`: queries of a `pg` pool or client from outside the run are calls. Before,
 * only the bytes of connections that the run opened were recorded.
 * - `shared-clients`: the same for clients of Redis and MySQL.
 * - `env-reads`: variables are on the tape where the program reads them. Before, a process run
 * recorded its whole environment, and a function run none of it.
 * - `joined-parts`: parts of an answer that arrived together are delivered in one turn, and marked.
 * Before, each had its own turn.
 * - `before-schemas`: a guarded tool with a schema draws whether a call is refused before the
 * schema runs. Before, the current policy decided that on replay.
 * - `receipts`: not a behaviour of every recording; see `RECEIPTS_FLAG`.
 * - `password-messages`: the password data that a PostgreSQL client sends is not compared.
 * - `sign-ins`: the same for MySQL, MariaDB, and SCRAM-SHA-256 in any other protocol.
 * - `encoded-secrets`: secrets are also hidden if they are encoded, compressed, cut by chunk
 * borders, or random values after a name. Before, only unencoded ones were hidden.
 * - `shared-logs`: log transports in threads, and in a function run also writes to a log file that
 * was opened outside it, are not events. Before, a run recorded the lines of other runs when it
 * happened to flush them.
 * - `addon-turns`: answers of native add-ons under `pureAddons` arrive in the recorded order.
 * Before, they arrived when they were ready.
 * - `undici-requests`: in a function run, requests of the npm package undici are recorded by meaning.
 * Before, only the bytes of connections that the run opened were recorded.
 * - `telemetry`: in a function run, clock reads, random values and timers of OpenTelemetry, Sentry
 * and Datadog are not events. Before, a replay needed the same packages in the same state.
 * - `telemetry-exports`: the same for connections of OTLP exporters over HTTP.
 * - `websocket-frames`: frames of WebSocket clients are compared without their masks, and the masks
 * of Node's own client are not drawn from the tape. Before, the masked bytes were compared.
 * - `shared-queues`: tasks in a queue that runs share start and end in recorded turns. Before, a
 * task ran in the context of another run, and its events could be missing.
 * - `proxy-redirects`: a redirect of a provider leads back to its route in the proxy. Before, the
 * client got the provider's own address.
 * - `cut-keys`: a word at the end of a chunk that begins like a key is hidden. Before, it was hidden
 * only together with the next chunk.
 * - `extra-pipes`: a child process has its pipes after stderr. Before, these were missing.
 */
export const RECORDER_FLAGS = [
  'child-writes',
  'returned-streams',
  'outside-signals',
  'shared-postgres',
  ENVIRONMENT_READS,
  'joined-parts',
  'password-messages',
  'before-schemas',
  'encoded-secrets',
  'shared-logs',
  'addon-turns',
  'sign-ins',
  'undici-requests',
  'telemetry',
  'telemetry-exports',
  'websocket-frames',
  'extra-pipes',
  'shared-queues',
  'shared-clients',
  'cut-keys',
] as const

/** Flags of a new run. With `sign`, its seal is signed, and receipts can disclose single steps. */
export const recorderFlags = (sign = false): readonly string[] =>
  sign ? [...RECORDER_FLAGS, RECEIPTS_FLAG] : RECORDER_FLAGS

/** Flags that apply to recordings of a proxy. */
export const PROXY_FLAGS = ['encoded-secrets', 'proxy-redirects', 'cut-keys'] as const

export const hasFlag = (
  flags: readonly string[],
  flag: (typeof RECORDER_FLAGS | typeof PROXY_FLAGS)[number],
): boolean => flags.includes(flag)
