import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { RetakeError } from '@retake/engine/errors'
import type { ProxyServer } from '@retake/engine/proxy'
import { endWithDescendants } from '../sandbox/end-processes.js'
import type { AgentEnd } from '../agent/agent-process.js'
import type { Isolation } from '../agent/replay-agent.js'
import { type CommandProcess, runCommand } from './command-process.js'
import { cliErrors } from '../errors.js'
import { listeningSockets, mountScript } from './mount-script.js'
import { shellQuote } from '../terminal/shell-word.js'
import { runnerEntry } from '../package-root.js'
import { temporaryFolder } from '../temporary-folder.js'

export interface SandboxTask {
  readonly port: number
  readonly socket: string
  readonly command: readonly string[]
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
}

export interface SandboxedCommand extends Omit<CommandProcess, 'stdin'> {
  readonly server: ProxyServer
  /** Port of the proxy inside of the sandbox; nothing else listens there. */
  readonly port: number
  readonly stdin: () => Extract<CommandProcess['stdin'], object>
}

type Launcher = ReturnType<typeof launchers>[number]

type Attempt = (AgentEnd & { readonly except: readonly string[] }) | { readonly why: string }

/**
 * Runs a command that can reach only the proxy and whose writes are discarded when it ends, with
 * bubblewrap or unshare. If neither works, does not start the command and returns the reason.
 */
export async function runInSandbox(
  command: SandboxedCommand,
): Promise<{ readonly end?: AgentEnd; readonly isolation: Isolation }> {
  const open = { network: 'open', files: 'kept' } as const
  if (process.platform !== 'linux')
    return {
      isolation: { ...open, why: `there is no sandbox for commands on ${process.platform}` },
    }
  const whys: string[] = []
  for (const launcher of launchers()) {
    const attempt = await attemptWith(launcher, command)
    if (!('why' in attempt)) {
      const { except, ...end } = attempt
      const blocked = { network: 'blocked', files: 'discarded', by: launcher.by } as const
      return { end, isolation: { ...blocked, ...(except.length > 0 && { except }) } }
    }
    whys.push(`${launcher.by}: ${attempt.why}`)
  }
  return { isolation: { ...open, why: whys.join('; ') } }
}

function launchers() {
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0]
  const isRoot = uid === 0
  return [
    {
      by: 'bubblewrap' as const,
      // Starts a shell with its own namespaces and permission to mount in them.
      start: words(
        `bwrap ${isRoot ? '' : '--unshare-user --uid 0 --gid 0'} --unshare-net --unshare-pid`,
        '--unshare-ipc --die-with-parent --cap-add ALL --dev-bind / / --proc /proc --',
      ),
      // Runs the rest as the user again.
      asUser: isRoot ? '' : `bwrap --unshare-user --uid ${uid} --gid ${gid} --dev-bind / / --`,
      prepare: ':',
    },
    {
      by: 'unshare' as const,
      start: words(
        `unshare ${isRoot ? '' : '--user --map-root-user'} --mount --net --pid --ipc`,
        '--fork --kill-child --mount-proc',
      ),
      asUser: isRoot ? '' : `unshare --user --map-user=${uid} --map-group=${gid} --`,
      // The loopback of a new network namespace is down.
      prepare: 'ip link set lo up || ifconfig lo up',
    },
  ]
}

const words = (...texts: readonly string[]): string[] => texts.join(' ').split(/ +/)

async function attemptWith(launcher: Launcher, command: SandboxedCommand): Promise<Attempt> {
  using temporary = temporaryFolder('sandbox')
  const { path: folder } = temporary
  try {
    const script = prepare(folder, launcher, command)
    await command.server.listenAt(path.join(folder, 'share/proxy.sock'), command.port)
    const attempt = await start([...launcher.start, 'sh', script], command)
    if (!('why' in attempt)) return attempt
    const said = readFileSync(path.join(folder, 'share/said'), 'utf8').trim().split('\n')
    return { why: said[0] || attempt.why }
  } catch (error) {
    if (error instanceof RetakeError && error.code === 'COMMAND_NOT_STARTED') throw error
    return { why: error instanceof Error ? error.message : String(error) }
  }
}

function prepare(folder: string, launcher: Launcher, command: SandboxedCommand): string {
  // Root in a user namespace does not own the folder, but must be able to enter it.
  chmodSync(folder, 0o755)
  for (const name of ['rw', 'root', 'share']) mkdirSync(path.join(folder, name))
  const share = path.join(folder, 'share')
  const task: SandboxTask = {
    port: command.port,
    socket: path.join(share, 'proxy.sock'),
    command: command.command,
    cwd: command.cwd,
    env: command.env,
  }
  const file = path.join(share, 'task.json')
  writeFileSync(file, JSON.stringify(task), { mode: 0o600 })
  const entry = fileURLToPath(runnerEntry('sandbox-entry'))
  const run = [process.execPath, entry, file].map(shellQuote).join(' ')
  const script = path.join(share, 'mount.sh')
  const mounts = mountScript(folder, {
    needed: [command.cwd, homedir(), tmpdir()].map((each) => `${each}/`),
    isUnprivileged: process.getuid?.() !== 0,
    sockets: listeningSockets(),
    last: `exec ${launcher.asUser} ${run}`,
  })
  // The shell logs what fails. Only a failure of the last line belongs to the command.
  const said = shellQuote(path.join(share, 'said'))
  writeFileSync(path.join(share, 'said'), '')
  writeFileSync(script, `exec 4>&2 2>${said}\n${launcher.prepare}\n${mounts} 2>&4 4>&-\n`)
  return script
}

/** Shows no output before the command begins, so that a failed sandbox stays silent. */
async function start(argv: readonly string[], command: SandboxedCommand): Promise<Attempt> {
  const said: string[] = []
  let isReady = false
  let heard = ''
  const before: Buffer[] = []
  const ending = runCommand({
    command: argv,
    cwd: '/',
    // The user's PATH, not the recorded one.
    env: { PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin:/usr/bin:/bin` },
    stdin: command.stdin(),
    ...(command.onStart && { onStart: command.onStart }),
    // A signal ends bubblewrap and unshare, but not a sandbox that they are just setting up.
    kill: endWithDescendants,
    onOutput: (stream, bytes) => {
      if (isReady) command.onOutput(stream, bytes)
      else before.push(bytes)
    },
    onSaid: (bytes) => {
      heard += bytes.toString()
      const lines = heard.split('\n')
      heard = lines.pop() ?? ''
      said.push(...lines)
      isReady ||= lines.some((line) => line.includes('"ready"'))
    },
  })
  const end = await ending.catch(() => undefined)
  if (end === undefined) return { why: 'it is not installed' }
  return outcome(end, said, Buffer.concat(before).toString(), command)
}

function outcome(
  end: AgentEnd,
  said: readonly string[],
  before: string,
  { command }: SandboxedCommand,
): Attempt {
  const facts = said.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as Fact)
  const [failed] = facts.flatMap((fact) => fact.failed ?? [])
  if (failed !== undefined) throw cliErrors.COMMAND_NOT_STARTED(command[0] ?? '', new Error(failed))
  // The user has stopped it, so it is not tried in another way.
  if (end.interruptedBy === undefined && !facts.some(({ ready }) => ready))
    return { why: before.trim().split('\n')[0] || `it ended with code ${end.code}` }
  const last = facts.at(-1)
  const except = said.flatMap((line) => (line.startsWith('open ') ? [line.slice(5)] : []))
  const { interruptedBy } = end
  return {
    code: last?.code ?? end.code,
    ...(last?.signal ? { signal: last.signal } : end.signal && { signal: end.signal }),
    ...(interruptedBy && { interruptedBy }),
    except,
  }
}

interface Fact {
  readonly ready?: boolean
  readonly failed?: string
  readonly code?: number | null
  readonly signal?: NodeJS.Signals | null
}
