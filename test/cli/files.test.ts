import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { digestTree } from '../support/file-tree.mjs'
import { agentPath, makeWorkspace, type Workspace } from '../support/run-retake.mjs'
import { soakOnly } from '../support/soak.js'

let workspace: Workspace
let before: string
beforeEach(async () => {
  workspace = await makeWorkspace()
  writeFileSync(at('input.txt'), 'input\n')
  await retake('record', agentPath('branch-files.mjs'))
  rmSync(at('at-exit.txt'))
  before = await digestTree(workspace.folder)
})
afterEach(() => workspace.remove())

const at = (name: string): string => join(workspace.folder, name)
const text = (name: string): string => readFileSync(at(name), 'utf8')

async function retake(...args: string[]): Promise<{ stdout: string; stderr: string }> {
  const finished = await workspace.retake(args)
  expect(finished.code, finished.stderr).toBe(0)
  return finished
}

const fork = (word = 'forked'): Promise<{ stdout: string }> =>
  retake('fork', 'last', '--at', '1', '--set', `value="${word}"`)

test('a fork sees its own files and leaves the disk alone', async () => {
  const { stdout } = await fork()
  expect(stdout).toBe('first forked \nbefore.txt forked.txt log.txt recorded.txt\n')
  expect(await digestTree(workspace.folder)).toBe(before)
  expect((await retake('branches', '--files', 'last')).stdout).toBe(
    [
      'added    6 B        at-exit.txt',
      'added    7 B        forked.txt',
      'deleted  6 B        input.txt',
      'changed  15 → 13 B  log.txt',
      '',
    ].join('\n'),
  )
  const { stdout: inside } = await retake('branches', '--files', 'last', '--diff')
  expect(inside).toContain('changed log.txt\n  @ line 1 → 1\n    first\n  - recorded\n  + forked\n')
  expect(await digestTree(workspace.folder)).toBe(before)
})

test('files of a fork can be written to another folder or to disk, and discarded', async () => {
  await fork()
  const aside = await retake('branches', '--files', 'last', '--keep', '../aside')
  expect(aside.stderr).toContain('3 files put into ../aside.')
  expect(readdirSync(at('../aside')).toSorted()).toEqual(['at-exit.txt', 'forked.txt', 'log.txt'])
  expect(await digestTree(workspace.folder)).toBe(before)
  const kept = await retake('branches', '--files', 'last', '--keep', '--discard', '--json')
  const { changes, discarded, folder } = JSON.parse(kept.stdout) as {
    changes: { kind: string }[]
    discarded: boolean
    folder: string
  }
  expect(changes.map(({ kind }) => kind)).toEqual(['added', 'added', 'deleted', 'changed'])
  expect(discarded).toBe(true)
  expect([text('log.txt'), text('forked.txt'), existsSync(at('input.txt'))]).toEqual([
    'first\nforked\n',
    'forked\n',
    false,
  ])
  expect(existsSync(folder)).toBe(false)
})

test('a resumed branch continues with its own files, also after they were discarded', async () => {
  soakOnly()
  const failed = await workspace.retake(['fork', 'last', '--at', '1', '--set', 'value="failed"'])
  expect(failed.code).toBe(1)
  await retake('branches', '--files', 'last', '--discard')
  const resumed = await workspace.retake(['resume', 'last'])
  expect(resumed.code, resumed.stderr).toBe(1)
  expect(await digestTree(workspace.folder)).toBe(before)
  expect((await retake('branches', '--files', 'last')).stdout).toContain('failed.txt')
})

test('wrong usage is refused with the correct one', async () => {
  soakOnly()
  const refused = async (...args: string[]): Promise<[number | null, string]> => {
    const { code, stderr } = await workspace.retake(['branches', '--files', ...args])
    return [code, stderr]
  }
  expect(await refused()).toEqual([2, expect.stringContaining('Missing argument <branch>.')])
  expect(await refused('last')).toEqual([1, expect.stringContaining('NO_OVERLAY')])
  expect(await refused('last', 'there')).toEqual([2, expect.stringContaining('Only --keep takes')])
  expect(await refused('none')).toEqual([1, expect.stringContaining('UNKNOWN_RUN')])
})

test('a log that the run wrote only after the fork starts as it was at that time', async () => {
  soakOnly()
  writeFileSync(at('events.log'), 'old\n')
  writeFileSync(
    at('logs.mjs'),
    `import { appendFileSync } from 'node:fs'
for (const item of ['a', 'b']) appendFileSync('events.log', item + Math.random() + '\\n')`,
  )
  await retake('record', 'logs.mjs')
  const recorded = text('events.log')
  const { stdout } = await retake('export', 'last', '--jsonl')
  const draw = /"seq":(\d+)[^\n]*Math\.random/.exec(stdout)?.[1] ?? ''
  await retake('fork', 'last', '--at', `e${draw}`, '--set', 'value=0.25')
  await retake('branches', '--files', 'last', '--keep', '../aside')
  expect(text('../aside/events.log')).toMatch(/^old\na0\.25\nb0\.\d+\n$/)
  expect(text('events.log')).toBe(recorded)
})
