/** A real MariaDB of its own for a test: `mariadbd` on a Unix socket in a temporary folder. */
import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'

export const hasMariadb = spawnSync('mariadbd', ['--version']).status === 0

/** @returns {Promise<{ socketPath: string, stop: () => Promise<void> }>} */
export async function startMariadb() {
  const folder = await mkdtemp(join(tmpdir(), 'retake-mariadb-'))
  const socketPath = join(folder, 'socket')
  const common = ['--no-defaults', `--datadir=${folder}/data`, `--user=${userInfo().username}`]
  await promisify(execFile)('mariadb-install-db', [...common, '--skip-test-db'])
  const server = spawn(
    'mariadbd',
    [...common, '--skip-networking', '--skip-grant-tables', `--socket=${socketPath}`],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  const kill = () => void server.kill('SIGKILL')
  process.once('exit', kill)
  for await (const line of createInterface({ input: server.stderr }))
    if (line.includes('ready for connections')) break
  server.stderr.resume()
  const stop = async () => {
    process.off('exit', kill)
    const ended = once(server, 'exit')
    server.kill('SIGKILL')
    await ended
    await rm(folder, { recursive: true, force: true })
  }
  return { socketPath, stop }
}
