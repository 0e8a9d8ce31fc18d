/** `retake/mcp`: names the steps and guards the tools of MCP clients, old and new SDK. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { currentSession, tool as boundary, within } from '@retake/engine'
import type { GuardRun, Schema, ToolContext } from '@retake/guard'
import { cliErrors } from '@retake/runner/errors'
import {
  checkGuardTools,
  type FrameworkTool,
  frameworkTool,
  type GuardToolsOptions,
  rethrow,
  denialForModel,
} from '../guard/framework-tool.js'
import { requireVersion, wrapCalls } from './adapter.js'

export type { GuardToolsOptions } from '../guard/framework-tool.js'

export interface McpClient {
  connect(...args: never[]): Promise<unknown>
  callTool(...args: never[]): Promise<unknown>
  listTools(...args: never[]): Promise<unknown>
}

/** The client whose call is in progress. Its nested calls share one scope. */
const callingClient = new AsyncLocalStorage<McpClient>()

/**
 * Names the requests to a server, for servers that report the same name or are used by several
 * agents. Changes the client itself and returns it: `const docs = nameMcpClient(new Client(…),
 * 'docs')`. Without this, steps have the name that the server reports.
 */
export function nameMcpClient<C extends McpClient>(client: C, name: string): C {
  requireMcp(client)
  const scope = { kind: 'server', name } as const
  wrapCalls(client, CALLS, (call) =>
    callingClient.getStore() === client
      ? call()
      : callingClient.run(client, () => within(scope, call)),
  )
  return client
}

const CALLS = [
  'connect',
  'discover',
  'ping',
  'complete',
  'setLoggingLevel',
  'listTools',
  'callTool',
  'listPrompts',
  'getPrompt',
  'listResources',
  'listResourceTemplates',
  'readResource',
  'subscribeResource',
  'unsubscribeResource',
  'sendRootsListChanged',
  'request',
  'notification',
]

const requireMcp = (client: object): void =>
  requireVersion(
    'discover' in client
      ? { package: '@modelcontextprotocol/client', from: '2.0', to: '2' }
      : { package: '@modelcontextprotocol/sdk', from: '1.10', to: '1' },
  )

type Method = (...args: unknown[]) => Promise<unknown>

interface CallParams {
  readonly name: string
  readonly arguments?: unknown
}

interface CallResult {
  readonly isError?: boolean
  readonly content?: readonly { readonly type: string; readonly text?: string }[]
}

class McpToolFailed extends Error {
  override readonly name = 'McpToolFailed'
  constructor(readonly result: CallResult) {
    super(result.content?.map(({ text = '' }) => text).join('\n') ?? '')
  }
}

/** Facts about the server of a connected client. */
const FACTS = [
  'getServerCapabilities',
  'getServerVersion',
  'getInstructions',
  'getNegotiatedProtocolVersion',
  'getProtocolEra',
  'getDiscoverResult',
]

/** Set inside of a call that has passed the guard, because a client's methods call each other. */
const passed = new AsyncLocalStorage<object>()

/**
 * Puts every call of a server's tools behind a guard. Changes the client itself and returns it. The
 * list of tools stays the same, and its schemas are used once they were listed. A denied call
 * returns a result with `isError` and the text of the denial, and no request is sent. Results with
 * `isError` count as failed.
 *
 * Inside of a recording, each request of a guarded client is one step with its answer. The messages
 * themselves are not on the tape, so guard the client before it connects.
 */
export function guardTools<C extends McpClient>(
  run: GuardRun,
  client: C,
  options: GuardToolsOptions = {},
): C {
  checkGuardTools(run, client, 'a client', options)
  requireMcp(client)
  const isConnected = (client as { transport?: unknown }).transport !== undefined
  if (isConnected && currentSession() !== undefined) throw cliErrors.MCP_CLIENT_CONNECTED()
  new GuardedClient(run, client, options).guard()
  return client
}

class GuardedClient {
  readonly #tools = new Map<string, FrameworkTool>()
  readonly #schemas = new Map<string, Schema>()
  readonly #callTool: Method
  /** Argument index of the options of a call: the first SDK takes a result schema before them. */
  readonly #optionsAt: number

  constructor(
    readonly run: GuardRun,
    readonly client: McpClient,
    readonly options: GuardToolsOptions,
  ) {
    this.#callTool = this.#method('callTool')
    this.#optionsAt = 'discover' in client ? 1 : 2
  }

  guard(): void {
    for (const name of [...CALLS, 'close']) {
      if (!(name in this.client) || name === 'callTool') continue
      this.#define(name, this.#bounded(name, this.#method(name)))
    }
    this.#define('callTool', (...args) => this.#call(args[0] as CallParams, args, this.#callTool))
    // Tool calls through `request` are guarded too.
    const request = this.#method('request')
    const isToolCall = (message: unknown): message is { method: string; params: CallParams } =>
      (message as { method?: unknown }).method === 'tools/call' && passed.getStore() !== this.client
    this.#define('request', (...args) => {
      const [message] = args
      if (!isToolCall(message)) return request(...args)
      return this.#call(message.params, args, (params, ...rest) =>
        request({ ...message, params }, ...rest),
      )
    })
    if (!('requestStream' in this.client)) return
    const requestStream = this.#method('requestStream')
    this.#define('requestStream', (...args) => {
      const [message] = args
      if (isToolCall(message))
        throw cliErrors.TOOL_NOT_GUARDABLE(message.params.name, 'called for a stream of results')
      return requestStream(...args)
    })
  }

  async #call(params: CallParams, args: unknown[], send: Method): Promise<unknown> {
    const options = (args[this.#optionsAt] ?? {}) as { readonly signal?: AbortSignal }
    const { status, error, output } = await this.#tool(params.name)({
      args: params.arguments ?? {},
      signal: options.signal,
      work: (given, context) => this.#send(send, { ...params, arguments: given }, args, context),
    })
    if (status === 'done') return output
    if (error instanceof McpToolFailed) return error.result
    const text = denialForModel(error, this.options, options.signal)
    return text === undefined
      ? rethrow(error)
      : { isError: true, content: [{ type: 'text', text }] }
  }

  async #send(
    send: Method,
    params: CallParams,
    args: readonly unknown[],
    { signal }: Pick<ToolContext, 'signal'>,
  ): Promise<unknown> {
    const at = this.#optionsAt
    const rest = args.slice(1, at)
    while (rest.length < at - 1) rest.push(undefined)
    const options = { ...(args[at] as object | undefined), signal }
    const result = await passed.run(this.client, () => send(params, ...rest, options))
    if ((result as CallResult).isError === true) throw new McpToolFailed(result as CallResult)
    return result
  }

  #tool(name: string): FrameworkTool {
    let tool = this.#tools.get(name)
    if (tool === undefined) {
      const { tools } = this.options
      const errors = { McpToolFailed, ...tools?.[name]?.errors }
      tool = frameworkTool({
        run: this.run,
        name,
        input: this.#schemas.get(name),
        alone: (given, context) =>
          this.#send(this.#callTool, { name, arguments: given }, [], context),
        options: { ...this.options, tools: { ...tools, [name]: { ...tools?.[name], errors } } },
      })
      this.#tools.set(name, tool)
    }
    return tool
  }

  /** Makes a request one step in a recording; elsewhere only calls the method. */
  #bounded(name: string, method: Method): Method {
    if (name === 'connect') return this.#boundedConnect(method)
    return async (...args) => {
      const message = args[0]
      const send = boundary(`mcp ${name}`, async (_message: unknown) => await method(...args))
      const answer = await send(message)
      if (name === 'listTools') {
        const { tools = [] } = answer as { tools?: { name: string; inputSchema?: Schema }[] }
        for (const { name, inputSchema } of tools) {
          if (inputSchema === undefined) continue
          this.#schemas.set(name, inputSchema)
          this.#tools.delete(name)
        }
      }
      return answer
    }
  }

  #boundedConnect(connect: Method): Method {
    const facts = new Map<string, unknown>()
    const readers = FACTS.filter((name) => name in this.client)
    const natives = readers.map((name) => [name, this.#method(name) as () => unknown] as const)
    for (const [name, native] of natives)
      this.#define(name, () => (facts.has(name) ? facts.get(name) : native()))
    return async (...args) => {
      facts.clear()
      const known = await boundary('mcp connect', async () => {
        await connect(...args)
        return natives.map(([name, native]) => [name, native()] as const)
      })()
      for (const [name, fact] of known) facts.set(name, fact)
    }
  }

  #method(name: string): Method {
    return (Reflect.get(this.client, name) as Method).bind(this.client)
  }

  #define(name: string, value: (...args: unknown[]) => unknown): void {
    Object.defineProperty(this.client, name, { value, configurable: true, writable: true })
  }
}
