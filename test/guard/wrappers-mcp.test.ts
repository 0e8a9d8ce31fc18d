import { record, replay } from 'retake'
import { guardTools } from 'retake/mcp'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect } from '../agents/mcp/connect.mjs'
import { agentPath } from '../support/run-retake.mjs'
import { startServerProcess } from '../support/start-server-process.mjs'
import { gate, stepsOf, tempFolder } from './wrappers-setup.js'

interface Answer {
  readonly isError?: boolean
  readonly content: readonly { readonly text: string }[]
}
/** What both generations of clients have in common here. */
interface Client {
  callTool(params: object, ...more: unknown[]): Promise<Answer>
  listTools(): Promise<{ tools: { name: string; description?: string }[] }>
  request(request: object, ...more: unknown[]): Promise<Answer>
  getServerVersion(): { name: string } | undefined
  close(): Promise<void>
}

const text = ({ content }: Answer): string | undefined => content[0]?.text
const reading = {
  name: 'reader',
  rules: [{ id: 'search', allow: ['search_docs', 'broken', 'slow'] }],
  default: 'deny',
} as const

let http: { ready: { url: string }; stop: () => Promise<unknown> }
beforeAll(async () => {
  http = await startServerProcess(agentPath('mcp/server-v2.mjs'), ['http'])
})
afterAll(() => http.stop())

/** Connects a guarded client, lets `body` use it, and closes it. */
async function withClient<T>(
  generation: string,
  transport: string,
  guardClient: (client: object) => object,
  body: (client: Client) => Promise<T>,
): Promise<T> {
  const target = transport === 'http' ? http.ready.url : agentPath('mcp/server-v2.mjs')
  const client = (await connect(generation as 'v1', target, {}, guardClient)) as unknown as Client
  try {
    return await body(client)
  } finally {
    await client.close()
  }
}

describe.each([
  ['v1', 'stdio'],
  ['v1', 'http'],
  ['v2-modern', 'stdio'],
  ['v2-modern', 'http'],
] as const)('a client of %s over %s', (generation, transport) => {
  test('sends only what the guard allows, and reads the reason otherwise', async () => {
    const run = gate({ policy: reading })
    await withClient(
      generation,
      transport,
      (client) => guardTools(run, client as never),
      async (client) => {
        const { tools } = await client.listTools()
        expect(tools.map(({ name }) => name)).toContain('crash')
        expect(
          text(await client.callTool({ name: 'search_docs', arguments: { query: 'a' } })),
        ).toMatch(/3 pages about a/)
        // The server would end.
        const denied = await client.callTool({ name: 'crash', arguments: {} })
        expect(denied.isError).toBe(true)
        expect(text(denied)).toMatch(/^POLICY_DENIED: .*"crash".*Allowed/)
        expect(
          text(await client.callTool({ name: 'search_docs', arguments: { query: 'b' } })),
        ).toMatch(/3 pages about b/)
        const invalid = await client.callTool({ name: 'search_docs', arguments: { query: 7 } })
        expect(text(invalid)).toMatch(/^INPUT_INVALID: .*query: expected string/)
        const failed = await client.callTool({ name: 'broken', arguments: {} })
        expect(failed).toMatchObject({ isError: true, content: [{ text: 'the index is damaged' }] })
        expect(await run.call('broken', {})).toMatchObject({ status: 'failed' })
      },
    )
  })

  test('leaves one step for each request in a recording, and sends nothing on replay', async () => {
    const dir = tempFolder()
    const agent = () =>
      withClient(
        generation,
        transport,
        (client) => guardTools(gate({ dir, policy: reading }), client as never),
        async (client) => [
          client.getServerVersion()?.name,
          (await client.listTools()).tools.length,
          text(await client.callTool({ name: 'search_docs', arguments: { query: 'a' } })),
          text(await client.callTool({ name: 'crash', arguments: {} })),
          (await client.listTools()).tools.length,
          text(await client.callTool({ name: 'broken', arguments: {} })),
        ],
      )
    const recorded = await record({ name: 'agent', dir }, agent)
    expect(recorded.output[0]).toBe('docs')
    const steps = stepsOf(recorded.run.path).map((step) => step.split(/[ (]/).slice(0, 2).join(' '))
    expect(steps).toEqual([
      'tool mcp',
      'tool mcp',
      'tool search_docs',
      'tool crash',
      'tool mcp',
      'tool broken',
      'tool mcp',
    ])
    const again = await replay(recorded.run.path, agent)
    expect(again).toEqual(expect.objectContaining({ output: recorded.output, divergences: [] }))
  })
})

test('other ways to call a tool pass the guard, too', async () => {
  const run = gate({ policy: reading })
  await withClient(
    'v2-modern',
    'stdio',
    (client) => guardTools(run, client as never),
    async (client) => {
      const denied = await client.request({
        method: 'tools/call',
        params: { name: 'crash', arguments: {} },
      })
      expect(text(denied)).toMatch(/^POLICY_DENIED/)
      const found = await client.request({
        method: 'tools/call',
        params: { name: 'search_docs', arguments: { query: 'c' } },
      })
      expect(text(found)).toMatch(/3 pages about c/)
    },
  )
})

test('with throw, a denied call throws the error of the guard', async () => {
  const run = gate({ policy: reading })
  await withClient(
    'v1',
    'stdio',
    (client) => guardTools(run, client as never, { onDenied: 'throw' }),
    async (client) => {
      await expect(client.callTool({ name: 'crash', arguments: {} })).rejects.toMatchObject({
        code: 'POLICY_DENIED',
      })
    },
  )
})

test.each([
  ['v1', (signal: AbortSignal) => [undefined, { signal }]],
  ['v2-modern', (signal: AbortSignal) => [{ signal }]],
] as const)('a call that is aborted ends, with %s', async (generation, more) => {
  const run = gate({ policy: reading })
  await withClient(
    generation,
    'stdio',
    (client) => guardTools(run, client as never),
    async (client) => {
      const controller = new AbortController()
      const params = { name: 'slow', arguments: { ms: 60_000, name: 'x' } }
      const asked = client.callTool(params, ...more(controller.signal))
      controller.abort()
      await expect(asked).rejects.toThrow(/abort|given up/i)
    },
  )
})

test('a client that connected inside a recording is refused', async () => {
  const dir = tempFolder()
  const agent = () =>
    withClient(
      'v1',
      'stdio',
      (client) => client,
      async (client) => void guardTools(gate({ dir }), client as never),
    )
  await expect(record({ name: 'late', dir }, agent)).rejects.toMatchObject({
    code: 'MCP_CLIENT_CONNECTED',
  })
})
