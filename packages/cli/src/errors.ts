import { RetakeError } from '@retake/engine/errors'
import { printable } from './printable.js'

/** What was thrown, as the why of an error says it. */
const reason = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

// ── the command line itself ──────────────────────────────────────────────────

/** The command line itself is wrong: exit code 2. */
export class UsageError extends RetakeError {
  override readonly name = 'UsageError'
}

export const unknownVerb = (verb: string, suggestion: string | undefined): UsageError =>
  new UsageError(
    'UNKNOWN_COMMAND',
    `There is no command "${verb}".`,
    suggestion === undefined
      ? 'No command has a similar name.'
      : `Did you mean \`retake ${suggestion}\`?`,
    '`retake --help` lists the commands.',
  )

export const wrongUsage = (verb: string, what: string, why: string): UsageError =>
  new UsageError('WRONG_USAGE', what, why, `\`retake ${verb} --help\` shows how it is used.`)

export const wrongStepCommand = (what: string, why: string): UsageError =>
  new UsageError('WRONG_STEP_COMMAND', what, why, '`help` lists the commands.')

export const pageNotFound = (name: string, suggestion: string | undefined): UsageError =>
  new UsageError(
    'PAGE_NOT_FOUND',
    `There is no page "${name}".`,
    suggestion === undefined
      ? 'No page and no error code has a similar name.'
      : `Did you mean \`retake docs ${suggestion}\`?`,
    '`retake docs` lists the pages; the page of an error is asked for by its code.',
  )

// ── runs and what is in them ─────────────────────────────────────────────────

export const noRuns = (folder: string): RetakeError =>
  new RetakeError(
    'NO_RUNS',
    'There is no run yet.',
    `${folder} holds no tape.`,
    'Record one with `retake record <file>`, let `retake demo` make some, or name a tape by its path.',
  )

/** Of a folder that was named, or of the one where runs are. */
export const noTapes = (folder: string, isFolder: boolean): RetakeError =>
  new RetakeError(
    'NO_RUNS',
    'There are no recorded runs to look at.',
    isFolder ? `${folder} holds no tape.` : `There is no folder ${folder}.`,
    'Name the folder with --tapes, or record runs with `retake record <file>` or a guard first.',
  )

export const unknownRun = (name: string, folder: string): RetakeError =>
  new RetakeError(
    'UNKNOWN_RUN',
    `There is no run "${name}".`,
    `No tape in ${folder} has an id that starts so, and there is no file of that name.`,
    '`retake list` shows the runs; a run is named by id, start of its id, path, or `last`.',
  )

export const ambiguousRun = (name: string, ids: readonly string[]): RetakeError =>
  new RetakeError(
    'AMBIGUOUS_RUN',
    `"${name}" fits ${ids.length} runs.`,
    `They are ${ids.slice(0, 5).join(', ')}${ids.length > 5 ? ' and more' : ''}.`,
    'Give more letters of the id, or say `last`.',
  )

export const noSuchStep = (run: string, step: string, count: number): RetakeError =>
  new RetakeError(
    'NO_SUCH_STEP',
    `Run ${run} has no step ${step}.`,
    count === 0 ? 'It has no steps at all.' : `Its steps are numbered 1 to ${count}.`,
    `\`retake show ${run}\` lists them.`,
  )

export const textNotFound = (
  run: string,
  text: string,
  near: readonly { readonly text: string; readonly places: number }[],
): RetakeError =>
  new RetakeError(
    'TEXT_NOT_FOUND',
    `"${printable(text.length > 60 ? `${text.slice(0, 59)}…` : text)}" stands nowhere in run ${run}.`,
    'Every event was searched; secrets are on the tape as placeholders only.',
    near.length === 0
      ? 'Look for a shorter part of it; `retake show` prints what the steps hold.'
      : `Did you mean ${near.map(({ text: each, places }) => `"${printable(each)}" (${places})`).join(', ')}?`,
  )

export const runStillRecording = (id: string): RetakeError =>
  new RetakeError(
    'RUN_STILL_RECORDING',
    `Run ${id} is still being recorded.`,
    'Its tape grows, so it cannot be run again from it yet.',
    'Wait until it has ended.',
  )

// ── programs that are recorded and replayed ──────────────────────────────────

export const agentMissing = (file: string, cwd: string): RetakeError =>
  new RetakeError(
    'AGENT_MISSING',
    `There is no file ${file}.`,
    `It was looked for from ${cwd}.`,
    'Name the file to run itself, as in `retake record agent.ts`. Other commands go after `--`, as in `retake record -- python agent.py`.',
  )

export const agentNotJavaScript = (file: string, command: string): RetakeError =>
  new RetakeError(
    'AGENT_NOT_JAVASCRIPT',
    `${file} is neither JavaScript nor TypeScript.`,
    'Programs of other languages are recorded from outside, as commands.',
    `Put the command after \`--\`: retake record -- ${command} ${file}`,
  )

export const agentNotAFile = (file: string): RetakeError =>
  new RetakeError(
    'AGENT_NOT_A_FILE',
    `${file} is a folder.`,
    'Retake starts one JavaScript or TypeScript file.',
    `Name the file in it, for example \`retake record ${file.replace(/\/+$/, '')}/index.js\`.`,
  )

export const agentNotStarted = (cause: unknown): RetakeError =>
  new RetakeError(
    'AGENT_NOT_STARTED',
    'The agent process could not be started.',
    `The system said: ${reason(cause)}.`,
    'Check that this machine can start more processes.',
    { cause },
  )

export const commandNotStarted = (command: string, cause: unknown): RetakeError =>
  new RetakeError(
    'COMMAND_NOT_STARTED',
    `The command "${command}" could not be started.`,
    `The system said: ${reason(cause)}.`,
    'Check that the program is installed and on the PATH.',
    { cause },
  )

export const runsFolderNotWritable = (folder: string, cause: unknown): RetakeError =>
  new RetakeError(
    'RUNS_FOLDER_NOT_WRITABLE',
    `The folder ${folder} cannot be written to.`,
    `The system said: ${reason(cause)}.`,
    'Give yourself write permission, or choose another folder with --dir.',
    { cause },
  )

export const nothingRecorded = (how: string): RetakeError =>
  new RetakeError(
    'NOTHING_RECORDED',
    'Nothing was recorded.',
    `Node ${how} before the agent started.`,
    'See above what Node said, and check the flags given with --node-arg.',
  )

export const replayWithoutReport = (how: string): RetakeError =>
  new RetakeError(
    'REPLAY_WITHOUT_REPORT',
    'The replay ended without a report.',
    `The replayed process ${how} before it could say how far it came.`,
    'Run it again; if it happens again, run `retake verify` on the tape.',
  )

export const recordedFolderMissing = (cwd: string): RetakeError =>
  new RetakeError(
    'RECORDED_FOLDER_MISSING',
    `The folder ${cwd} is gone.`,
    'The run was recorded there, and replay runs the real code again.',
    'Restore the folder, or replay on the machine where it was recorded.',
  )

export const recordedAgentMissing = (file: string, cwd: string): RetakeError =>
  new RetakeError(
    'RECORDED_AGENT_MISSING',
    `The recorded program ${file} is gone.`,
    `It was started in ${cwd}, and replay runs the real code again.`,
    'Restore the file, for example with `git checkout`.',
  )

export const notAProcessRun = (id: string): RetakeError =>
  new RetakeError(
    'NOT_A_PROCESS_RUN',
    `Run ${id} was recorded by \`record()\` inside a program.`,
    'Its tape holds one function call, so there is no process to start again.',
    'Replay it where it was recorded: `await replay(path, () => …)` from the package retake.',
  )

export const notAProxyRun = (id: string): RetakeError =>
  new RetakeError(
    'NOT_A_PROXY_RUN',
    `Run ${id} was not recorded through the proxy.`,
    'Its requests belong to one program, which `retake replay` runs again.',
    `Use \`retake replay ${id}\`.`,
  )

export const notANodeRun = (id: string, command: readonly string[] | undefined): RetakeError =>
  new RetakeError(
    'NOT_A_NODE_RUN',
    `Run ${id} was recorded through the proxy.`,
    command === undefined
      ? 'Its tape holds exchanges of clients that Retake did not start.'
      : `Its program, ${command.join(' ')}, was not recorded from within.`,
    command === undefined
      ? `Answer those clients from the tape with \`retake proxy replay ${id}\`.`
      : `\`retake replay ${id}\` runs the command again; \`retake show ${id}\` shows its steps.`,
  )

// ── resume, fork and rerun ───────────────────────────────────────────────────

/** A run would go live without the keys it was recorded with: exit code 4. */
export class CredentialsError extends RetakeError {
  override readonly name = 'CredentialsError'
}

export const credentialsMissing = (names: readonly string[]): CredentialsError =>
  new CredentialsError(
    'CREDENTIALS_MISSING',
    `${names.join(', ')} ${names.length === 1 ? 'is' : 'are'} not set here.`,
    'The run was recorded with it; tapes hold no secrets, and what comes after the served part is live.',
    'Set it and try again, give any value with `--env NAME=value`, or stay offline with `--tail offline`.',
  )

/** The same for a page, which has no options of a command line. */
export const credentialsMissingHere = ({ code, what, why }: CredentialsError): CredentialsError =>
  new CredentialsError(
    code,
    what,
    why,
    'Stop `retake ui`, set it and start again; or choose an offline tail, which asks nobody.',
  )

export const responseUnreadable = (file: string, cause: unknown): RetakeError =>
  new RetakeError(
    'RESPONSE_UNREADABLE',
    `The file ${file} cannot be read.`,
    `The system said: ${reason(cause)}.`,
    'Name a file that holds the answer: JSON for models and tools, else the bytes of the body.',
    { cause },
  )

export const editorFailed = (editor: string, status: number | null): RetakeError =>
  new RetakeError(
    'EDITOR_FAILED',
    `The editor "${editor}" could not be used.`,
    status === null ? 'It did not start.' : `It ended with exit code ${status}.`,
    'Set $EDITOR to one that waits until the file is closed, or use --set or --response.',
  )

export const editedNotJson = (cause: unknown): RetakeError =>
  new RetakeError(
    'EDIT_NOT_JSON',
    'What was saved is not JSON.',
    `It says: ${reason(cause)}.`,
    'Edit it again; nothing was forked.',
    { cause },
  )

export const nothingEdited = (step: string): RetakeError =>
  new RetakeError(
    'NOTHING_EDITED',
    `The answer of step ${step} was not changed.`,
    'The file was saved as it was, or not at all.',
    'Change something and save it; to ask the step again as it is, leave out --edit.',
  )

export const payloadNotChanged = (what: string): RetakeError =>
  new RetakeError(
    'NOTHING_EDITED',
    `${what} was not changed.`,
    'What was sent is the same as what was recorded.',
    'Change something, or fork without an edit to ask the step again as it is.',
  )

// ── looking inside a run ─────────────────────────────────────────────────────

export const noUserCodeAfter = (run: string, step: string): RetakeError =>
  new RetakeError(
    'NO_USER_CODE_AFTER',
    `No code of yours ran after the answer of step ${step} of run ${run}.`,
    'The run ended without it, so there is no line to show.',
    'Look at an earlier step, or at the step itself with `retake show`.',
  )

export const sourceFileMissing = (file: string, folders: readonly string[]): RetakeError =>
  new RetakeError(
    'SOURCE_FILE_MISSING',
    `There is no source file ${file}.`,
    `It was looked for in ${folders.join(' and ')}.`,
    'Name it as seen from the folder where the run was recorded, for example src/agent.ts:42.',
  )

export const lineNeverRan = (file: string, line: number, why: string): RetakeError =>
  new RetakeError(
    'LINE_NEVER_RAN',
    `Line ${line} of ${file} never ran.`,
    why,
    'Choose a line that runs; `retake replay <run> --step N` shows where the program stands at a step.',
  )

export const expressionInvalid = (expression: string, cause: unknown): UsageError =>
  new UsageError(
    'EXPRESSION_INVALID',
    `"${expression}" is not a JavaScript expression.`,
    `${reason(cause)}.`,
    'Put it in single quotes, so that the shell leaves it alone, and use JavaScript without types.',
  )

export const inspectorNotOpened = (port: number): RetakeError =>
  new RetakeError(
    'INSPECTOR_NOT_OPENED',
    `The inspector could not be opened on port ${port}.`,
    'Another program uses the port, or it may not be used.',
    'Choose another one: --inspect=9230, or --inspect=0 for any that is free.',
  )

export const noState = (run: string, step: string | undefined): RetakeError =>
  new RetakeError(
    'NO_STATE',
    step === undefined
      ? `There is no state of run ${run}.`
      : `The state of step ${step} of run ${run} was not captured.`,
    'State is captured afterwards, by replaying.',
    `Capture it with \`retake snapshot ${run}\`.`,
  )

export const stateUnreadable = (file: string, cause: unknown): RetakeError =>
  new RetakeError(
    'STATE_UNREADABLE',
    `The captured state ${file} cannot be read.`,
    `${reason(cause)}.`,
    'Capture it again with `retake snapshot`; nothing is lost, it comes from the tape.',
    { cause },
  )

// ── bisect, and the git it needs ─────────────────────────────────────────────

export const gitMissing = (cause: unknown): RetakeError =>
  new RetakeError(
    'GIT_MISSING',
    'Git could not be started.',
    `Commits are checked out with it, and the system said: ${reason(cause)}.`,
    'Install git, or put it on the PATH.',
    { cause },
  )

export const gitFailed = (command: string, said: string): RetakeError =>
  new RetakeError(
    'GIT_FAILED',
    `\`git ${command}\` failed.`,
    `Git said: ${said === '' ? 'nothing' : said}`,
    'Repair what git complains about and start again; your checkout was not changed.',
  )

export const notARepository = (folder: string, said: string): RetakeError =>
  new RetakeError(
    'NOT_A_REPOSITORY',
    `${folder} is not in a git repository with a work tree.`,
    `Commits are what is searched, and git said: ${said === '' ? 'nothing' : said}`,
    'Go to the repository that holds the agent and start again.',
  )

export const unknownRevision = (revision: string, top: string): RetakeError =>
  new RetakeError(
    'UNKNOWN_REVISION',
    `There is no commit "${revision}".`,
    `The repository ${top} has no branch, tag or commit of that name.`,
    'See `git log --oneline`; in a shallow clone, run `git fetch --unshallow` first.',
  )

export const outsideRepository = (what: string, top: string): RetakeError =>
  new RetakeError(
    'OUTSIDE_REPOSITORY',
    `The run was recorded outside of this repository: ${what}.`,
    `The repository here is ${top}; other commits of it would not change that program.`,
    'Start again in the repository in which the run was recorded.',
  )

export const dirtyTree = (files: readonly string[]): RetakeError =>
  new RetakeError(
    'DIRTY_TREE',
    `The checkout has uncommitted changes in ${files.length === 1 ? 'one file' : `${files.length} files`}.`,
    `Only commits are tested, so these changes are not: ${files.slice(0, 5).join(', ')}${files.length > 5 ? ' and more' : ''}.`,
    'Commit them, or say with --allow-dirty that they do not matter.',
  )

export const notAnAncestor = (good: string, bad: string): RetakeError =>
  new RetakeError(
    'NOT_AN_ANCESTOR',
    `The good commit ${good} does not come before the bad commit ${bad}.`,
    'The first bad commit is searched between them, so one must lead to the other.',
    `Name an older commit as good, for example \`git merge-base ${good} ${bad}\`, or exchange the two.`,
  )

export const sameCommit = (commit: string): RetakeError =>
  new RetakeError(
    'BISECT_SAME_COMMIT',
    `Good and bad are the same commit, ${commit}.`,
    'There is nothing between them to search.',
    'Name with --good an older commit at which the run was still as recorded.',
  )

export const bisectNotGood = (commit: string, found: string): RetakeError =>
  new RetakeError(
    'BISECT_NOT_GOOD',
    `The good commit ${commit} is not good.`,
    `Replayed there: ${found}.`,
    'Name with --good the commit at which the run was recorded, or give an --oracle that it passes.',
  )

export const bisectNotBad = (commit: string, found: string): RetakeError =>
  new RetakeError(
    'BISECT_NOT_BAD',
    `The bad commit ${commit} is not bad.`,
    `Replayed there: ${found}.`,
    'Name with --bad a commit that shows the change, or give an --oracle that tells them apart.',
  )

export const bisectUntestable = (which: string, commit: string, found: string): RetakeError =>
  new RetakeError(
    'BISECT_UNTESTABLE',
    `The ${which} commit ${commit} cannot be tested.`,
    found,
    'Give the command that makes it ready with --run, or name another commit.',
  )

export const bisectCutOff = (id: string): RetakeError =>
  new RetakeError(
    'BISECT_CUT_OFF',
    `The tape of run ${id} was cut off.`,
    'The run was killed, so nothing is known about how it should go on and end.',
    'Record a run that comes to its end, and search with that.',
  )

// ── chaos ────────────────────────────────────────────────────────────────────

export const runHasNoEnd = (id: string): RetakeError =>
  new RetakeError(
    'RUN_HAS_NO_END',
    `Run ${id} was cut off before its end.`,
    'Other orders are judged by comparing what they come to, and it came to nothing.',
    `Let it come to its end with \`retake resume ${id}\`, or record it again.`,
  )

export const recordedOrderDiffers = (id: string, how: string): RetakeError =>
  new RetakeError(
    'RECORDED_ORDER_DIFFERS',
    `In the recorded order, run ${id} no longer comes to what was recorded: ${how}.`,
    'The code has changed, or it does something that is not captured. Other orders would prove nothing.',
    `\`retake replay ${id}\` shows the first difference; record again once it is gone.`,
  )

// ── blame ────────────────────────────────────────────────────────────────────

export const findingsUnreadable = (file: string, cause: unknown): RetakeError =>
  new RetakeError(
    'FINDINGS_UNREADABLE',
    `What blame found, ${file}, cannot be read.`,
    `${reason(cause)}.`,
    'Search again with `retake blame`: forks that were run are not run again. If a newer Retake wrote it, use that one.',
    { cause },
  )

export const blameNoSteps = (run: string): RetakeError =>
  new RetakeError(
    'BLAME_NO_STEPS',
    `Run ${run} has no step that could be blamed.`,
    'It asks no model, calls no tool, sends no request and starts no process.',
    'Wrap what may fail in `tool()` from the package retake, and record again.',
  )

export const blameCannotTell = (oracle: string, why: string): RetakeError =>
  new RetakeError(
    'BLAME_CANNOT_TELL',
    'The oracle cannot tell whether the recorded run failed.',
    `"${printable(oracle)}" was asked about the unchanged run and came to nothing: ${printable(why)}.`,
    'Make it answer pass or fail for this run; `retake show` prints what the run wrote.',
  )

export const blameAgentChanged = (run: string, difference: string): RetakeError =>
  new RetakeError(
    'BLAME_AGENT_CHANGED',
    `The program is no longer the one that was recorded in ${run}.`,
    `Served from its tape it did something else: ${printable(difference)}. No fork would say anything about the recorded run.`,
    `\`retake replay ${run}\` shows the first difference. Undo the change, or record the failure again.`,
  )

export const judgeRefused = (url: string, status: number, said: string): RetakeError =>
  new RetakeError(
    'JUDGE_REFUSED',
    `The judge at ${url} refused with status ${status}.`,
    said === '' ? 'It did not say why.' : `It said: ${printable(said)}`,
    'Check address, model and key: `judge: { url, model, apiKeyEnv }` in retake.config.ts, --judge-url and --judge-model.',
  )

// ── policies, approvals and guarded tools ────────────────────────────────────

export const policyUnreadable = (
  place: string,
  said: string,
  fix = 'A policy is YAML, JSON, or the default export of a JavaScript or TypeScript file.',
): RetakeError =>
  new RetakeError(
    'POLICY_UNREADABLE',
    `The policy ${place} cannot be read.`,
    `${said.replace(/\.$/, '')}.`,
    fix,
  )

export const policyInvalid = (file: string, problems: readonly string[]): RetakeError =>
  new RetakeError(
    'POLICY_INVALID',
    `The policy ${file} says something that Retake does not understand.`,
    'A rule that is misspelt would be one without effect, so nothing is guessed.',
    'Correct these places:',
    { details: problems },
  )

export const noSuchToolStep = (run: string, label: string, steps: readonly string[]): RetakeError =>
  new RetakeError(
    'NO_SUCH_STEP',
    `Step ${label} of run ${run} is no tool call.`,
    steps.length === 0
      ? 'The run has no tool calls.'
      : steps.length === 1
        ? `Its only tool call is step ${steps[0]}.`
        : `Its tool calls are steps ${steps.join(', ')}.`,
    `A rule is about tool calls; \`retake show ${run}\` lists all steps.`,
  )

export const ruleNotFound = (run: string, label: string, passing: number): RetakeError =>
  new RetakeError(
    'RULE_NOT_FOUND',
    `No rule was found that blocks step ${label} of run ${run} and spares the runs that passed.`,
    `Its tool, arguments and history look like those of calls in the ${passing} runs that passed.`,
    'Write a rule by hand and try it with `retake policy test`, or leave runs out that should not have passed.',
  )

export const approvalNotPending = (id: string): RetakeError =>
  new RetakeError(
    'APPROVAL_NOT_PENDING',
    `No call waits for approval under ${id}.`,
    'It was decided, its time ran out, its program ended, or it never was there.',
    '`retake approvals` lists the calls that wait.',
  )

export const toolNotGuardable = (name: string, what: string): RetakeError =>
  new RetakeError(
    'TOOL_NOT_GUARDABLE',
    `"${name}" cannot be guarded.`,
    `It is ${what}, which a guard has no way to stand in front of.`,
    'Leave it out of guardTools and hand it to the agent beside the guarded ones, if it may run unguarded.',
  )

export const mcpClientConnected = (): RetakeError =>
  new RetakeError(
    'MCP_CLIENT_CONNECTED',
    'An MCP client was guarded after it had connected.',
    'Inside a recording its messages are on the tape already, and guarded calls would be there twice.',
    'Call guardTools(run, client) before client.connect(transport).',
  )

// ── reports ──────────────────────────────────────────────────────────────────

export const redactPatternInvalid = (pattern: string, why: string): UsageError =>
  new UsageError(
    'REDACT_PATTERN_INVALID',
    `"${pattern}" cannot be used to redact.`,
    why,
    'Write a regular expression, or one of the names email, phone, card, iban, ip, key.',
  )

export const redactionIncomplete = (steps: number): RetakeError =>
  new RetakeError(
    'REDACTION_INCOMPLETE',
    'Something that matches could not be taken out, so nothing was written.',
    `It can still be read in ${steps === 1 ? 'one step' : `${steps} steps`} after redacting, spread over parts that cannot be blanked.`,
    'Use a pattern that matches less, or one that matches each part on its own.',
  )

export const reportWouldOverwrite = (file: string): RetakeError =>
  new RetakeError(
    'REPORT_WOULD_OVERWRITE',
    `${file} is there already, and it is not a report.`,
    'Only a report of Retake is replaced without asking.',
    'Name another file with -o, or add --force to replace this one.',
  )

export const runReportNotWritable = (file: string, cause: unknown): RetakeError =>
  new RetakeError(
    'REPORT_NOT_WRITABLE',
    `The report cannot be written to ${file}.`,
    `The system said: ${reason(cause)}.`,
    'Name another file, in a folder that exists and can be written to.',
    { cause },
  )

// ── the viewer and its server ────────────────────────────────────────────────

export const uiHostNeedsPassword = (host: string): RetakeError =>
  new RetakeError(
    'UI_HOST_NEEDS_PASSWORD',
    `The viewer is not served for ${host} without a password.`,
    'Tapes hold whole conversations, and from the viewer programs are run; others could reach it there.',
    'Set RETAKE_PASSWORD or name a file with --password-file; or leave out --host and --allow-host, and stay on this machine.',
  )

export const uiPasswordTooShort = (where: string, least: number): RetakeError =>
  new RetakeError(
    'UI_PASSWORD_TOO_SHORT',
    `The password in ${where} is too short.`,
    `It has fewer than ${least} characters, and others can try to guess it.`,
    'Choose a longer one, for example with `openssl rand -base64 18`.',
  )

export const uiPasswordUnreadable = (file: string, cause: unknown): RetakeError =>
  new RetakeError(
    'UI_PASSWORD_UNREADABLE',
    `The password file ${file} cannot be read.`,
    `The system said: ${reason(cause)}.`,
    'Name a file that you may read and whose first line is the password.',
    { cause },
  )

export const uiPortTaken = (port: number, cause: unknown): RetakeError =>
  new RetakeError(
    'UI_PORT_TAKEN',
    `The viewer cannot listen on port ${port}.`,
    `The system said: ${reason(cause)}.`,
    'Choose another one with --port; `--port 0` takes any that is free and says which.',
    { cause },
  )

export const uiNotListening = (host: string, cause: unknown): RetakeError =>
  new RetakeError(
    'UI_HOST_UNKNOWN',
    `The viewer cannot listen on ${host}.`,
    `The system said: ${reason(cause)}.`,
    'Name an address of this machine with --host; names that lead here through a proxy go with --allow-host.',
    { cause },
  )

export const tooManyJobs = (most: number): RetakeError =>
  new RetakeError(
    'TOO_MANY_JOBS',
    `${most} forks and reruns are waiting already.`,
    'Each is a process of its own, and only a few run at once.',
    'Wait until some have ended, or stop some.',
  )

export const jobFailed = (cause: unknown): RetakeError =>
  new RetakeError(
    'JOB_FAILED',
    'The fork or rerun could not be carried out.',
    `${reason(cause)}.`,
    'Try the same with `retake fork` or `retake rerun`: it prints what the program says.',
    { cause },
  )

export const noSuchJob = (id: string): RetakeError =>
  new RetakeError(
    'NO_SUCH_JOB',
    `There is no fork or rerun "${id}" here.`,
    'It ended long ago, or was started by another server.',
    'The branches of its run show what was recorded.',
  )

export const noSuchSession = (id: string, why: string): RetakeError =>
  new RetakeError(
    'NO_SUCH_SESSION',
    `The place in the run that was looked at is closed (${id}).`,
    why,
    'Go to the step again: that opens a new one.',
  )

export const serverClosing = (): RetakeError =>
  new RetakeError(
    'SERVER_CLOSING',
    'The viewer’s server is ending.',
    'It ends everything that it has started, and starts nothing more.',
    'Start `retake ui` again.',
  )

// ── adapters of frameworks ───────────────────────────────────────────────────

export const unsupportedFramework = (
  name: string,
  version: string,
  supported: string,
): RetakeError =>
  new RetakeError(
    'FRAMEWORK_NOT_SUPPORTED',
    `This adapter does not know ${name} ${version}.`,
    `It was written for ${name} ${supported}.`,
    `Install a version in that range, or leave the adapter out: without it everything is still recorded and replayed, only the names of agents and nodes are missing.`,
  )

export const frameworkMissing = (name: string, door: string, cause: unknown): RetakeError =>
  new RetakeError(
    'FRAMEWORK_MISSING',
    `${door} needs ${name}, which is not installed.`,
    'An adapter uses the framework of the program it names the steps of; it does not bring one.',
    `Install it, \`npm install ${name}\`, or leave the adapter out.`,
    { cause },
  )

export const checkpointNeedsThread = (): RetakeError =>
  new RetakeError(
    'CHECKPOINT_NEEDS_THREAD',
    'A graph with a TapeSaver was called without a thread.',
    'A checkpointer keeps the states of a graph by thread.',
    "Call it with `{ configurable: { thread_id: '…' } }`.",
  )

// ── tapes of tests ───────────────────────────────────────────────────────────

export const testModeUnknown = (mode: string, modes: readonly string[]): RetakeError =>
  new RetakeError(
    'TEST_MODE_UNKNOWN',
    `"${mode}" is no mode for the tapes of tests.`,
    `There are ${modes.join(', ')}.`,
    'Set RETAKE_MODE, or the `mode` of the test, to one of them.',
  )

export const recordingLeftInTest = (): RetakeError =>
  new RetakeError(
    'TEST_RECORDS_IN_CI',
    'A test asks for its tape to be recorded, in CI.',
    'Its mode is `record`, probably left from the last recording; CI never touches the network unless RETAKE_MODE=record says so.',
    'Take the mode out of the test and commit the tape.',
  )

export const testTapeMissing = (file: string, where: string): RetakeError =>
  new RetakeError(
    'TEST_TAPE_MISSING',
    `There is no tape ${file}.`,
    `${where} nothing is recorded, so that no test reaches the network.`,
    'Run the test once on your machine, which records the tape, and commit it.',
  )

export const notAFunctionTape = (file: string, entry: string | undefined): RetakeError =>
  new RetakeError(
    'TEST_TAPE_OF_PROCESS',
    `The tape ${file} does not hold a function call.`,
    'It was recorded from a whole program, which only that program can replay.',
    entry === undefined
      ? 'Check it with `retake verify`, or record the test anew: RETAKE_MODE=record.'
      : `Name the program instead of a function, expect('${entry}').toReplay(…), or record the test anew: RETAKE_MODE=record.`,
  )

export const notAProgramTape = (file: string, program: string): RetakeError =>
  new RetakeError(
    'TEST_TAPE_OF_FUNCTION',
    `The tape ${file} does not hold a run of ${program}.`,
    'It was recorded from a function call, from another program, or from a command through the proxy.',
    'Hand the function to expect(), or record the program anew: RETAKE_MODE=record.',
  )

export const testTapeCutOff = (file: string): RetakeError =>
  new RetakeError(
    'TEST_TAPE_CUT_OFF',
    `The tape ${file} has no end.`,
    'Its recording was killed, so it is not known what the agent should come to.',
    'Record it anew: RETAKE_MODE=record.',
  )

export const recordedRunThrew = (file: string, cause: unknown): RetakeError =>
  new RetakeError(
    'TEST_RECORDING_THREW',
    `The agent threw while it was recorded: ${reason(cause)}`,
    `A tape of a failure would make every later run fail, so ${file} was left as it was.`,
    'Mend what failed and run again. If the agent is meant to throw, say so: { throws: true }.',
    { cause },
  )

export const recordedProgramFailed = (file: string, how: string): RetakeError =>
  new RetakeError(
    'TEST_RECORDING_THREW',
    `The program failed while it was recorded: it ${how}.`,
    `A tape of a failure would make every later run fail, so ${file} was left as it was.`,
    'Mend what failed and run again. If the program is meant to fail, say so: { throws: true }.',
  )

export const notAnAgent = (what: string): RetakeError =>
  new RetakeError(
    'TEST_NOT_AN_AGENT',
    `toReplay was given ${what}.`,
    'It runs the agent itself, with the outside world played by the tape.',
    "Hand it a function that starts the agent, expect(() => agent('order 1182')), or the path of a program.",
  )

export const reportNotWritable = (file: string, cause: unknown): RetakeError =>
  new RetakeError(
    'REPORT_NOT_WRITABLE',
    `The report cannot be written to ${file}.`,
    `The system said: ${reason(cause)}.`,
    'Name another file with --junit.',
    { cause },
  )

export const vitestPoolUnsupported = (): RetakeError =>
  new RetakeError(
    'VITEST_POOL_UNSUPPORTED',
    'Retake cannot work in the pools vmThreads and vmForks of Vitest.',
    "They give test files copies of Node's own modules, which would be neither recorded nor replayed.",
    "Set pool: 'forks' or pool: 'threads'.",
  )

// ── the configuration ────────────────────────────────────────────────────────

export const configInvalid = (file: string, what: string): RetakeError =>
  new RetakeError(
    'CONFIG_INVALID',
    `The configuration ${file} is not valid.`,
    what,
    'Correct it; `retake docs config` lists what can be set.',
  )

export const configUnreadable = (file: string, place: string, cause: unknown): RetakeError =>
  new RetakeError(
    'CONFIG_UNREADABLE',
    `The configuration ${file}${place} cannot be read.`,
    `It says: ${reason(cause)}`,
    'Correct the file, or remove it: every setting has a default.',
    { cause },
  )
