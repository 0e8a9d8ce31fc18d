import { spawn, spawnSync } from 'node:child_process'
import { open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { openTape } from '@retake/tape/node'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { feed, type Piece } from '../support/feed.mjs'
import { firstDifference } from '../support/first-difference.mjs'
import { agentPath, makeWorkspace, type Workspace } from '../support/run-retake.mjs'
import { tapesOldestFirst } from '../support/tapes-oldest-first.js'
import { sampled, soakOnly } from '../support/soak.js'

const cli = fileURLToPath(new URL('../../packages/cli/bin/retake.mjs', import.meta.url))
const agent = agentPath('edge-stdin.mjs')

let workspace: Workspace
beforeEach(async () => {
  workspace = await makeWorkspace()
})
afterEach(() => workspace.remove())

/** A line that comes before it is asked for is lost: so it is with Node's readline. */
const dialogue = [
  { after: 'What? ', text: 'one\n' },
  { after: 'And? ', text: 'two ☃\n' },
  { after: 'answer two', text: 'three\n' },
]

const recordFed = (way: string, pieces: readonly Piece[], end = true) =>
  feed([process.execPath, cli, 'record', agent, way], { cwd: workspace.folder, pieces, end })

/** Replays without stdin and with another one, which must make no difference. */
const replayInputs = [{}, { input: 'something else\n' }]

async function expectSame(stdout: string): Promise<void> {
  for (const options of sampled(replayInputs, ({ input }) => input !== undefined)) {
    const replayed = await workspace.replay(options)
    const difference = firstDifference(stdout, replayed.stdout)
    expect(difference, `${difference}\n${replayed.stderr}`).toBeUndefined()
    expect(replayed.code, replayed.stderr).toBe(0)
  }
}

const lastTape = () =>
  openTape(tapesOldestFirst(join(workspace.folder, '.retake', 'runs')).at(-1) ?? '')

describe('recorded stdin is replayed', () => {
  const ways: readonly [string, string][] = [
    ['iterate', 'chunk'],
    ['data', 'text'],
    ['readable', 'three'],
    ['lines', 'line three'],
    ['questions', 'third three'],
    ['pipe', 'piped'],
    ['pause', 'seen'],
    ['descriptor', 'all one'],
    ['bytes', 'four'],
  ]
  test.each(sampled(ways, ([way]) => /^(lines|pause)$/.test(way)))(
    'read by %s',
    async (way, words) => {
      const pieces = way === 'questions' ? dialogue : ['one\n', 'two ☃\n', 'three\n']
      const recorded = await recordFed(way, pieces)
      expect(recorded.code, recorded.stderr).toBe(0)
      expect(recorded.stdout).toContain(words)
      await expectSame(recorded.stdout)
    },
  )
})

test('a character split over two chunks stays whole', async () => {
  const snowman = Buffer.from('☃ and more\n')
  const recorded = await recordFed('data', [snowman.subarray(0, 2), snowman.subarray(2)])
  expect(recorded.stdout).toContain('☃ and more')
  await expectSame(recorded.stdout)
})

test('input larger than the pipe arrives completely', async () => {
  soakOnly()
  const recorded = await recordFed('pipe', [Buffer.alloc(1_000_000, 'x')])
  expect(recorded.stdout).toContain('piped 1000000')
  await expectSame(recorded.stdout)
})

test.each(sampled(['leave', 'questions'], (way) => way === 'questions'))(
  'the agent exits when it has read enough, although stdin stays open (%s)',
  async (way) => {
    const recorded = await recordFed(way, way === 'questions' ? dialogue : ['one\n'], false)
    expect(recorded.code, recorded.stderr).toBe(0)
    await expectSame(recorded.stdout)
  },
)

test('unread stdin keeps nothing alive and leaves no event', async () => {
  const recorded = await recordFed('unread', [], false)
  expect(recorded.code, recorded.stderr).toBe(0)
  expect(recorded.stdout).toContain('not read')
  const kinds = [...lastTape().events()].filter(
    (event) => event.type === 'call' || event.type === 'deliver',
  )
  expect(kinds).toEqual([])
  await expectSame(recorded.stdout)
})

const fileWays = ['iterate', 'lines', 'descriptor', 'device', 'bytes']

test.each(sampled(fileWays, (way) => way === 'device'))(
  'a file as stdin, read by %s',
  async (way) => {
    const path = join(workspace.folder, 'input.txt')
    await writeFile(path, 'one\ntwo\nthree\n')
    const input = await open(path)
    const child = spawn(process.execPath, [cli, 'record', agent, way], {
      cwd: workspace.folder,
      stdio: [input.fd, 'pipe', 'ignore'],
    })
    const chunks: Buffer[] = []
    child.stdout?.on('data', (chunk: Buffer) => chunks.push(chunk))
    const code = await new Promise((resolve) => child.on('close', resolve))
    await input.close()
    expect(code).toBe(0)
    await writeFile(path, 'other words\n')
    const stdout = Buffer.concat(chunks).toString()
    expect(stdout).toMatch(/thre/)
    await expectSame(stdout)
  },
)

/** `script` gives a program a terminal of its own. */
const hasScript = spawnSync('script', ['--version']).status === 0

test.skipIf(!hasScript)('a terminal is a terminal on replay, where there is none', async () => {
  const command = [process.execPath, cli, 'record', agentPath('edge-terminal.mjs')].join(' ')
  const recorded = await feed(['script', '-qec', command, '/dev/null'], {
    cwd: workspace.folder,
    pieces: [
      { after: 'Name? ', text: 'Ann\r' },
      { after: 'Again? ', text: 'Bo\r' },
      { after: 'Keys?', text: '\u001B[A' },
      { after: 'key up', text: 'q' },
    ],
    end: false,
  })
  expect(recorded.stdout).toContain('over')
  const replayed = await workspace.replay()
  expect(replayed.code, replayed.stderr).toBe(0)
  expect(stripVTControlCharacters(replayed.stdout)).toBe(
    'terminal true false true true\nName? Ann\r\nhello Ann\nAgain? Bo\r\nbye Bo\nKeys?\nkey up true\nkey q true\nover false\n',
  )
})

describe.skipIf(!hasScript)('a fork of a run that was recorded on a terminal', () => {
  const fork = [process.execPath, cli, 'fork', 'last', '--at', '1', '--set', 'value="ordered X"']
  const onTerminal = (command: readonly string[]) => [
    'script',
    '-qec',
    command.map((word) => `'${word}'`).join(' '),
    '/dev/null',
  ]
  const typed = (command: readonly string[], pieces: readonly Piece[], end = false) =>
    feed(command, { cwd: workspace.folder, pieces, end })
  beforeEach(async () => {
    const command = [process.execPath, cli, 'record', agentPath('fork/dialogue.mjs')]
    await typed(onTerminal(command), [
      { after: 'What? ', text: 'tea\r' },
      { after: 'More? ', text: 'and more\r' },
    ])
  })

  test('shows typed input once, and none of its parent', async () => {
    // Slowly: by then the parent's line would have come.
    const [first, ...rest] = 'no, thanks\r'
    const pieces = [{ after: 'More? ', text: first ?? '' }, ...rest]
    const { stdout } = await typed(onTerminal(fork), pieces)
    const [, afterFork = ''] = stripVTControlCharacters(stdout).split('ordered X')
    expect(afterFork.replaceAll('\r', '')).toMatch(/^\nMore\? no, thanks\nthen \[no, thanks\]\n/)
  })

  test('reads from a pipe', async () => {
    soakOnly()
    const pieces = [{ after: 'More? ', text: 'no, ' }, 'thanks\n']
    const { stdout, stderr, code } = await typed(fork, pieces, true)
    expect(stripVTControlCharacters(stdout), stderr).toContain('then [no, thanks]\n')
    expect(code, stderr).toBe(0)
    expect(stdout).not.toContain('and more')
  })

  test('gets the input of its parent if it has no stdin', async () => {
    soakOnly()
    const { stdout, stderr, code } = await workspace.retake(fork.slice(2))
    expect(stripVTControlCharacters(stdout), stderr).toContain('then [and more]\n')
    expect(code).toBe(0)
  })
})

test('an agent that was changed to read differently stops at its first read', async () => {
  const source = join(workspace.folder, 'agent.mjs')
  const ready = `console.log('ready')`
  await writeFile(
    source,
    `${ready}\nfor await (const chunk of process.stdin) console.log(chunk.length)`,
  )
  await feed([process.execPath, cli, 'record', source], {
    cwd: workspace.folder,
    pieces: ['one\n'],
  })
  await writeFile(source, `${ready}\nconsole.log('deaf')`)
  const { code, stdout } = await workspace.retake(['replay', 'last', '--json'])
  expect(code).toBe(3)
  const { divergences } = JSON.parse(stdout) as { divergences: { summary: string }[] }
  expect(divergences[0]?.summary).toBe('the tape has stdin, the program did a write to stdout')
})
