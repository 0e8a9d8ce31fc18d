import { statSync } from 'node:fs'
import { Readable } from 'node:stream'
import {
  compareCommand,
  loadMatchers,
  ProxyServer,
  ReplayingProxy,
  SecretMask,
} from '@retake/engine/proxy'
import type { ProxyDetails, Tape } from '@retake/tape'
import { Interrupted } from './agent-process.js'
import { COMMAND_DEFAULTS, proxyVariables, REPLAY_QUIET, runCommand } from './command-process.js'
import { askedMatchers } from './config/project.js'
import { recordedFolderMissing } from './errors/programs.js'
import type { Replayed } from './replay-agent.js'
import { requireTrust } from './trust.js'

export interface CommandReplayOptions {
  readonly pace?: boolean
  readonly matchers?: readonly string[]
  /** Where the command's output goes; nowhere unless set. */
  readonly show?: (stream: 'stdout' | 'stderr', bytes: Buffer) => void
}

/** Ways out that many HTTP clients respect: they end at the proxy, which refuses and reports them. */
const WAYS_OUT = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY']

/**
 * Runs a recorded command again, its providers played by the tape, and compares
 * requests, stdout and exit. Not promised: a command that opens connections by
 * itself, past the base URLs and the proxy variables, is not held back.
 */
export async function replayRecordedCommand(
  tape: Tape,
  options: CommandReplayOptions = {},
): Promise<Replayed> {
  const { command = [], cwd = '.', env = {}, proxy: taped } = tape.details
  if (taped === undefined) throw new Error('a command run has a proxy')
  if (!statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) throw recordedFolderMissing(cwd)
  requireTrust(tape)
  const started = performance.now()
  const matchers = await loadMatchers(
    [...(taped.matchers ?? []), ...askedMatchers(options.matchers ?? [])],
    cwd,
  )
  const server = await listenAsRecorded(taped)
  const secrets = new SecretMask()
  const proxy = new ReplayingProxy({
    server,
    tape,
    routes: taped.routes,
    secrets,
    matchers,
    paced: options.pace ?? false,
  })
  const stdout: Buffer[] = []
  try {
    const end = await runCommand({
      command,
      cwd,
      env: {
        ...COMMAND_DEFAULTS,
        ...env,
        ...REPLAY_QUIET,
        ...proxyVariables(taped.variables ?? {}, server.url),
        ...waysOut(server.url),
      },
      stdin: tapedInput(tape),
      onOutput: (stream, bytes) => {
        if (stream === 'stdout') stdout.push(bytes)
        options.show?.(stream, bytes)
      },
    })
    const isCutOff = tape.status === 'truncated'
    if (end.interruptedBy) throw new Interrupted(end.interruptedBy)
    const divergences = [
      ...proxy.misses,
      ...(isCutOff
        ? []
        : compareCommand(tape, {
            stdout: secrets.bytes(asRecorded(Buffer.concat(stdout), server.port, taped.port)),
            ...(end.signal ? { signal: end.signal } : { exitCode: end.code }),
            unused: proxy.exchanges.unused,
          })),
    ]
    return {
      events: tape.count,
      position: tape.count,
      served: proxy.served,
      reexecuted: 0,
      contacts: {},
      divergences,
      wallMs: performance.now() - started,
      cutOff: isCutOff,
      exitCode: end.code,
      ...(end.signal && { signal: end.signal }),
    }
  } finally {
    await proxy.stop()
  }
}

/** What was piped into the command; nothing when that was a terminal. */
function tapedInput(tape: Tape): Readable {
  const pieces: Uint8Array[] = []
  let op: number | undefined
  for (const event of tape.events()) {
    if (event.type === 'call' && event.kind === 'input') op = event.seq
    if (event.type === 'deliver' && event.op === op && event.part === 'chunk')
      pieces.push(tape.body(event.seq))
  }
  return Readable.from(pieces.map((piece) => Buffer.from(piece)))
}

/** The recorded port, because programs print their base URL; any other one when it is taken. */
async function listenAsRecorded({ port }: ProxyDetails): Promise<ProxyServer> {
  try {
    return await ProxyServer.listen(port)
  } catch {
    return ProxyServer.listen(0)
  }
}

/** Output that names the proxy's address, as if it had the recorded port. */
function asRecorded(output: Buffer, port: number, recorded: number): Buffer {
  if (port === recorded) return output
  const text = output.toString('latin1')
  return Buffer.from(text.replaceAll(`127.0.0.1:${port}`, `127.0.0.1:${recorded}`), 'latin1')
}

const waysOut = (url: string): Record<string, string> => ({
  ...Object.fromEntries(
    WAYS_OUT.flatMap((name) => [name, name.toLowerCase()]).map((name) => [name, url]),
  ),
  NO_PROXY: '127.0.0.1,localhost',
  no_proxy: '127.0.0.1,localhost',
})
