import type { Mismatch } from './kernel/compare.js'
import { type AnyDivergenceFacts, type Divergence, withText } from './texts/divergence-text.js'
import { errorTable, reason, RetakeError, valueTexts } from '@retake/tape/format'

export { closestName } from './closest-name.js'
export { errorTable, reason, RetakeError }

/** Where the result of an unwrapped tool was sent to the model. */
export interface InferredResult {
  readonly step: string
  readonly path: string
  /** True if later requests repeat it at the same path, as the history of a conversation does. */
  readonly isRepeated: boolean
}

const SHOWN_MISMATCHES = 3
const SHOWN_LENGTH = 300

/** An excerpt around the first differing character: `-` the tape, `+` the program. */
function mismatchLines(mismatch: Mismatch): string[] {
  const { field } = mismatch
  const [before, now] = mismatchTexts(mismatch)
  const from = Math.max(0, sameLength(before ?? '', now ?? '') - 40)
  const excerpt = (text: string) =>
    (from > 0 ? '…' : '') +
    text.slice(from, from + SHOWN_LENGTH) +
    (text.length > from + SHOWN_LENGTH ? '…' : '')
  return [
    `  ${field}`,
    ...(before === undefined ? [] : [`  - ${excerpt(before)}`]),
    ...(now === undefined ? [] : [`  + ${excerpt(now)}`]),
  ]
}

/** Both sides as text. A side that is missing is undefined. */
export const mismatchTexts = (
  { recorded, current, isPlain }: Mismatch,
  options?: { readonly indent?: number },
): (string | undefined)[] =>
  isPlain === true
    ? [recorded, current].map((side) => (typeof side === 'string' ? side : undefined))
    : valueTexts([recorded, current], options)

function sameLength(a: string, b: string): number {
  let at = 0
  while (at < a.length && a[at] === b[at]) at += 1
  return at
}

/** The first point where the program does something other than the tape says. */
export class ReplayDiverged extends RetakeError {
  override readonly name = 'ReplayDiverged'
  readonly divergence: Divergence
  constructor(facts: AnyDivergenceFacts, wanted?: Pick<RetakeError, 'code' | 'what' | 'fix'>) {
    const divergence = withText(facts)
    // The program may have used something that no tape can answer, which has an error of its own.
    const own = wanted ?? (facts.code === 'refused' ? facts.error : undefined)
    const text = own ?? {
      code: 'REPLAY_DIVERGED',
      what: `Replay diverged at event ${facts.seq}: ${divergence.summary}.`,
      fix: 'Compare the code with the version that was recorded, or record again.',
    }
    const details = facts.mismatches.slice(0, SHOWN_MISMATCHES).flatMap(mismatchLines)
    super(text.code, text.what, divergence.explanation, text.fix, { details })
    this.divergence = divergence
  }
}

/** The error that ends a replay. */
export const replayDiverged = (facts: AnyDivergenceFacts): ReplayDiverged =>
  new ReplayDiverged(facts)

/** Errors of this package, by code: what, why, fix. */
export const errors = errorTable({
  // Runs
  TOOL_RESULT_NOT_RECORDABLE: (tool: string, what: string) => [
    `Tool "${tool}" returned ${what}, which cannot be stored on a tape.`,
    'A replay serves the stored result instead of running the tool.',
    'Return plain data: objects, arrays, strings, numbers, dates, maps, sets or bytes.',
  ],
  LIVE_REQUEST_REFUSED: (what: string) => [
    `The run would send a live request: ${what}.`,
    'This run may not send new requests.',
    'Allow live requests, or change the agent so that it makes the recorded request.',
  ],
  RUN_IMPORTED: (id: string, from: string) => [
    `Run ${id} cannot be run again.`,
    `It was imported (${from}). A trace describes a run, but does not contain what a program needs to repeat it.`,
    'Read it with `retake show`, `diff` or `ui`, write a test from it with `retake test`, or record the program with `retake record`.',
  ],
  RUN_INSIDE_RUN: () => [
    'record() or replay() was called inside another run.',
    'A call belongs to one run at a time, so the inner run would be missing from the outer tape.',
    'Start the inner run outside, or remove the inner call: the outer run records everything.',
  ],
  UNINSTALL_DURING_RUN: () => [
    'uninstall() was called while a run is active.',
    'Without the patches, the rest of the run would be missing from its tape, and a replay would reach the network.',
    'Await the result of record(), replay() or guard() first, and `done` if the output contains a stream.',
  ],
  RECORD_OPTIONS_INVALID: (why: string) => [
    'record() was called with invalid options.',
    why,
    "Call it as record({ name: 'my agent', input }, agent); `retake docs library` lists the options.",
  ],
  SIGNING_KEY_UNREADABLE: (file: string, cause: unknown) => [
    `The signing key ${file} cannot be used.`,
    `The system said: ${reason(cause)}.`,
    'Check its permissions, or move it away: `retake receipt keys new` creates another one.',
  ],
  RECORD_OPTION_UNKNOWN: (option: string, close: string | undefined) => [
    `record() has no option \`${option}\`.`,
    close === undefined ? 'No option has a similar name.' : `Did you mean \`${close}\`?`,
    'Correct or remove it; `retake docs library` lists the options.',
  ],
  RECORD_INPUT_INVALID: (path: string, what: string) => [
    `The input of record() contains ${what}${path === '' ? '' : ` at \`${path}\``}, which cannot be stored.`,
    'A replay calls the agent with the stored input.',
    'Pass only data: in a server, the parsed body instead of the request, and the bytes of a file.',
  ],
  RUNTIME_NOT_SUPPORTED: (runtime: string) => [
    `Retake cannot record or replay in ${runtime}.`,
    'It replaces parts of Node that other runtimes do not have.',
    'Use Node 20.19 or newer. To record only the requests of a program that needs another runtime: `npx retake record -- bun agent.ts`.',
  ],
  ENTRY_NOT_LOADED: (file: string, cause: unknown) => [
    `The module ${file} of the recorded agent cannot be loaded.`,
    `Loading it failed: ${reason(cause)}`,
    'The module is loaded outside the run: set the variables that it needs when it is imported, or move the agent to a module that can be imported on its own, without starting a server or connecting to a database.',
  ],
  ENTRY_NOT_A_FUNCTION: (file: string, name: string, exported: readonly string[]) => [
    `The module ${file} has no function \`${name}\`.`,
    exported.length === 0 ? 'It exports nothing.' : `It exports ${exported.join(', ')}.`,
    'Export the agent under the name in the `entry` option of record().',
  ],
  RUNS_FOLDER_NOT_WRITABLE: (folder: string, cause: unknown) => [
    `The folder ${folder} cannot be written to.`,
    `The system said: ${reason(cause)}.`,
    'Check its permissions, or choose another folder with `dir` (`--dir` on the command line).',
  ],
  RUN_COMPLETE: (id: string) => [
    `Run ${id} is complete; there is nothing to resume.`,
    'Only a run that was killed or ended with an error can be resumed.',
    'To try something else from one of its steps, fork it; to run changed code, use `retake rerun`.',
  ],
  NO_SUCH_STEP: (run: string, label: string, count: number, status?: string) => [
    `Run ${run} has no step ${label}.`,
    count === 0
      ? 'It has no steps at all.'
      : `Its steps are numbered 1 to ${count}${status === 'truncated' ? '; it was cut off there' : ''}.`,
    status === 'truncated'
      ? `\`retake show ${run}\` lists them; \`retake resume ${run}\` continues where it was cut off.`
      : `\`retake show ${run}\` lists them.`,
  ],
  STEP_NOT_RECORDED: (run: string, label: string, sent: InferredResult) => [
    `The call of step ${label} of run ${run} is not on the tape.`,
    'The tool is not wrapped in tool(), so only the result that the model got in the next request is known.',
    sent.isRepeated
      ? `Change the result in that request and the later ones: retake fork ${run} --at ${sent.step} --every-request '${sent.path}="…"'.`
      : `Change the result in that request: retake fork ${run} --at ${sent.step} --request '${sent.path}="…"'.`,
  ],
  CHANGE_DOES_NOT_FIT: (what: string, why: string) => [
    `${what} cannot be changed in this way.`,
    why,
    'Run `retake fork --help` to see what can be changed.',
  ],
  ANSWER_AND_REQUEST_EDITED: () => [
    'A fork can change the answer of a step or its request, not both.',
    'A changed request gets a live answer.',
    'Use either --request, or --set and --response.',
  ],
  NO_OVERLAY: (folder: string) => [
    `${folder} has no files of a branch.`,
    'Only forks and reruns have their own files, and only until you discard them.',
    '`retake branches <run>` shows the branches of a run; other runs write to your disk.',
  ],
  STEP_NOT_SEARCHABLE: (run: string, label: string, why: string) => [
    `Step ${label} of run ${run} can be neither pinned nor freed.`,
    `${why.charAt(0).toUpperCase()}${why.slice(1)}.`,
    'Use only steps that `searchableSteps` returns.',
  ],
  RUN_CUT_OFF: (run: string) => [
    `Run ${run} cannot be replayed to its end.`,
    'It was killed, so its outcome is not on the tape.',
    'Resume it first, or free at least one of its steps.',
  ],
  SIMULATOR_UNUSABLE: (file: string, cause: unknown) => [
    `The simulator ${file} cannot be used.`,
    `${reason(cause)}.`,
    'A simulator is a module: export default (step) => ({ payload: … }). A TypeScript simulator needs a TypeScript agent.',
  ],
  SIMULATOR_FAILED: (step: string, cause: unknown) => [
    `The simulator did not answer ${step}.`,
    `It failed: ${reason(cause)}.`,
    'Fix the simulator. Return `undefined` for calls that should go live.',
  ],
  FREE_ANSWER_UNUSABLE: (step: string, cause: unknown) => [
    `The value is not a valid answer to ${step}.`,
    reason(cause),
    'Give `{ payload }` with the parsed answer, as in `retake show --json`, or `{ error }` with a message.',
  ],
  EFFECT_BLOCKED: (step: string) => [
    `${step} may not run for real in a fork, and no recording has an answer for it.`,
    'It may have side effects, and no recorded run made this call with the same arguments.',
    'Allow it with --live-tools, or give its answer with --free or --simulator.',
  ],
  NOT_IN_RECORDING: (what: string) => [
    `${what} is not in the recording.`,
    'Every step of this fork is pinned, so nothing is sent live.',
    'Leave a step free to allow live requests.',
  ],
  BOUNDARY_NOT_REPLAYABLE: (name: string) => [
    `${name} was reached during replay.`,
    'Retake does not capture it, and a replay never touches the outside world.',
    'Wrap the call in tool() to make it replayable; `retake docs contract` lists what is captured.',
  ],
  SERVER_NOT_REPLAYABLE: (site: string | undefined) => [
    `The program listens for connections${site === undefined ? '' : ` (${site})`}.`,
    'Requests from outside are not captured, so a server that is recorded as a whole program can be replayed only up to here.',
    'Record each request in its handler with `record()`: see `retake docs SERVER_NOT_REPLAYABLE`.',
  ],
  ADDON_NOT_REPLAYABLE: (addon: string) => [
    `The native add-on ${addon} was used during replay.`,
    'Retake does not capture native code, and a replay never touches the outside world.',
    'Wrap the calls in tool(), or list the package under `pureAddons` in retake.config if it only computes.',
  ],
  DATABASE_NOT_CARRIED_OVER: (file: string, why: string) => [
    `The live part of this run cannot continue with the database ${file}.`,
    why,
    'Start the branch at a step before or after this operation.',
  ],
  SESSION_MISSING: (_cause: unknown) => [
    'The Retake preload was started without a session.',
    'The preload reads its task from RETAKE_SESSION, which is unset or not JSON.',
    'Start agents with `retake record` or `retake replay`.',
  ],

  // Loading TypeScript, also in threads that load nothing else of Retake
  DECORATORS_NOT_COMPILED: (file: string, version: string | undefined) => [
    `${file} uses decorators, which Node.js cannot run.`,
    `Retake compiles them with your project's TypeScript, ${version === undefined ? 'but it is not installed' : `but version ${version} has no compiler API`}.`,
    'Run `npm install --save-dev typescript@5`, or compile the program first and record the JavaScript.',
  ],

  // The scripted model server
  SCRIPT_INVALID: (why: string) => [
    'The script of the model server cannot be used.',
    why,
    'An answer is an object with text, reasoning, toolCalls, usage, finish, error, delayMs, chunks, breakAfter or when; `retake docs testing` has examples.',
  ],
  SCRIPT_OVER: (count: number) => [
    'The script of the model server has ended.',
    count === 0
      ? 'It has no answers.'
      : `${count === 1 ? 'Its only answer has' : `All its ${count} answers have`} been given.`,
    'Add an answer for this request, or find out why the agent makes an extra request.',
  ],
  SCRIPT_NO_ANSWER_FITS: (left: number, lastMessage: string) => [
    `No scripted answer matches a request with the last message "${lastMessage}".`,
    `${left === 1 ? 'One answer is' : `${left} answers are`} left, but no \`when\` condition matches this request.`,
    'Add an answer for this request, or change a `when` condition.',
  ],
  MODEL_SERVER_PORT: (port: number, cause: unknown) => [
    `The model server cannot listen on port ${port}.`,
    `The system said: ${reason(cause)}.`,
    'Choose another port, or omit it to use any free port.',
  ],
  MODEL_SERVER_NO_ENDPOINT: (method: string, path: string) => [
    `The model server has no endpoint ${method} ${path}.`,
    'It implements the model APIs that `retake docs testing` lists.',
    'Check the base URL of the client. `env` of the server has the correct values.',
  ],
  MODEL_SERVER_BAD_REQUEST: (path: string) => [
    `The body of the request to ${path} is not a JSON object.`,
    'Model requests are JSON of at most 64 MB.',
    'Check what the client sends.',
  ],

  // Looking into a run
  STEP_NOT_REACHED: (run: string, step: string, why: string) => [
    `The replay of run ${run} ended before step ${step}.`,
    why,
    `Run \`retake replay ${run}\` to see the difference, and check out the recorded code.`,
  ],
  NOT_AT_A_STEP: (where: string) => [
    `There is nothing to inspect at the ${where} of the run.`,
    'Variables and the stack are available where the answer of a step reached the agent.',
    'Go to a step first.',
  ],
  TIMELINE_CLOSED: () => [
    'The timeline is closed.',
    'Its processes were ended.',
    'Open a new one.',
  ],
  PROBE_GONE: (during: string) => [
    'The inspected process has ended.',
    `It ended or was killed before it could answer ${during}.`,
    'Try again. If it fails again, run `retake replay` to see how the run ends.',
  ],

  // The proxy
  UPSTREAM_INVALID: (text: string) => [
    `"${text}" is not the address of a provider.`,
    'An upstream is a URL. If there are several, each needs a name.',
    'For example: --upstream openai=https://api.openai.com.',
  ],
  UPSTREAM_TWICE: (name: string) => [
    `There are two upstreams called "${name}".`,
    'The proxy selects an upstream by the first part of the path, which is its name.',
    'Give each a different name: --upstream first=https://… --upstream second=https://….',
  ],
  PROXY_PORT_TAKEN: (port: number, cause: unknown) => [
    `The proxy cannot listen on port ${port}.`,
    `The system said: ${reason(cause)}.`,
    'Choose another port with --port; 0 uses any free port.',
  ],
  PROXY_NO_ROUTE: (
    method: string,
    target: string,
    routes: readonly { readonly name: string }[],
  ) => [
    `No provider is configured for ${method} ${target}.`,
    `The proxy forwards ${routes.map(({ name }) => `/${name}/…`).join(', ')}.`,
    'Put the name of the provider before the path, or add it with --upstream name=URL.',
  ],
  PROXY_MISS: (request: string, why: string) => [
    `The tape has no answer to ${request}.`,
    why,
    'Ignore values that change from run to run with --matcher, or record again.',
  ],
  PROXY_ANSWER_CUT_OFF: (request: string) => [
    `The tape has no answer to ${request}.`,
    'The recording was cut off before the answer arrived.',
    'Record again.',
  ],
  PROXY_BAD_REQUEST: (said: string) => [
    'The proxy cannot parse this request.',
    `It is not valid HTTP/1.1: ${said}.`,
    'Check the client; nothing was sent to a provider.',
  ],
  PROXY_NO_TUNNEL: (what: string) => [
    `The proxy does not open ${what}.`,
    'It cannot read this traffic, so it can neither record nor replay it.',
    'Set the base URL of the SDK to the proxy; do not use it as HTTPS_PROXY.',
  ],
  PROXY_BODY_TOO_LARGE: (bytesMax: number) => [
    `The body of the request is larger than ${bytesMax} bytes.`,
    'The body is buffered in memory, because it must be on the tape before it is sent.',
    'Send a smaller request. Nothing was sent to the provider.',
  ],
  PROXY_NOT_RECORDING: (said: string) => [
    'The request was not sent, because it cannot be recorded.',
    `The tape cannot be written: ${said}`,
    'Free disk space and start again.',
  ],
  UPSTREAM_FAILED: (said: string, isCertificate = false) => [
    isCertificate ? "The provider's certificate is not trusted." : 'The provider did not respond.',
    `The connection failed: ${said}.`,
    isCertificate
      ? 'Check the address. If the provider has its own certificate authority, set `SSL_CERT_FILE` to its certificate before you start Retake.'
      : 'Check the address, and that the provider can be reached.',
  ],
  REDACT_PATTERN_INVALID: (pattern: string, why: string) => [
    `"${pattern}" cannot be used to redact.`,
    why,
    'Write a regular expression, or one of the names email, phone, card, iban, ip, id, key.',
  ],
  REDACT_RULE_UNREADABLE: (file: string, cause?: unknown) => [
    `The rule in ${file} cannot be used.`,
    cause === undefined ? 'It is not a function.' : `${reason(cause).split('\n')[0]}.`,
    'Write a JavaScript module: export default (text) => [values to hide].',
  ],
  REDACT_RULE_FAILED: (rule: string, how: string) => [
    `The redaction rule ${rule} ${how}.`,
    'Every text that the rule was applied to is hidden completely. The originals are encrypted on the tape.',
    'Correct the rule; `retake scrub --restore` writes the original with the key.',
  ],
  REDACTION_NOT_RESTORABLE: (run: string, why: string, fix: string) => [
    `Run ${run} cannot be continued.`,
    why,
    fix,
  ],
  REDACTION_UNREADABLE: (run: string, event: number) => [
    `The personal data of run ${run} cannot be opened.`,
    `Event ${event} was sealed with another key.`,
    'Unset RETAKE_VAULT_KEY to replay the run with pseudonyms.',
  ],
  NAMES_UNREADABLE: (file: string, cause: unknown) => [
    `The list of names ${file} cannot be read.`,
    `The system said: ${reason(cause)}.`,
    'Use a text file with one name per line.',
  ],
  VAULT_KEY_WRONG: (file: string, needed: string, given: string) => [
    `${file} cannot be opened with this key.`,
    `It is encrypted with key ${needed}, and this one is ${given}.`,
    'Set RETAKE_VAULT_KEY to the key of the person who wrote it, or unset it to replay without the values. `retake receipt keys` shows the name of your own key.',
  ],
  VAULT_KEY_INVALID: (source: string, cause?: unknown) => [
    `${source} is not a key for vaults.`,
    cause === undefined
      ? 'It is not 32 bytes in base64 or hex.'
      : `The system said: ${reason(cause)}.`,
    'Use the complete vault.key of the person who wrote the copy.',
  ],
  UNKNOWN_MATCHER: (name: string, names: readonly string[]) => [
    `There is no matcher "${name}".`,
    `The matchers are ${names.join(', ')}.`,
    'Use one of these, or a file: --matcher ./matcher.mjs.',
  ],
  MATCHER_UNUSABLE: (file: string, why: string) => [
    `The matcher ${file} cannot be used.`,
    `${why}.`,
    'A matcher is a module: export default (request) => ({ ...request, body: … }).',
  ],
})

/** A branch with an offline tail made a request that its parent has no answer to. */
export const offlineTailEnded = (divergence: AnyDivergenceFacts): ReplayDiverged =>
  new ReplayDiverged(divergence, {
    code: 'OFFLINE_TAIL_ENDED',
    what: `The branch makes a request that its parent has no answer to: ${withText(divergence).summary}.`,
    fix: 'Fork without `--tail offline` to send it live, or change the edit.',
  })

/** `answerFrom()` found no recorded answer to a request. */
export const answerNotOnTape = (divergence: AnyDivergenceFacts): ReplayDiverged =>
  new ReplayDiverged(divergence, {
    code: 'ANSWER_NOT_ON_TAPE',
    what: `The tape has no answer: ${withText(divergence).summary}.`,
    fix: "Make the recorded request, or pass `otherwise: 'live'` to answerFrom() to send requests that are not on the tape.",
  })
