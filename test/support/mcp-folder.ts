import { copyFile, readdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { agentPath, makeWorkspace, type Workspace } from './run-retake.mjs'

const modules = fileURLToPath(new URL('../../node_modules', import.meta.url))

/** A workspace with the MCP agents, the servers and the SDKs in it, so that a server can be taken away. */
export async function mcpFolder(): Promise<Workspace> {
  const workspace = await makeWorkspace()
  await symlink(modules, join(workspace.folder, 'node_modules'))
  for (const name of await readdir(agentPath('mcp')))
    await copyFile(join(agentPath('mcp'), name), join(workspace.folder, name))
  return workspace
}
