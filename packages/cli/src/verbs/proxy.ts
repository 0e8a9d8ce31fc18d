import { wrongUsage } from '../errors/command-line.js'
import { requireTrust, TRUST_OPTION } from '../agent/trust.js'
import { flag, type OptionValues, text, texts, type Verb } from '../command-line/verb.js'
import { newRunId, trustedRunsFile, trustRecording } from '@retake/engine'
import {
  loadMatchers,
  openProxyTape,
  parseUpstreams,
  ProxyServer,
  RecordingProxy,
  ReplayingProxy,
  SecretMask,
  WayOut,
} from '@retake/engine/proxy'
import { askedMatchers, recordedMatchers } from '../config/project.js'
import { listeningLines, nextSignal } from '../proxy-lines.js'
import { recordingJson, recordingLine } from '../agent/recording-line.js'
import { markRecording, RunStore } from '../runs/run-store.js'
import { painter, printable, printJson } from '../terminal/terminal.js'
import { openTape } from '@retake/tape/node'
import { notAProxyRun } from '../errors/programs.js'
import { FOUND } from '../command-line/exit-codes.js'

export const proxy: Verb = {
  usage: 'record --upstream <url>… [options] | replay <run> [options]',
  help: `Listens on the loopback and stands in for the providers. Point the base URL of
an SDK at it, or curl. \`record\` passes requests on and writes a tape; \`replay\`
answers from the tape, asks nobody, and says 502 and what differs for a request
that was not recorded. Both run until Ctrl-C.

For one command, \`retake record -- python agent.py\` does all of this by itself.

With one upstream every path goes there. With several, the first part of the
path is the name: /openai/v1/…; without it the Host header or a path that only
one of them has, like /v1/messages, decides.

Options:
  --upstream <[name=]url>  a provider; may be repeated (record)
  --port <port>            where to listen (default: 4141; 0: any that is free)
  --name <name>            what the run is called in lists (record)
  --matcher <name|file>    what may differ between requests; may be repeated:
                           dates, uuids, json-order, or a file, see
                           \`retake docs proxy\`
  --pace                   keep the recorded pauses (replay)
  --trust                  also load matchers of a tape from elsewhere
  --dir <folder>           where the tapes are (default: .retake/runs)
  --json                   one line of JSON when it listens, one when it ends

Examples:
  retake proxy record --upstream https://api.openai.com
  retake proxy record --upstream openai=https://api.openai.com \\
                      --upstream anthropic=https://api.anthropic.com
  retake proxy replay last --port 4141`,
  options: {
    ...TRUST_OPTION,
    upstream: { type: 'string', multiple: true },
    port: { type: 'string' },
    name: { type: 'string' },
    matcher: { type: 'string', multiple: true },
    pace: { type: 'boolean' },
    dir: { type: 'string' },
  },
  run(values, [what, ...rest]) {
    if (what === 'record' && rest.length === 0) return recordProxy(values, portOf(values))
    if (what === 'replay' && rest.length === 1)
      return replayProxy(values, portOf(values), rest[0] ?? '')
    throw wrongUsage(
      'proxy',
      what === 'replay' ? 'Name one run to replay.' : 'Say `record` or `replay`.',
      'For example: retake proxy replay last.',
    )
  },
}

function portOf(values: OptionValues): number {
  const port = Number(text(values, 'port') ?? 4141)
  if (Number.isInteger(port) && port >= 0 && port < 65_536) return port
  throw wrongUsage(
    'proxy',
    `"${text(values, 'port')}" is no port.`,
    'A port is a number up to 65535.',
  )
}

/** `retake proxy record`: passes requests on and records them until a signal comes. */
async function recordProxy(values: OptionValues, port: number): Promise<number> {
  const routes = parseUpstreams(texts(values, 'upstream'))
  if (routes.length === 0)
    throw wrongUsage(
      'proxy',
      'No --upstream was given.',
      'Requests have to be passed on somewhere.',
    )
  const matchers = recordedMatchers(texts(values, 'matcher'))
  await loadMatchers(matchers, process.cwd())
  const store = new RunStore(text(values, 'dir'))
  store.prepare()
  const server = await ProxyServer.listen(port)
  const id = newRunId()
  const tape = store.pathOf(id)
  const unmark = markRecording(tape)
  try {
    const name = text(values, 'name') ?? `proxy ${routes.map((route) => route.name).join(' ')}`
    const writer = openProxyTape({
      tape,
      id,
      name,
      proxy: { port: server.port, routes, ...(matchers.length > 0 && { matchers }) },
    })
    trustRecording(tape, trustedRunsFile())
    const secrets = new SecretMask()
    secrets.addEnvironment(process.env)
    const proxy = new RecordingProxy({
      server,
      writer,
      routes,
      secrets,
      wayOut: new WayOut(process.env),
    })
    const json = flag(values, 'json')
    const signal = nextSignal()
    if (json) printJson({ listening: server.url, run: id, tape, routes })
    else process.stderr.write(listeningLines('recording', server.url, id, routes))
    await signal
    await proxy.stop()
    if (proxy.failure !== undefined) throw proxy.failure
    writer.append({ type: 'end', exitCode: 0 })
    writer.seal()
    const recording = { code: 0, id, tape }
    if (json) console.log(recordingJson(recording))
    else process.stderr.write(`${recordingLine(recording, painter(process.stderr))}\n`)
    return 0
  } finally {
    await server.close()
    unmark()
  }
}

/** `retake proxy replay`: answers from a tape until a signal comes. Exit code 3 when something was not on it. */
async function replayProxy(values: OptionValues, port: number, name: string): Promise<number> {
  const tape = openTape(new RunStore(text(values, 'dir')).find(name))
  const { proxy: taped } = tape.details
  if (taped === undefined) throw notAProxyRun(tape.run.id)
  // Its matchers may be files, which are loaded as code.
  requireTrust(tape)
  const asked = [...(taped.matchers ?? []), ...askedMatchers(texts(values, 'matcher'))]
  const matchers = await loadMatchers(asked, process.cwd())
  const server = await ProxyServer.listen(port)
  const json = flag(values, 'json')
  const paint = painter(process.stderr)
  const secrets = new SecretMask()
  secrets.addEnvironment(process.env)
  const proxy = new ReplayingProxy({
    server,
    tape,
    routes: taped.routes,
    secrets,
    matchers,
    paced: flag(values, 'pace'),
    onRequest: (what, miss) => {
      if (miss === undefined || json) return
      process.stderr.write(
        `${paint('red', 'miss')} ${printable(what)}\n  ${printable(miss.explanation)}\n`,
      )
    },
  })
  const signal = nextSignal()
  if (json) printJson({ listening: server.url, run: tape.run.id, routes: taped.routes })
  else process.stderr.write(listeningLines('replaying', server.url, tape.run.id, taped.routes))
  await signal
  await proxy.stop()
  const { served, misses, exchanges } = proxy
  const unused = exchanges.unused.length
  if (json) printJson({ run: tape.run.id, served, unused, misses })
  else {
    const facts = [
      `${served} served`,
      `${unused} not asked for`,
      `${misses.length} not on the tape`,
    ]
    process.stderr.write(`${facts.join(' · ')}\n`)
  }
  return misses.length > 0 ? FOUND : 0
}
