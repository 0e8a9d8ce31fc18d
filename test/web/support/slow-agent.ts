import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

const cli = fileURLToPath(new URL('../../../packages/cli/bin/retake.mjs', import.meta.url))

const AGENT = `
for (let page = 1; ; page++) {
  const answer = await fetch(process.env.AGENT_BASE_URL + '/page/' + page)
  const text = await answer.text()
  console.log(text)
  if (text === 'last') break
}
`

export interface SlowAgent {
  /** Answers the request that waits, or the next one that comes. */
  answer(text: string): Promise<void>
  /** Resolves when this many requests have come in all. */
  asked(count: number): Promise<void>
  readonly ended: Promise<unknown>
  /** Ends the recorder and the agent as a crash of the machine would. */
  kill(): void
}

/** Records, with the real `retake record`, an agent that asks for page after page as fast as it is answered. */
export async function recordSlowly(folder: string): Promise<SlowAgent> {
  const waiting: ServerResponse[] = []
  const wanted: (() => void)[] = []
  let count = 0
  const server = createServer((_request, response) => {
    waiting.push(response)
    count += 1
    for (const wake of wanted.splice(0)) wake()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  await writeFile(join(folder, 'agent.mjs'), AGENT)
  const child: ChildProcess = spawn(process.execPath, [cli, 'record', 'agent.mjs'], {
    cwd: folder,
    env: {
      ...process.env,
      AGENT_BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    },
    stdio: 'ignore',
    // A group of its own, to be killed as one.
    detached: true,
  })
  const ended = once(child, 'close')
  const kill = (): void => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
      process.kill(-child.pid, 'SIGKILL')
  }
  onTestFinished(async () => {
    kill()
    await ended
    server.close()
    server.closeAllConnections()
  })
  const until = async (holds: () => boolean): Promise<void> => {
    while (!holds()) await new Promise<void>((resolve) => wanted.push(resolve))
  }
  return {
    answer: async (text) => {
      await until(() => waiting.length > 0)
      waiting.shift()?.end(text)
    },
    asked: (least) => until(() => count >= least),
    ended,
    kill,
  }
}
