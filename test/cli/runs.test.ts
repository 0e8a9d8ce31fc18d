import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { branchOf, tapeIn } from '../../packages/runner/test-support/stored-runs.js'
import { RunStore } from '../../packages/runner/src/runs/run-store.js'
import { folderWith, smallAgent } from './workspace.js'

/** A workspace with an empty folder for runs. */
async function folderOfRuns() {
  const workspace = await folderWith({ 'agent.mjs': smallAgent })
  const folder = join(workspace.folder, '.retake', 'runs')
  mkdirSync(folder, { recursive: true })
  const listed = async (...args: string[]): Promise<string[]> => {
    const { stdout } = await workspace.retake(['list', '--json', ...args])
    const lines = stdout.split('\n').filter((line) => line !== '')
    return lines.map((line) => (JSON.parse(line) as { id: string }).id)
  }
  return { ...workspace, store: new RunStore(folder), listed }
}

const [A, B, C] = ['20261115-093010-aaaa', '20261115-093011-bbbb', '20261115-093012-cccc'] as const

test('runs are found by status, name, tag, text, age and position', async () => {
  const { store, listed, retake } = await folderOfRuns()
  tapeIn(store, A, { output: 'order 1182 refunded\n', details: { tags: ['production'] } })
  tapeIn(store, B, { exitCode: 4, details: { args: ['--order', '7'] } })
  branchOf(store, A, C)
  expect(await listed()).toEqual([C, B, A])
  expect(await listed('-n', '2')).toEqual([C, B])
  expect(await listed('--status', 'failed')).toEqual([B])
  expect(await listed('--name', 'ch?*')).toEqual([C, B, A])
  expect(await listed('--name', 'hat')).toEqual([])
  expect(await listed('--tag', 'production')).toEqual([A])
  expect(await listed('--search', 'Order 1182 REFUNDED', '--status', 'done')).toEqual([C, A])
  expect(await listed('--search=--order 7')).toEqual([B])
  expect(await listed('--since', '2026-11-15T09:30:12Z')).toEqual([C])
  const wrong = await retake(['list', '--since', 'soon'])
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('7d') as string })
  for (const [name, id] of [
    ['last~1', B],
    ['last:failed', B],
    ['last:done~1', A],
  ] as const)
    expect((await retake(['show', name, '--json'])).stdout).toContain(`"id": "${id}"`)
  expect((await retake(['show', 'last:failed~1'])).stderr).toContain('has 1 failed run.')
})

test('tags and notes are set, found and removed, and a pinned run stays', async () => {
  const { store, listed, retake } = await folderOfRuns()
  tapeIn(store, A, { details: { tags: ['production'] } })
  tapeIn(store, B)
  await retake(['tag', 'last~1', '+pin', '-production', '--note', 'look at the price'])
  expect(JSON.parse((await retake(['tag', A, '--json'])).stdout)).toEqual({
    run: A,
    tags: ['pin'],
    note: 'look at the price',
  })
  expect(await listed('--tag', 'pin', '--search', 'the price')).toEqual([A])
  expect((await retake(['tag', A, 'pin'])).stderr).toContain('+tag')
  expect((await retake(['tag', A, '+a b'])).stderr).toContain('TAG_INVALID')
  expect((await retake(['rm', A])).stderr).toContain(`retake tag ${A} -pin`)
  const pruned = await retake(['rm', '--keep', '0', '--purge', '--json'])
  expect(JSON.parse(pruned.stdout)).toMatchObject({
    removed: [B],
    kept: [{ id: A, why: 'pinned' }],
    dryRun: false,
  })
})

test('record chooses name and tags of its tape, and never replaces one', async () => {
  const { retake, listed } = await folderOfRuns()
  const recorded = ['record', '--out', 'tapes/refund.tape', '--tag', 'production', 'agent.mjs']
  expect((await retake(recorded)).stderr).toContain('recorded refund')
  expect(await listed('--dir', 'tapes', '--tag', 'production')).toEqual(['refund'])
  expect((await retake(['replay', 'tapes/refund.tape'])).code).toBe(0)
  expect((await retake(recorded)).stderr).toContain('TAPE_EXISTS')
  const wrong = await retake(['record', '--out', 'tapes/refund', 'agent.mjs'])
  expect(wrong.stderr).toContain('TAPE_NAME_INVALID')
})

test('a parent is not removed without its branches', async () => {
  const { store, listed, retake } = await folderOfRuns()
  tapeIn(store, A)
  branchOf(store, A, B)
  const refused = await retake(['rm', A])
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining(B) as string })
  const kept = await retake(['rm', '--keep', '1', '--purge'])
  expect(kept.stderr).toBe(`removed 0 runs\nkept ${A}: ${B} continues it\n`)
  const dry = await retake(['rm', '--older-than', '2026-11-16', '--purge', '--dry-run'])
  expect(dry.stdout.trim().split('\n')).toEqual([B, A])
  expect(await listed()).toEqual([B, A])
  await retake(['rm', A, '--branches'])
  expect(await listed()).toEqual([])
})

test('two removals at the same time, beside a recording, remove what they should and nothing else', async () => {
  const { store, listed, retake } = await folderOfRuns()
  for (let index = 0; index < 200; index += 1)
    tapeIn(
      store,
      `20261115-0930${String(index % 60).padStart(2, '0')}-${String(index).padStart(4, '0')}`,
    )
  const before = new Set(await listed())
  const recording = retake(['record', 'agent.mjs'])
  const prunes = [1, 2].map(() => retake(['rm', '--older-than', '1h', '--keep', '20', '--purge']))
  for (const { code } of await Promise.all([recording, ...prunes])) expect(code).toBe(0)
  const after = await listed()
  const recorded = after.filter((id) => !before.has(id))
  expect(recorded).toHaveLength(1)
  expect(after.length - recorded.length).toBeGreaterThanOrEqual(19)
  expect(after.length - recorded.length).toBeLessThanOrEqual(20)
  expect((await retake(['replay', 'last'])).code).toBe(0)
  expect(readdirSync(store.folder).filter((name) => !name.endsWith('.tape'))).toEqual([])
})
