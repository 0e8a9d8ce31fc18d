import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { StoppedPosition } from '@retake/engine/inspect'
import { findNode } from '../../scripts/find-node.mjs'
import { startEffectProvider } from '../support/effect-provider.mjs'
import { feed } from '../support/feed.mjs'
import { startProvider } from '../support/loopback-provider.mjs'
import { agentPath, makeWorkspace, run } from '../support/run-retake.mjs'
import type { Workspace } from '../support/run-retake.mjs'
import { survivors } from '../support/start-timeline.js'
import { cli, folderWith } from './workspace.js'
import { isSoak, sampled, soakOnly } from '../support/soak.js'

let workspace: Workspace

beforeAll(async () => {
  const provider = await startProvider()
  workspace = await makeWorkspace()
  await workspace.record('inspect/fan-out.ts', { provider })
  await provider.close()
})

afterAll(() => workspace.remove())

const step = (commands: readonly string[], args: readonly string[] = []) =>
  workspace.retake(['debug', 'step', 'last', ...args], { input: `${commands.join('\n')}\n` })

interface Answer {
  readonly command: string
  readonly kind?: string
  readonly position?: StoppedPosition
  readonly evaluation?: unknown
  readonly error?: { readonly code: string }
}

async function stepJson(commands: readonly string[], args: readonly string[] = []) {
  const finished = await step(commands, ['--json', ...args])
  const answers = finished.stdout.trim().split('\n')
  return { ...finished, answers: answers.map((line) => JSON.parse(line) as Answer) }
}

const labels = (answers: readonly Answer[]): (string | undefined)[] =>
  answers.map(({ position }) => position?.moment?.label ?? position?.kind)

test('steps are passed in the order of their answers, forward and back', async () => {
  const { answers, code } = await stepJson(['n', 'next', 'n', 'n', 'b', 'back', 'b', 'b', 'b'])
  expect(code).toBe(0)
  // Rome is answered first, then Lima, then Oslo.
  const order = ['2', '3', '1', 'end', '1', '3', '2', 'start', 'start']
  expect(labels(answers)).toEqual(order)
  const lines = readFileSync(agentPath('inspect/fan-out.ts'), 'utf8').split('\n')
  const rome = answers[0]?.position
  expect(lines[(rome?.location?.line ?? 0) - 1]).toContain('const finding: Finding')
  expect(rome?.locals.find(({ name }) => name === 'city')?.json).toBe('Rome')
  expect(answers[6]?.position).toEqual(answers[0]?.position)
})

test('conditions, expressions and watches work in scripts', async () => {
  soakOnly()
  const { answers, code } = await stepJson([
    '# comments and empty lines are skipped',
    '',
    `c city === 'Lima'`,
    'p { city, twice: degrees * 2 }',
    'watch city',
    'n',
    `rc degrees > 20`,
    'print city.nothing.more',
    'rc false',
  ])
  expect(code).toBe(0)
  const [lima, printed, , oslo, rome, thrown, none] = answers
  expect(lima?.position?.moment.title).toContain('Lima')
  expect(printed?.evaluation).toMatchObject({ value: { json: { city: 'Lima', twice: 34 } } })
  expect(oslo?.position?.watches).toMatchObject([
    { expression: 'city', isChanged: true, evaluation: { value: { json: 'Oslo' } } },
  ])
  expect(rome?.position?.moment.title).toContain('Rome')
  expect(thrown?.evaluation).toMatchObject({
    ok: false,
    message: expect.stringMatching(/^TypeError/) as string,
  })
  expect(none?.kind).toBe('not found')
})

test('the text output shows the step, the source with the line marked, and what changed', async () => {
  soakOnly()
  const { stdout, code } = await step(
    ['w city', 'n', 'n', 'locals', 'stack', 'list', 'help'],
    ['--at', '2'],
  )
  expect(code).toBe(0)
  expect(stdout).toMatch(/^step 2 of 3 {2}weather\(.*Rome.*\)$/m)
  expect(stdout).toMatch(/^> \d+ {4}const finding: Finding = \{ city, degrees \}$/m)
  expect(stdout).toMatch(/^\* city = 'Lima'$/m)
  expect(stdout).toMatch(/^ {2}degrees +4$/m)
  expect(stdout).toMatch(/^ {2}async main +.*fan-out\.ts:\d+:\d+$/m)
  expect(stdout).toMatch(/^> 1 +lane 0 +tool +weather\(.*Oslo.*\)$/m)
  expect(stdout).toMatch(/^ {2}rc, reverse-continue <expr>/m)
  expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
})

test('a mistake is reported, the next command still runs, and the exit code shows it', async () => {
  soakOnly()
  const { answers, code } = await stepJson(['nxt', 'j 9', 'p a b', 'p 1', 'jump', 'locals 2', 'n'])
  expect(answers.map(({ error, kind }) => error?.code ?? kind)).toEqual([
    'WRONG_STEP_COMMAND',
    'NO_SUCH_STEP',
    'EXPRESSION_INVALID',
    'NOT_AT_A_STEP',
    'WRONG_STEP_COMMAND',
    'WRONG_STEP_COMMAND',
    'position',
  ])
  expect(code).toBe(2)
  const outOfRange = await step([], ['--at', '12'])
  expect(outOfRange.code).toBe(1)
  expect(outOfRange.stderr).toContain('NO_SUCH_STEP')
  for (const args of [
    ['--keyframes', '-1'],
    ['--memory', 'much'],
  ])
    expect((await step([], args)).code).toBe(2)
})

test('a changed program can be stepped up to its first difference', async () => {
  soakOnly()
  const agent = (second: string): string => `
    import { readFile } from 'node:fs/promises'
    for (const url of ['a', '${second}']) {
      const answer = await fetch('http://127.0.0.1:1/' + url).catch((error) => error.message)
      console.log(url.length, answer)
    }`
  const { folder, retake } = await folderWith({ 'agent.mjs': agent('b') })
  await retake(['record', 'agent.mjs'])
  await writeFile(join(folder, 'agent.mjs'), agent('c'))
  const { stdout, code } = await retake(['debug', 'step', 'last', '--json'], { input: 'n\nn\nb\n' })
  const answers = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Answer)
  expect(answers[0]?.position?.moment.label).toBe('1')
  expect(answers[1]?.error?.code).toBe('STEP_NOT_REACHED')
  // Still at step 1: back is the start.
  expect(answers[2]?.position?.kind).toBe('start')
  expect(code).toBe(1)
})

/** `script` gives a program a terminal of its own. */
const hasScript = spawnSync('script', ['--version']).status === 0

test.runIf(isSoak && hasScript)(
  'on a terminal an empty line repeats, Ctrl-C cancels, Ctrl-D ends',
  async () => {
    const command = [process.execPath, cli, 'debug', 'step', 'last'].join(' ')
    const { stdout, code } = await feed(['script', '-qec', command, '/dev/null'], {
      cwd: workspace.folder,
      pieces: [
        { after: 'start> ', text: 'n\r' },
        { after: 'step 2> ', text: '\r' },
        { after: 'step 3> ', text: '\u0003' },
        { after: 'q or Ctrl-D ends', text: 'c (() => { for (;;); })()\r' },
        { after: 'for (;;)', text: '\u0003' },
        { after: 'cancelled; the position is unchanged', text: 'p city\r' },
        { after: `'Lima'`, text: '\u0004' },
      ],
      end: false,
    })
    expect(code).toBe(0)
    expect(stripVTControlCharacters(stdout)).toMatch(/step 3 of 3 {2}weather\(.*Lima/)
  },
)

const signals = [
  ['SIGTERM', 143],
  ['SIGINT', 130],
  ['SIGHUP', 129],
  ['SIGKILL', null],
] as const

test.each(sampled(signals, ([signal]) => signal === 'SIGKILL'))(
  '%s ends the processes, too',
  async (signal, exitCode) => {
    const child = spawn(process.execPath, [cli, 'debug', 'step', 'last', '--at', '1', '--json'], {
      cwd: workspace.folder,
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    await once(child.stdout, 'data')
    const children = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8')
    const pids = children.split(' ').filter(Boolean).map(Number)
    expect(pids.length).toBeGreaterThan(0)
    child.kill(signal)
    const [code] = (await once(child, 'exit')) as [number | null]
    expect(code).toBe(exitCode)
    expect(await survivors(pids)).toEqual([])
  },
)

const isToday = (major: string): boolean => process.versions.node.startsWith(`${major}.`)

test.each(sampled(['20', '22', '24'], isToday))(
  'a CommonJS program stops at its step although its outermost function was collected, on Node %s',
  async (major) => {
    const node = await findNode(major)
    const provider = await startEffectProvider()
    const { folder } = await folderWith({
      'agent.cjs': `async function main() {
  const response = await fetch(process.env.AGENT_BASE_URL + '/effect', { method: 'POST', body: 'x' })
  console.log(response.status)
}
setImmediate(() => {
  gc()
  setImmediate(main)
})
`,
    })
    const recorded = await run(
      node,
      [cli, 'record', '--node-arg=--expose-gc', 'agent.cjs'],
      folder,
      { env: { AGENT_BASE_URL: provider.url } },
    )
    await provider.close()
    expect(recorded.code, recorded.stderr).toBe(0)
    const { stdout } = await run(
      node,
      [cli, 'debug', 'step', 'last', '--at', '1', '--json'],
      folder,
      { input: 'print main.name\n' },
    )
    const [first = '', second = ''] = stdout.split('\n')
    const { position } = JSON.parse(first) as { position: StoppedPosition }
    expect(position.kind).toBe('stop')
    // Without its possible locations, V8 also stops between the answer and the assignment.
    expect([2, 3]).toContain(position.location?.line)
    expect(second).toContain('main')
  },
)
