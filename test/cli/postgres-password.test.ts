import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startPostgres } from '../support/postgres.mjs'
import { agentPath, makeWorkspace, type Finished, type Workspace } from '../support/run-retake.mjs'
import { tapesOf } from './workspace.js'
import { sampled } from '../support/soak.js'

const password = `pw-${randomBytes(12).toString('hex')}`
const ways: Record<string, Record<string, string>> = {}
const recorded: Record<string, Finished & { workspace: Workspace }> = {}

/** Every way is recorded while the server runs; it has stopped before anything is replayed. */
beforeAll(async () => {
  const server = await startPostgres({ password })
  try {
    const { host, port, user, database } = server.connection
    ways['DATABASE_URL'] = {
      DATABASE_URL: `postgres://${user}:${password}@${host}:${port}/${database}`,
    }
    ways['PGPASSWORD'] = {
      PGHOST: host,
      PGPORT: String(port),
      PGUSER: user,
      PGDATABASE: database,
      PGPASSWORD: password,
    }
    for (const [way, env] of Object.entries(ways)) {
      const workspace = await makeWorkspace()
      const { retake } = workspace
      const run = await retake(['record', agentPath('postgres-password.mjs')], { env })
      recorded[way] = { ...run, workspace }
    }
  } finally {
    await server.stop()
  }
})

afterAll(async () => {
  for (const { workspace } of Object.values(recorded)) await workspace.remove()
})

test.each(sampled(['DATABASE_URL', 'PGPASSWORD'], (name) => name === 'DATABASE_URL'))(
  'a database with a password from %s replays with the password and without it',
  async (way) => {
    const run = recorded[way]
    if (run === undefined) throw new Error(`${way} was not recorded`)
    const { workspace, stdout, stderr } = run
    expect(run.code, stderr).toBe(0)
    expect(stdout).toMatch(/^42 /)
    const [tape = ''] = await tapesOf(workspace)
    expect(await readFile(tape, 'latin1')).not.toContain(password)
    for (const env of [ways[way] ?? {}, {}]) {
      const replayed = await workspace.retake(['replay', 'last'], { env })
      expect(replayed.code, replayed.stderr).toBe(0)
      expect(replayed.stdout).toBe(stdout)
    }
  },
)
