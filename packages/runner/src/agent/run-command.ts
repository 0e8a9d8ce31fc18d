import { spawn } from 'node:child_process'
import { attempt } from '@retake/tape/format'
import { stopOnAbort } from './agent-process.js'

export type ShellCommandEnd = Awaited<ReturnType<typeof runShellCommand>>

const OUTPUT_MAX = 16 * 1024 * 1024

/**
 * Runs a command to its end, in its own process group: Ctrl-C in the terminal does not reach it, so
 * that cleanup is never interrupted.
 */
export function runShellCommand(
  file: string,
  args: readonly string[],
  {
    cwd,
    env = process.env,
    shell = false,
    input,
    signal,
  }: {
    readonly cwd: string
    readonly env?: NodeJS.ProcessEnv
    readonly shell?: boolean
    readonly input?: Uint8Array
    /** Ends the command and everything it started. */
    readonly signal?: AbortSignal
  },
): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
  const child = spawn(file, args, { cwd, env, shell, detached: true, stdio: 'pipe' })
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      if (output[name].length < OUTPUT_MAX) output[name] += text
    })
  }
  // A command need not read its input.
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  // The process may have ended.
  const kill = (by: NodeJS.Signals) => attempt(() => child.pid && process.kill(-child.pid, by))
  const release = stopOnAbort(signal, kill)
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => {
      release()
      resolve({ code: code ?? 1, ...output })
    })
  })
}
