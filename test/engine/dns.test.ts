import { afterEach, beforeEach, expect, test } from 'vitest'
import { startDnsServer } from '../support/dns-server.mjs'
import { firstDifference } from '../support/first-difference.mjs'
import { agentPath, makeWorkspace, type Workspace } from '../support/run-retake.mjs'

const replays = Number(process.env['RETAKE_STRESS_CYCLES'] ?? 5)

let workspace: Workspace
beforeEach(async () => {
  workspace = await makeWorkspace()
})
afterEach(() => workspace.remove())

test('names are looked up once, while recording; a replay looks up nothing', async () => {
  const server = await startDnsServer()
  const args = ['record', agentPath('edge-dns.mjs'), server.address]
  const recorded = await workspace.retake(args)
  expect(recorded.code, recorded.stderr).toBe(0)
  expect(recorded.stdout).toContain('mail.example.test')
  const asked = server.questions()
  expect(asked).toBeGreaterThan(30)
  for (let index = 1; index <= replays; index++) {
    const replayed = await workspace.replay()
    const difference = firstDifference(recorded.stdout, replayed.stdout)
    expect(difference, `replay ${index}\n${difference}\n${replayed.stderr}`).toBeUndefined()
    expect(replayed.code, replayed.stderr).toBe(0)
    expect(replayed.waysOut).toEqual({})
  }
  expect(server.questions()).toBe(asked)
  await server.stop()
})
