/** A real Redis of its own for a test: `redis-server` on a free port of the loopback, in memory. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { createInterface } from 'node:readline'

/** @returns {Promise<{ url: string, stop: () => Promise<void> }>} */
export async function startRedis() {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address()
  probe.close()
  await once(probe, 'close')
  const server = spawn('redis-server', ['--bind', '127.0.0.1', '--port', `${port}`, '--save', ''], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const kill = () => void server.kill('SIGKILL')
  process.once('exit', kill)
  for await (const line of createInterface({ input: server.stdout }))
    if (line.includes('Ready to accept connections')) break
  server.stdout.resume()
  const stop = async () => {
    process.off('exit', kill)
    const ended = once(server, 'exit')
    server.kill('SIGKILL')
    await ended
  }
  return { url: `redis://127.0.0.1:${port}`, stop }
}
