import { linesOf, type Look, lookOf, printJson, wrap } from '../terminal/terminal.js'
import { statSync } from 'node:fs'
import { Readable } from 'node:stream'
import { isDeepStrictEqual } from 'node:util'
import {
  CertificateAuthority,
  ClientProcess,
  compareCommand,
  loadMatchers,
  ProxyServer,
  ReplayingProxy,
  SecretMask,
  sessionVariables,
} from '@retake/engine/proxy'
import type { Tape } from '@retake/tape'
import { duration, plural } from '@retake/tape/present'
import { FOUND, Interrupted, signalExitCode } from '../terminal/exit-codes.js'
import {
  COMMAND_DEFAULTS,
  proxyVariables,
  TELEMETRY_OFF,
  runCommand,
  trustCertificate,
  httpProxyVariables,
} from './command-process.js'
import { givenMatchers } from '../config/define-config.js'
import { cliErrors } from '../errors.js'
import { isolationFacts, type Replayed, replayReceipt } from '../agent/replay-agent.js'
import { requireTrust } from '../agent/trust.js'
import { runInSandbox } from './run-in-sandbox.js'
import type { Options } from '../command-line/verb.js'
import { isCutOff } from '../runs/run-store.js'
import { viewRun } from '../runs/view-run.js'

/**
 * Runs a recorded command again, serves every answer from the tape, and compares requests, stdout
 * and exit. Uses a sandbox if the platform has one; `isolation` says what was blocked.
 */
export async function replayRecordedCommand(
  tape: Tape,
  options: {
    readonly pace?: boolean
    /** Receives the command's output (default: discarded). */
    readonly show?: (stream: 'stdout' | 'stderr', bytes: Buffer) => void
  } = {},
): Promise<Replayed> {
  const { command = [], cwd = '.', env = {}, proxy: taped } = tape.details
  if (taped === undefined) throw new Error('a command run has a proxy')
  if (!statSync(cwd, { throwIfNoEntry: false })?.isDirectory())
    throw cliErrors.RECORDED_FOLDER_MISSING(cwd)
  requireTrust(tape)
  const started = performance.now()
  const matchers = await loadMatchers([...(taped.matchers ?? []), ...givenMatchers([])], cwd)
  // Programs print their base URL, so the recorded port is better.
  const server = await ProxyServer.listen(taped.port).catch(() => ProxyServer.listen(0))
  const secrets = new SecretMask()
  const client = new ClientProcess()
  const authority = taped.tls ? new CertificateAuthority() : undefined
  using trusted = authority && trustCertificate(authority.certificate, {})
  const proxy = new ReplayingProxy({
    client,
    ...(authority && { authority }),
    server,
    tape,
    routes: taped.routes,
    secrets,
    matchers,
    paced: options.pace ?? false,
  })
  const stdout: Buffer[] = []
  try {
    // The recorded port is always free inside a sandbox.
    const process = (port: number) => ({
      command,
      cwd,
      env: {
        ...COMMAND_DEFAULTS,
        ...sessionVariables(globalThis.process.env),
        ...env,
        ...TELEMETRY_OFF,
        ...trusted?.variables,
        ...proxyVariables(taped.variables ?? {}, loopback(port)),
        ...httpProxyVariables(loopback(port)),
      },
      onStart: (pid: number | undefined) => client.started(pid, port),
      onOutput: (stream: 'stdout' | 'stderr', bytes: Buffer) => {
        if (stream === 'stdout') stdout.push(bytes)
        options.show?.(stream, bytes)
      },
    })
    const sandboxed = await runInSandbox({
      ...process(taped.port),
      server,
      port: taped.port,
      stdin: () => tapedInput(tape),
    })
    const { isolation } = sandboxed
    const end =
      sandboxed.end ?? (await runCommand({ ...process(server.port), stdin: tapedInput(tape) }))
    if (end.interruptedBy) throw new Interrupted(end.interruptedBy)
    // Output names the port of the proxy, which may differ from the recorded one.
    const text = Buffer.concat(stdout).toString('latin1')
    const said = text.replaceAll(`127.0.0.1:${server.port}`, `127.0.0.1:${taped.port}`)
    const divergences = compareCommand(tape, {
      stdout: secrets.bytes(Buffer.from(said, 'latin1')),
      ...(end.signal ? { signal: end.signal } : { exitCode: end.code }),
      misses: proxy.misses,
      unused: proxy.exchanges.unused,
    })
    return {
      events: tape.count,
      position: tape.count,
      served: proxy.served,
      reexecuted: 0,
      contacts: {},
      divergences,
      wallMs: performance.now() - started,
      cutOff: isCutOff(tape),
      exitCode: end.code,
      isolation,
      ...(proxy.refusedTunnels.size > 0 && { notRecorded: [...proxy.refusedTunnels] }),
      ...(end.signal && { signal: end.signal }),
    }
  } finally {
    await proxy.stop()
  }
}

const loopback = (port: number): string => `http://127.0.0.1:${port}`

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

export async function replayCommandRun(tape: Tape, options: Options): Promise<number> {
  const json = options.json
  const replayed = await replayRecordedCommand(tape, {
    pace: options.flag('pace'),
    show: (stream, bytes) => void (json ? process.stderr : process[stream]).write(bytes),
  })
  const identical = replayed.divergences.length === 0
  if (json) printJson({ run: tape.run.id, digest: tape.digest, identical, ...replayed }, 2)
  else {
    const look = lookOf(process.stderr)
    const lines = identical
      ? sameLines(tape, replayed, look)
      : differentLines(tape, replayed, { showsAll: options.flag('observe') }, look)
    process.stderr.write(`${lines.join('\n')}\n`)
  }
  if (!identical) return FOUND
  if (replayed.signal) return signalExitCode(replayed.signal)
  return replayed.cutOff ? FOUND : replayed.exitCode
}

/**
 * The first difference, or all of them. After a refused request, programs repeat it, leave others
 * out, print something else and end differently; a repetition is not another difference.
 */
function differentLines(
  tape: Tape,
  replayed: Replayed,
  { showsAll }: { readonly showsAll: boolean },
  look: Look,
): string[] {
  const distinct = replayed.divergences.filter(
    (divergence, index, all) =>
      index === all.findIndex((other) => isDeepStrictEqual(other, divergence)),
  )
  if (showsAll) return replayReceipt(tape, { ...replayed, divergences: distinct }, look)
  // Requests are first, in order; output is compared at the end, but may be from before them.
  const [request] = distinct
  const first =
    distinct.find(({ kind, seq }) => kind === 'output' && seq < (request?.seq ?? 0)) ?? request
  const more = distinct.length - 1
  return linesOf(
    ...replayReceipt(tape, { ...replayed, divergences: first ? [first] : [] }, look),
    more > 0 && [
      '',
      ...wrap(
        `and ${plural(more, 'more difference')}, which may follow from it; --observe shows all`,
        look.width,
      ),
    ],
  )
}

/** Says "identical" only if everything that was not compared was blocked. */
function sameLines(tape: Tape, replayed: Replayed, look: Look): string[] {
  const { served, wallMs, cutOff } = replayed
  const facts = [
    `${plural(served, 'request')} served`,
    ...(cutOff ? ['the same until the recording was cut off'] : ['stdout and exit as recorded']),
    `${duration(wallMs)} (recorded ${duration(viewRun(tape).durationMs)})`,
  ]
  const { isSame, blocked, gaps } = isolationFacts(replayed)
  const verdict = isSame ? 'identical' : 'same requests and output'
  return [
    [look.paint(isSame ? 'green' : 'yellow', verdict), ...facts, ...blocked].join(' · '),
    ...gaps.map((gap) => `${look.paint('yellow', 'note')} ${gap}`),
    `digest ${tape.digest}`,
  ]
}
