import { rmSync } from 'node:fs'
import path from 'node:path'
import type { Readable } from 'node:stream'
import { isatty } from 'node:tty'
import { newRunId, trustRecording, trustedRunsFile } from '@retake/engine'
import {
  loadMatchers,
  openProxyTape,
  ProxyServer,
  RecordingProxy,
  redirectVariables,
  SecretMask,
} from '@retake/engine/proxy'
import type { Route } from '@retake/engine/proxy'
import { openOwnTape } from '@retake/tape/node'
import type { AgentEnd } from './agent-process.js'
import { COMMAND_DEFAULTS, proxyVariables, runCommand } from './command-process.js'
import type { Recording } from './record-agent.js'
import { markRecording } from './recording-mark.js'
import type { RunStore } from './run-store.js'
import { trustInThisProcess } from './trust.js'

export interface CommandRecordingOptions {
  readonly store: RunStore
  readonly command: readonly string[]
  readonly name?: string
  readonly upstreams: readonly Route[]
  readonly matchers: readonly string[]
  readonly port?: number
}

export interface CommandRecording extends Recording {
  /** Requests that came through the proxy. */
  readonly exchanges: number
}

/**
 * Runs a command of any language with the base URLs of provider SDKs pointed at a
 * recording proxy. What it asks of providers, its output and its exit are on the
 * tape; its clock, files and other connections are not.
 */
export async function recordCommand(options: CommandRecordingOptions): Promise<CommandRecording> {
  const { store, command, matchers } = options
  const cwd = process.cwd()
  await loadMatchers(matchers, cwd)
  const { routes, variables } = redirectVariables(process.env, options.upstreams)
  store.prepare()
  const server = await ProxyServer.listen(options.port ?? 0)
  const id = newRunId()
  const tape = store.pathOf(id)
  const unmark = markRecording(tape)
  try {
    const writer = openProxyTape({
      tape,
      id,
      name: options.name ?? nameOf(command),
      command,
      proxy: { port: server.port, routes, variables, ...(matchers.length > 0 && { matchers }) },
    })
    trustRecording(tape, trustedRunsFile())
    const secrets = new SecretMask()
    secrets.addEnvironment(process.env)
    const proxy = new RecordingProxy({ server, writer, routes, secrets })
    const env = { ...process.env, ...proxyVariables(variables, server.url) }
    const end = await run(command, cwd, env, proxy).catch(async (error: unknown) => {
      await proxy.stop()
      writer.close()
      rmSync(tape, { force: true })
      throw error
    })
    await proxy.stop()
    if (proxy.failure !== undefined) throw proxy.failure
    writer.append({
      type: 'end',
      ...(end.signal ? { signal: end.signal } : { exitCode: end.code }),
    })
    writer.seal()
    trustInThisProcess(openOwnTape(tape))
    return { ...end, id, tape, exchanges: proxy.exchanges }
  } finally {
    await server.close()
    unmark()
  }
}

function run(
  command: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
  proxy: RecordingProxy,
): Promise<AgentEnd> {
  return runCommand({
    command,
    cwd,
    env: { ...COMMAND_DEFAULTS, ...env },
    stdin: isatty(0) ? 'inherit' : recordedInput(proxy),
    onOutput: (stream, bytes) => {
      proxy.append({ type: 'output', stream }, bytes)
      process[stream].write(bytes)
    },
  })
}

/** What is piped in belongs to the run: a replay hands the command the same. */
function recordedInput(proxy: RecordingProxy): Readable {
  let op: number | undefined
  const input = process.stdin.on('data', (bytes: Buffer) => {
    op ??= proxy.append({ type: 'call', kind: 'input', name: 'stdin' })
    proxy.append({ type: 'deliver', op, part: 'chunk' }, bytes)
  })
  return input.on('end', () => {
    if (op !== undefined) proxy.append({ type: 'deliver', op, part: 'end' })
  })
}

/** `python agent.py --x` is called `agent`: the first argument that is a file, or the program. */
function nameOf([program = 'command', ...args]: readonly string[]): string {
  const file = args.find((arg) => /^[^-].*\.\w+$/.test(arg)) ?? program
  return path.basename(file).replace(/\.\w+$/, '')
}
