// A client of one generation, over one transport, for the agents in this folder.
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { CreateMessageRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as HttpV2,
} from '@modelcontextprotocol/client'
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio'

const info = { name: 'agent', version: '0.1.0' }
const modes = { legacy: 'legacy', modern: { pin: '2026-07-28' }, auto: 'auto' }

const said = async ({ params }) => ({
  model: 'none',
  role: 'assistant',
  content: { type: 'text', text: `short (${params.messages.length} message)` },
})

/** A test may name clients through this. */
const named = globalThis.nameClient ?? ((client) => client)

/** @param {'v1' | 'v2-legacy' | 'v2-modern' | 'v2-auto'} generation */
export async function connect(generation, target, env = {}, wrap = named) {
  const [version, era = 'legacy'] = generation.split('-')
  const isHttp = target.startsWith('http')
  const server = { command: process.execPath, args: [target], env, stderr: 'pipe' }
  if (version === 'v1') {
    const client = new ClientV1(info, { capabilities: { sampling: {} } })
    client.setRequestHandler(CreateMessageRequestSchema, said)
    await wrap(client).connect(isHttp ? new HttpV1(new URL(target)) : new StdioV1(server))
    return client
  }
  const client = new ClientV2(info, {
    capabilities: { sampling: {} },
    versionNegotiation: { mode: modes[era] },
  })
  await wrap(client).connect(isHttp ? new HttpV2(new URL(target)) : new StdioV2(server))
  return client
}
