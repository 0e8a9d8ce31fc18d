import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { guard } from '@retake/guard'
import { expect, onTestFinished, test } from 'vitest'
import { hasSandbox } from '../support/has-sandbox.js'
import { agentPath, makeWorkspace, run as start } from '../support/run-retake.mjs'

/** Queues that run a plain function of a tool outside of its scopes while they are busy. */
const ESCAPING = ['p-queue', 'fastq', 'async.queue', 'dataloader']

test('a function in a busy queue stays in scope if the tool binds it; others are in the docs, and never recorded as blocked', async () => {
  const { folder, remove } = await makeWorkspace()
  onTestFinished(remove)
  const { stdout, stderr } = await start(
    process.execPath,
    [agentPath('guard/shared-queues.mjs'), folder],
    folder,
  )
  const results = JSON.parse(stdout || JSON.stringify(stderr)) as Record<
    string,
    Record<'plain' | 'bound' | 'benign' | 'record', string> & { readonly happened: boolean }
  >
  for (const [name, { bound, benign }] of Object.entries(results))
    expect([bound, benign], name).toEqual(['denied PATH_OUTSIDE_ROOT', 'done inside'])
  // Where a scope cannot follow, the record does not claim that it did.
  for (const [name, { record, happened }] of Object.entries(results))
    expect(record, name).toBe(happened ? 'done' : 'denied WRITE_NOT_ALLOWED')
  const escaped = Object.keys(results).filter((name) => results[name]?.plain.startsWith('done'))
  expect(escaped).toEqual(ESCAPING)
  expect(results['p-limit']?.plain).toBe('denied PATH_OUTSIDE_ROOT')
  const docs = readFileSync(new URL('../../docs/guard.md', import.meta.url), 'utf8')
  for (const name of ESCAPING) expect(docs).toContain(name)
})

test.skipIf(!hasSandbox)('a busy queue inside a sandboxed tool stays in scope', async () => {
  const { folder, remove } = await makeWorkspace()
  onTestFinished(remove)
  const work = join(folder, 'inner')
  mkdirSync(work)
  writeFileSync(join(folder, 'secret.txt'), 'TOP SECRET')
  writeFileSync(join(work, 'inside.txt'), 'inside')
  const policy = { name: 'inside', files: { read: [work], write: [] } }
  const run = guard({ name: 'queue', policy, dir: join(folder, 'tapes'), durability: 'memory' })
  onTestFinished(() => void run.end())
  run.tool('read', { module: agentPath('guard/sandboxed-queue.mjs'), effects: ['spend'] })
  expect((await run.call('read', { path: join(work, 'inside.txt') })).output).toBe('inside')
  const { status, error } = await run.call('read', { path: join(folder, 'secret.txt') })
  expect({ status, code: (error as { code?: string }).code }).toEqual({
    status: 'failed',
    code: 'ENOENT',
  })
})
