import { recordThroughProxy } from '@retake/runner/commands'
import {
  DURABILITY_OPTION,
  type Options,
  PORT,
  usageError,
  type Verb,
  PROGRAM_OPTIONS,
} from '@retake/runner/command-line'
import { cliErrors } from '@retake/runner/errors'
import { requireTrust } from '@retake/runner/agent'
import {
  loadMatchers,
  parseUpstreams,
  ProxyServer,
  ReplayingProxy,
  type Route,
  SecretMask,
  UpstreamConnections,
} from '@retake/engine/proxy'
import { refuseImported } from '@retake/engine/runs'
import { givenMatchers, recordedMatchers } from '@retake/runner/config'
import { recordingJson, recordingLine } from '@retake/runner/recording-summary'
import { painter, printable, printJson } from '@retake/runner/terminal'
import { FOUND, nextSignal } from '@retake/runner/command-line'

export default {
  arguments: 'record | replay <run>',
  description: `Listens on the loopback address in place of the providers. Point the base URL of an
SDK, or curl, to it. \`record\` forwards requests and writes a tape. \`replay\` answers from the
tape and sends nothing; a request that was not recorded gets status 502 and the differences. Both
run until Ctrl-C. For a single command, \`retake record -- python agent.py\` does all of this.

With one upstream, every path goes there. With several, the first part of the path is the name:
/openai/v1/…. Without a name, the Host header decides, or a path that only one upstream has, such
as /v1/messages.`,
  options: {
    '--upstream <[name=]url>...': 'a provider; repeatable (record)',
    '--port <port>': 'port to listen on (default: 4141; 0: any free port)',
    '--name <name>': 'name of the run in lists (record)',
    '--matcher <name|file>...':
      'ignore what may differ between requests: dates, uuids, json-order, or a file (see `retake docs proxy`); repeatable',
    ...DURABILITY_OPTION,
    '--pace': 'replay with the recorded pauses (replay)',
    ...PROGRAM_OPTIONS,
    '--json': 'print one line of JSON when the proxy listens, and one when it ends',
  },
  examples: [
    'retake proxy record --upstream https://api.openai.com',
    'retake proxy record --upstream openai=https://api.openai.com --matcher dates',
    'retake proxy replay last --port 4141',
  ],
  run(options, [what, name = '']) {
    const port = options.number('port', PORT) ?? 4141
    return what === 'record' ? recordProxy(options, port) : replayProxy(options, port, name)
  },
} satisfies Verb

async function recordProxy(options: Options, port: number): Promise<number> {
  const routes = parseUpstreams(options.texts('upstream'))
  if (routes.length === 0)
    throw usageError('Missing option --upstream.', 'Requests must be forwarded somewhere.')
  const name = options.text('name') ?? `proxy ${routes.map((route) => route.name).join(' ')}`
  const { json } = options
  const { exchanges: _, ...recording } = await recordThroughProxy(
    {
      store: options.store,
      port,
      matchers: recordedMatchers(options.texts('matcher')),
      run: { name, ...options.durability() },
      proxy: { routes },
      connections: { upstream: new UpstreamConnections(process.env) },
    },
    async ({ id, tape, server }) => {
      const signal = nextSignal()
      if (json) printJson({ listening: server.url, run: id, tape, routes })
      else process.stderr.write(listeningLines('recording', server.url, id, routes))
      await signal
      return { code: 0 }
    },
  )
  if (json) console.log(recordingJson(recording))
  else process.stderr.write(`${recordingLine(recording, painter(process.stderr))}\n`)
  return 0
}

async function replayProxy(options: Options, port: number, name: string): Promise<number> {
  const tape = options.openRun(name)
  refuseImported(tape)
  const { proxy: taped } = tape.details
  if (taped === undefined) throw cliErrors.NOT_A_PROXY_RUN(tape.run.id)
  // Matchers may be files, which are loaded as code.
  requireTrust(tape)
  const names = [...(taped.matchers ?? []), ...givenMatchers(options.texts('matcher'))]
  const matchers = await loadMatchers(names, process.cwd())
  const server = await ProxyServer.listen(port)
  const json = options.json
  const paint = painter(process.stderr)
  const secrets = new SecretMask()
  secrets.addEnvironment(process.env)
  const proxy = new ReplayingProxy({
    server,
    tape,
    routes: taped.routes,
    secrets,
    matchers,
    paced: options.flag('pace'),
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
      `${unused} not requested`,
      `${misses.length} not on the tape`,
    ]
    process.stderr.write(`${facts.join(' · ')}\n`)
  }
  return misses.length > 0 ? FOUND : 0
}

function listeningLines(
  doing: 'recording' | 'replaying',
  url: string,
  run: string,
  routes: readonly Route[],
): string {
  const leads = routes.map(({ name, upstream }) => `  ${url}/${name} → ${upstream}`)
  const [only] = routes
  const all = routes.length === 1 && only ? [`  ${url} → ${only.upstream}`] : []
  const where = doing === 'replaying' ? ' from the tape, nothing leaves' : ''
  return [`${doing} ${run} at ${url}${where} · Ctrl-C ends it`, ...all, ...leads, ''].join('\n')
}
