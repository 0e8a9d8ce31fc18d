import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startPostgres } from '../support/postgres.mjs'
import { agentPath, makeWorkspace, type Workspace } from '../support/run-retake.mjs'

const agent = agentPath('database-fork.mjs')
const workspaces: Workspace[] = []
let postgres: Awaited<ReturnType<typeof startPostgres>>

beforeAll(async () => {
  postgres = await startPostgres({ password: `pw-${randomBytes(12).toString('hex')}` })
  const client = await postgres.connect()
  await client.query('create table decisions (way text, what text)')
  await client.end()
})
afterAll(async () => {
  await postgres.stop()
  for (const workspace of workspaces) await workspace.remove()
})

/** Records the agent, forks it with another decision, and replays the branch. */
async function forked(way: string, { port = '', env = {} } = {}) {
  const workspace = await makeWorkspace()
  workspaces.push(workspace)
  const { retake } = workspace
  const recorded = await retake(['record', agent, way, port], { env })
  expect(recorded.code, recorded.stderr).toBe(0)
  const branch = await retake(['fork', 'last', '--at', '1', '--set', `value="${way}"`], { env })
  expect(branch.code, branch.stderr).toBe(0)
  const replayed = await retake(['replay', 'last'], { env })
  expect(replayed.stderr).toContain('identical')
  expect(replayed.stdout).toBe(branch.stdout)
  return branch
}

async function decisions(of: string): Promise<string[]> {
  const client = await postgres.connect()
  const { rows } = await client.query('select what from decisions where way = $1', [of])
  await client.end()
  return rows.map(({ what }: { what: string }) => what)
}

test('a fork continues with an open pool or client of PostgreSQL, as the recorded session left it', async () => {
  const env = { DATABASE_URL: postgres.url }
  for (const way of ['pool', 'client']) {
    const { stdout, stderr } = await forked(way, { env })
    expect(stdout).toBe(`${way} forked\n`)
    expect(stderr).toContain('reopened 1 connection')
    expect(await decisions(way)).toEqual(['first', 'recorded', way])
  }
})

test('a fork inside a transaction loses the connection and says why', async () => {
  const env = { DATABASE_URL: postgres.url }
  const { stdout, stderr } = await forked('transaction', { env })
  expect(stdout).toContain('exists only on the tape, and a transaction was open')
  expect(stderr.replaceAll(/\s+/g, ' ')).toContain('got ECONNRESET: a transaction was open')
  expect(await decisions('transaction')).toEqual([])
})

test('a run that may have no effect does not open the connection again', async () => {
  const env = { DATABASE_URL: postgres.url }
  const workspace = await makeWorkspace()
  workspaces.push(workspace)
  const { retake, folder } = workspace
  const file = path.join(folder, 'decision.txt')
  await writeFile(file, 'recorded')
  await writeFile(path.join(folder, 'agent.mjs'), `import ${JSON.stringify(pathToFileURL(agent))}`)
  const recorded = await retake(['record', 'agent.mjs', 'file'], { env })
  expect(recorded.code, recorded.stderr).toBe(0)
  await writeFile(file, 'changed')
  const checked = await retake(
    ['verify', '--code', 'today', '.retake/runs', '--oracle', 'exit:0'],
    { env },
  )
  expect(checked.stdout + checked.stderr).toContain('it would send: a connection to')
  expect(await decisions('file')).toEqual(['first', 'recorded'])
})

test('an idle connection of another protocol ends before the edited answer arrives', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (line) => socket.write(`heard ${String(line).trim()}`))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const port = String((server.address() as AddressInfo).port)
  const { stdout, stderr } = await forked('lines', { port })
  expect(stdout).toBe('heard #one\nheard #lines\n')
  expect(stderr).toContain('closed   1 connection')
  server.close()
})
