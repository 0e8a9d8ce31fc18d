import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  loadMatchers,
  parseUpstreams,
  ProxyServer,
  RecordingProxy,
  ReplayingProxy,
  SecretMask,
} from '@retake/engine/proxy'
import type { Tape } from '@retake/tape'
import { openTape, TapeWriter } from '@retake/tape/node'
import { onTestFinished } from 'vitest'

/** Records what `work` does through a proxy to these upstreams. */
export async function recordThrough(
  upstreams: readonly string[],
  work: (url: string, writer: TapeWriter) => Promise<unknown>,
  options: { readonly bodyBytesMax?: number } = {},
): Promise<Tape> {
  const folder = await mkdtemp(join(tmpdir(), 'retake-proxy-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const server = await ProxyServer.listen(0)
  const routes = parseUpstreams(upstreams)
  const path = join(folder, 'run.tape')
  const run = { type: 'run', id: 'run', name: 'proxy', startedAt: 0, scope: 'process' } as const
  const writer = TapeWriter.create(
    path,
    { ...run, node: process.version },
    { proxy: { port: server.port, routes } },
  )
  const secrets = new SecretMask()
  const proxy = new RecordingProxy({ server, writer, routes, secrets, ...options })
  try {
    await work(server.url, writer)
  } finally {
    await proxy.stop()
  }
  writer.append({ type: 'end', exitCode: 0 })
  writer.seal()
  return openTape(path)
}

/** Does `work` against the tape alone. */
export async function replayFrom(
  tape: Tape,
  work: (url: string) => Promise<unknown>,
  options: { readonly matchers?: readonly string[]; readonly paced?: boolean } = {},
): Promise<ReplayingProxy> {
  const server = await ProxyServer.listen(0)
  const proxy = new ReplayingProxy({
    server,
    tape,
    routes: tape.details.proxy?.routes ?? [],
    secrets: new SecretMask(),
    matchers: await loadMatchers(options.matchers ?? [], process.cwd()),
    paced: options.paced ?? false,
  })
  try {
    await work(server.url)
  } finally {
    await proxy.stop()
  }
  return proxy
}
