import { existsSync } from 'node:fs'
import { errorTable, reason, RetakeError } from '@retake/engine/errors'
import type { Tape } from '@retake/tape'
import { fromHere, printable } from './terminal/terminal.js'

const systemSaid = (cause: unknown): string => `The system said: ${reason(cause)}.`
const listed = (items: readonly string[]): string =>
  items.slice(0, 5).join(', ') + (items.length > 5 ? ' and more' : '')

/** Errors of the command line and of what the package adds to the engine, by code: what, why, fix. */
export const cliErrors = errorTable({
  // The command line
  UNKNOWN_COMMAND: (verb: string, suggestion: string | undefined) => [
    `There is no command "${verb}".`,
    suggestion ? `Did you mean \`retake ${suggestion}\`?` : 'No command has a similar name.',
    'Run `retake --help` to list the commands.',
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
    'Run `retake docs` to list the pages; look up an error by its code.',
  ],
  CONFIG_INVALID: (file: string, what: string) => [
    `The configuration ${file} is not valid.`,
    what,
    'Correct it; `retake docs config` lists every setting.',
  ],
  CONFIG_UNREADABLE: (file: string, position: string, cause: unknown) => [
    `The configuration ${file}${position} cannot be read.`,
    `It says: ${reason(cause)}`,
    'Correct the file, or remove it: every setting has a default.',
    { cause },
  ],

  // Runs
  NO_RUNS: (folder: string) => [
    'There is no run yet.',
    existsSync(folder) ? `There is no tape in ${folder}.` : `There is no folder ${folder}.`,
    'Record a run with `retake record <file>`, create some with `retake demo`, or name another folder with --dir (`retake policy`: --tapes).',
  ],
  UNKNOWN_RUN: (name: string, folder: string) => [
    `There is no run "${name}".`,
    `No tape in ${folder} has an id that starts like this, and no file has this path.`,
    'Run `retake list` to see the runs. Name a run by id, the start of its id, path, `last`, `last~1` or `last:failed`.',
  ],
  AMBIGUOUS_RUN: (name: string, ids: readonly string[]) => [
    `"${name}" matches ${ids.length} runs.`,
    `They are ${listed(ids)}.`,
    'Give more letters of the id, or use `last`.',
  ],
  NO_SUCH_LAST_RUN: (name: string, status: string | undefined, found: number, folder: string) => [
    `There is no run \`${name}\`.`,
    `${folder} has ${found} ${status === undefined ? '' : `${status} `}${found === 1 ? 'run' : 'runs'}.`,
    'Run `retake list` to see the runs; `last~1` is the one before the last, `last:failed` the last that failed.',
  ],
  TAPE_NAME_INVALID: (file: string) => [
    `A tape cannot be written to ${file}.`,
    'The name of its file is the id of the run: letters, digits and . _ -, and .tape at the end.',
    'Choose a name such as refund.tape.',
  ],
  TAGS_UNREADABLE: (file: string) => [
    `The tags in ${file} cannot be read.`,
    'The file does not contain a list of tags.',
    'Correct the file, or delete it to get the recorded tags back.',
  ],
  TAG_INVALID: (tag: string) => [
    `"${tag}" is not a tag.`,
    'A tag has letters, digits and any of . _ : / @ -, at most 100 characters, and starts with a letter or digit.',
    'Write it as `+tag` to add or `-tag` to remove it.',
  ],
  RUN_HAS_BRANCHES: (id: string, branches: readonly string[]) => [
    `Run ${id} is not removed.`,
    `Branches begin with its events and cannot be read without it: ${listed(branches)}.`,
    'Add --branches to remove them, too.',
  ],
  RUN_PINNED: (id: string) => [
    `Run ${id} is not removed.`,
    'It has the tag `pin`.',
    `Remove the tag first: retake tag ${id} -pin`,
  ],
  RUN_NOT_REMOVED: (id: string, cause: unknown) => [
    `Run ${id} cannot be removed.`,
    systemSaid(cause),
    'Check who owns the folder of the tapes, and remove it again.',
    { cause },
  ],
  RUN_RETAINED: (id: string) => [
    `Run ${id} is not removed.`,
    'It has the tag `hold`: somebody wants it to stay.',
    `If you may lift the hold: retake tag ${id} -hold`,
  ],
  RUN_NOT_IN_TRASH: (id: string, folder: string) => [
    `Run ${id} is not in the trash.`,
    `No run in ${folder} has this id: it was removed for good, or never there.`,
    'Run `retake gc --trash` to list what can be restored.',
  ],
  RUN_ALREADY_THERE: (id: string, tape: string) => [
    `Run ${id} is not restored.`,
    `There is a tape ${tape}.`,
    'Move it away first.',
  ],
  // Keys and receipts
  KEY_EXISTS: (file: string) => [
    'There is a key for seals.',
    `It is in ${file}.`,
    'Add --replace to put it aside; receipts that it signed stay valid.',
  ],
  KEY_NOT_FOUND: (given: string) => [
    `There is no key "${given}".`,
    'It is neither the name of a known key, nor a public ed25519 key, nor a PEM file with one.',
    'Run `retake keys` for the names; the owner prints the key with `retake keys export seal`.',
  ],
  KEY_NOT_IMPORTED: (file: string, cause: unknown) => [
    `${file} is not a private key for seals.`,
    systemSaid(cause),
    'Name a PEM file with a private ed25519 key.',
    { cause },
  ],
  KEYS_UNREADABLE: (file: string, cause: unknown) => [
    `The names of trusted keys in ${file} cannot be read.`,
    systemSaid(cause),
    'Correct the file, or remove it and name the keys again with `retake keys trust`.',
    { cause },
  ],
  RECEIPT_NOT_POSSIBLE: (id: string, why: string) => [
    `There is no receipt for run ${id}.`,
    why,
    'A receipt needs the intact tape of a run that has ended; record it again with `retake record --sign`.',
  ],
  RECEIPT_STEP_OF_PARENT: (label: string, id: string, parent: string) => [
    `Step ${label} is not on the tape of run ${id}.`,
    'The run is a branch, and shares this step with its parent.',
    `Make a receipt of the parent: retake receipt ${parent} --steps ${label}`,
  ],
  RECEIPT_SHOWS_NEIGHBORS: (id: string, events: readonly string[]) => [
    'The receipt would show more than these steps.',
    `Run ${id} was recorded without --sign, so events share hashes with the steps: ${listed(events)}.`,
    'Record with --sign, or add --allow-neighbors to disclose these events, too.',
  ],
  RECEIPT_UNREADABLE: (file: string, cause: unknown) => [
    `The receipt ${file} cannot be read.`,
    systemSaid(cause),
    'Name the file that `retake receipt --out` wrote.',
    { cause },
  ],
  TEXT_NOT_FOUND: (
    run: string,
    text: string,
    near: readonly { readonly text: string; readonly count: number }[],
  ) => [
    `"${printable(text.length > 60 ? `${text.slice(0, 59)}…` : text)}" does not occur in run ${run}.`,
    'Every event was searched; secrets are on the tape as placeholders only.',
    near.length === 0
      ? 'Search for a shorter part of it; `retake show` prints the steps.'
      : `Did you mean ${near.map(({ text: each, count }) => `"${printable(each)}" (${count})`).join(', ')}?`,
  ],
  NOTHING_TO_SEPARATE: (runs: number, missing: string) => [
    `None of the ${runs} runs ${missing}.`,
    'Failed runs are compared with passed ones, so both are needed.',
    'Record more runs, choose others with --since and --dir, or say with --oracle what passing means.',
  ],
  RUN_STILL_RECORDING: (id: string) => [
    `Run ${id} is still being recorded.`,
    'Its tape grows, so it cannot be run again yet.',
    'Wait until it has ended.',
  ],
  TRUST_NOT_SAVED: (file: string, cause: unknown) => [
    `The trusted run cannot be saved in ${file}.`,
    systemSaid(cause),
    'Set XDG_STATE_HOME to a writable folder, or add --trust to each command.',
    { cause },
  ],

  // Exports and imports
  IMPORT_DOWNLOAD_FAILED: (url: string, why: string) => [
    `${url} cannot be downloaded.`,
    why,
    'Check the id of the trace, LANGFUSE_BASE_URL and the keys of the project.',
  ],
  EXPORT_FAILED: (url: string, sent: number, why: string) => [
    `The export to ${url} did not succeed.`,
    `${sent === 0 ? 'No span was' : `Only the first ${sent} spans were`} accepted. ${why}`,
    'Check the address, and export again: the tape has everything, and spans keep their ids, so none is counted twice.',
  ],
  EXPORT_REJECTED: (url: string, rejected: number, why: string) => [
    `${url} rejected ${rejected} spans.`,
    why === '' ? 'It did not say why.' : `It said: ${why}`,
    'Check the limits of the receiver; `--attributes gen_ai` and leaving out --content make spans smaller.',
  ],
  FILE_NOT_WRITABLE: (file: string, cause: unknown) => [
    `${file} cannot be written.`,
    systemSaid(cause),
    'Choose another file.',
    { cause },
  ],
  IMPORT_UNREADABLE: (file: string, cause: unknown) => [
    `${file} cannot be read.`,
    systemSaid(cause),
    'Check the path.',
    { cause },
  ],
  IMPORT_FORMAT_UNKNOWN: (file: string, formats: string) => [
    `The format of ${file} is not known.`,
    `It does not look like any of ${formats}.`,
    'Name the format with --from, or export the data as OTLP.',
  ],
  NOTHING_IMPORTED: (file: string, problems: string) => [
    `${file} contains nothing that can be imported.`,
    problems === '' ? 'No span was found.' : `Found: ${problems}.`,
    'Check that it is the file you meant, and name its format with --from.',
  ],
  PORT_NOT_FREE: (port: number, cause: unknown) => [
    `Port ${port} cannot be used.`,
    systemSaid(cause),
    'Choose another one with --listen=<port>.',
    { cause },
  ],

  // Programs that are recorded and replayed
  AGENT_MISSING: (file: string, cwd: string) => [
    `There is no file ${file}.`,
    `It was looked for in ${cwd}.`,
    'Name the file to run, as in `retake record agent.ts`. Put other commands after `--`, as in `retake record -- python agent.py`.',
  ],
  AGENT_NOT_JAVASCRIPT: (file: string, command: string) => [
    `${file} is neither JavaScript nor TypeScript.`,
    'Programs in other languages are recorded from outside, as commands.',
    `Record it as a command: retake record -- ${command} ${file}`,
  ],
  AGENT_NOT_A_FILE: (file: string) => [
    `${file} is a folder.`,
    'Retake starts one JavaScript or TypeScript file.',
    `Name the file in it, for example \`retake record ${file.replace(/\/+$/, '')}/index.js\`.`,
  ],
  AGENT_NOT_STARTED: (cause: unknown) => [
    'The agent process could not be started.',
    systemSaid(cause),
    'Check that this machine can start more processes.',
    { cause },
  ],
  COMMAND_NOT_STARTED: (command: string, cause: unknown) => [
    `The command "${command}" could not be started.`,
    systemSaid(cause),
    'Check that the program is installed and on the PATH.',
    { cause },
  ],
  REPLAYS_ANOTHER_PROGRAM: (run: string, recorded: string, entry: string) => [
    `RETAKE_REPLAY names run ${run}, which is not a run of ${entry}.`,
    `It was recorded from ${recorded}. Another program would not be served and could reach the outside.`,
    'Name a run of this program, or unset RETAKE_REPLAY.',
  ],
  NOTHING_RECORDED: (how: string) => [
    'Nothing was recorded.',
    `Node ${how} before the agent started.`,
    'Read what Node printed above, and check the flags given with --node-arg.',
  ],
  REPLAY_WITHOUT_REPORT: (how: string) => [
    'The replay ended without a report.',
    `The replayed process ${how} before it could report its progress.`,
    'Run it again; if it happens again, run `retake verify` on the tape.',
  ],
  RECORDED_FOLDER_MISSING: (cwd: string) => [
    `The folder ${cwd} no longer exists.`,
    'The run was recorded there, and replay runs the real code again.',
    'Run the command in a checkout of the recorded program, or restore the folder.',
  ],
  RECORDED_AGENT_MISSING: (file: string, cwd: string) => [
    `The recorded program ${file} no longer exists.`,
    `It was started in ${cwd}, and replay runs the real code again.`,
    'Restore the file, for example with `git checkout`.',
  ],
  NOT_A_PROCESS_RUN: (id: string) => [
    `Run ${id} was recorded inside a program, by \`record()\` or a guard.`,
    'Its tape does not say which function to call, and with which input.',
    "Add both where it is recorded: `record({ name, entry: 'src/agent.ts#handle', input }, handle)`. Run this one again with `await replay(path, () => handle(input))` from the package retake; to continue a guarded run, start its program again with `resume: true`.",
  ],
  NOT_A_PROXY_RUN: (id: string) => [
    `Run ${id} was not recorded through the proxy.`,
    'Its requests belong to one program, which `retake replay` runs again.',
    `Use \`retake replay ${id}\`.`,
  ],
  NOT_A_NODE_RUN: (id: string, command: readonly string[] | undefined) => [
    `Run ${id} was recorded through the proxy.`,
    command === undefined
      ? 'Its tape holds exchanges of clients that Retake did not start.'
      : `Only the HTTP calls of ${command.join(' ')} were recorded.`,
    command === undefined
      ? `Answer those clients from the tape with \`retake proxy replay ${id}\`.`
      : `Use replay, show, diff, locate or verify, for example \`retake replay ${id}\`. To run it live, record it again.`,
  ],
  DECORATORS_NOT_COMPILED: (file: string, version: string | undefined) => [
    `${file} uses decorators, which Node.js cannot run.`,
    `Retake compiles them with the TypeScript of your project, and ${version === undefined ? 'none is installed there' : `version ${version} has no compiler API`}.`,
    'Install one that has: `npm install --save-dev typescript@5`. Or compile the program first and record the JavaScript.',
  ],

  // Forks, reruns and resumes
  CREDENTIALS_MISSING: (names: readonly string[]) => [
    `${names.join(', ')} ${names.length === 1 ? 'is' : 'are'} not set here.`,
    'The run was recorded with it; tapes hold no secrets, and the part after the recording is live.',
    'Set it and try again (the viewer: set it and restart `retake ui`), pass any value with `--env NAME=value`, or stay offline with `--tail offline`.',
  ],
  RESPONSE_UNREADABLE: (file: string, cause: unknown) => [
    `The file ${file} cannot be read.`,
    systemSaid(cause),
    'Name a file with the answer: JSON for models and tools, otherwise the bytes of the body.',
    { cause },
  ],
  EDITOR_FAILED: (editor: string, status: number | null) => [
    `The editor "${editor}" could not be used.`,
    status === null ? 'It did not start.' : `It ended with exit code ${status}.`,
    'Set $EDITOR to one that waits until the file is closed, or use --set or --response.',
  ],
  NOTHING_EDITED: (what: string) => [
    `${what} was not changed.`,
    'The edited version is the same as the recorded one.',
    'Change something and save it, or fork without an edit to run the step again as it is.',
  ],

  // Debugging
  NO_USER_CODE_AFTER: (run: string, step: string) => [
    `None of your code ran after the answer of step ${step} of run ${run}.`,
    'The run ended without it, so there is no line to show.',
    'Look at an earlier step, or at the step itself with `retake show`.',
  ],
  SOURCE_FILE_MISSING: (file: string, folders: readonly string[]) => [
    `There is no source file ${file}.`,
    `It was looked for in ${folders.join(' and ')}.`,
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
    'Put it in single quotes, so that the shell does not change it, and use JavaScript without types.',
  ],
  INSPECTOR_NOT_OPENED: (port: number) => [
    `The inspector could not be opened on port ${port}.`,
    'Another program uses the port, or you may not use it.',
    'Choose another one: --inspect=9230, or --inspect=0 for any free port.',
  ],
  NO_STATE: (run: string, step: string | undefined) => [
    step === undefined
      ? `There is no state of run ${run}.`
      : `The state of step ${step} of run ${run} was not captured.`,
    'State is captured afterwards, by replaying.',
    `Capture it with \`retake snapshot ${run}\`.`,
  ],
  STATE_UNREADABLE: (file: string, cause: unknown) => [
    `The captured state ${file} cannot be read.`,
    `${reason(cause)}.`,
    'Capture it again with `retake snapshot`; nothing is lost, it comes from the tape.',
    { cause },
  ],

  // Blame, chaos and oracles
  FINDINGS_UNREADABLE: (file: string, cause: unknown) => [
    `The findings in ${file} cannot be read.`,
    `${reason(cause)}.`,
    'Run `retake blame` or `retake fix` again: finished forks are not repeated. If a newer Retake wrote the file, use that version.',
    { cause },
  ],
  BLAME_NO_STEPS: (run: string) => [
    `Run ${run} has no step that could be blamed.`,
    'It calls no model and no tool, sends no request and starts no process.',
    'Wrap what may fail in `tool()` from the package retake, and record again.',
  ],
  BLAME_CANNOT_TELL: (oracle: string, why: string) => [
    'The oracle cannot decide whether the recorded run failed.',
    `"${printable(oracle)}" gave no verdict on the unchanged run: ${printable(why)}.`,
    'Make it answer pass or fail for this run; `retake show` prints the output of the run.',
  ],
  BLAME_AGENT_CHANGED: (run: string, difference: string) => [
    `The program is no longer the one that was recorded in ${run}.`,
    `Served from its tape, it behaves differently: ${printable(difference)}. Forks would say nothing about the recorded run.`,
    `Run \`retake replay ${run}\` to see the first difference. Undo the change, or record the failure again.`,
  ],
  JUDGE_REFUSED: (url: string, status: number, said: string) => [
    `The judge at ${url} refused with status ${status}.`,
    said === '' ? 'It did not say why.' : `It said: ${printable(said)}`,
    'Check address, model and key: `judge: { url, model, apiKeyEnv }` in retake.config.ts, --judge-url and --judge-model.',
  ],
  RUN_HAS_NO_END: (id: string) => [
    `Run ${id} was cut off before its end.`,
    'Orders are compared by their outcome, and this run has none.',
    `Finish it with \`retake resume ${id}\`, or record it again.`,
  ],
  RECORDED_ORDER_DIFFERS: (id: string, how: string) => [
    `In the recorded order, run ${id} no longer has the recorded outcome: ${how}.`,
    'The code has changed, or it does something that is not captured. Other orders would prove nothing.',
    `Run \`retake replay ${id}\` to see the first difference; record again once it is gone.`,
  ],

  // Bisect
  GIT_MISSING: (cause: unknown) => [
    'Git could not be started.',
    `Git is needed to check out commits. ${systemSaid(cause)}`,
    'Install git, or put it on the PATH.',
    { cause },
  ],
  GIT_FAILED: (command: string, said: string) => [
    `\`git ${command}\` failed.`,
    `Git said: ${said || 'nothing'}`,
    'Fix what git complains about and start again; your checkout was not changed.',
  ],
  NOT_A_REPOSITORY: (folder: string, said: string) => [
    `${folder} is not in a git repository with a work tree.`,
    `Bisect searches commits. Git said: ${said || 'nothing'}`,
    'Change to the repository of the agent and start again.',
  ],
  UNKNOWN_REVISION: (revision: string, top: string) => [
    `There is no commit "${revision}".`,
    `The repository ${top} has no branch, tag or commit with this name.`,
    'See `git log --oneline`; in a shallow clone, run `git fetch --unshallow` first.',
  ],
  OUTSIDE_REPOSITORY: (what: string, top: string) => [
    `The run was recorded outside of this repository: ${what}.`,
    `The repository here is ${top}; its commits would not change that program.`,
    'Start again in the repository in which the run was recorded.',
  ],
  DIRTY_TREE: (files: readonly string[]) => [
    `The checkout has uncommitted changes in ${files.length === 1 ? 'one file' : `${files.length} files`}.`,
    `Only commits are tested, so these changes are not: ${listed(files)}.`,
    'Commit them, or ignore them with --allow-dirty.',
  ],
  NOT_AN_ANCESTOR: (good: string, bad: string) => [
    `The good commit ${good} does not come before the bad commit ${bad}.`,
    'The first bad commit is searched between them, so one must lead to the other.',
    `Name an older commit as good, for example \`git merge-base ${good} ${bad}\`, or swap the two.`,
  ],
  BISECT_SAME_COMMIT: (commit: string) => [
    `Good and bad are the same commit, ${commit}.`,
    'There is nothing to search between them.',
    'Name an older commit with --good, at which the run was still as recorded.',
  ],
  BISECT_NOT_GOOD: (commit: string, found: string) => [
    `The good commit ${commit} is not good.`,
    `Replayed there: ${found}.`,
    'Name with --good the commit at which the run was recorded, or give an --oracle that it passes.',
  ],
  BISECT_NOT_BAD: (commit: string, found: string) => [
    `The bad commit ${commit} is not bad.`,
    `Replayed there: ${found}.`,
    'Name with --bad a commit that shows the change, or give an --oracle that distinguishes them.',
  ],
  BISECT_UNTESTABLE: (which: string, commit: string, found: string) => [
    `The ${which} commit ${commit} cannot be tested.`,
    found,
    'Give the command that prepares it with --run, or name another commit.',
  ],
  BISECT_CUT_OFF: (id: string) => [
    `The tape of run ${id} was cut off.`,
    'The run was killed, so its correct outcome is not known.',
    'Record a run that reaches its end, and bisect with that.',
  ],

  // Tests
  TEST_MODE_UNKNOWN: (mode: string, modes: readonly string[]) => [
    `"${mode}" is not a mode for the tapes of tests.`,
    `The modes are ${modes.join(', ')}.`,
    'Set RETAKE_MODE, or the `mode` of the test, to one of them.',
  ],
  TEST_RECORDS_IN_CI: () => [
    'A test tries to record its tape in CI.',
    'Its mode is `record`, probably left from the last recording; CI only uses the network with RETAKE_MODE=record.',
    'Remove the mode from the test and commit the tape.',
  ],
  FILES_CHANGED: (lines: readonly string[]) => [
    `Files that the recorded run read have changed: ${lines.join('; ')}.`,
    'The agent got their recorded content, so this test does not cover the current content.',
    'Record the tape again, undo the change, or remove `strictFiles`.',
  ],
  TEST_TAPE_MISSING: (file: string, where: string) => [
    `There is no tape ${file}.`,
    `${where} nothing is recorded, so that no test reaches the network.`,
    'Run the test once on your machine, which records the tape, and commit it.',
  ],
  TEST_TAPE_OF_PROCESS: (file: string, entry: string | undefined) => [
    `The tape ${file} does not contain a function call.`,
    'It was recorded from a whole program, which only that program can replay.',
    entry === undefined
      ? 'Check it with `retake verify`, or record the test again with RETAKE_MODE=record.'
      : `Name the program instead of a function, expect('${entry}').toReplay(…), or record the test again with RETAKE_MODE=record.`,
  ],
  TEST_TAPE_OF_FUNCTION: (file: string, program: string) => [
    `The tape ${file} does not contain a run of ${program}.`,
    'It was recorded from a function call, from another program, or from a command through the proxy.',
    'Pass the function to expect(), or record the program again with RETAKE_MODE=record.',
  ],
  TEST_TAPE_CUT_OFF: (file: string) => [
    `The tape ${file} has no end.`,
    'Its recording was killed, so the expected outcome is not known.',
    'Record it again with RETAKE_MODE=record.',
  ],
  TEST_RECORDING_THREW: (file: string, how: string, cause?: unknown) => [
    `The agent failed while it was recorded: ${how}`,
    `A tape of a failure would make every later run fail, so ${file} was left unchanged.`,
    'Fix what failed and run again. If the agent is meant to fail, pass { throws: true }.',
    { cause },
  ],
  TEST_NOT_AN_AGENT: (what: string) => [
    `toReplay was given ${what}.`,
    'It runs the agent itself, with the tape in place of the outside world.',
    "Pass a function that starts the agent, expect(() => agent('order 1182')), or the path of a program.",
  ],
  TEST_FILE_EXISTS: (file: string) => [
    `${file} exists.`,
    '`retake test` does not overwrite files.',
    'Add --force to replace it, or choose another file with --out.',
  ],
  TEST_FILE_NOT_WRITABLE: (file: string, cause: unknown) => [
    `The test ${file} cannot be written.`,
    systemSaid(cause),
    'Choose a writable file with --out.',
    { cause },
  ],
  TEST_NEEDS_ENTRY: (run: string, part: 'function' | 'input') => [
    `Run ${run} was recorded by record(), not from a program.`,
    part === 'function'
      ? 'A test has to call the same function, and the tape does not name it.'
      : 'A test has to call its function with the same input, and JSON cannot express that of the tape.',
    `Name it and its input: retake test ${run} --entry src/agent.ts#handle --input '"order 1182"'`,
  ],
  TEST_WOULD_FAIL: (run: string, why: string) => [
    `A test of run ${run} would fail now.`,
    why,
    'Write the test from a run that passes: record or fork one. To pin a failure, negate the oracle with not:.',
  ],
  VITEST_POOL_UNSUPPORTED: () => [
    'Retake cannot work in the Vitest pools vmThreads and vmForks.',
    "They give test files copies of Node's own modules, which are neither recorded nor replayed.",
    "Set pool: 'forks' or pool: 'threads'.",
  ],

  // Reports
  MANIFEST_UNREADABLE: (file: string, cause: unknown) => [
    `The manifest ${file} cannot be read.`,
    systemSaid(cause),
    'Name a file that `retake verify --write-manifest` wrote.',
    { cause },
  ],
  REPORT_NOT_WRITABLE: (file: string, cause: unknown) => [
    `The report cannot be written to ${file}.`,
    systemSaid(cause),
    'Name another file, in a folder that exists and is writable.',
    { cause },
  ],
  REPORT_WOULD_OVERWRITE: (file: string) => [
    `${file} exists already and is not a report.`,
    'Only reports of Retake are replaced without confirmation.',
    'Name another file with -o, or add --force to replace this one.',
  ],
  REDACTION_INCOMPLETE: (steps: number) => [
    'Some matching text could not be removed, so nothing was written.',
    `It can still be read in ${steps === 1 ? 'one step' : `${steps} steps`} after redacting, spread over parts that cannot be blanked.`,
    'Use a pattern that matches less, or one that matches each part on its own.',
  ],

  SECRETS_FOUND: (run: string, findings: number, first: string) => [
    `Run ${run} is not passed on: it contains ${findings === 1 ? 'what looks like a secret' : `${findings} values that look like secrets`}.`,
    `The first is in ${first}. A recorder of an older version, or a secret that it could not recognise, leaves them on a tape.`,
    `List them with \`retake scan ${run}\`, write a copy without them with \`retake scrub ${run}\`, or add --allow-secrets.`,
  ],
  SCRUB_WOULD_OVERWRITE: (file: string) => [
    `The scrubbed copy would replace ${file}.`,
    'A tape is never replaced.',
    'Name another folder with -o.',
  ],

  VAULT_MISSING: (file: string, run: string) => [
    `There is no vault for this copy of run ${run}.`,
    `${file} does not exist. Only a copy that was written with --vault has one.`,
    'Put the vault beside the copy, under the same name.',
  ],
  VAULT_DAMAGED: (file: string, why: string) => [
    `The vault ${file} is damaged.`,
    `${why} It was not copied completely, or somebody changed it.`,
    'Copy it again. Without a vault, the copy can still be read, and replayed with pseudonyms.',
  ],
  VAULT_OF_ANOTHER_TAPE: (file: string, run: string) => [
    `${file} is not the vault of this copy of run ${run}.`,
    'A vault belongs to the digest of one copy; the copy beside it has another one.',
    'Put the vault of this copy beside it, or remove the one that is there.',
  ],
  VAULT_KEY_MISSING: (run: string, needed: string) => [
    `The vault of run ${run} cannot be opened: there is no key.`,
    `It was closed with key ${needed}, which is neither in RETAKE_VAULT_KEY nor in the state folder of this user. Without it, nobody can open the vault.`,
    'Set RETAKE_VAULT_KEY to the key of whoever wrote the copy, or replay the copy with pseudonyms.',
  ],

  // Guard
  POLICY_UNREADABLE: (
    file: string,
    said: string,
    fix = 'Write a policy as YAML, JSON, or the default export of a JavaScript or TypeScript file.',
  ) => [`The policy ${file} cannot be read.`, `${said.replace(/\.$/, '')}.`, fix],
  POLICY_INVALID: (file: string, problems: readonly string[]) => [
    `The policy ${file} says something that Retake does not understand.`,
    'A misspelt rule would have no effect, so nothing is guessed.',
    'Correct these:',
    { details: problems },
  ],
  STEP_NOT_A_TOOL_CALL: (run: string, label: string, steps: readonly string[]) => [
    `Step ${label} of run ${run} is not a tool call.`,
    steps.length === 0
      ? 'The run has no tool calls.'
      : steps.length === 1
        ? `Its only tool call is step ${steps[0]}.`
        : `Its tool calls are steps ${steps.join(', ')}.`,
    `Name a tool call; \`retake show ${run}\` lists all steps.`,
  ],
  RULE_NOT_FOUND: (run: string, label: string, passing: number) => [
    `No rule was found that blocks step ${label} of run ${run} and allows the runs that passed.`,
    `Its tool, arguments and history look like those of calls in the ${passing} runs that passed.`,
    'Write a rule by hand and try it with `retake policy test`, or exclude runs that should not have passed.',
  ],
  APPROVAL_NOT_PENDING: (id: string) => [
    `No call waits for approval under ${id}.`,
    'It was decided, it timed out, its program ended, or it never existed.',
    'Run `retake approvals` to list the calls that wait.',
  ],
  TOOL_NOT_GUARDABLE: (name: string, what: string) => [
    `"${name}" cannot be guarded.`,
    `It is ${what}, which a guard cannot intercept.`,
    'Leave it out of guardTools and pass it to the agent beside the guarded ones, if it may run unguarded.',
  ],
  MCP_CLIENT_CONNECTED: () => [
    'An MCP client was guarded after it had connected.',
    'Inside a recording its messages are on the tape already, and guarded calls would be there twice.',
    'Call guardTools(run, client) before client.connect(transport).',
  ],

  // Frameworks
  FRAMEWORK_NOT_SUPPORTED: (name: string, version: string, supported: string) => [
    `This adapter does not support ${name} ${version}.`,
    `It was written for ${name} ${supported}.`,
    'Install a version in that range, or remove the adapter: everything is still recorded and replayed, only the names of agents and nodes are missing.',
  ],
  FRAMEWORK_MISSING: (name: string, adapter: string, cause: unknown) => [
    `${adapter} needs ${name}, which is not installed.`,
    'An adapter uses the framework of the program; it does not bring one.',
    `Install it with \`npm install ${name}\`, or remove the adapter.`,
    { cause },
  ],
  CHECKPOINT_NEEDS_THREAD: () => [
    'A graph with a TapeSaver was called without a thread.',
    'A checkpointer stores the states of a graph by thread.',
    "Call it with `{ configurable: { thread_id: '…' } }`.",
  ],

  // The viewer
  UI_HOST_NEEDS_PASSWORD: (host: string) => [
    `The viewer is not served for ${host} without a password.`,
    'Tapes hold whole conversations, and the viewer starts programs; others could reach it there.',
    'Set RETAKE_PASSWORD or name a file with --password-file; or remove --host and --allow-host to stay on this machine.',
  ],
  UI_PASSWORD_TOO_SHORT: (where: string, least: number) => [
    `The password in ${where} is too short.`,
    `It has fewer than ${least} characters and could be guessed.`,
    'Choose a longer one, for example with `openssl rand -base64 18`.',
  ],
  UI_PASSWORD_UNREADABLE: (file: string, cause: unknown) => [
    `The password file ${file} cannot be read.`,
    systemSaid(cause),
    'Name a readable file whose first line is the password.',
    { cause },
  ],
  TEST_REQUEST_CHANGED: (what: string, site: string | undefined) => [
    `The program makes a request that is not on the tape: ${what}.`,
    site === undefined
      ? 'Its code has changed since the recording.'
      : `It is made at ${fromHere(site)}.`,
    'Correct the program, or record the run again if the change is intended.',
  ],
  // Fixes
  FIX_NO_FAILURE: (run: string) => [
    `Run ${run} did not fail in a way that can be read from its tape.`,
    'It ended with exit code 0 and without an exception. Symptoms alone do not count as a failure.',
    'Say what passing means with --oracle, for example --oracle stdout:/refunded/.',
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
    'A fix is only valid for the text that it was proven with.',
    'Run the command again.',
  ],
  FIX_OUTSIDE_PROJECT: (file: string) => [
    `A fix would change ${file}.`,
    'It is outside of the project, a link, or belongs to installed packages.',
    'Fixes may only change files of the project.',
  ],
  FIX_SANDBOX_MISSING: (why: string) => [
    'Code written by a model is not run without a sandbox.',
    `There is none: ${why}.`,
    'Install bubblewrap, use --no-ai, or accept the risk with --no-sandbox.',
  ],
  FIX_POLICY_OBSERVES: () => [
    'The policy of this project does not allow fixes to be applied.',
    'retake.config sets `fix: { policy: "observe" }`.',
    'Set it to `suggest`, `apply` or `auto`.',
  ],
  FIX_NOT_APPROVED: () => [
    'The fix was not applied.',
    'Nobody approved it: there is no terminal, and --yes is missing.',
    'Add --yes to apply it.',
  ],
  FIX_NOT_PROVEN: (fix: string, run: string) => [
    `Fix ${fix} cannot be applied.`,
    `It is not a proven fix of the last \`retake fix ${run}\`.`,
    'Search again, or reload the page.',
  ],
  FIX_DIRTY: (files: readonly string[]) => [
    `${listed(files)} ${files.length === 1 ? 'has' : 'have'} uncommitted changes.`,
    'The fix would be mixed with them.',
    'Commit or stash them, or add --force.',
  ],
  FIX_CIRCUIT_OPEN: (what: string) => [
    'The fix was not applied: the circuit breaker is open.',
    what,
    'Look at `retake fix --history`; --force applies it nevertheless.',
  ],
  FIX_NOTHING_TO_UNDO: () => [
    'There is no fix to undo.',
    'No fix was applied in this project, or all were undone.',
    '`retake fix --history` lists what was applied.',
  ],
  FIX_FILE_CHANGED: (file: string, did: string) => [
    `${file} was changed since the fix was ${did}.`,
    'Its text is neither the one before the fix nor the one after it.',
    'Edit the file by hand, or add --force to overwrite it.',
  ],
  FIX_JOURNAL_UNREADABLE: (file: string, cause: unknown) => [
    `The journal ${file} cannot be read.`,
    `It says: ${reason(cause)}.`,
    'Compare your files with `git diff`, then delete the journal.',
    { cause },
  ],
  FIX_WORKING_TREE_LOCKED: (pid: number) => [
    'Another process is applying a fix here.',
    `It has the id ${pid}.`,
    'Wait until it has ended.',
  ],
  FIX_NO_MODEL: () => [
    'It is not known which model writes fixes.',
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
    ids.length === 0 ? 'No failed run was found.' : `There are ${listed(ids)}.`,
    'Run `retake failures` to list them.',
  ],
  UI_PORT_TAKEN: (port: number, cause: unknown) => [
    `The viewer cannot listen on port ${port}.`,
    systemSaid(cause),
    'Choose another one with --port; `--port 0` uses any free port and prints it.',
    { cause },
  ],
  UI_HOST_UNKNOWN: (host: string, cause: unknown) => [
    `The viewer cannot listen on ${host}.`,
    systemSaid(cause),
    'Name an address of this machine with --host; use --allow-host for names that lead here through a proxy.',
    { cause },
  ],
  TOO_MANY_JOBS: (most: number) => [
    `${most} forks and reruns are waiting already.`,
    'Each is a separate process, and only a few run at the same time.',
    'Wait until some have ended, or stop some.',
  ],
  JOB_FAILED: (cause: unknown) => [
    'The fork or rerun failed to start.',
    `${reason(cause)}.`,
    'Try the same with `retake fork` or `retake rerun`: it prints the output of the program.',
    { cause },
  ],
  NO_SUCH_JOB: (id: string) => [
    `There is no fork or rerun "${id}" here.`,
    'It ended long ago, or was started by another server.',
    'The branches of its run show what was recorded.',
  ],
  NO_SUCH_SESSION: (id: string, why: string) => [
    `The debug session ${id} is closed.`,
    why,
    'Go to the step again: that opens a new one.',
  ],
  SERVER_CLOSING: () => [
    "The viewer's server is shutting down.",
    'It stops everything that it has started, and starts nothing new.',
    'Start `retake ui` again.',
  ],
})

/** A tape names a program that nobody on this machine has agreed to start. */
export class RunNotTrusted extends RetakeError {
  override readonly name = 'RunNotTrusted'

  constructor(
    readonly tape: Tape,
    /** The command line that would be started. */
    readonly startLine: string,
  ) {
    super(
      'RUN_NOT_TRUSTED',
      `Run ${tape.run.id} was not recorded here, so its program is not started.`,
      `Its tape would start: ${startLine}`,
      `If you want that, allow it with \`retake trust ${fromHere(tape.path)}\`, or add --trust to this command.`,
    )
  }
}
