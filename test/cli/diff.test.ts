import { readFile, writeFile } from 'node:fs/promises'
import { diffRuns } from '@retake/tape/diff'
import type { RunDiff } from '@retake/tape/diff'
import { openTape } from '@retake/tape/node'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { comparisonLines } from '../../packages/runner/dist/terminal/diff-lines.js'
import { viewRun } from '../../packages/runner/dist/runs/view-run.js'
import { makeWorkspace, type Workspace } from '../support/run-retake.mjs'
import { recordPolicy } from './policy-runs.js'
import { folderWith, smallAgent } from './workspace.js'
import { soakOnly } from '../support/soak.js'

let workspace: Workspace
let runs: Record<'first' | 'again' | 'other' | 'longer', string>
beforeAll(async () => {
  workspace = await makeWorkspace()
  runs = {
    first: await recordPolicy(workspace, 'Within 60 days.'),
    again: await recordPolicy(workspace, 'Within 60 days.'),
    other: await recordPolicy(workspace, 'Within 30 days.', ['--fail']),
    longer: await recordPolicy(workspace, 'Within 60 days.', ['--twice']),
  }
})
afterAll(() => workspace.remove())

const diffJson = async (...args: readonly string[]): Promise<RunDiff> =>
  JSON.parse((await workspace.retake(['diff', ...args, '--json'])).stdout) as RunDiff

describe('runs that are the same', () => {
  test('do not differ, though ids, ports and times do', async () => {
    const { stdout, stderr, code } = await workspace.retake(['diff', runs.first, runs.again])
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 })
    expect(stdout).toContain('No difference.')
    expect(await diffJson(runs.first, runs.again)).toMatchObject({
      equal: true,
      steps: [],
      output: [],
      outcome: [],
    })
  })

  test('a run compared with itself does not differ', async () => {
    expect((await workspace.retake(['diff', 'last', 'last'])).code).toBe(0)
    expect((await diffJson('last', 'last')).counts).toMatchObject({ changed: 0, added: 0 })
  })
})

describe('runs that differ', () => {
  test('report the first difference, the other policy, once', async () => {
    const diff = await diffJson(runs.first, runs.other)
    expect(diff.first).toEqual({
      in: 'step',
      change: 'changed',
      a: '1.1',
      b: '1.1',
      path: 'result » text',
    })
    const told = diff.steps.flatMap(({ a, fields }) =>
      fields.filter(({ area }) => area !== 'usage').map(({ path }) => `${a?.kind} ${path}`),
    )
    expect(new Set(told)).toEqual(
      new Set(['tool result » text', 'http request.note', 'http response.body » note']),
    )
    expect(diff.steps.find(({ a }) => a?.label === '2')?.carried).toContain('messages[3]')
    expect(diff.output[0]).toMatchObject({
      stream: 'stdout',
      a: { line: 1, text: 'policy Within 60 days.' },
      b: { line: 1, text: 'policy Within 30 days.' },
    })
    expect(diff.outcome).toEqual([{ path: 'exitCode', a: 0, b: 7 }])
  })

  test('are shown in 80 columns, without colours if there is no terminal', async () => {
    const { stdout, code } = await workspace.retake(['diff', runs.first, runs.other])
    expect(code).toBe(3)
    expect(stdout).toContain('First difference: step 1.1, result » text\n')
    expect(stdout).toMatch(
      /^ {2}result » text\n {2}- "Within 60 days\."\n {2}\+ "Within 30 days\."$/m,
    )
    expect(stdout).toMatch(/^exit +0 +7 +changed$/m)
    expect(stdout).not.toContain('\u001B')
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
  })

  test('fit into 60 columns too, with the difference in sight', () => {
    soakOnly()
    const [a, b] = [viewRun(openTape(runs.first)), viewRun(openTape(runs.other))]
    const look = { paint: (_style: string, text: string) => text, width: 60, full: false }
    const lines = comparisonLines(diffRuns(a, b), look)
    expect(lines.filter((line) => line.length > 60)).toEqual([])
    expect(lines).toContain('  + "Within 30 days."')
  })

  test('show an inserted request as one added step, in both directions', async () => {
    soakOnly()
    const there = await diffJson(runs.first, runs.longer, '--only', 'messages,tools,requests')
    const added = there.steps.filter(({ change }) => change === 'added')
    expect(added).toHaveLength(1)
    expect(added[0]?.b?.title).toMatch(/^PUT .*\/upload 200$/)
    const back = await diffJson(runs.longer, runs.first, '--only', 'messages,tools,requests')
    expect(back.counts).toEqual({
      ...there.counts,
      added: there.counts.removed,
      removed: there.counts.added,
    })
  })

  test('are filtered by --only, and the exit code follows', async () => {
    const only = (area: string): Promise<{ code: number | null }> =>
      workspace.retake(['diff', runs.first, runs.other, '--only', area])
    expect((await only('usage')).code).toBe(0)
    expect((await only('tools')).code).toBe(3)
    const { steps, output, outcome } = await diffJson(runs.first, runs.other, '--only', 'tools')
    expect(steps.every(({ a }) => a?.kind === 'tool')).toBe(true)
    expect({ output, outcome }).toEqual({ output: [], outcome: [] })
  })

  test('--step shows one step, --full its values in full', async () => {
    soakOnly()
    const show = (...args: readonly string[]) =>
      workspace.retake(['diff', runs.first, runs.other, ...args])
    const one = await show('--step', '1.1')
    expect(one.stdout).toMatch(/^step 1\.1 {2}search_policy\(.*\n {2}result » text\n/)
    expect(one.stdout).not.toContain('stdout')
    const same = await show('--step', '1')
    expect(same).toMatchObject({ stdout: 'Step 1 is the same in both runs.\n', code: 0 })
    expect((await show('--full')).stdout).toContain('+ policy Within 30 days.')
  })
})

test('have long values cut to where they differ, and control characters escaped', async () => {
  const { retake } = await folderWith({
    'agent.mjs': `console.log('x'.repeat(5000) + process.argv[2] + 'y'.repeat(5000))`,
  })
  await retake(['record', 'agent.mjs', 'one\u001B[2J'])
  await retake(['record', 'agent.mjs', 'two\u001B[2J'])
  const { stdout: list } = await retake(['list', '--json'])
  const [b, a] = list
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { id: string }).id)
  const { stdout } = await retake(['diff', a ?? '', b ?? ''])
  expect(stdout).toMatch(/^ {2}- …x+one\\x1b\[2Jy+…$/m)
  expect(stdout).toMatch(/^ {2}\+ …x+two\\x1b\[2Jy+…$/m)
  expect(stdout).not.toContain('\u001B')
  expect((await retake(['diff', a ?? '', b ?? '', '--full'])).stdout).toContain('y'.repeat(5000))
})

describe('bad input', () => {
  const codeOf = async (...args: readonly string[]): Promise<string> => {
    const { stderr, code } = await workspace.retake(['diff', ...args])
    return `${/code ([A-Z_]+)/.exec(stderr)?.[1]}, exit code ${code}`
  }

  test('is refused with one error', async () => {
    soakOnly()
    expect(await codeOf('nobody', 'last')).toBe('UNKNOWN_RUN, exit code 1')
    expect(await codeOf('last', 'none.tape')).toBe('TAPE_MISSING, exit code 1')
    expect(await codeOf('last')).toBe('WRONG_USAGE, exit code 2')
    expect(await codeOf('last', 'last', 'last')).toBe('WRONG_USAGE, exit code 2')
    expect(await codeOf('last', 'last', '--only', 'colours')).toBe('WRONG_USAGE, exit code 2')
    expect(await codeOf('last', 'last', '--step', '99')).toBe('NO_SUCH_STEP, exit code 1')
    const { stdout } = await workspace.retake(['diff', 'nobody', 'last', '--json'])
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'UNKNOWN_RUN' } })
  })

  test('a truncated tape is compared up to its end', async () => {
    const bytes = await readFile(runs.first)
    const cut = `${workspace.folder}/cut.tape`
    await writeFile(cut, bytes.subarray(0, Math.floor(bytes.length * 0.6)))
    const diff = await diffJson(runs.first, cut)
    expect(diff.outcome).toContainEqual({ path: 'ended', a: true, b: false })
    expect(diff.counts.removed).toBeGreaterThan(0)
    expect(diff.counts.same).toBeGreaterThan(0)
  })

  test('runs without steps are compared by their output and exit', async () => {
    soakOnly()
    const { retake } = await folderWith({ 'a.mjs': smallAgent, 'b.mjs': 'process.exit(4)' })
    await retake(['record', 'a.mjs'])
    const { stdout: list } = await retake(['list', '--json'])
    await retake(['record', 'b.mjs'])
    const { stdout, code } = await retake(['diff', (JSON.parse(list) as { id: string }).id, 'last'])
    expect(code).toBe(3)
    expect(stdout).toContain('First difference: line 1 of stdout')
    expect(stdout).toMatch(/outcome\n {2}exitCode\n {2}- 0\n {2}\+ 4/)
  })
})
