import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import type { Forwarding } from '@retake/guard'

/**
 * Preloaded into a live trial, or into a command that a worker runs in its sandbox: listens on the
 * loopback of the sandbox in a thread and forwards to the sockets that lead to the models. The
 * sockets outside decide what can be reached, so nothing depends on this thread but the connection.
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
    const server = createServer({ allowHalfOpen: true }, (inside) => {
      const outside = connect({ path: socket, allowHalfOpen: true })
      for (const [from, to] of [
        [inside, outside],
        [outside, inside],
      ] as const) {
        from.on('error', () => to.destroy())
        from.on('close', () => to.destroy())
        from.pipe(to)
      }
    })
    // An address that is not on the loopback cannot be forwarded: its requests fail.
    server.on('error', () => {})
    server.listen(port, address)
    await Promise.race([once(server, 'listening'), once(server, 'error')]).catch(() => {})
  }
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- not a window
  parentPort?.postMessage('ready')
}
