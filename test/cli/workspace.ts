import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { type Finished, makeWorkspace, type Workspace } from '../support/run-retake.mjs'
import { tapesOldestFirst } from '../support/tapes-oldest-first.js'

export const cli = fileURLToPath(new URL('../../packages/cli/bin/retake.mjs', import.meta.url))

/** A folder of its own for one test, with these files in it; removed when the test is over. */
export async function folderWith(files: Readonly<Record<string, string>>): Promise<Workspace> {
  const workspace = await makeWorkspace()
  onTestFinished(workspace.remove)
  for (const [name, text] of Object.entries(files)) {
    const file = join(workspace.folder, name)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, text)
  }
  return workspace
}

/** Paths of the tapes in a workspace, oldest first. */
export async function tapesOf({ folder }: Workspace): Promise<string[]> {
  return tapesOldestFirst(join(folder, '.retake', 'runs'))
}

/** An agent that uses clock, chance, a timer and output, and fails or not. */
export const smallAgent = `
console.log('started', Date.now(), Math.random())
await new Promise((resolve) => setTimeout(resolve, 5))
console.log('done', process.argv.slice(2).join(' '))
`

/** Runs `retake` in a process group of its own and acts on it once the agent has printed something. */
export async function interrupt(
  folder: string,
  args: readonly string[],
  act: (pid: number) => unknown,
): Promise<Finished> {
  const child = spawn(process.execPath, [cli, ...args], {
    cwd: folder,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NO_COLOR: '1' },
  })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
  child.stdout.once('data', () => act(child.pid ?? 0))
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
  return { stdout, stderr, code, signal, ms: 0 }
}
