import { existsSync } from 'node:fs'
import { errorTable, reason, RetakeError } from '@retake/engine/errors'
import type { Tape } from '@retake/tape'
import { fromHere, printable } from './terminal/terminal.js'

const systemSaid = (cause: unknown): string => `The system said: ${reason(cause)}.`
const listed = (items: readonly string[]): string =>
  items.slice(0, 5).join(', ') + (items.length > 5 ? ' and more' : '')

/** Errors of the command line and the library on top of the engine, by code: what, why, fix. */
export const cliErrors = errorTable({
  // The command line
  UNKNOWN_COMMAND: (verb: string, suggestion: string | undefined, parent?: string) => [
    `There is no command "${verb}".`,
    suggestion ? `Did you mean \`retake ${suggestion}\`?` : 'No command has a similar name.',
    `Run \`retake ${parent === undefined ? '' : `${parent} `}--help\` to list the commands.`,
  ],
  COMMAND_RENAMED: (verb: string, command: string) => [
    `'${verb}' is now \`${command}\`.`,
    'A command has only one name.',
    'Use the new name. `retake docs commands` explains every command.',
  ],
  CAPABILITY_MISSING: (what: string, packages: readonly string[]) => [
    `${what} is not available here.`,
    `It may be in a package that is not installed: ${packages.join(', ')}.`,
    `Run \`npm install ${packages.join(' ')}\`.`,
  ],
  WRONG_USAGE: (verb: string, what: string, why: string) => [
    what,
    why,
    `Run \`retake ${verb} --help\` for usage.`,
  ],
  WRONG_STEP_COMMAND: (what: string, why: string) => [what, why, 'Type `help` for the commands.'],
  PAGE_NOT_FOUND: (name: string, suggestion: string | undefined) => [
    `There is no page "${name}".`,
    suggestion
      ? `Did you mean \`retake docs ${suggestion}\`?`
      : 'No page or error code has a similar name.',
    'Run `retake docs` to list the pages. To look up an error, give its code.',
  ],
  CONFIG_INVALID: (file: string, what: string) => [
    `The configuration ${file} is not valid.`,
    what,
    'Correct the file. `retake docs config` lists every setting.',
  ],
  CONFIG_UNREADABLE: (file: string, position: string, cause: unknown) => [
    `The configuration ${file}${position} cannot be read.`,
    `Loading it failed: ${reason(cause)}`,
    'Correct the file, or remove it: every setting has a default.',
  ],

  // Team servers
  TEAM_PROJECT_MISSING: (given: string) => [
    given === '' ? 'Missing project.' : `"${given}" does not name a project.`,
    'A command for a team server needs an organization and a project, separated by a slash.',
    'Add --project acme/refunds, or set RETAKE_PROJECT.',
  ],
  TEAM_LOGIN_MISSING: (org: string) => [
    `You are not signed in to a server with the organization "${org}".`,
    'There is no login for it, and RETAKE_SERVER and RETAKE_API_KEY are not both set.',
    'Run `retake login <url> --org <name>`.',
  ],
  TEAM_LOGIN_DENIED: (server: string) => [
    `${server} did not sign you in.`,
    'The code was denied, or was not confirmed in time.',
    'Run `retake login` again.',
  ],
  TEAM_SERVER_UNREACHABLE: (server: string, detail: string) => [
    `The team server ${server} is not responding.`,
    `The system said: ${detail}.`,
    'Check the address and the network. Nothing was lost; run the command again.',
  ],
  TEAM_SERVER_REFUSED: (code: string, what: string, why: string, fix: string) => [
    what,
    `${why} The server answered ${code}.`,
    fix,
  ],
  TEAM_FILE_INVALID: (name: string) => [
    `The server sent a file that does not belong to the run: ${name}.`,
    'Its name, size, digest or content does not match the run.',
    'Try again. If it happens again, the server or the connection cannot be trusted.',
  ],
  TEAM_ANSWER_INVALID: (about: string, why: string) => [
    `The server sent an answer about ${about} that cannot be used.`,
    why,
    'Check the address of the server. If it is right, the server or the connection cannot be trusted.',
  ],
  CODE_NOT_PACKED: (run: string, why: string, fix?: string) => [
    `The program of run ${run} cannot be sent.`,
    why,
    fix ?? 'Push from the machine and folder where it was recorded, or without --code.',
  ],

  // Runs
  NO_RUNS: (folder: string) => [
    'There is no run yet.',
    existsSync(folder) ? `There is no tape in ${folder}.` : `There is no folder ${folder}.`,
    'Record a run with `retake record <file>`, try `retake demo`, or choose another folder with --dir (for `retake guard policy`, --tapes).',
  ],
  UNKNOWN_RUN: (name: string, folder: string) => [
    `There is no run "${name}".`,
    `No id in ${folder} starts with this name, and there is no file at this path.`,
    'Run `retake list` to see the runs. Use an id, the first characters of an id, the path of a tape, `last`, `last~1` or `last:failed`.',
  ],
  AMBIGUOUS_RUN: (name: string, ids: readonly string[]) => [
    `"${name}" matches ${ids.length} runs.`,
    `They are ${listed(ids)}.`,
    'Give more letters of the id, or use `last`.',
  ],
  NO_SUCH_LAST_RUN: (name: string, status: string | undefined, found: number, folder: string) => [
    `There is no run \`${name}\`.`,
    `${folder} has ${found} ${status === undefined ? '' : `${status} `}${found === 1 ? 'run' : 'runs'}.`,
    'Run `retake list` to see the runs. `last~1` is the second newest run, `last:failed` the newest failed one.',
  ],
  TAPE_NAME_INVALID: (file: string) => [
    `A tape cannot be written to ${file}.`,
    'The file name is the id of the run. It may contain letters, digits and . _ -, and must end in .tape.',
    'Choose a name such as refund.tape.',
  ],
  TAGS_UNREADABLE: (file: string) => [
    `The tags in ${file} cannot be read.`,
    'The file does not contain a list of tags.',
    'Correct the file, or delete it to get the recorded tags back.',
  ],
  TAG_INVALID: (tag: string) => [
    `"${tag}" is not a tag.`,
    'A tag starts with a letter or digit, and has at most 100 letters, digits or . _ : / @ -.',
    'Write it as `+tag` to add or `-tag` to remove it.',
  ],
  CODE_NOT_STORED: (id: string, missing?: string) => [
    `The code of run ${id} is not available.`,
    missing === undefined
      ? 'Its tape names no code, or its program is not in the project.'
      : `Missing or damaged in \`.retake/sources\`: ${missing}.`,
    'Check out the commit of the recording, and replay it with that code.',
  ],
  PACKAGES_NOT_INSTALLED: (why: string) => [
    'The recorded packages cannot be installed.',
    why,
    'Replay without --install to use the packages that are installed.',
  ],
  RUN_HAS_BRANCHES: (id: string, branches: readonly string[]) => [
    `Run ${id} is not removed.`,
    `Its branches share its events and cannot be read without it: ${listed(branches)}.`,
    'Add --branches to remove them as well.',
  ],
  RUN_PINNED: (id: string) => [
    `Run ${id} is not removed.`,
    'It has the tag `pin`.',
    `Remove the tag first: retake tag ${id} -pin`,
  ],
  RUN_NOT_REMOVED: (id: string, cause: unknown) => [
    `Run ${id} cannot be removed.`,
    systemSaid(cause),
    'Check the owner and permissions of the tape folder, then try again.',
  ],
  RUN_RETAINED: (id: string) => [
    `Run ${id} is not removed.`,
    'It has the tag `hold`, which protects it from every command.',
    `If you may lift the hold: retake tag ${id} -hold`,
  ],
  RUN_NOT_IN_TRASH: (id: string, folder: string) => [
    `Run ${id} is not in the trash.`,
    `No run in ${folder} has this id: it was deleted permanently, or never existed.`,
    'Run `retake rm --trash` to list what can be restored.',
  ],
  RUN_ALREADY_THERE: (id: string, tape: string) => [
    `Run ${id} is not restored.`,
    `The tape ${tape} already exists.`,
    'Move that tape away first.',
  ],
  // Keys and receipts
  KEY_EXISTS: (file: string) => [
    'A key for seals already exists.',
    `It is in ${file}.`,
    'Add --replace to use a new one. Receipts signed with the old key stay valid.',
  ],
  KEY_NOT_FOUND: (given: string) => [
    `There is no key "${given}".`,
    'It is neither the name of a known key, nor a public ed25519 key, nor a PEM file with one.',
    'Run `retake receipt keys` to list the names. The owner prints the key with `retake receipt keys export seal`.',
  ],
  KEY_NOT_IMPORTED: (file: string, cause: unknown) => [
    `${file} is not a private key for seals.`,
    systemSaid(cause),
    'Pass a PEM file with a private ed25519 key.',
  ],
  KEYS_UNREADABLE: (file: string, cause: unknown) => [
    `The names of trusted keys in ${file} cannot be read.`,
    systemSaid(cause),
    'Correct the file, or delete it and add the keys again with `retake receipt keys trust`.',
  ],
  RECEIPT_NOT_POSSIBLE: (id: string, why: string) => [
    `A receipt for run ${id} cannot be written.`,
    why,
    'A receipt needs the intact tape of a finished run. Record it again with `retake record --sign`.',
  ],
  RECEIPT_STEP_OF_PARENT: (label: string, id: string, parent: string) => [
    `Step ${label} is not on the tape of run ${id}.`,
    'The run is a branch that shares this step with its parent.',
    `Make a receipt of the parent: retake receipt make ${parent} --steps ${label}`,
  ],
  RECEIPT_SHOWS_NEIGHBORS: (id: string, events: readonly string[]) => [
    'The receipt would show more than these steps.',
    `Run ${id} was recorded without --sign, so events share hashes with the steps: ${listed(events)}.`,
    'Record with --sign, or add --allow-neighbors to disclose these events as well.',
  ],
  RECEIPT_UNREADABLE: (file: string, cause: unknown) => [
    `The receipt ${file} cannot be read.`,
    systemSaid(cause),
    'Pass the file that `retake receipt make --out` wrote.',
  ],
  TEXT_NOT_FOUND: (
    run: string,
    text: string,
    near: readonly { readonly text: string; readonly count: number }[],
  ) => [
    `"${printable(text.length > 60 ? `${text.slice(0, 59)}…` : text)}" does not occur in run ${run}.`,
    'Every event was searched. Secrets cannot be found: the tape only has placeholders for them.',
    near.length === 0
      ? 'Search for a shorter part of it; `retake show` prints the steps.'
      : `Did you mean ${near.map(({ text: each, count }) => `"${printable(each)}" (${count})`).join(', ')}?`,
  ],
  NOTHING_TO_SEPARATE: (runs: number, missing: string) => [
    `None of the ${runs} runs ${missing}.`,
    'Failed runs are compared with passed ones, so both are needed.',
    'Record more runs, select others with --since and --dir, or define a pass with --oracle.',
  ],
  RUN_STILL_RECORDING: (id: string) => [
    `Run ${id} is still being recorded.`,
    'A run can only be run again when its tape is complete.',
    'Wait until it has ended.',
  ],
  TRUST_NOT_SAVED: (file: string, cause: unknown) => [
    `The list of trusted runs ${file} cannot be written.`,
    systemSaid(cause),
    'Set XDG_STATE_HOME to a writable folder, or add --trust to each command.',
  ],

  // Exports and imports
  IMPORT_DOWNLOAD_FAILED: (url: string, why: string) => [
    `${url} cannot be downloaded.`,
    why,
    'Check the trace id, LANGFUSE_BASE_URL and the project keys.',
  ],
  EXPORT_FAILED: (url: string, sent: number, why: string) => [
    `The export to ${url} failed.`,
    `${sent === 0 ? 'No span was' : `Only the first ${sent} spans were`} accepted: ${why}.`,
    'Check the address and export again. Span ids are stable, so no span is counted twice.',
  ],
  EXPORT_REJECTED: (url: string, rejected: number, why: string) => [
    `${url} rejected ${rejected} spans.`,
    why === '' ? 'It did not say why.' : `It said: ${why}`,
    'Check the limits of the receiver. To make spans smaller, use `--attributes gen_ai` and omit --content.',
  ],
  FILE_NOT_WRITABLE: (file: string, cause: unknown) => [
    `${file} cannot be written.`,
    systemSaid(cause),
    'Choose another file.',
  ],
  IMPORT_UNREADABLE: (file: string, cause: unknown) => [
    `${file} cannot be read.`,
    systemSaid(cause),
    'Check the path.',
  ],
  IMPORT_FORMAT_UNKNOWN: (file: string, formats: string) => [
    `${file} has an unknown format.`,
    `Supported formats: ${formats}.`,
    'Set the format with --from, or export the data as OTLP.',
  ],
  CAPSULE_NOT_POSSIBLE: (run: string, file?: string) => [
    `Run ${run} cannot be packed into a capsule.`,
    file === undefined
      ? 'Its tapes and its code have more than 1 GB.'
      : `Its code includes ${fromHere(file)}, which no capsule contains: a hidden file, an installed package, a configuration of Retake, or a file on another drive.`,
    file === undefined
      ? 'Share it with `retake push`.'
      : 'Move the file to another path, and record the run again.',
  ],
  CAPSULE_INVALID: (file: string, why: string) => [
    `${fromHere(file)} is not a valid capsule; nothing was imported.`,
    why,
    'Ask for the file again.',
  ],
  CAPSULE_CONFLICT: (file: string, why: string) => [
    `${fromHere(file)} is in the way; nothing was imported.`,
    why,
    'Import the capsule in an empty folder.',
  ],
  CAPSULE_SECRET_WRONG: (at: string, why: string) => [
    `The value for ${at} does not fit; nothing was imported.`,
    why,
    'Check the variable, or leave out --secret and edit the file.',
  ],
  NOTHING_IMPORTED: (file: string, why: string) => [
    `${file} contains nothing that can be imported.`,
    why,
    'Check that it is the file you meant, and name its format with --from.',
  ],
  PORT_NOT_FREE: (port: number, cause: unknown) => [
    `Port ${port} cannot be used.`,
    systemSaid(cause),
    'Choose another port with --listen=<port>.',
  ],

  // Programs that are recorded and replayed
  AGENT_MISSING: (file: string, cwd: string, script?: string) => [
    `There is no file ${file}.`,
    `Retake looked in ${cwd}.`,
    script !== undefined
      ? `Pass only the program that ${file} would run: \`retake record ${script}\`.`
      : 'Pass the file to run, as in `retake record agent.ts`. Put other commands after `--`, as in `retake record -- python agent.py`.',
  ],
  AGENT_NOT_JAVASCRIPT: (file: string, command: string) => [
    `${file} is neither JavaScript nor TypeScript.`,
    'Programs in other languages are recorded as commands, through a proxy.',
    `Record it as a command: retake record -- ${command} ${file}`,
  ],
  AGENT_NOT_A_FILE: (file: string) => [
    `${file} is a folder.`,
    'Retake starts one JavaScript or TypeScript file.',
    `Pass a file in this folder, for example \`retake record ${file.replace(/\/+$/, '')}/index.js\`.`,
  ],
  AGENT_VARIABLE_MISSING: (entry: string, thrown: string, variables: readonly string[]) => [
    `${entry} threw an exception: ${thrown}`,
    `Before that it read ${listed(variables)} from its environment, which ${variables.length === 1 ? 'is' : 'are'} not set.`,
    `Set ${listed(variables)} if it needs ${variables.length === 1 ? 'it' : 'them'}, and run \`retake doctor ${entry}\` again.`,
  ],
  AGENT_NOT_STARTED: (cause: unknown) => [
    'The agent process could not be started.',
    systemSaid(cause),
    'Check the process limit of this machine.',
  ],
  COMMAND_NOT_STARTED: (command: string, cause: unknown) => [
    `The command "${command}" could not be started.`,
    systemSaid(cause),
    'Check that the program is installed and on the PATH.',
  ],
  REPLAYS_ANOTHER_PROGRAM: (run: string, recorded: string, entry: string) => [
    `RETAKE_REPLAY names run ${run}, which is not a run of ${entry}.`,
    `That run was recorded from ${recorded}. Its tape cannot serve another program, which could then reach the network.`,
    'Choose a run of this program, or unset RETAKE_REPLAY.',
  ],
  NOTHING_RECORDED: (how: string) => [
    'Nothing was recorded.',
    `Node ${how} before the agent started.`,
    'Read the output of Node above, and check the flags passed with --node-arg.',
  ],
  REPLAY_WITHOUT_REPORT: (how: string) => [
    'The replay ended without a report.',
    `The replayed process ${how} before it could report its progress.`,
    'Try again. If it fails again, run `retake verify` on the tape.',
  ],
  RECORDED_FOLDER_MISSING: (cwd: string) => [
    `The folder ${cwd} no longer exists.`,
    'The run was recorded there, and a replay runs your real code.',
    'Run the command in a checkout of the recorded program, or restore the folder.',
  ],
  /** `run`: set if the code of this run was kept. */
  RECORDED_AGENT_MISSING: (file: string, cwd: string, run?: string) => [
    `The recorded program ${file} no longer exists.`,
    `It was started in ${cwd}, and a replay runs your real code.`,
    run === undefined
      ? 'Restore the file, for example with `git checkout`.'
      : `Restore the file, or run the code of the recording: \`retake replay ${run} --code recorded\`.`,
  ],
  NOT_A_PROCESS_RUN: (id: string) => [
    `Run ${id} was recorded inside a program, by \`record()\` or a guard.`,
    'Its tape does not say which function to call, and with which input.',
    "For future runs, record both: `record({ name, entry: 'src/agent.ts#handle', input }, handle)`. Replay this run in code with `await replay(path, () => handle(input))`. To continue a guarded run, start its program again with `resume: true`.",
  ],
  NOT_A_PROXY_RUN: (id: string) => [
    `Run ${id} was not recorded through the proxy.`,
    'Only `retake replay` can replay it, by running its program again.',
    `Use \`retake replay ${id}\`.`,
  ],
  NOT_A_NODE_RUN: (id: string, command: readonly string[] | undefined) => [
    `Run ${id} was recorded through the proxy.`,
    command === undefined
      ? 'Its tape has exchanges of clients that Retake did not start.'
      : `Only the HTTP calls of ${command.join(' ')} were recorded.`,
    command === undefined
      ? `Answer those clients from the tape with \`retake proxy replay ${id}\`.`
      : `Use replay, show, diff, locate or verify, for example \`retake replay ${id}\`. To send live requests, record the command again.`,
  ],

  // Forks, reruns and resumes
  CREDENTIALS_MISSING: (names: readonly string[]) => [
    `${names.join(', ')} ${names.length === 1 ? 'is' : 'are'} not set here.`,
    'The recorded run used it. Tapes contain no secrets, and the new part of this run is live.',
    'Set it and try again (for the viewer, restart `retake ui`), pass a value with `--env NAME=value`, or stay offline with `--tail offline`.',
  ],
  RESPONSE_UNREADABLE: (file: string, cause: unknown) => [
    `The file ${file} cannot be read.`,
    systemSaid(cause),
    'Pass a file that contains the answer: JSON for models and tools, otherwise the bytes of the body.',
  ],
  EDITOR_MISSING: () => [
    'There is no terminal to open an editor in.',
    '--edit opens vi unless $VISUAL or $EDITOR names another editor.',
    'Set $EDITOR, or use --set or --response.',
  ],
  EDITOR_FAILED: (editor: string, status: number | null) => [
    `The editor "${editor}" could not be used.`,
    status === null ? 'It did not start.' : `It ended with exit code ${status}.`,
    'Set $EDITOR to an editor that waits until the file is closed, or use --set or --response.',
  ],
  NOTHING_EDITED: (what: string) => [
    `${what} was not changed.`,
    'The edited version is identical to the recorded one.',
    'Change something and save it, or fork without an edit to repeat the step unchanged.',
  ],

  // Debugging
  NO_USER_CODE_AFTER: (run: string, step: string) => [
    `None of your code ran after the answer of step ${step} of run ${run}.`,
    'The run ended after this step, so there is no line to show.',
    'Look at an earlier step, or at the step itself with `retake show`.',
  ],
  SOURCE_FILE_MISSING: (file: string, folders: readonly string[]) => [
    `There is no source file ${file}.`,
    `Retake looked in ${folders.join(' and ')}.`,
    'Give its path relative to the folder where the run was recorded, for example src/agent.ts:42.',
  ],
  LINE_NEVER_RAN: (file: string, line: number, why: string) => [
    `Line ${line} of ${file} never ran.`,
    why,
    'Choose a line that runs; `retake replay <run> --step N` shows where the program is at a step.',
  ],
  EXPRESSION_INVALID: (expression: string, cause: unknown) => [
    `"${expression}" is not a JavaScript expression.`,
    `${reason(cause)}.`,
    'Put it in single quotes so that the shell does not change it, and use JavaScript without types.',
  ],
  INSPECTOR_NOT_OPENED: (port: number) => [
    `The inspector could not be opened on port ${port}.`,
    'Another program uses the port, or you have no permission to use it.',
    'Choose another port, for example --inspect=9230, or --inspect=0 for any free port.',
  ],
  NO_STATE: (run: string, step: string | undefined) => [
    step === undefined
      ? `No state of run ${run} was captured.`
      : `The state of step ${step} of run ${run} was not captured.`,
    'State is not recorded with the run; a replay captures it later.',
    `Capture it with \`retake debug snapshot ${run}\`.`,
  ],
  STATES_NOT_HIDDEN: (run: string) => [
    `The states of run ${run} are not written.`,
    'They would contain the personal data that its recording hides.',
    'Use `retake debug step` or `retake debug eval`, which write nothing.',
  ],
  STATE_UNREADABLE: (file: string, cause: unknown) => [
    `The captured state ${file} cannot be read.`,
    `${reason(cause)}.`,
    'Capture it again from the tape with `retake debug snapshot`.',
  ],

  // Blame, chaos and oracles
  FINDINGS_UNREADABLE: (file: string, cause: unknown) => [
    `The findings in ${file} cannot be read.`,
    `${reason(cause)}.`,
    'Run `retake blame` or `retake fix` again: finished forks are not repeated. If a newer Retake wrote the file, use that version.',
  ],
  BLAME_NO_STEPS: (run: string) => [
    `Run ${run} has no steps to search.`,
    'It calls no model and no tool, sends no request and starts no process.',
    'Wrap the calls that may fail in `tool()` from `retake`, and record again.',
  ],
  BLAME_OFFLINE: (live: readonly string[]) => [
    'The search needs a live model.',
    live.length === 1
      ? `Step ${live[0]} sends a request when it is free, and --offline forbids that.`
      : `Steps ${live.slice(0, 10).join(', ')}${live.length > 10 ? ', …' : ''} send requests when they are free, and --offline forbids that.`,
    `Remove --offline, or use --free to give answers to ${live.length === 1 ? 'this step' : 'these steps'}.`,
  ],
  BLAME_CANNOT_TELL: (oracle: string, why: string) => [
    'The oracle cannot decide whether the recorded run failed.',
    `"${printable(oracle)}" gave no verdict on the unchanged run: ${printable(why)}.`,
    'Change the oracle so that it decides this run. `retake show` prints the output of the run.',
  ],
  BLAME_AGENT_CHANGED: (run: string, difference: string, options = '') => [
    `The program has changed since run ${run} was recorded.`,
    `With the recorded answers, it behaves differently: ${printable(difference)}. Forks would tell you nothing about the recorded run.`,
    `Run \`retake replay ${run}${options}\` to see the first difference. Undo the change, or record the failure again.`,
  ],
  JUDGE_REFUSED: (url: string, status: number, said: string) => [
    `The judge at ${url} refused with status ${status}.`,
    said === '' ? 'It did not say why.' : `It said: ${printable(said)}`,
    'Check its address, model and key: `judge: { url, model, apiKeyEnv }` in retake.config.ts, or --judge-url and --judge-model.',
  ],
  RUN_HAS_NO_END: (id: string) => [
    `Run ${id} was cut off before its end.`,
    'Orders are compared by their outcome, and this run has no outcome.',
    `Finish it with \`retake resume ${id}\`, or record it again.`,
  ],
  RECORDED_ORDER_DIFFERS: (id: string, how: string) => [
    `Run ${id} no longer has its recorded outcome, even in the recorded order: ${how}.`,
    'The code has changed, or it does something that Retake does not capture. Other orders would prove nothing.',
    `Run \`retake replay ${id}\` to see the first difference. Fix it, or record again.`,
  ],

  // Bisect
  GIT_MISSING: (cause: unknown) => [
    'Git could not be started.',
    `Git is needed to check out commits. ${systemSaid(cause)}`,
    'Install git, or put it on the PATH.',
  ],
  GIT_FAILED: (command: string, said: string) => [
    `\`git ${command}\` failed.`,
    `Git said: ${said || 'nothing'}`,
    'Resolve the problem and start again. Your checkout was not changed.',
  ],
  NOT_A_REPOSITORY: (folder: string, said: string) => [
    `${folder} is not in a git repository with a work tree.`,
    `--base compares with a commit. Git said: ${said || 'nothing'}`,
    'Change to the repository of the agent and start again.',
  ],
  UNKNOWN_REVISION: (revision: string, top: string) => [
    `There is no commit "${revision}".`,
    `The repository ${top} has no branch, tag or commit with this name.`,
    'See `git log --oneline`; in a shallow clone, run `git fetch --unshallow` first.',
  ],

  // Tests
  TEST_MODE_UNKNOWN: (mode: string, modes: readonly string[]) => [
    `"${mode}" is not a mode for test tapes.`,
    `The modes are ${modes.join(', ')}.`,
    'Set RETAKE_MODE, or the `mode` of the test, to one of these.',
  ],
  TEST_RECORDS_IN_CI: () => [
    'A test tries to record its tape in CI.',
    'Its mode is `record`. In CI, a test may only record if RETAKE_MODE=record is set.',
    'Remove the mode from the test and commit the tape.',
  ],
  FILES_CHANGED: (lines: readonly string[]) => [
    `Files that the recorded run read have changed: ${lines.join('; ')}.`,
    'The agent got their recorded content, so this test does not cover the current content.',
    'Record the tape again, undo the change, or remove `strictFiles`.',
  ],
  TEST_TAPE_MISSING: (file: string, where: string) => [
    `There is no tape ${file}.`,
    `${where} Retake does not record, so that no test reaches the network.`,
    'Run the test once on your machine to record the tape, and commit it.',
  ],
  TEST_TAPE_OF_PROCESS: (file: string, entry: string | undefined) => [
    `The tape ${file} does not contain a function call.`,
    'It was recorded from a whole program, and only that program can replay it.',
    entry === undefined
      ? 'Check it with `retake verify`, or record the test again with RETAKE_MODE=record.'
      : `Pass the program instead of a function, expect('${entry}').toReplay(…), or record the test again with RETAKE_MODE=record.`,
  ],
  TEST_TAPE_OF_FUNCTION: (file: string, program: string) => [
    `The tape ${file} does not contain a run of ${program}.`,
    'It was recorded from a function call, from another program, or from a command through the proxy.',
    'Pass the function to expect(), or record the program again with RETAKE_MODE=record.',
  ],
  TEST_TAPE_CUT_OFF: (file: string) => [
    `The tape ${file} has no end.`,
    'The recording was killed, so the expected outcome is unknown.',
    'Record it again with RETAKE_MODE=record.',
  ],
  TEST_RECORDING_THREW: (file: string, how: string, _cause?: unknown) => [
    `The agent failed while it was recorded: ${how}`,
    `A tape of a failure would make every later run fail, so ${file} was left unchanged.`,
    'Fix the failure and run again. If the agent is meant to fail, pass { throws: true }.',
  ],
  TEST_NOT_AN_AGENT: (what: string) => [
    `toReplay was given ${what}.`,
    'toReplay runs the agent itself, so it needs something to run.',
    "Pass a function that starts the agent, expect(() => agent('order 1182')), or the path of a program.",
  ],
  TEST_FILE_EXISTS: (file: string) => [
    `${file} already exists.`,
    '`retake test` does not overwrite files.',
    'Add --force to replace it, or choose another file with --out.',
  ],
  TEST_FILE_NOT_WRITABLE: (file: string, cause: unknown) => [
    `The test ${file} cannot be written.`,
    systemSaid(cause),
    'Choose a writable file with --out.',
  ],
  TEST_NEEDS_ENTRY: (run: string, part: 'function' | 'input') => [
    `Run ${run} was recorded by record(), not from a program.`,
    part === 'function'
      ? 'The test must call the same function, and the tape does not name it.'
      : 'The test must call the function with the recorded input, which JSON cannot express.',
    `Pass the function and its input: retake test ${run} --entry src/agent.ts#handle --input '"order 1182"'`,
  ],
  TEST_WOULD_FAIL: (run: string, why: string) => [
    `A test of run ${run} would fail now.`,
    why,
    'Record or fork a run that passes, and write the test from it. To expect a failure, negate the oracle with not:.',
  ],
  VITEST_POOL_UNSUPPORTED: () => [
    'Retake does not support the Vitest pools vmThreads and vmForks.',
    "They give each test file its own copies of Node's modules, which bypass recording and replay.",
    "Set pool: 'forks' or pool: 'threads'.",
  ],

  // Reports
  MANIFEST_UNREADABLE: (file: string, cause: unknown) => [
    `The manifest ${file} cannot be read.`,
    systemSaid(cause),
    'Pass a file that `retake verify --write-manifest` wrote.',
  ],
  REPORT_NOT_WRITABLE: (file: string, cause: unknown) => [
    `The report cannot be written to ${file}.`,
    systemSaid(cause),
    'Choose a file in a folder that exists and is writable.',
  ],
  REPORT_WOULD_OVERWRITE: (file: string) => [
    `${file} already exists and is not a report.`,
    'Retake only overwrites its own reports.',
    'Choose another file with -o, or add --force to replace this one.',
  ],
  REDACTION_INCOMPLETE: (steps: number) => [
    'Some matching text could not be removed, so nothing was written.',
    `It can still be read in ${steps === 1 ? 'one step' : `${steps} steps`} after redacting, spread over parts that cannot be blanked.`,
    'Use a narrower pattern, or one that matches each part on its own.',
  ],

  SECRETS_FOUND: (run: string, findings: number, first: string) => [
    `Run ${run} is not passed on: it contains ${findings === 1 ? 'what looks like a secret' : `${findings} values that look like secrets`}.`,
    `The first is in ${first}. An older version recorded it, or the recorder did not recognise it.`,
    `List them with \`retake scrub --check ${run}\`, write a copy without them with \`retake scrub ${run}\`, or add --allow-secrets.`,
  ],
  SCRUB_WOULD_OVERWRITE: (file: string) => [
    `The scrubbed copy would replace ${file}.`,
    'A tape is never replaced.',
    'Choose another folder with -o.',
  ],

  VAULT_MISSING: (file: string, run: string) => [
    `There is no vault for this copy of run ${run}.`,
    `${file} does not exist. Only copies written with --vault have one.`,
    'Put the vault beside the copy, under the same name.',
  ],
  VAULT_DAMAGED: (file: string, why: string) => [
    `The vault ${file} is damaged.`,
    why,
    'Copy it again. Without a vault, the copy can still be read and replayed with pseudonyms.',
  ],
  VAULT_OF_ANOTHER_TAPE: (file: string, run: string) => [
    `${file} is not the vault of this copy of run ${run}.`,
    'A vault belongs to one copy, and the digest of this copy is different.',
    'Put the matching vault beside the copy, or remove this one.',
  ],
  VAULT_KEY_MISSING: (run: string, needed: string) => [
    `The original of run ${run} cannot be restored: there is no key.`,
    `It is encrypted with key ${needed}, which is neither in RETAKE_VAULT_KEY nor in your state folder.`,
    'Set RETAKE_VAULT_KEY to the key of the person who wrote the tape, or replay it with pseudonyms.',
  ],

  // Guard
  APPROVAL_NOT_PENDING: (id: string) => [
    `No call with the id ${id} is waiting for approval.`,
    'It was already decided, it timed out, its program ended, or it never existed.',
    'Run `retake guard approvals` to list the waiting calls.',
  ],
  TOOL_NOT_GUARDABLE: (name: string, what: string) => [
    `"${name}" cannot be guarded.`,
    `It is ${what}, which a guard cannot intercept.`,
    'If it may run unguarded, leave it out of guardTools and pass it to the agent beside the guarded tools.',
  ],
  MCP_CLIENT_CONNECTED: () => [
    'An MCP client was guarded after it had connected.',
    'Its messages are already recorded, so guarded calls would be on the tape twice.',
    'Call guardTools(run, client) before client.connect(transport).',
  ],

  // Frameworks
  FRAMEWORK_NOT_SUPPORTED: (name: string, version: string, supported: string) => [
    `This adapter does not support ${name} ${version}.`,
    `It was written for ${name} ${supported}.`,
    'Install a version in that range, or remove the adapter. Without it, recording and replay still work; steps only lack the names of agents and nodes.',
  ],
  FRAMEWORK_MISSING: (name: string, adapter: string, _cause: unknown) => [
    `${adapter} needs ${name}, which is not installed.`,
    'An adapter uses the version of the framework that your program has installed.',
    `Install it with \`npm install ${name}\`, or remove the adapter.`,
  ],
  CHECKPOINT_NEEDS_THREAD: () => [
    'A graph with a TapeSaver was called without a thread.',
    'A checkpointer stores the states of a graph by thread.',
    "Call it with `{ configurable: { thread_id: '…' } }`.",
  ],

  // The viewer
  UI_HOST_NEEDS_PASSWORD: (host: string) => [
    `The viewer is not served for ${host} without a password.`,
    'Others could reach it there, read whole conversations, and start programs.',
    'Set RETAKE_PASSWORD or use --password-file. To serve only this machine, remove --host and --allow-host.',
  ],
  UI_PASSWORD_TOO_SHORT: (where: string, least: number) => [
    `The password in ${where} is too short.`,
    `It has fewer than ${least} characters and could be guessed.`,
    'Choose a longer one, for example with `openssl rand -base64 18`.',
  ],
  UI_PASSWORD_UNREADABLE: (file: string, cause: unknown) => [
    `The password file ${file} cannot be read.`,
    systemSaid(cause),
    'Use a readable file whose first line is the password.',
  ],
  TEST_REQUEST_CHANGED: (what: string, site: string | undefined) => [
    `The program makes a request that is not on the tape: ${what}.`,
    site === undefined
      ? 'Its code has changed since the recording.'
      : `It is made at ${fromHere(site)}.`,
    'Correct the program. If the change is intended, record the run again.',
  ],
  // Fixes
  FIX_NO_FAILURE: (run: string) => [
    `The tape of run ${run} shows no failure.`,
    'The run ended with exit code 0 and without an exception. Symptoms alone do not count as a failure.',
    'Define a pass with --oracle, for example --oracle stdout:/refunded/.',
  ],
  FIX_NOT_JUDGED: (run: string, why: string) => [
    `The oracle cannot judge run ${run}.`,
    why,
    'Give an oracle that decides this run; `retake docs oracles` lists them.',
  ],
  FIX_NOT_FORKABLE: (run: string, why: string) => [
    `Run ${run} cannot be run again with a fix.`,
    `${why}.`,
    'Record the program with `retake record <file>`, or define the function with `defineAgent`, so that the tape names its `entry`.',
  ],
  FIX_RUN_INCOMPLETE: (run: string, why: string) => [
    `Run ${run} has no end to compare a fix with.`,
    `The tape does not show the whole run: ${why}.`,
    'Fix a run that failed in the same way and was recorded to its end, or continue this one with `retake resume`.',
  ],
  FIX_NO_SOURCE: (run: string, folder: string) => [
    `The source of run ${run} is not here.`,
    `None of its files exists in ${folder}.`,
    'Run the command in a checkout of the project.',
  ],
  FIX_PROJECT_TOO_LARGE: (folder: string) => [
    `The project ${folder} is too large to copy.`,
    'Fixes are tried in a copy, which may have 20,000 files and 1 GB without installed packages.',
    'Move data out of the project, or add a package.json to the folder of the agent.',
  ],
  FIX_SOURCE_CHANGED: (file: string) => [
    `${file} changed while fixes were tried.`,
    'A fix is only valid for the source with which it was tried.',
    'Run the command again.',
  ],
  FIX_OUTSIDE_PROJECT: (file: string) => [
    `A fix would change ${file}.`,
    'The file is outside of the project, a link, or part of an installed package.',
    'Edit the file by hand.',
  ],
  FIX_SANDBOX_MISSING: (why: string) => [
    'Code written by a model is not run without a sandbox.',
    `There is none: ${why}.`,
    'Install bubblewrap (on Linux), use --no-ai, or accept the risk with --no-sandbox.',
  ],
  FIX_TOOL_NOT_RUN: (tools: readonly string[], why: string) => [
    `A fix could not be tried: it changes the code of ${listed(tools)}.`,
    `A changed tool runs only in a sandbox, where it can do no harm, and there is none: ${why}.`,
    'Install bubblewrap (on Linux), or accept the risk with --no-sandbox.',
  ],
  FIX_VARIABLE_MISSING: (names: readonly string[]) => [
    `A fix could not be tried: it needs ${listed(names)}.`,
    'The failed run ended before it read that, and it is not set here, or it looks like a secret.',
    `Set it with --env, for example --env ${names[0] ?? 'NAME'}=value.`,
  ],
  FIX_ADDRESS_MISSING: (addresses: readonly string[]) => [
    `A fix could not be tried: it makes requests to ${listed(addresses)}.`,
    'The failed run never reached these requests, so the sandbox does not know that a model is there.',
    'Record a run of the same program that passes, set the base URL variable, such as OPENAI_BASE_URL, or add --no-sandbox.',
  ],
  FIX_POLICY_OBSERVES: () => [
    'The configuration does not allow applying fixes.',
    'retake.config sets `fix: { policy: "observe" }`.',
    'Set it to `suggest`, `apply` or `auto`.',
  ],
  FIX_NOT_APPROVED: () => [
    'The fix was not applied.',
    'There is no terminal to confirm it on, and --yes is missing.',
    'Add --yes to apply it.',
  ],
  FIX_NOT_PROVEN: (fix: string, run: string) => [
    `Fix ${fix} cannot be applied.`,
    `The run did not pass with it in the last \`retake fix ${run}\`.`,
    'Run the command again, or reload the page.',
  ],
  FIX_DIRTY: (files: readonly string[]) => [
    `${listed(files)} ${files.length === 1 ? 'has' : 'have'} uncommitted changes.`,
    'The fix would be mixed with your changes.',
    'Commit or stash them, or add --force.',
  ],
  FIX_CIRCUIT_OPEN: (what: string) => [
    'The fix was not applied: the circuit breaker is open.',
    what,
    'Check `retake fix --history`. To apply the fix anyway, add --force.',
  ],
  FIX_NOTHING_TO_UNDO: () => [
    'There is no fix to undo.',
    'No fix was applied in this project, or all of them were undone.',
    '`retake fix --history` lists what was applied.',
  ],
  FIX_FILE_CHANGED: (file: string, did: string) => [
    `${file} was changed since the fix was ${did}.`,
    'Its content matches neither the version before the fix nor the one after it.',
    'Edit the file by hand, or add --force to overwrite it.',
  ],
  FIX_JOURNAL_UNREADABLE: (file: string, cause: unknown) => [
    `The journal ${file} cannot be read.`,
    `Reading it failed: ${reason(cause)}.`,
    'Compare your files with `git diff`, then delete the journal.',
  ],
  FIX_WORKING_TREE_LOCKED: (pid: number) => [
    'Another process is applying a fix here.',
    `It has the id ${pid}.`,
    'Wait until it has ended.',
  ],
  FIX_NO_MODEL: () => [
    'No model is configured to write fixes.',
    'A key was given, but no --model, and `fix: { model }` is not set in retake.config.',
    'Add --model, or use --no-ai.',
  ],
  FIX_NO_ENDPOINT: (model: string) => [
    `There is no endpoint for the model ${model}.`,
    'Neither --model-url nor a key was given, and OPENAI_API_KEY, ANTHROPIC_API_KEY and GROQ_API_KEY are not set.',
    'Set one of them, here or in .env, or use --no-ai.',
  ],
  FIX_MODEL_REFUSED: (url: string, status: number, body: string) => [
    `The model at ${url} refused the request.`,
    `It answered ${status}${body === '' ? '' : `: ${body}`}.`,
    'Check the key, the name of the model and the address, or use --no-ai.',
  ],
  FIX_UNKNOWN_CLUSTER: (id: string, ids: readonly string[]) => [
    `There is no cluster "${id}".`,
    ids.length === 0 ? 'No failed run was found.' : `The clusters are ${listed(ids)}.`,
    'Run `retake failures` to list them.',
  ],
  UI_PORT_TAKEN: (port: number, cause: unknown) => [
    `The viewer cannot listen on port ${port}.`,
    systemSaid(cause),
    'Choose another one with --port; `--port 0` uses any free port and prints it.',
  ],
  UI_HOST_UNKNOWN: (host: string, cause: unknown) => [
    `The viewer cannot listen on ${host}.`,
    systemSaid(cause),
    'Set --host to an address of this machine. For a host name that reaches this machine through a proxy, use --allow-host.',
  ],
  TOO_MANY_JOBS: (most: number) => [
    `${most} forks and reruns are waiting already.`,
    'Each is a separate process, and only a few run concurrently.',
    'Wait until some have finished, or stop some.',
  ],
  JOB_FAILED: (cause: unknown) => [
    'The fork or rerun failed to start.',
    `${reason(cause)}.`,
    'Run `retake fork` or `retake rerun` in a terminal to see the output of the program.',
  ],
  NO_SUCH_JOB: (id: string) => [
    `There is no fork or rerun "${id}" here.`,
    'It ended a while ago, or another server started it.',
    'Look at the branches of the run to see what was recorded.',
  ],
  NO_SUCH_SESSION: (id: string, why: string) => [
    `The debug session ${id} is closed.`,
    why,
    'Go to the step again to open a new session.',
  ],
  SERVER_CLOSING: () => [
    "The viewer's server is shutting down.",
    'It accepts no new work while it stops.',
    'Start `retake ui` again.',
  ],
})

/** The tape names a program that the user has not agreed to start on this machine. */
export class RunNotTrusted extends RetakeError {
  override readonly name = 'RunNotTrusted'

  constructor(
    readonly tape: Tape,
    /** The command line that would be started. */
    readonly startLine: string,
  ) {
    super(
      'RUN_NOT_TRUSTED',
      `Run ${tape.run.id} was not recorded on this machine, so Retake does not start its program.`,
      `The tape says to start: ${startLine}`,
      `If you trust it, run \`retake trust ${fromHere(tape.path)}\`, or add --trust to this command.`,
    )
  }
}
