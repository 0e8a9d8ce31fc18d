import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { root } from './run-command.mjs'

/**
 * Starts the real `retake ui` in a folder, on any free port unless one is given.
 *
 * @param {string} folder
 * @param {{ port?: number, args?: readonly string[], env?: Readonly<Record<string, string>>, node?: string }} [options]
 * @returns {Promise<{ url: string, stop: () => Promise<void>, process: import('node:child_process').ChildProcess }>}
 *   `url` has the token in it.
 */
export async function startUi(
  folder,
  { port = 0, args = [], env = {}, node = process.execPath } = {},
) {
  const cli = join(root, 'packages/cli/bin/retake.mjs')
  const child = spawn(node, [cli, 'ui', '--port', String(port), '--no-open', '--json', ...args], {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const failed = once(child, 'close').then(([code]) => {
    throw new Error(`retake ui ended with ${code} before it listened`)
  })
  failed.catch(() => {})
  const [line] = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    failed,
  ])
  const { url, error } = JSON.parse(line)
  if (url === undefined) {
    child.kill()
    throw new Error(`retake ui did not start: ${JSON.stringify(error)}`)
  }
  return {
    url,
    process: child,
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'close')
      child.kill('SIGINT')
      await ended
    },
  }
}
