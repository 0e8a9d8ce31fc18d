import { loadMatchers, ProxyServer, ReplayingProxy, SecretMask } from '@retake/engine/proxy'
import { openTape } from '@retake/tape/node'
import { askedMatchers } from './config/project.js'
import { notAProxyRun } from './errors/programs.js'
import { FOUND } from './exit-codes.js'
import { printable } from './printable.js'
import { listeningLines, nextSignal } from './proxy-lines.js'
import { RunStore } from './run-store.js'
import { painter } from './terminal.js'
import { requireTrust } from './trust.js'
import { flag, text, texts } from './verb.js'
import type { OptionValues } from './verb.js'

/** `retake proxy replay`: answers from a tape until a signal comes. Exit code 3 when something was not on it. */
export async function replayProxy(
  values: OptionValues,
  port: number,
  name: string,
): Promise<number> {
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
  if (json)
    console.log(JSON.stringify({ listening: server.url, run: tape.run.id, routes: taped.routes }))
  else process.stderr.write(listeningLines('replaying', server.url, tape.run.id, taped.routes))
  await signal
  await proxy.stop()
  const { served, misses, exchanges } = proxy
  const unused = exchanges.unused.length
  if (json) console.log(JSON.stringify({ run: tape.run.id, served, unused, misses }))
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
