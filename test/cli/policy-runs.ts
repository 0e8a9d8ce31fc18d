import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startProvider } from '../support/loopback-provider.mjs'
import type { Workspace } from '../support/run-retake.mjs'
import { tapesOf } from './workspace.js'

/** Records the policy agent against a provider of its own, which always says the same; gives the tape. */
export async function recordPolicy(
  workspace: Workspace,
  policy: string,
  args: readonly string[] = [],
): Promise<string> {
  const known = new Set(await tapesOf(workspace).catch(() => []))
  const provider = await startProvider({ seed: 11, maxLatencyMs: 0 })
  try {
    await writeFile(join(workspace.folder, 'policy.txt'), `${policy}\n`)
    await workspace.record('policy.mjs', { provider, args })
  } finally {
    await provider.close()
  }
  const tapes = await tapesOf(workspace)
  return tapes.find((tape) => !known.has(tape)) ?? ''
}
