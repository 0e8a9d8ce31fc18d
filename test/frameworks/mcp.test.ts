import { afterAll, beforeAll, expect, test } from 'vitest'
import { refusalOf, replayWith, unchanged, withNamedRun } from '../support/named-run.js'
import { agentPath } from '../support/run-retake.mjs'
import { startServerProcess } from '../support/start-server-process.mjs'
import { onlyTape, stepPlaces } from '../support/step-places.js'
import { sampled } from '../support/soak.js'

const program = agentPath('mcp/named.mjs')
const adapter = import.meta.resolve('retake/mcp')
const names = `
  import { nameMcpClient } from '${adapter}'
  globalThis.nameClient = (client) => nameMcpClient(client, 'library')
`
let http: { ready: { url: string }; stop: () => Promise<unknown> }
beforeAll(async () => {
  http = await startServerProcess(agentPath('mcp/server-v2.mjs'), ['http'])
})
afterAll(() => http.stop())

const clients = [
  ['v1', 'stdio'],
  ['v1', 'http'],
  ['v2-modern', 'stdio'],
  ['v2-modern', 'http'],
] as const

test.each(sampled(clients, (_, index) => index === 0 || index === 3))(
  'a request of a client of %s over %s carries the name of its server once',
  async (generation, transport) => {
    const server = transport === 'http' ? http.ready.url : agentPath('mcp/server-v2.mjs')
    const env = { MCP_GENERATION: generation, MCP_SERVER: server }
    await withNamedRun({ program, names, baseUrl: '', env }, async (run) => {
      const places = stepPlaces(onlyTape(run.workspace.folder))
      expect(places).toContain('search_docs({"query":"refunds"}) · docs | server library')
      expect(places.filter((line) => !line.endsWith(' | server library'))).toEqual([])
      expect(await replayWith(run, '')).toEqual(unchanged(run))
    })
  },
)

const unknownVersions = [
  ['@modelcontextprotocol/sdk', '{}', '0.9.0', '1.10 to 1.x'],
  ['@modelcontextprotocol/client', '{ discover() {} }', '3.0.0', '2.0 to 2.x'],
] as const

test.each(sampled(unknownVersions, (_, index) => index === 0))(
  'an unsupported version of %s is refused with the supported range',
  async (framework, client, version, range) => {
    const agent = `import { nameMcpClient } from '${adapter}'\nnameMcpClient(${client}, 'docs')`
    const { code, stderr } = await refusalOf(agent, framework, version)
    expect(code).not.toBe(0)
    expect(stderr).toContain(version)
    expect(stderr).toContain(range)
  },
)
