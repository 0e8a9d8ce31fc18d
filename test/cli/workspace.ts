import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { type Finished, makeWorkspace, run, type Workspace } from '../support/run-retake.mjs'
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

/** Runs as a user without rights, since the system lets root do everything. */
export function runAsNobody(args: readonly string[], cwd: string): Promise<Finished> {
  if (process.getuid?.() !== 0) return run(process.execPath, [cli, ...args], cwd)
  const script = `process.setgid(65534); process.setuid(65534)
    const { main } = await import(${JSON.stringify(new URL('../../packages/cli/dist/command-line/main.js', import.meta.url).href)})
    await main(${JSON.stringify(args)})`
  return run(process.execPath, ['--input-type=module', '-e', script], cwd)
}

/** Lets everybody into the folder that holds this one, so that only its own permissions matter. */
export const openParent = (folder: string): Promise<void> => chmod(dirname(folder), 0o755)
