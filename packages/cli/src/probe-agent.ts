import { spawn } from 'node:child_process'
import type { StdioOptions } from 'node:child_process'
import type { Duplex } from 'node:stream'
import { Probe } from '@retake/engine/inspect'
import type { ProbeEnd, ProbeProcess } from '@retake/engine/inspect'
import type { Tape } from '@retake/tape'
import { nodeCommand } from './agent-process.js'
import { agentNotStarted } from './errors/programs.js'
import { replayCommand } from './replay-command.js'

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
    child.on('error', (cause) => reject(agentNotStarted(cause)))
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
    libraries: [new URL('.', import.meta.url).href],
    kill: () => {
      child.kill('SIGKILL')
      // Now, because this process may be about to end as well.
      command.remove()
    },
  }
}
