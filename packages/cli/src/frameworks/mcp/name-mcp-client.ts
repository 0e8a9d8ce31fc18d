import { AsyncLocalStorage } from 'node:async_hooks'
import { within } from '@retake/engine'
import { wrapCalls } from '../wrap-calls.js'
import { CALLS, requireMcp } from './calls.js'

/** What is used of a client of `@modelcontextprotocol/sdk` or `@modelcontextprotocol/client`. */
export interface McpClient {
  connect(...args: never[]): Promise<unknown>
  callTool(...args: never[]): Promise<unknown>
  listTools(...args: never[]): Promise<unknown>
}

/** The client whose call is under way: calls of it that call each other are in one place. */
const asking = new AsyncLocalStorage<McpClient>()

/**
 * Lets what is asked of a server carry a name of yours: for servers that call
 * themselves all the same, or that are asked by several agents. Changes the client
 * itself and hands it back: `const docs = nameMcpClient(new Client(…), 'docs')`.
 * Without it, steps have the name that the server gives itself.
 */
export function nameMcpClient<C extends McpClient>(client: C, name: string): C {
  requireMcp(client)
  const place = { kind: 'server', name } as const
  wrapCalls(client, CALLS, (call) =>
    asking.getStore() === client ? call() : asking.run(client, () => within(place, call)),
  )
  return client
}
