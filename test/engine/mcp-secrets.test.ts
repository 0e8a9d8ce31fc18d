import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTape, record, replay } from 'retake'

/** Tokens reach MCP servers in their environment, often from a file that lists the servers. */

let folder: string
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'retake-mcp-secrets-'))))
afterAll(() => rm(folder, { recursive: true, force: true }))

const newKey = (): string => `key-${randomBytes(12).toString('hex')}`

function allOf(path: string): string {
  const tape = openTape(path)
  return [...tape.events(0)]
    .map((event) => JSON.stringify(event) + Buffer.from(tape.body(event.seq)).toString())
    .join('\n')
}

/** A server that is told its token twice and talks about it. */
const startServer = (env: Record<string, string>, says: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const code = `process.stdin.once('data', (d) => process.stdout.write(process.env.SERVICE_TOKEN + d))`
    const child = spawn(process.execPath, ['-e', code], { env: { ...process.env, ...env } })
    child.on('error', reject)
    child.stdout.once('data', (data) => {
      child.stdin.end()
      resolve(String(data))
    })
    child.stdin.write(says)
  })

test('a token that is passed to a child is hidden in its output and its input', async () => {
  const key = newKey()
  const agent = async () => (await startServer({ SERVICE_TOKEN: key }, `{"token":"${key}"}`)).length
  const { run, output } = await record({ name: 'mcp', dir: folder }, agent)
  expect(allOf(run.path)).not.toContain(key)
  expect(await replay(run.path, agent)).toMatchObject({ output, divergences: [] })
})

test('tokens in a file that lists MCP servers are hidden', async () => {
  const [key, bearer] = [newKey(), newKey()]
  const file = join(folder, '.mcp.json')
  const servers = {
    a: { command: 'x', env: { SERVICE_TOKEN: key, REGION: 'eu-west-1' } },
    b: { url: 'https://b.example/mcp', headers: { Authorization: `Bearer ${bearer}` } },
  }
  await writeFile(file, JSON.stringify({ mcpServers: servers }, null, 2))
  const agent = async () => {
    const { mcpServers } = JSON.parse(await readFile(file, 'utf8')) as {
      mcpServers: typeof servers
    }
    const again = readFileSync(file, 'utf8').length
    return (await startServer(mcpServers.a.env, mcpServers.b.headers.Authorization)).length + again
  }
  const { run, output } = await record({ name: 'mcp', dir: folder }, agent)
  const text = allOf(run.path)
  expect(text).toContain('eu-west-1')
  expect(text).not.toContain(key)
  expect(text).not.toContain(bearer)
  expect(await replay(run.path, agent)).toMatchObject({ output, divergences: [] })
})
