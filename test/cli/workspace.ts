import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { makeWorkspace, type Workspace } from '../support/run-retake.mjs'

/** A folder of its own for one test, with these files in it; removed when the test is over. */
export async function folderWith(files: Readonly<Record<string, string>>): Promise<Workspace> {
  const workspace = await makeWorkspace()
  onTestFinished(workspace.remove)
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(workspace.folder, name), text)
  }
  return workspace
}

/** Paths of the tapes in a workspace, oldest first. */
export async function tapesOf({ folder }: Workspace): Promise<string[]> {
  const runs = join(folder, '.retake', 'runs')
  const names = await readdir(runs)
  return names
    .filter((name) => name.endsWith('.tape'))
    .toSorted()
    .map((name) => join(runs, name))
}

/** An agent that uses clock, chance, a timer and output, and fails or not. */
export const smallAgent = `
console.log('started', Date.now(), Math.random())
await new Promise((resolve) => setTimeout(resolve, 5))
console.log('done', process.argv.slice(2).join(' '))
`
