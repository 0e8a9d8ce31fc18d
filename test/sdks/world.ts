import { fileURLToPath } from 'node:url'
import { type ModelServerOptions, startModelServer } from '@retake/engine/testing'
import { startServerProcess } from '../support/start-server-process.mjs'
import type { Scene } from './scenes.js'
import { createShopModel } from './shop-model.mjs'

export const isNewest = process.env['RETAKE_SDKS'] === 'newest'

/** Folder of the agents, as `record` of a workspace takes it. */
export const agentsFolder = isNewest ? '../newest/.agents' : '../sdks/agents'

/** Some frameworks behave differently in tests: OpenAI's sends no traces. Keys are made at run time. */
const environment = {
  NODE_ENV: 'production',
  AWS_ACCESS_KEY_ID: `AKIA${'EXAMPLE'.repeat(2)}`,
  AWS_SECRET_ACCESS_KEY: 'secret'.repeat(6),
  AWS_SESSION_TOKEN: 'session'.repeat(6),
}

/** The outside world of an agent: a model, and an MCP server if it needs one. */
export async function startWorld(
  { mcpServer }: Scene,
  answer: ModelServerOptions['answer'] = createShopModel(),
) {
  const model = await startModelServer({ answer })
  const file = `${agentsFolder}/${mcpServer}`
  const mcp =
    mcpServer === undefined
      ? undefined
      : await startServerProcess(fileURLToPath(new URL(file, import.meta.url)))
  return {
    provider: { url: model.url, h2Url: model.url },
    env: { ...environment, ...(mcp && { AGENT_MCP_URL: String(mcp.ready.url) }) },
    stop: async () => {
      await model.stop()
      await mcp?.stop()
    },
  }
}
