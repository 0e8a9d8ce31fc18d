import { attempt } from '@retake/tape/format'
import { fstatSync, readdirSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import type { Readable } from 'node:stream'
import { isatty } from 'node:tty'
import { ownOrNewKey, trustedRunsFile, trustRecording } from '@retake/engine/runs'
import {
  CertificateAuthority,
  ClientProcess,
  loadMatchers,
  openProxyTape,
  parseUpstreams,
  ProxyServer,
  RecordingProxy,
  redirectVariables,
  SecretMask,
  UpstreamConnections,
} from '@retake/engine/proxy'
import { openOwnTape, type TapeWriter } from '@retake/tape/node'
import type { AgentEnd } from '../agent/agent-process.js'
import {
  COMMAND_DEFAULTS,
  proxyVariables,
  runCommand,
  trustCertificate,
  httpProxyVariables,
} from './command-process.js'
import type { AgentRecording, RecordingOptions } from '../agent/record-agent.js'
import { markRecording, type RunStore } from '../runs/run-store.js'
import { trustInThisProcess } from '../agent/trust.js'

/** Tool folders, in which programs do not store their data. */
const SKIPPED = new Set(['node_modules', '__pycache__', 'venv', 'target', 'dist', 'build'])

/** Limits the search, so that it is fast in a project of any size. */
const ENTRIES_MAX = 20_000
/** File systems take the time of the last tick, which may be before the command started. */
const CLOCK_TICK_MS = 10

/**
 * Files in a folder written since a point in time, as relative paths. Skips hidden folders, tool
 * folders, and everything after the first 20,000 entries.
 */
export function writtenFiles(folder: string, sinceMs: number): string[] {
  const written: string[] = []
  const folders = ['']
  let entries = 0
  for (const below of folders) {
    for (const entry of attempt(
      () => readdirSync(path.join(folder, below), { withFileTypes: true }),
      [],
    )) {
      if (++entries > ENTRIES_MAX) return written
      const name = path.join(below, entry.name)
      if (entry.isDirectory() && !SKIPPED.has(entry.name) && !entry.name.startsWith('.'))
        folders.push(name)
      else if (entry.isFile()) {
        const found = statSync(path.join(folder, name), { throwIfNoEntry: false })
        if (found !== undefined && found.mtimeMs >= sinceMs) written.push(name)
      }
    }
  }
  return written
}

export interface CommandRecordingOptions extends Pick<
  RecordingOptions,
  'store' | 'name' | 'tags' | 'out' | 'durability' | 'sign'
> {
  readonly command: readonly string[]
  /** In the form `name=url`. */
  readonly upstreams: readonly string[]
  readonly matchers: readonly string[]
  readonly port?: number
  /** Decrypts the command's HTTPS with certificates of an authority made for this run. */
  readonly tls?: boolean
}

export interface CommandRecording extends AgentRecording {
  readonly exchanges: number
  readonly remarks: readonly string[]
}

/**
 * Runs a command in any language with the base URLs of provider SDKs, and the variables for HTTP
 * proxies, pointing to a recording proxy. The tape contains its HTTP requests, output and exit. It
 * does not contain clock, files and other connections, nor HTTPS to other hosts unless `tls` is
 * set.
 */
export async function recordCommand(options: CommandRecordingOptions): Promise<CommandRecording> {
  const { store, command, matchers, durability } = options
  const cwd = process.cwd()
  const upstreams = parseUpstreams(options.upstreams)
  const { routes, variables } = redirectVariables(process.env, upstreams)
  const authority = options.tls ? new CertificateAuthority() : undefined
  using trusted = authority && trustCertificate(authority.certificate, process.env)
  const upstream = new UpstreamConnections(process.env)
  const client = new ClientProcess()
  let startedMs = 0
  const recorded = await recordThroughProxy(
    {
      store,
      ...(options.out !== undefined && { out: options.out }),
      port: options.port ?? 0,
      matchers,
      run: {
        name: options.name ?? nameOf(command),
        command,
        durability,
        sign: options.sign,
        tags: options.tags,
      },
      proxy: { routes, variables, ...(authority && { tls: true }) },
      connections: { client, upstream, ...(authority && { authority }) },
      beforeEnd: (writer, tape) => noteWrittenFiles(writer, tape, cwd, startedMs),
    },
    ({ server, proxy }) => {
      const env = {
        ...process.env,
        // Keeps the user's SOCKS proxy, because bypassing it may be forbidden.
        ...(upstream.unusable.length === 0 && httpProxyVariables(server.url)),
        ...trusted?.variables,
        ...proxyVariables(variables, server.url),
      }
      // Taken after the recording's own files were created.
      startedMs = Date.now()
      return runCommand({
        command,
        cwd,
        env: { ...COMMAND_DEFAULTS, ...env },
        stdin: isatty(0) ? 'inherit' : recordedInput(proxy),
        onStart: (pid) => client.started(pid, server.port),
        onOutput: (stream, bytes) => {
          proxy.append({ type: 'output', stream }, bytes)
          process[stream].write(bytes)
        },
      })
    },
  )
  trustInThisProcess(openOwnTape(recorded.tape))
  return { ...recorded, remarks: upstream.remarks }
}

/** Records exchanges through a proxy until `work` returns how the run ended. */
export async function recordThroughProxy(
  options: {
    readonly store: RunStore
    readonly out?: string
    readonly port: number
    readonly matchers: readonly string[]
    readonly run: Pick<ProxyTape, 'name' | 'command' | 'durability' | 'sign' | 'tags'>
    readonly proxy: Omit<ProxyTape['proxy'], 'port'>
    readonly connections: Pick<RecordingProxyOptions, 'client' | 'upstream' | 'authority'>
    readonly beforeEnd?: (writer: TapeWriter, tape: string) => void
  },
  work: (recording: {
    readonly id: string
    readonly tape: string
    readonly server: ProxyServer
    readonly proxy: RecordingProxy
  }) => Promise<AgentEnd>,
): Promise<AgentRecording & { readonly exchanges: number }> {
  const { store, matchers } = options
  const { routes } = options.proxy
  await loadMatchers(matchers, process.cwd())
  const { id, tape } = store.newRun(options.out)
  const server = await ProxyServer.listen(options.port)
  using _mark = markRecording(tape)
  try {
    const proxied = {
      port: server.port,
      ...options.proxy,
      ...(matchers.length > 0 && { matchers }),
    }
    const secrets = new SecretMask()
    secrets.addEnvironment(process.env)
    const { command, name } = options.run
    const writer = openProxyTape({
      ...options.run,
      name: secrets.text(name),
      ...(command && {
        command: [
          secrets.text(command[0] ?? ''),
          ...secrets.arguments(command.slice(1), command[0]),
        ],
      }),
      tape,
      id,
      proxy: proxied,
    })
    trustRecording(tape, trustedRunsFile())
    const proxy = new RecordingProxy({ server, writer, routes, secrets, ...options.connections })
    const end = await work({ id, tape, server, proxy }).catch(async (error: unknown) => {
      await proxy.stop()
      writer.close()
      rmSync(tape, { force: true })
      throw error
    })
    await proxy.stop()
    if (proxy.failure !== undefined) throw proxy.failure
    options.beforeEnd?.(writer, tape)
    writer.append({
      type: 'end',
      ...(end.signal ? { signal: end.signal } : { exitCode: end.code }),
    })
    writer.seal({ privateKey: options.run.sign ? ownOrNewKey('seal') : undefined })
    return { ...end, id, tape, exchanges: proxy.exchanges }
  } finally {
    await server.close()
  }
}

type ProxyTape = Parameters<typeof openProxyTape>[0]
type RecordingProxyOptions = ConstructorParameters<typeof RecordingProxy>[0]

/** Notes files that the command wrote: a replay starts with today's files, which include them. */
function noteWrittenFiles(writer: TapeWriter, tape: string, cwd: string, startedMs: number): void {
  const outputs = [1, 2].map((fd) => attempt(() => fstatSync(fd)))
  const written = writtenFiles(cwd, startedMs - CLOCK_TICK_MS).filter((file) => {
    const { dev, ino } = statSync(path.resolve(cwd, file), { throwIfNoEntry: false }) ?? {}
    // `retake record -- … > file`: the shell wrote it.
    const isOutput = outputs.some((output) => output?.ino === ino && output?.dev === dev)
    return !isOutput && path.resolve(cwd, file) !== path.resolve(tape)
  })
  for (const file of written)
    writer.append({
      type: 'note',
      kind: 'boundary',
      name: `file ${file}`,
      text: 'the command wrote it, and its files are not recorded; restore it before a replay if the command reads it',
      consequence: 'file-changed',
    })
}

/** Piped input is part of the run, and a replay passes it to the command again. */
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

/** `python agent.py` is named `agent`: the first argument that is a file, or the program. */
function nameOf([program = 'command', ...args]: readonly string[]): string {
  const file = args.find((arg) => /^[^-].*\.\w+$/.test(arg)) ?? program
  return path.basename(file).replace(/\.\w+$/, '')
}
