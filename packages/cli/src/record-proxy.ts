import { newRunId, trustRecording, trustedRunsFile } from '@retake/engine'
import {
  loadMatchers,
  openProxyTape,
  parseUpstreams,
  ProxyServer,
  RecordingProxy,
  SecretMask,
  WayOut,
} from '@retake/engine/proxy'
import { recordedMatchers } from './config/project.js'
import { wrongUsage } from './errors/command-line.js'
import { listeningLines, nextSignal } from './proxy-lines.js'
import { recordingJson, recordingLine } from './recording-line.js'
import { markRecording } from './recording-mark.js'
import { RunStore } from './run-store.js'
import { painter } from './terminal.js'
import { flag, text, texts } from './verb.js'
import type { OptionValues } from './verb.js'

/** `retake proxy record`: passes requests on and records them until a signal comes. */
export async function recordProxy(values: OptionValues, port: number): Promise<number> {
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
    if (json) console.log(JSON.stringify({ listening: server.url, run: id, tape, routes }))
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
