import { RetakeError } from '@retake/engine/errors'
import { reason } from './reason.js'

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
    `Record it as a command: retake record -- ${command} ${file}`,
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
    `Run ${id} was recorded inside a program, by \`record()\` or a guard.`,
    'Its tape holds a part of what that program did, so there is no process to start again.',
    'Replay it where it was recorded: `await replay(path, () => …)` from the package retake. A guarded run goes on when its program is started again and the guard has `resume: true`.',
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
      : `Only the HTTP calls of ${command.join(' ')} were recorded.`,
    command === undefined
      ? `Answer those clients from the tape with \`retake proxy replay ${id}\`.`
      : `replay, show, diff, locate and verify work, for example \`retake replay ${id}\`. To run it for real, record it again.`,
  )

export const decoratorsNotCompiled = (file: string, version: string | undefined): RetakeError =>
  new RetakeError(
    'DECORATORS_NOT_COMPILED',
    `${file} uses decorators, which Node.js cannot run.`,
    version === undefined
      ? 'Retake compiles them with the TypeScript of your project, and none is installed there.'
      : `Retake compiles them with the TypeScript of your project, and version ${version} has no compiler API.`,
    'Install one that has: `npm install --save-dev typescript@5`. Or compile the program first and record the JavaScript.',
  )
