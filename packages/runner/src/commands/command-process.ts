import { spawn, type StdioOptions } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Readable } from 'node:stream'
import { rootCertificates } from 'node:tls'
import { type AgentEnd, catchSignals, type Launch, waitForEnd } from '../agent/agent-process.js'
import { ownCertificates, TRUST_VARIABLES } from '@retake/engine/proxy'
import { cliErrors } from '../errors.js'
import { temporaryFolder } from '../temporary-folder.js'

export interface CommandProcess {
  readonly command: readonly string[]
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  /** `inherit` for a terminal. A stream is piped to the command's stdin. */
  readonly stdin: 'inherit' | Readable
  readonly onOutput: (stream: 'stdout' | 'stderr', bytes: Buffer) => void
  readonly onStart?: (pid: number | undefined) => void
  /** Receives what the command writes to file descriptor 3, which is open only if this is set. */
  readonly onSaid?: (bytes: Buffer) => void
  /** Ends the command, which then gets no signals of the terminal (default: it gets them). */
  readonly kill?: Launch['kill']
}

export function runCommand(process: CommandProcess): Promise<AgentEnd> {
  const [file = '', ...args] = process.command
  const input = process.stdin === 'inherit' ? undefined : process.stdin
  const stdio: StdioOptions = [
    input ? 'pipe' : 'inherit',
    'pipe',
    'pipe',
    ...(process.onSaid ? (['pipe'] as const) : []),
  ]
  const { cwd, env, kill } = process
  const isDetached = kill !== undefined
  // Otherwise a signal could end this process between the start and `waitForEnd`.
  using _signals = catchSignals()
  const child = spawn(file, args, { cwd, env, stdio, detached: isDetached })
  process.onStart?.(child.pid)
  if (process.onSaid) (child.stdio[3] as Readable | null)?.on('data', process.onSaid)
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream]?.on('data', (bytes: Buffer) => process.onOutput(stream, bytes))
  // A command need not read all of its input.
  child.stdin?.on('error', () => {})
  if (child.stdin) input?.pipe(child.stdin)
  return waitForEnd(
    child,
    (cause) => cliErrors.COMMAND_NOT_STARTED(file, cause),
    () => input?.destroy(),
    kill && { kill, isDetached },
  )
}

/** Variables added for a command: Python would otherwise buffer its output to a pipe. */
export const COMMAND_DEFAULTS = { PYTHONUNBUFFERED: '1' }

/**
 * Stops frameworks from sending telemetry and traces or fetching lists in a replay, where such
 * requests would be refused and reported as differences.
 */
export const TELEMETRY_OFF = {
  ANONYMIZED_TELEMETRY: 'False',
  CREWAI_DISABLE_TELEMETRY: 'true',
  CREWAI_TRACING_ENABLED: 'false',
  DO_NOT_TRACK: '1',
  LANGCHAIN_TRACING_V2: 'false',
  LANGSMITH_TRACING: 'false',
  LITELLM_LOCAL_MODEL_COST_MAP: 'True',
  OTEL_SDK_DISABLED: 'true',
}

export const proxyVariables = (
  variables: Readonly<Record<string, string>>,
  url: string,
): Record<string, string> =>
  Object.fromEntries(Object.entries(variables).map(([name, path]) => [name, url + path]))

/**
 * Variables that route all other HTTP requests of a command to the proxy. An empty `NO_PROXY` stops
 * clients from bypassing the proxy for the loopback.
 */
export function httpProxyVariables(url: string): Record<string, string> {
  const upper = { HTTP_PROXY: url, HTTPS_PROXY: url, ALL_PROXY: url, NO_PROXY: '' }
  const lower = Object.entries(upper).map(([name, value]) => [name.toLowerCase(), value] as const)
  return { ...upper, ...Object.fromEntries<string>(lower) }
}

/**
 * Writes the certificate of an authority together with those the command already trusts: from its
 * variables, or else the usual ones. Writes no private key.
 */
export function trustCertificate(certificate: string, env: NodeJS.ProcessEnv) {
  const folder = temporaryFolder('tls')
  const file = path.join(folder.path, 'certificates.pem')
  writeFileSync(file, [certificate, ...ownCertificates(env), ...rootCertificates].join('\n'))
  return { ...folder, variables: Object.fromEntries(TRUST_VARIABLES.map((name) => [name, file])) }
}
