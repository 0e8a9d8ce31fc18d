import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The repository's root, where every command of these scripts runs. */
export const root = fileURLToPath(new URL('..', import.meta.url))

/** Names of the packages, which are those of their folders. */
export const packageNames = readdirSync(join(root, 'packages'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)

/**
 * Runs one command to its end.
 *
 * @param {string} file Program to run; `node` means the Node that runs this script.
 * @param {readonly string[]} args
 * @param {{ show?: boolean, env?: Readonly<Record<string, string>>, timeoutMs?: number }} [options]
 *   `show`: pass output through instead of collecting it. `env`: added to this process's own.
 *   `timeoutMs`: when to end the command, which then has failed.
 * @returns {Promise<{ ok: boolean, output: string, seconds: number }>}
 */
export function runCommand(file, args, { show = false, env = {}, timeoutMs } = {}) {
  const started = performance.now()
  const child = spawn(file === 'node' ? process.execPath : file, args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', show ? 'inherit' : 'pipe', show ? 'inherit' : 'pipe'],
    timeout: timeoutMs,
  })
  const chunks = []
  child.stdout?.on('data', (chunk) => chunks.push(chunk))
  child.stderr?.on('data', (chunk) => chunks.push(chunk))
  return new Promise((resolve) => {
    const finish = (ok) =>
      resolve({
        ok,
        output: Buffer.concat(chunks).toString(),
        seconds: (performance.now() - started) / 1000,
      })
    child.on('error', (error) => {
      chunks.push(Buffer.from(String(error)))
      finish(false)
    })
    child.on('close', (code) => finish(code === 0))
  })
}
