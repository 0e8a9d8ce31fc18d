import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

export const startLoopbackServer = () => startServer('loopback-server.mjs')

/** Starts a server of this folder. @returns {Promise<{ url: string, stop: () => Promise<void> }>} */
export async function startServer(file, ...args) {
  const child = spawn(process.execPath, [join(import.meta.dirname, file), ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const [line] = await once(child.stdout, 'data')
  return {
    url: String(line).trim(),
    stop: async () => {
      const closed = once(child, 'close')
      child.stdin.end()
      await closed
    },
  }
}
