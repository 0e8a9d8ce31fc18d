import { type MessagePort, workerData } from 'node:worker_threads'
import { openProxyTape, ProxyServer, RecordingProxy, SecretMask } from '@retake/engine/proxy'
import type { HeaderPair, FrameworkScope } from '@retake/tape'
import type { TapeWriter } from '@retake/tape/node'

export interface ProxyTask {
  readonly upstream: string
  readonly tape: string
  readonly id: string
  readonly name: string
  readonly port: MessagePort
  /** 1 once the proxy has started or failed to start, 2 once its tape is sealed. */
  readonly turn: Int32Array
}

export type ProxyMessage = { readonly url: string } | { readonly problem: string }

const task = workerData as ProxyTask

function report(word: ProxyMessage): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  task.port.postMessage(word)
  reach(1)
}

function reach(turn: number): void {
  Atomics.store(task.turn, 0, turn)
  Atomics.notify(task.turn, 0)
}

try {
  const server = await ProxyServer.listen(0)
  const { tape, id, name } = task
  const routes = [{ name: 'anthropic', upstream: task.upstream.replace(/\/+$/, '') }]
  const writer = openProxyTape({ tape, id, name, proxy: { port: server.port, routes } })
  const secrets = new SecretMask()
  secrets.addEnvironment(process.env)
  const proxy = new RecordingProxy({ server, writer, routes, secrets, scopesOf })
  task.port.once('message', () => void finish(proxy, writer))
  report({ url: `${server.url}/anthropic` })
} catch (error) {
  report({ problem: error instanceof Error ? error.message : String(error) })
  task.port.close()
}

/** If the disk is full, the tape stays cut off. */
async function finish(proxy: RecordingProxy, writer: TapeWriter): Promise<void> {
  try {
    await proxy.stop()
    if (proxy.failure !== undefined) return
    writer.append({ type: 'end' })
    writer.seal()
  } finally {
    reach(2)
    task.port.close()
  }
}

/** Claude Code sends its session and sub-agent in headers. */
function scopesOf(headers: readonly HeaderPair[]): FrameworkScope[] {
  const header = (name: string): string | undefined =>
    headers.find(([key]) => key.toLowerCase() === name)?.[1]
  const session = header('x-claude-code-session-id')
  const subAgent = header('x-claude-code-agent-id')
  return [
    ...(session === undefined ? [] : [{ kind: 'agent', name: 'claude', id: session } as const]),
    ...(subAgent === undefined
      ? []
      : [{ kind: 'agent', name: 'sub-agent', id: subAgent } as const]),
  ]
}
