import { spawn } from 'node:child_process'
import type { StdioOptions } from 'node:child_process'
import type { Readable } from 'node:stream'
import { endOf } from './agent-process.js'
import type { AgentEnd } from './agent-process.js'
import { commandNotStarted } from './errors/programs.js'

export interface CommandProcess {
  /** Program and arguments. */
  readonly command: readonly string[]
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  /** A terminal is passed on as it is; bytes are written and the pipe closed. */
  readonly stdin: 'inherit' | Readable
  readonly onOutput: (stream: 'stdout' | 'stderr', bytes: Buffer) => void
}

/** Runs a command of any language to its end; what it writes is handed over as it comes. */
export function runCommand(process: CommandProcess): Promise<AgentEnd> {
  const [file = '', ...args] = process.command
  const input = process.stdin === 'inherit' ? undefined : process.stdin
  const stdio: StdioOptions = [input ? 'pipe' : 'inherit', 'pipe', 'pipe']
  const child = spawn(file, args, { cwd: process.cwd, env: process.env, stdio })
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream]?.on('data', (bytes: Buffer) => process.onOutput(stream, bytes))
  // A command that does not read all of its input is fine.
  child.stdin?.on('error', () => {})
  if (child.stdin) input?.pipe(child.stdin)
  return endOf(
    child,
    (cause) => commandNotStarted(file, cause),
    () => input?.destroy(),
  )
}

/** What a command gets besides its own variables: Python would hold back what it writes to a pipe. */
export const COMMAND_DEFAULTS = { PYTHONUNBUFFERED: '1' }

/**
 * In a replay nobody is to be reached: frameworks are told not to report home, trace
 * or fetch lists, which would be refused, and found to differ, otherwise.
 */
export const REPLAY_QUIET = {
  ANONYMIZED_TELEMETRY: 'False',
  CREWAI_DISABLE_TELEMETRY: 'true',
  CREWAI_TRACING_ENABLED: 'false',
  DO_NOT_TRACK: '1',
  LANGCHAIN_TRACING_V2: 'false',
  LANGSMITH_TRACING: 'false',
  LITELLM_LOCAL_MODEL_COST_MAP: 'True',
  OTEL_SDK_DISABLED: 'true',
}

/** Variables that lead a command to the proxy. */
export const proxyVariables = (
  variables: Readonly<Record<string, string>>,
  url: string,
): Record<string, string> =>
  Object.fromEntries(Object.entries(variables).map(([name, path]) => [name, url + path]))
