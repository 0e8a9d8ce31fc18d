import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import type { Forwarding } from '@retake/runner/sandbox'
import { forwardTo } from '@retake/runner/agent'

/**
 * Preloaded into a live trial, or into a command that a worker runs in its sandbox. In a thread,
 * listens on the loopback of the sandbox and forwards to the sockets that lead to models. This
 * thread only connects: the sockets outside decide what can be reached.
 */
if (isMainThread) {
  const text = process.env['RETAKE_FORWARDING']
  delete process.env['RETAKE_FORWARDING']
  if (text !== undefined) {
    const worker = new Worker(fileURLToPath(import.meta.url), {
      workerData: text,
      execArgv: [],
      env: {},
    })
    await once(worker, 'message')
    worker.unref()
  }
} else {
  for (const { address, port, socket } of JSON.parse(workerData as string) as Forwarding[]) {
    const server = forwardTo({ path: socket })
    // An address outside of the loopback cannot be forwarded, so its requests fail.
    server.on('error', () => {})
    server.listen(port, address)
    await Promise.race([once(server, 'listening'), once(server, 'error')]).catch(() => {})
  }
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- not a window
  parentPort?.postMessage('ready')
}
