import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const cli = fileURLToPath(new URL('../../../packages/cli/bin/retake.mjs', import.meta.url))

/** A server in a process of its own, which can be killed. */
export interface ServerProcess {
  readonly child: ChildProcess
  readonly url: string
  /** Everything on stderr so far. */
  log(): string
  /** Sends a signal, and resolves when the process has ended. */
  end(signal: NodeJS.Signals): Promise<void>
}

/** Starts `retake server`. Rejects with its log if it ends before it listens. */
export async function startProcess(
  data: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<ServerProcess> {
  const child = spawn(process.execPath, [cli, 'server', '--data', data, '--json'], {
    env: {
      ...process.env,
      RETAKE_PORT: '0',
      RETAKE_WORKERS: '0',
      RETAKE_REQUESTS_PER_MINUTE: '1000000',
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let log = ''
  child.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()))
  const ended = once(child, 'exit')
  const text: string[] = []
  const started = (async () => {
    for await (const line of createInterface({ input: child.stdout })) {
      text.push(line)
      const found = /"url": ?"([^"]+)"/.exec(line)
      if (found?.[1] !== undefined) return found[1]
    }
    await ended
    throw new Error(`the server did not start: ${text.join(' ')} ${log}`)
  })()
  const url = await started
  return {
    child,
    url,
    log: () => log,
    end: async (signal) => {
      child.kill(signal)
      await ended
    },
  }
}

/** Process id of the PostgreSQL in a data folder; undefined if there is none. */
export function postgresPid(data: string): number | undefined {
  try {
    const file = path.join(data, 'postgres', 'data', 'postmaster.pid')
    return Number(readFileSync(file, 'utf8').split('\n')[0])
  } catch {
    return undefined
  }
}
