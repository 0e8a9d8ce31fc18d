import path from 'node:path'
import type { Tape } from '@retake/tape'
import { explain } from '../print-error.js'
import { replayAgent } from '../replay-agent.js'
import type { Replayed } from '../replay-agent.js'
import type { GitRepository } from './git-repository.js'
import type { Interruption } from './interruption.js'
import { linkModules } from './link-modules.js'
import type { LinkedModules } from './link-modules.js'
import type { Oracle } from '../oracle/oracle.js'
import { runCommand } from '../run-command.js'
import { withWorktree } from './worktree.js'

export interface Trial {
  readonly tape: Tape
  readonly repository: GitRepository
  /** Without one, a commit is the same when its replay is identical. */
  readonly oracle?: Oracle
  /** Run in the worktree before the replay. */
  readonly build?: string
  readonly timeoutMs: number
  readonly interruption: Interruption
}

/** What is said of one commit. */
export interface CommitVerdict {
  readonly verdict: 'same' | 'different' | 'untestable'
  readonly reason: string
}

export interface Tried extends CommitVerdict {
  readonly commit: string
  readonly modules: LinkedModules
  readonly replayed?: Replayed
}

/** Replays the tape with the code of one commit. */
export function tryCommit(commit: string, trial: Trial): Promise<Tried> {
  const { repository, build, tape, interruption } = trial
  return withWorktree(repository, commit, async (folder) => {
    interruption.throwIfAny()
    const list = await repository.run(
      '-C',
      folder,
      'ls-files',
      '-z',
      '--',
      ':(glob)**/package.json',
    )
    const modules = linkModules(repository.top, folder, list.split('\0').filter(Boolean))
    const failed = build === undefined ? undefined : await runBuild(build, folder, trial)
    interruption.throwIfAny()
    const tried = failed ?? (await replayIn(folder, commit, trial))
    interruption.throwIfAny()
    return { commit, modules, ...tried }
  })

  async function runBuild(command: string, folder: string, { interruption: { signal } }: Trial) {
    const inside = path.relative(repository.top, tape.details.cwd ?? repository.top)
    const cwd = path.join(folder, inside)
    try {
      const { code, stdout, stderr } = await runCommand(command, [], { cwd, shell: true, signal })
      if (code === 0) return undefined
      const said = (stderr.trim() || stdout.trim()).split('\n').at(-1) ?? ''
      return untestable(`${command} ended with exit code ${code}${said && `: ${said}`}`)
    } catch {
      return untestable(`${command} could not be started in ${inside || 'the repository'}`)
    }
  }
}

/** More of the output than this no oracle sees. */
const OUTPUT_MAX = 64 * 1024 * 1024

async function replayIn(
  folder: string,
  commit: string,
  { tape, repository, oracle, timeoutMs, interruption }: Trial,
): Promise<CommitVerdict & { replayed?: Replayed }> {
  const output: Buffer[] = []
  let size = 0
  let replayed: Replayed
  try {
    replayed = await replayAgent(tape, {
      root: { recorded: repository.top, current: folder },
      observe: oracle !== undefined,
      timeoutMs,
      stdio: ['ignore', 'pipe', 'ignore'],
      onOutput: (chunk) => {
        size += chunk.length
        if (size <= OUTPUT_MAX) output.push(chunk)
      },
    })
  } catch (error) {
    const explained = explain(error)
    if (explained === undefined) throw error
    const reason = `${explained.what} ${explained.why}`.replaceAll(folder, repository.top)
    return untestable(reason)
  }
  const notLoaded = loadError(replayed)
  if (notLoaded !== undefined) return { ...untestable(notLoaded), replayed }
  if (oracle === undefined) return { ...compared(replayed), replayed }
  const { end, signal } = replayed
  const stdoutBytes = Buffer.concat(output)
  const { verdict, reason } = await oracle(
    {
      commit,
      stdout: stdoutBytes.toString(),
      stdoutBytes,
      ended: end?.exitCode !== undefined && signal === undefined,
      ...(end?.exitCode !== undefined && { exitCode: end.exitCode }),
      ...(signal && { signal }),
      ...(end?.error && { error: { class: end.error.class, message: end.error.message } }),
      tape: tape.path,
    },
    interruption.signal,
  )
  return { verdict: AS_COMMIT[verdict], reason, replayed }
}

const AS_COMMIT = { pass: 'same', fail: 'different', undefined: 'untestable' } as const

function compared({ divergences: [first] }: Replayed): CommitVerdict {
  return first === undefined
    ? { verdict: 'same', reason: 'identical' }
    : { verdict: 'different', reason: `event ${first.seq}: ${first.summary}` }
}

const LOAD_CODES = new Set<unknown>([
  'ERR_MODULE_NOT_FOUND',
  'MODULE_NOT_FOUND',
  'ERR_REQUIRE_ESM',
  'ERR_PACKAGE_PATH_NOT_EXPORTED',
  'ERR_UNSUPPORTED_DIR_IMPORT',
  'ERR_UNKNOWN_FILE_EXTENSION',
])

/** The program was not even loaded: that says nothing about what it would have done. */
function loadError({ end, served }: Replayed): string | undefined {
  const error = end?.error
  if (error === undefined || served > 0) return undefined
  if (error.class !== 'SyntaxError' && !LOAD_CODES.has(error.code)) return undefined
  return `It does not start: ${error.class}: ${error.message.split('\n')[0]}`
}

const untestable = (reason: string): CommitVerdict => ({ verdict: 'untestable', reason })
