import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { guard } from '@retake/guard'
import { expect, onTestFinished, test } from 'vitest'
import { hasSandbox } from '../support/has-sandbox.js'
import { agentPath, makeWorkspace, run as start } from '../support/run-retake.mjs'

/** Libraries that only hand out functions: once a program has them, they cannot be patched. */
const LOADED_TOO_EARLY = [
  'async.cargo',
  'async.priorityQueue',
  'async.queue',
  'fastq',
  'fastq, callbacks',
  'p-limit 3',
]

test.each([
  ['after', []],
  ['before', LOADED_TOO_EARLY],
])('tasks in queues loaded %s Retake stay within their calls', async (when, escaping) => {
  const { folder, remove } = await makeWorkspace()
  onTestFinished(remove)
  const args = [agentPath('guard/shared-queues.mjs'), folder, when]
  const { stdout, stderr } = await start(process.execPath, args, folder)
  const { bound, escaped } = JSON.parse(stdout || JSON.stringify(stderr)) as {
    readonly bound: readonly string[]
    readonly escaped: Readonly<Record<string, object>>
  }
  expect(escaped).toEqual(Object.fromEntries(escaping.map((name) => [name, expect.anything()])))
  expect(bound).toEqual(expect.arrayContaining(['p-limit', 'p-queue', 'dataloader']))
})

test.skipIf(!hasSandbox)('a busy queue inside a sandboxed tool stays in scope', async () => {
  const { folder, remove } = await makeWorkspace()
  onTestFinished(remove)
  const work = join(folder, 'inner')
  mkdirSync(work)
  writeFileSync(join(folder, 'secret.txt'), 'TOP SECRET')
  writeFileSync(join(work, 'inside.txt'), 'inside')
  const policy = { name: 'inside', files: { read: [work], write: [] } }
  const run = guard({ name: 'queue', policy, dir: join(folder, 'tapes'), durability: 'process' })
  onTestFinished(() => void run.end())
  run.tool('read', { module: agentPath('guard/sandboxed-queue.mjs'), effects: ['spend'] })
  expect((await run.call('read', { path: join(work, 'inside.txt') })).output).toBe('inside')
  const { status, error } = await run.call('read', { path: join(folder, 'secret.txt') })
  expect({ status, code: (error as { code?: string }).code }).toEqual({
    status: 'failed',
    code: 'ENOENT',
  })
})
