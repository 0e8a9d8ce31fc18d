import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { agentPath, makeWorkspace, type Workspace } from '../support/run-retake.mjs'

let workspace: Workspace
beforeAll(async () => {
  workspace = await makeWorkspace()
})
afterAll(() => workspace.remove())

test('a MySQL sign-in replays without the server and the password', async () => {
  const answers = ['welcome', '42']
  const server = createServer((socket) => {
    socket.write(randomBytes(40))
    socket.on('data', () => socket.write(answers.shift() ?? ''))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const env = {
    DB_PORT: String((server.address() as AddressInfo).port),
    DB_PASSWORD: `pw-${randomBytes(12).toString('hex')}`,
  }
  const { retake } = workspace
  const recorded = await retake(['record', agentPath('mysql-password.mjs')], { env })
  expect(recorded.stdout).toBe('welcome 42\n')
  server.close()
  for (const given of [env, {}]) {
    const replayed = await retake(['replay', 'last'], { env: given })
    expect(replayed.stderr).toContain('identical')
    expect(replayed.stdout).toBe(recorded.stdout)
  }
})
