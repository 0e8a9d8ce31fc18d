import { attempt } from '@retake/tape/format'
import { type ChildProcess, spawn } from 'node:child_process'
import { chownSync, readdirSync, readFileSync, statfsSync } from 'node:fs'
import path from 'node:path'
import {
  type Confinement,
  endWithDescendants,
  sandboxMissing,
  startConfined,
} from '@retake/runner/sandbox'
import { unprivileged } from '../database/postgres.js'
import type { RetakeParts } from '../edge/parts.js'

/** Limits of a command, for all of its processes together. */
export interface JobLimits {
  readonly timeMs: number
  readonly memoryBytes: number
  readonly processes: number
  /** Disk space that must stay free, because untrusted programs could fill the disk. */
  readonly freeBytes: number
}

export interface JobCommand {
  readonly command: readonly string[]
  readonly cwd: string
  /** Folders of this machine by their paths in the sandbox, where they are writable. */
  readonly folders: Readonly<Record<string, string>>
  readonly env: Readonly<Record<string, string>>
  /** Content of `/etc/hosts`, if it differs in the sandbox. */
  readonly hosts?: string
  readonly limits: JobLimits
  readonly signal: AbortSignal
}

export interface CommandEnd {
  readonly exitCode: number | null
  readonly stdout: string
  /** Only the end, if it is long. */
  readonly stderr: string
  readonly stoppedBy?: 'time' | 'memory' | 'processes' | 'disk'
}

/** Limits per process: memory in KB, file size in blocks of 512 bytes, no core dumps, open files. */
const LIMITS = 'ulimit -d 4194304; ulimit -f 4194304; ulimit -c 0; ulimit -n 8192'
const STDOUT_MAX = 8 << 20
const STDERR_MAX = 64 << 10
const WATCH_MS = 250
const FOLDERS_MAX = 2000

/** System folders, over which no agent code is mounted. */
const SYSTEM = /^\/(?:bin|boot|dev|etc|lib\w*|proc|retake|root\/\.\w+|run|sbin|sys|usr|nix)(?:\/|$)/

export interface JobRunner {
  /** Why it refuses to run agent code; undefined if it does not. */
  readonly refusesCode?: string
  /** Paths of the folders as commands see them. */
  readonly paths: (folders: JobFolders) => Pick<JobFolders, 'runs' | 'out'>
  /** Gives commands access to a file or folder. */
  give(file: string): void
  run(command: JobCommand): Promise<CommandEnd>
}

/** Commands write to `state` beside the runs. */
export const JOB_FOLDERS = ['runs', 'state', 'out', 'tmp', 'code', 'bundle'] as const
export type JobFolders = Readonly<Record<(typeof JOB_FOLDERS)[number], string>>

/** Runs commands without a sandbox, which is enough for those that only read tapes. */
export const withoutSandbox = (refusesCode: string): JobRunner => ({
  refusesCode,
  paths: ({ runs, out }) => ({ runs, out }),
  give: () => {},
  run: (given) => {
    const [program = '', ...args] = given.command
    const cwd = given.folders['/retake/out'] ?? '/'
    const env: NodeJS.ProcessEnv = { PATH: process.env['PATH'], NO_COLOR: '1' }
    env['HOME'] = cwd
    return ended(spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] }), given)
  },
})

/**
 * Runs commands of Retake, and thereby agent code, in bubblewrap: without network, with an empty
 * environment, and with only the system's programs and the folders of one job.
 */
export class JobSandbox implements JobRunner {
  private constructor(
    private readonly code: RetakeParts['code'],
    /** User of the sandbox, because the process limit does not apply to root. */
    private readonly user: { readonly uid?: number; readonly gid?: number },
  ) {}

  /** The sandbox of this machine, or a runner that refuses code and says why. */
  static async find({ code, command }: RetakeParts): Promise<JobRunner> {
    const missing = sandboxMissing()
    if (missing !== undefined) return withoutSandbox(missing)
    const isRoot = process.getuid?.() === 0
    const user = isRoot ? unprivileged(['nobody']) : {}
    if (isRoot && user.uid === undefined) return withoutSandbox('there is no user `nobody`')
    const sandbox = new JobSandbox(code, user)
    const { exitCode, stderr } = await sandbox.run({
      command: [...command, '--version'],
      cwd: '/',
      folders: {},
      env: {},
      limits: { timeMs: 30_000, memoryBytes: 1 << 30, processes: 256, freeBytes: 0 },
      signal: new AbortController().signal,
    })
    return exitCode === 0
      ? sandbox
      : withoutSandbox(`bubblewrap cannot start Retake: ${stderr.trim().split('\n').at(-1) ?? ''}`)
  }

  readonly paths = () => ({ runs: '/retake/runs', out: '/retake/out' })

  give(file: string): void {
    const { uid, gid } = this.user
    if (uid !== undefined && gid !== undefined) chownSync(file, uid, gid)
  }

  run(given: JobCommand): Promise<CommandEnd> {
    const { command, cwd, folders, env, hosts, limits } = given
    const confinement: Confinement = {
      read: [],
      write: [],
      hidden: [],
      network: 'closed',
      cwd,
      ...(hosts !== undefined && { hosts }),
      mounts: [
        // Set by bubblewrap, because its own environment is visible outside.
        ...[['HOME', '/tmp'], ...Object.entries(env)].flatMap((pair) => ['--setenv', ...pair]),
        ...Object.entries(folders).flatMap(([target, source]) => ['--bind', source, target]),
        // Mounted last, because the project of an agent may contain them.
        ...this.code.folders.flatMap((each) => ['--ro-bind-try', each, each]),
        ...Object.entries(this.code.packages).flatMap(([name, folder]) => [
          '--symlink',
          path.resolve(folder),
          `/node_modules/${name}`,
        ]),
      ],
    }
    // The option is `-u` or `-p`, depending on the shell.
    const most = `ulimit -u ${limits.processes} 2>/dev/null || ulimit -p ${limits.processes}`
    const limited = ['/bin/sh', '-c', `${most}; ${LIMITS}; exec "$@"`, 'sh', ...command]
    const child = startConfined(
      confinement,
      limited,
      ['ignore', 'pipe', 'pipe'] as const,
      (file, args, stdio) =>
        spawn(file, args, {
          cwd: '/',
          // Code in the sandbox can read the environment of bubblewrap.
          env: {
            PATH: `${path.dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
            LANG: 'C.UTF-8',
            TZ: 'UTC',
            NO_COLOR: '1',
          },
          stdio,
          ...this.user,
        }),
    )
    return ended(child, given)
  }
}

async function ended(
  child: ChildProcess,
  { folders, limits, signal }: Pick<JobCommand, 'folders' | 'limits' | 'signal'>,
): Promise<CommandEnd> {
  const stdout = new Tail(STDOUT_MAX)
  const stderr = new Tail(STDERR_MAX)
  child.stdout?.on('data', (chunk: Buffer) => stdout.add(chunk))
  child.stderr?.on('data', (chunk: Buffer) => stderr.add(chunk))
  let stoppedBy: CommandEnd['stoppedBy']
  const kill = (): void => void endWithDescendants(child)
  const stop = (limit: CommandEnd['stoppedBy']): void => {
    stoppedBy ??= limit
    kill()
  }
  const timer = setTimeout(() => stop('time'), limits.timeMs)
  // All folders of a job are on the same disk.
  const [disk] = Object.values(folders)
  const watch = setInterval(() => {
    // Memory (including tmpfs files) and number of all descendants of a process.
    const pid = child.pid ?? 0
    let memoryBytes = 0
    let processes = 0
    const waiting = [pid]
    for (let at = waiting.pop(); at !== undefined; at = waiting.pop())
      try {
        const [, rss = '0'] =
          /^RssAnon:\s+(\d+) kB/m.exec(readFileSync(`/proc/${at}/status`, 'utf8')) ?? []
        memoryBytes += Number(rss) * 1024
        processes += 1
        waiting.push(...childrenOf(at))
        // The second process is the first one inside the sandbox.
        if (processes === 2) memoryBytes += filesInMemory(at)
      } catch {
        // The process has ended.
      }
    if (memoryBytes > limits.memoryBytes) stop('memory')
    if (processes > limits.processes) stop('processes')
    // A folder that somebody removed must not end the worker.
    const free =
      disk === undefined
        ? undefined
        : attempt(() => {
            const { bavail, bsize } = statfsSync(disk)
            return bavail * bsize
          })
    if (free !== undefined && free < limits.freeBytes) stop('disk')
  }, WATCH_MS)
  signal.addEventListener('abort', kill)
  if (signal.aborted) kill()
  try {
    const exitCode = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (code) => resolve(code))
    })
    return {
      exitCode,
      stdout: stdout.text(),
      stderr: stderr.text(),
      ...(stoppedBy !== undefined && { stoppedBy }),
    }
  } finally {
    clearTimeout(timer)
    clearInterval(watch)
    signal.removeEventListener('abort', kill)
  }
}

class Tail {
  #chunks: Buffer[] = []
  #length = 0

  constructor(private readonly max: number) {}

  add(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#length += chunk.length
    if (this.#length <= 2 * this.max) return
    this.#chunks = [Buffer.concat(this.#chunks).subarray(-this.max)]
    this.#length = this.max
  }

  text = (): string => Buffer.concat(this.#chunks).subarray(-this.max).toString()
}

/** Child processes; empty if the process has ended. */
const childrenOf = (pid: number): number[] =>
  attempt(
    () =>
      readdirSync(`/proc/${pid}/task`).flatMap((task) =>
        readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8')
          .split(' ')
          .flatMap((each) => (each.trim() === '' ? [] : [Number(each)])),
      ),
    [],
  )

function filesInMemory(pid: number): number {
  let sum = 0
  for (const folder of ['dev', 'tmp'])
    try {
      const { type, bsize, blocks, bfree } = statfsSync(`/proc/${pid}/root/${folder}`)
      // The file system type is tmpfs.
      if (type === 0x01021994) sum += (blocks - bfree) * bsize
    } catch {
      // The kernel does not show this file system.
    }
  return sum
}

/**
 * Folders with agent code, by the paths where they were recorded. Takes the outermost folders that
 * contain files, so that nothing else in the sandbox is replaced. `unpacked` is an unpacked bundle,
 * whose names are absolute paths without the first slash. Untrusted links are not followed.
 */
export function codeFolders(unpacked: string): Record<string, string> {
  const found: Record<string, string> = {}
  const waiting = ['/']
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    const source = path.join(unpacked, at)
    const entries = readdirSync(source, { withFileTypes: true })
    const inner = entries.filter((entry) => entry.isDirectory())
    if (at === '/' || inner.length === entries.length)
      for (const { name } of inner) waiting.push(path.join(at, name))
    else if (!SYSTEM.test(at)) found[at] = source
    if (Object.keys(found).length > FOLDERS_MAX)
      throw new Error('the code bundle has too many folders')
  }
  return found
}
