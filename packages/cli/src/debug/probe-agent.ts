import { spawn, type StdioOptions } from 'node:child_process'
import type { Duplex } from 'node:stream'
import { Probe, type ProbeEnd, type ProbeProcess } from '@retake/engine/inspect'
import type { Tape } from '@retake/tape'
import { Interrupted, nodeCommand } from '../agent/agent-process.js'
import { cliErrors } from '../errors.js'
import { replayCommand } from '../agent/replay-command.js'
import { cliRoot } from '../package-root.js'

/** The signal that has ended a probe, once there was one. */
interface Interruption {
  signal: NodeJS.Signals | undefined
}

/**
 * Starts a recorded program as a replay and looks into it; it is gone when `look` is done.
 * Ctrl-C ends it before that, and is then why `look` failed.
 */
export async function withProbe<T>(
  tape: Tape,
  options: ProbeAgentOptions,
  look: (probe: Probe, interruption: Interruption) => Promise<T>,
): Promise<T> {
  const probe = await probeAgent(tape, options)
  const interruption: Interruption = { signal: undefined }
  const listener = (signal: NodeJS.Signals): void => {
    interruption.signal = signal
    void probe.close()
  }
  for (const signal of SIGNALS) process.on(signal, listener)
  try {
    return await look(probe, interruption)
  } catch (error) {
    throw interruption.signal ? new Interrupted(interruption.signal) : error
  } finally {
    for (const signal of SIGNALS) process.off(signal, listener)
    await probe.close()
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

export interface ProbeAgentOptions {
  readonly nodeArgs?: readonly string[]
  /** Where the agent's output goes; nowhere unless said. */
  readonly output?: { readonly stdout: Output; readonly stderr: Output }
}
type Output = 'ignore' | 'inherit' | NodeJS.WritableStream

/** The first descriptor after stdin, stdout and stderr. */
const PIPE_FD = 3

/** Starts a recorded program as a replay to look into. Close the probe when done. */
export const probeAgent = (tape: Tape, options: ProbeAgentOptions = {}): Promise<Probe> =>
  Probe.start(() => spawnProbe(tape, options))

/** The process alone, for those who look after several of them. */
export function spawnProbe(
  tape: Tape,
  { nodeArgs = [], output }: ProbeAgentOptions = {},
): ProbeProcess {
  const command = replayCommand(tape, { nodeArgs, inspectFd: PIPE_FD })
  const { start } = command
  const { stdout = 'ignore', stderr = 'ignore' } = output ?? {}
  const stdio: StdioOptions = ['ignore', stdout, stderr, 'pipe'] as StdioOptions
  const { args, env } = nodeCommand(start)
  const child = spawn(process.execPath, args, { cwd: start.cwd, env, stdio })
  const ended = new Promise<ProbeEnd>((resolve, reject) => {
    child.on('error', (cause) => reject(cliErrors.AGENT_NOT_STARTED(cause)))
    child.on('exit', (code, signal) => {
      try {
        const report = command.report()
        resolve({ exitCode: code ?? 1, ...(signal && { signal }), ...(report && { report }) })
      } catch (error) {
        reject(error)
      }
    })
  }).finally(() => command.remove())
  return {
    pipe: child.stdio[PIPE_FD] as Duplex,
    ended,
    pid: child.pid,
    libraries: [cliRoot.href],
    kill: () => {
      child.kill('SIGKILL')
      // Now, because this process may be about to end as well.
      command.remove()
    },
  }
}
