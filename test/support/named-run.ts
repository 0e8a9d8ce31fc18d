import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { makeWorkspace, type Finished, type Workspace } from './run-retake.mjs'

/** A recorded program whose first lines, those of an adapter, can be changed before its replay. */
export interface NamedRun {
  readonly workspace: Workspace
  readonly recorded: Finished
  setNames(lines: string): Promise<void>
}

export interface NamedRunOptions {
  readonly program: string
  readonly names: string
  readonly baseUrl: string
  readonly env?: Readonly<Record<string, string>>
}

/**
 * Records `program` in a workspace of its own, with the lines `names` run before
 * it, and hands it to `look`.
 */
export async function withNamedRun(
  options: NamedRunOptions,
  look: (run: NamedRun) => Promise<void>,
): Promise<void> {
  const workspace = await makeWorkspace()
  try {
    const setNames = (lines: string) => writeFile(join(workspace.folder, 'names.mjs'), lines)
    await setNames(options.names)
    const agent = join(workspace.folder, 'agent.mjs')
    await writeFile(agent, `import './names.mjs'\nawait import('${options.program}')\n`)
    const env = { AGENT_BASE_URL: options.baseUrl, ...options.env }
    const recorded = await workspace.retake(['record', agent], { env })
    expect(recorded.code, recorded.stderr).toBe(0)
    await look({ workspace, recorded, setNames })
  } finally {
    await workspace.remove()
  }
}

/** What a replay with other lines of an adapter comes to; see `unchanged`. */
export async function replayWith(run: NamedRun, names: string): Promise<object> {
  await run.setNames(names)
  const { code, stdout, stderr, waysOut } = await run.workspace.replay()
  return { says: stderr.includes('identical') ? 'identical' : stderr, code, stdout, waysOut }
}

/** What a replay comes to that is the recorded run, and touches nothing outside. */
export const unchanged = (run: NamedRun): object => ({
  says: 'identical',
  code: 0,
  stdout: run.recorded.stdout,
  waysOut: {},
})

/** What the adapter says when it meets `version` of a framework. */
export async function refusalOf(
  names: string,
  framework: string,
  version: string,
): Promise<Finished> {
  const workspace = await makeWorkspace()
  try {
    const home = join(workspace.folder, 'node_modules', framework)
    await mkdir(home, { recursive: true })
    await writeFile(join(home, 'package.json'), JSON.stringify({ version }))
    const agent = join(workspace.folder, 'agent.mjs')
    await writeFile(agent, names)
    return await workspace.retake(['record', agent])
  } finally {
    await workspace.remove()
  }
}
