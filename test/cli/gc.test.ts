import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { openTape } from '@retake/tape/node'
import { expect, test } from 'vitest'
import { branchOf, tapeIn } from '../../packages/runner/test-support/stored-runs.js'
import { RunStore } from '../../packages/runner/src/runs/run-store.js'
import { isSoak } from '../support/soak.js'
import { cli, folderWith } from './workspace.js'

const [A, B, C] = ['20261115-093010-aaaa', '20261115-093011-bbbb', '20261115-093012-cccc'] as const

async function folderOfRuns(files: Readonly<Record<string, string>> = {}) {
  const workspace = await folderWith(files)
  const folder = join(workspace.folder, '.retake', 'runs')
  mkdirSync(folder, { recursive: true })
  return { ...workspace, store: new RunStore(folder) }
}

test('rm moves runs to the trash, lists and restores them, and empties it with --purge', async () => {
  const { store, retake } = await folderOfRuns()
  tapeIn(store, A)
  branchOf(store, A, B)
  tapeIn(store, C, { exitCode: 1 })
  expect((await retake(['rm'])).stderr).toContain('No run and no rule says what to remove.')
  const dry = await retake(['rm', '--outcome', 'done', '--dry-run'])
  expect(dry.stdout.trim().split('\n')).toEqual([B, A])
  expect(store.ids()).toEqual([C, B, A])
  const removed = await retake(['rm', '--outcome', 'done', '--json'])
  expect(JSON.parse(removed.stdout)).toMatchObject({ removed: [B, A], kept: [], emptied: [] })
  expect(store.ids()).toEqual([C])
  expect((await retake(['rm', '--trash'])).stdout).toContain(`${B}  removed `)
  expect((await retake(['rm', '--restore', B])).stderr).toBe(`restored 2 runs: ${A}, ${B}\n`)
  expect(store.ids()).toEqual([C, B, A])
  expect((await retake(['show', B])).code).toBe(0)
  await retake(['rm', '--keep', '1'])
  const purged = await retake(['rm', '--purge'])
  expect(purged.stderr).toContain('emptied the trash of 2 runs')
  expect((await retake(['rm', '--trash'])).stderr).toBe('The trash is empty.\n')
  expect((await retake(['rm', '--restore', B])).stderr).toContain('RUN_NOT_IN_TRASH')
})

test('a run on hold is removed by no command until the hold is lifted', async () => {
  const { store, retake } = await folderOfRuns()
  tapeIn(store, A)
  branchOf(store, A, B)
  await retake(['tag', B, '+hold'])
  expect((await retake(['rm', B])).stderr).toContain('RUN_RETAINED')
  expect((await retake(['rm', A, '--branches'])).stderr).toContain('RUN_RETAINED')
  for (const how of [[], ['--purge']]) {
    const { stderr } = await retake(['rm', '--keep', '0', ...how])
    expect(stderr).toContain(`kept ${B}: it is on hold\nkept ${A}: ${B} continues it\n`)
  }
  expect(store.ids()).toEqual([B, A])
  await retake(['tag', B, '-hold'])
  expect((await retake(['rm', B])).code).toBe(0)
})

test('rules and the floor come from the configuration, and apply to --purge, too', async () => {
  const { store, retake, folder } = await folderOfRuns({
    'retake.config.json': '{ "retention": { "keep": 0, "floor": "9999w" } }',
  })
  tapeIn(store, A)
  for (const args of [
    ['rm', '--expired'],
    ['rm', '--keep', '0', '--purge'],
    ['rm', '--keep', '0'],
  ]) {
    const { stderr } = await retake(args)
    expect(stderr).toContain('kept 1 run younger than 9999w (retention.floor)')
  }
  expect(existsSync(store.pathOf(A))).toBe(true)
  const other = new RunStore(join(folder, 'tenants', 'a'))
  mkdirSync(other.folder, { recursive: true })
  tapeIn(other, B)
  const dirs = [store.folder, other.folder]
  expect((await retake(['rm', '--expired', ...dirs, '--json'])).stdout.trim()).toMatch(
    /^\{"folder":.*runs".*\n\{"folder":.*tenants\/a"/,
  )
})

test('a folder is collected while a server records into it', async () => {
  const { store, retake } = await folderOfRuns()
  for (let index = 0; index < 50; index += 1)
    tapeIn(store, `20261115-0930${String(index).padStart(2, '0')}-serv`)
  // A run of a server has no mark, only a lock on its tape.
  const writer = tapeIn(store, C, { isOpen: true })
  const { stdout } = await retake(['rm', '--keep', '0', '--json'])
  const { removed, kept } = JSON.parse(stdout) as { removed: string[]; kept: unknown[] }
  expect(removed).toHaveLength(50)
  expect(kept).toEqual([{ id: C, why: 'recording' }])
  writer.append({ type: 'end', exitCode: 0 })
  writer.seal()
  expect(openTape(store.pathOf(C)).verify().ok).toBe(true)
})

/** Highest memory of a process, in megabytes. */
const PEAK = `process.on('exit', () => console.error('peak', process.resourceUsage().maxRSS))`

test('thousands of runs are collected in seconds, and nothing that is referenced is removed', async () => {
  const { store, folder } = await folderOfRuns({ 'peak.mjs': PEAK })
  const count = isSoak ? 10_000 : 600
  const idOf = (index: number): string =>
    `20261115-0930${String(index % 60).padStart(2, '0')}-${String(index).padStart(5, '0')}`
  for (let index = 0; index < count; index += 1)
    if (index % 10 === 9) branchOf(store, idOf(index - 1), idOf(index))
    else tapeIn(store, idOf(index))
  const newest = new Set(store.ids().slice(0, count / 10))
  const collect = async (): Promise<{ seconds: number; peakMb: number }> => {
    const started = performance.now()
    const child = spawn(
      process.execPath,
      ['--import', './peak.mjs', cli, 'rm', '--keep', String(count / 10)],
      { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] },
    )
    let stderr = ''
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
    const [code] = (await once(child, 'close')) as [number]
    expect(code, stderr).toBe(0)
    const peakMb = Number(/peak (\d+)/.exec(stderr)?.[1]) / 1024
    return { seconds: (performance.now() - started) / 1000, peakMb }
  }
  const first = await collect()
  const second = await collect()
  process.stdout.write(
    `${count} runs: removed in ${first.seconds.toFixed(1)} s with ${first.peakMb.toFixed(0)} MB; nothing to remove in ${second.seconds.toFixed(1)} s\n`,
  )
  const left = store.ids()
  for (const id of newest) expect(existsSync(store.pathOf(id)), id).toBe(true)
  // Opening a branch fails without its parent.
  for (const id of left) expect(openTape(store.pathOf(id)).verify().ok, id).toBe(true)
  expect(left.length).toBeLessThan(count / 5)
  expect(readdirSync(join(store.folder, '.trash'))).toHaveLength(count - left.length)
  expect(first.peakMb).toBeLessThan(500)
}, 600_000)
