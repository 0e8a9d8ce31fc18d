import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, readdirSync, readlinkSync } from 'node:fs'
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DebuggerClient } from '../support/debugger-client.mjs'
import { startProvider } from '../support/loopback-provider.mjs'
import { agentPath, makeWorkspace, run } from '../support/run-retake.mjs'
import type { Finished, Workspace } from '../support/run-retake.mjs'
import { cli, folderWith } from './workspace.js'
import { sampled, soakOnly } from '../support/soak.js'

interface Shown {
  readonly step: string
  readonly isDirect: boolean
  readonly location: { readonly file: string; readonly line: number; readonly mapped: boolean }
  readonly frames: readonly {
    readonly name: string
    readonly isUser: boolean
    readonly variables: readonly { readonly name: string; readonly json: unknown }[]
  }[]
  readonly asyncFrames: readonly { readonly name: string }[]
}

/** What `replay --step N --json` says, with the variables of the innermost user frame by name. */
async function look(workspace: Workspace, step: number) {
  const { stdout, code } = await workspace.retake(['replay', 'last', '--step', `${step}`, '--json'])
  expect(code).toBe(0)
  const shown = JSON.parse(stdout) as Shown
  const frame = shown.frames.find(({ isUser }) => isUser)
  const locals = Object.fromEntries((frame?.variables ?? []).map(({ name, json }) => [name, json]))
  return { shown, frame, locals }
}

/** Number of the line of a fixture that holds a text. */
const lineOf = (agent: string, text: string): number =>
  readFileSync(agentPath(agent), 'utf8')
    .split('\n')
    .findIndex((line) => line.includes(text)) + 1

let tools: Workspace
let recordedTools: Finished
let chats: Workspace

beforeAll(async () => {
  const provider = await startProvider()
  tools = await makeWorkspace()
  recordedTools = await tools.record('inspect/fan-out.ts', { provider })
  chats = await makeWorkspace()
  await chats.record('inspect/chats.ts', { provider })
  await provider.close()
})

afterAll(async () => {
  await tools.remove()
  await chats.remove()
})

test('each of three concurrent tools resumes its own call: line, function and variables, through a source map', async () => {
  const expected = [
    { city: 'Oslo', index: 0, label: '0:Oslo', degrees: 4, found: 2 },
    { city: 'Rome', index: 1, label: '1:Rome', degrees: 21, found: 0 },
    { city: 'Lima', index: 2, label: '2:Lima', degrees: 17, found: 1 },
  ]
  for (const [index, variables] of expected.entries()) {
    const { shown, frame, locals } = await look(tools, index + 1)
    expect(shown.location).toMatchObject({
      file: agentPath('inspect/fan-out.ts'),
      line: lineOf('inspect/fan-out.ts', 'const finding: Finding'),
      mapped: true,
    })
    expect(shown.isDirect).toBe(true)
    expect(frame?.name).toBe('lookUp')
    expect(locals).toMatchObject(variables)
    expect(shown.asyncFrames.map(({ name }) => name)).toContain('main')
  }
})

test('each of three concurrent chats of an SDK resumes its own call, and a stream the code of its loop', async () => {
  soakOnly()
  for (const [index, question] of ['one', 'two', 'three'].entries()) {
    const { shown, frame, locals } = await look(chats, index + 1)
    expect(shown.location.line).toBe(lineOf('inspect/chats.ts', 'const answer: string'))
    expect(frame?.name).toBe('ask')
    expect(locals).toMatchObject({
      question,
      mine: `asked ${question}`,
      completion: { object: 'chat.completion' },
    })
  }
  const { shown, frame, locals } = await look(chats, 4)
  expect(frame?.name).toBe('listen')
  // The last chunk may have come together with the end of the answer.
  expect([lineOf('inspect/chats.ts', 'heard +='), lineOf('inspect/chats.ts', "'heard'")]).toContain(
    shown.location.line,
  )
  expect(locals['heard']).toBeGreaterThan(0)
})

test('an answer that an SDK retried belongs to the code that awaits the SDK, not to code that runs in the meantime', async () => {
  soakOnly()
  const provider = await startProvider()
  const workspace = await folderWith({})
  await workspace.record('inspect/retries.mjs', { provider })
  await provider.close()
  const lookAt = async (step: number) => {
    const { shown, frame, locals } = await look(workspace, step)
    return [shown.location.line, frame?.name, locals['question'], shown.isDirect]
  }
  const line = lineOf('inspect/retries.mjs', 'const answer =')
  expect(await Promise.all([lookAt(1), lookAt(2)])).toEqual([
    [line, 'ask', 'Why?', true],
    [line, 'ask', 'Why?', true],
  ])
})

test('the text output has the source with its line marked, the stack and the variables', async () => {
  soakOnly()
  const { stdout, code } = await tools.retake(['replay', 'last', '--step', '2'])
  expect(code).toBe(0)
  const line = lineOf('inspect/fan-out.ts', 'const finding: Finding')
  expect(stdout).toMatch(/^step 2 {2}weather\(.*Rome.*\) · its answer has arrived$/m)
  expect(stdout).toContain(`\n> ${line}    const finding: Finding = { city, degrees }\n`)
  expect(stdout).toMatch(/\nstack\n {2}lookUp .*\n {2}async main /)
  expect(stdout).toMatch(/\nlocals\n {2}city +'Rome'\n {2}index +1\n {2}label +'1:Rome'\n/)
  expect(stdout).toMatch(/\nmodule\n(.*\n)* {2}found +0$/m)
})

/** A held replay, once it has said where its debugger is. */
async function hold(workspace: Workspace, args: readonly string[]) {
  const child = spawn(process.execPath, [cli, 'replay', 'last', ...args], {
    cwd: workspace.folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NO_COLOR: '1' },
  })
  const said = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk: Buffer) => (said.stdout += chunk.toString()))
  const ready = new Promise<void>((resolve) => {
    child.stderr.on('data', (chunk: Buffer) => {
      said.stderr += chunk.toString()
      if (said.stderr.includes('Ctrl-C')) resolve()
    })
  })
  await Promise.race([ready, once(child, 'close')])
  const url = /Debugger: (ws:\S+)/.exec(said.stderr)?.[1]
  if (url === undefined) throw new Error(said.stderr)
  return { child, said, url }
}

const exitOf = async (child: ChildProcess): Promise<unknown> => {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
  return ((await once(child, 'close')) as [number | null])[0]
}

test('a debugger attaches to a paused replay, reads a variable, steps and resumes; the run ends as recorded', async () => {
  const { child, said, url } = await hold(tools, ['--step', '3', '--inspect=0'])
  expect(said.stderr).toContain('chrome://inspect')
  expect(said.stderr).toContain(`"port": ${new URL(url).port}`)
  const client = await DebuggerClient.attach(url)
  const stop = await client.paused()
  expect(stop.callFrames[0].functionName).toBe('lookUp')
  expect(await client.evaluate(stop.callFrames[0], '[city, degrees, found]')).toEqual([
    'Lima',
    17,
    1,
  ])
  await client.post('Debugger.stepOver')
  await client.paused()
  await client.post('Debugger.stepOver')
  const stepped = await client.paused()
  expect(stepped.callFrames[0].functionName).toBe('lookUp')
  expect(await client.evaluate(stepped.callFrames[0], '[finding, found]')).toEqual([
    { city: 'Lima', degrees: 17 },
    2,
  ])
  await client.post('Debugger.resume')
  expect(await exitOf(child)).toBe(0)
  await client.closed
  const ownOutput = recordedTools.stdout.trimEnd().split('\n')
  expect(said.stdout.trimEnd().split('\n')).toEqual(expect.arrayContaining(ownOutput))
})

/** Processes that work for a test folder, by their working directory; Linux only. */
function processesIn(folder: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readlinkSync(`/proc/${pid}/cwd`) === folder
      } catch {
        return false
      }
    })
    .map(Number)
}

test.runIf(process.platform === 'linux')(
  'a paused replay ends when its controller is killed, and after Ctrl-C',
  async () => {
    for (const signal of ['SIGKILL', 'SIGINT'] as const) {
      const { child } = await hold(tools, ['--step', '1', '--inspect=0'])
      expect(processesIn(tools.folder)).toHaveLength(2)
      child.kill(signal)
      const code = await exitOf(child)
      expect(code).toBe(signal === 'SIGINT' ? 130 : null)
      await expect.poll(() => processesIn(tools.folder), { timeout: 60_000 }).toEqual([])
    }
  },
)

test('eval prints the value each time a line ran, in order, without disturbing the run', async () => {
  const at = `${agentPath('inspect/fan-out.ts')}:${lineOf('inspect/fan-out.ts', 'found += 1')}`
  const { stdout, code } = await tools.retake([
    'debug',
    'eval',
    'last',
    '--at',
    at,
    '{ city, found }',
  ])
  expect(code).toBe(0)
  expect(stdout).toBe(
    "1 · step 2  { city: 'Rome', found: 0 }\n" +
      "2 · step 3  { city: 'Lima', found: 1 }\n" +
      "3 · step 1  { city: 'Oslo', found: 2 }\n",
  )
})

test('an uninitialised variable in a loop is never shown with its value of the previous iteration', async () => {
  soakOnly()
  const workspace = await folderWith({})
  const agent = 'inspect/loops.mjs'
  await workspace.retake(['record', agentPath(agent)])
  const evaluated = async (text: string, expression: string): Promise<string[]> => {
    const at = `${agentPath(agent)}:${lineOf(agent, text)}`
    const { stdout } = await workspace.retake(['debug', 'eval', 'last', '--at', at, expression])
    return stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.replace(/^.*? {2}/, ''))
  }
  const unset = (name: string) => `ReferenceError: Cannot access '${name}' before initialization`
  expect(await evaluated('const p =', 'p')).toEqual([unset('p'), unset('p')])
  expect(await evaluated('const { paid', '[paid]')).toEqual([unset('paid'), unset('paid')])
  expect(await evaluated('for (const n', '({ n, paid })')).toEqual(Array(4).fill(unset('n')))
  expect(await evaluated('return inner', '[inner, p.paid]')).toEqual([
    '[2, 0]',
    '[4, 0]',
    '[2, 1]',
    '[4, 1]',
  ])
  expect(await evaluated('total += q', 'q')).toEqual(['[2, 4]', '[3, 5]'])

  // The answer of the second turn's first call has come; nothing of that turn is there but `paid`.
  const { locals } = await look(workspace, 4)
  const notYet = { $type: 'unavailable' }
  expect(locals).toMatchObject({ i: 1, paid: 1, first: [1], p: notYet, q: notYet, total: 12 })
  const { stdout } = await workspace.retake(['replay', 'last', '--step', '4'])
  expect(stdout).toMatch(/^ {2}p +\(not initialised yet\)$/m)
})

test('a file with thousands of breakpoints can be inspected at each of them', async () => {
  soakOnly()
  const many = Array.from({ length: 700 }, (_, n) => `const f${n} = () => Math.abs(${n})`)
  const { folder, retake } = await folderWith({
    'big.mjs': [
      ...many,
      "import { execFile } from 'node:child_process'",
      "import { promisify } from 'node:util'",
      'let total = 0',
      'for (const n of [1, 2]) {',
      "  const { stdout } = await promisify(execFile)('echo', [String(n)])",
      '  total += Number(stdout)',
      '}',
    ].join('\n'),
  })
  await retake(['record', 'big.mjs'])
  const line = many.length + 6
  const { stdout } = await retake(['debug', 'eval', 'last', '--at', `big.mjs:${line}`, 'total'])
  expect(stdout).toMatch(/^1 · step 1 {2}0\n2 · step 2 {2}1\n$/)
  const shown = JSON.parse(
    (await retake(['replay', 'last', '--step', '2', '--json'])).stdout,
  ) as Shown
  expect(shown.location).toMatchObject({ file: join(folder, 'big.mjs'), line })
  expect((await retake(['debug', 'snapshot', 'last'])).stdout).toMatch(/^2 states of 2 steps/)
})

/** A bundle with its source map, line by line; each part is one source. */
function bundleOf(parts: Readonly<Record<string, string>>): { code: string; map: string } {
  const names = Object.keys(parts)
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
  const encoded = (value: number): string => {
    const bits = value < 0 ? (-value << 1) | 1 : value << 1
    return bits < 32 ? (digits[bits] ?? '') : `${digits[(bits & 31) | 32]}${digits[bits >> 5]}`
  }
  let last = { source: 0, line: 0 }
  const mappings = names.flatMap((name, source) =>
    (parts[name] ?? '').split('\n').map((_, line) => {
      const segment = [0, source - last.source, line - last.line, 0].map(encoded).join('')
      last = { source, line }
      return segment
    }),
  )
  return {
    code: `${Object.values(parts).join('\n')}\n//# sourceMappingURL=agent.mjs.map\n`,
    map: JSON.stringify({ version: 3, sources: names, names: [], mappings: mappings.join(';') }),
  }
}

test('a line of a bundle is found by its bundle and source position, and packages are not user code', async () => {
  soakOnly()
  const agent = [
    'let total = 0',
    "for (const word of ['1', '2']) {",
    '  const heard = await echo(word)',
    '  total += Number(heard)',
    '}',
  ].join('\n')
  const { code, map } = bundleOf({
    '../node_modules/echo/index.js': [
      "import { execFile } from 'node:child_process'",
      "import { promisify } from 'node:util'",
      'async function echo(word) {',
      "  const { stdout } = await promisify(execFile)('echo', [word])",
      '  const trimmed = stdout.trim()',
      '  return trimmed',
      '}',
    ].join('\n'),
    '../src/agent.ts': agent,
  })
  const { folder, retake } = await folderWith({})
  await mkdir(join(folder, 'dist'))
  await mkdir(join(folder, 'src'))
  await writeFile(join(folder, 'src/agent.ts'), agent)
  await writeFile(join(folder, 'dist/agent.mjs'), code)
  await writeFile(join(folder, 'dist/agent.mjs.map'), map)
  await retake(['record', 'dist/agent.mjs'])
  for (const at of ['dist/agent.mjs:11', 'src/agent.ts:4']) {
    const { stdout, stderr } = await retake(['debug', 'eval', 'last', '--at', at, '[total, heard]'])
    expect(stdout, stderr).toMatch(/^1 · step 1 {2}\[0, '1'\]\n2 · step 2 {2}\[1, '2'\]\n$/)
  }
  const shown = JSON.parse(
    (await retake(['replay', 'last', '--step', '1', '--json'])).stdout,
  ) as Shown
  expect(shown.location).toEqual(
    expect.objectContaining({ file: join(folder, 'src/agent.ts'), line: 4, mapped: true }),
  )
})

test.each([
  { format: 'cjs', sourcemap: 'inline', sourceRoot: '' },
  { format: 'esm', sourcemap: 'linked', sourceRoot: '..' },
  { format: 'esm', sourcemap: 'linked', sourceRoot: 'https://example.org/' },
  { format: 'cjs', sourcemap: 'linked', sourceRoot: '' },
  { format: 'esm', sourcemap: 'inline', sourceRoot: '' },
] as const)(
  'a line of a module is found in an esbuild bundle: $format, $sourcemap map, source root $sourceRoot',
  { timeout: 60_000 },
  async ({ format, sourcemap, sourceRoot }) => {
    if (sourceRoot !== '..' && !(format === 'cjs' && sourcemap === 'inline')) soakOnly()
    const { folder, retake } = await folderWith({
      'price.ts':
        'export function priceOf(sku: string): number {\n  const factor: number = sku.length\n  return 2 * factor\n}\n',
      // The package makes a map of megabytes, which a process must report before it ends.
      'agent.ts':
        "import OpenAI from 'openai'\nimport { priceOf } from './price'\n\nfor (const sku of ['a', 'bb', 'ccc', 'dddd']) {\n  console.log(typeof OpenAI, priceOf(sku))\n}\n",
    })
    const outfile = join('dist', format === 'cjs' ? 'agent.cjs' : 'agent.mjs')
    const modules = fileURLToPath(new URL('../../node_modules/', import.meta.url))
    const made = await run(
      join(modules, '.bin/esbuild'),
      [
        'agent.ts',
        '--bundle',
        '--platform=node',
        `--format=${format}`,
        `--alias:openai=${modules}openai`,
        `--outfile=${outfile}`,
        `--sourcemap=${sourcemap}`,
        `--source-root=${sourceRoot}`,
      ],
      folder,
    )
    expect(made.code, made.stderr).toBe(0)
    if (sourceRoot === '..') {
      // esbuild's names do not depend on the root; those of other compilers do.
      const map = await readFile(join(folder, `${outfile}.map`), 'utf8')
      await writeFile(join(folder, `${outfile}.map`), map.replaceAll('"../', '"'))
    }
    await retake(['record', outfile])
    const { stdout, stderr } = await retake([
      'debug',
      'eval',
      'last',
      '--at',
      'price.ts:3',
      'factor',
    ])
    expect(stdout.replaceAll(/ event \d+ /g, ''), stderr).toBe('1 · 1\n2 · 2\n3 · 3\n4 · 4\n')
  },
)

test('eval continues after an expression that throws or does not end, and refuses side effects unless allowed', async () => {
  soakOnly()
  const at = `${agentPath('inspect/fan-out.ts')}:${lineOf('inspect/fan-out.ts', 'console.log(label')}`
  const evaluate = async (...args: string[]) => {
    const { stdout, code } = await tools.retake([
      'debug',
      'eval',
      'last',
      '--at',
      at,
      ...args,
      '--json',
    ])
    const lines = stdout.trimEnd().split('\n')
    return { code, lines: lines.map((line) => JSON.parse(line) as Record<string, unknown>) }
  }
  const thrown = await evaluate('index === 2 ? city.no.where : index')
  expect(thrown.code).toBe(0)
  expect(thrown.lines).toMatchObject([
    { hit: 1, step: '2', ok: true, value: { json: 1, type: 'number' } },
    { hit: 2, step: '3', ok: false, message: expect.stringMatching(/^TypeError: /) },
    { hit: 3, step: '1', ok: true, value: { json: 0 } },
  ])
  const endless = await evaluate('index === 2 && (() => { for (;;); })()')
  expect(endless.code).toBe(0)
  expect(endless.lines).toMatchObject([
    { ok: true },
    { ok: false, message: expect.stringContaining('did not end') },
    { ok: true },
  ])
  const refused = await evaluate('found = 100')
  expect(refused.code).toBe(0)
  expect(refused.lines).toHaveLength(3)
  for (const line of refused.lines)
    expect(line).toMatchObject({ ok: false, message: expect.stringContaining('side-effect') })
  const allowed = await evaluate(
    '(Date.now(), Math.random(), found += 100)',
    '--allow-side-effects',
  )
  expect(allowed.code).toBe(0)
  expect(allowed.lines.map(({ value }) => (value as { json: unknown }).json)).toEqual([
    101, 202, 303,
  ])
})

test('eval finds lines in CommonJS, plain and through a source map', async () => {
  soakOnly()
  const { retake } = await folderWith({
    'package.json': '{ "type": "commonjs" }',
    'plain.cjs':
      'function twice(n) {\n  const result = n * 2\n  return result\n}\nconsole.log(twice(2), twice(3))\n',
    'mapped.ts': `interface Unused { a: number }\n\nenum Level { One = 1, Two }\n\nfunction twice(n: number): number {\n  const result = n * Level.Two\n  return result\n}\nconsole.log(twice(2), twice(3))\n`,
  })
  for (const [agent, line] of [
    ['plain.cjs', 3],
    ['mapped.ts', 7],
  ] as const) {
    await retake(['record', agent])
    const { stdout } = await retake(['debug', 'eval', 'last', '--at', `${agent}:${line}`, 'result'])
    expect(stdout).toMatch(/^1 · event \d+ {2}4\n2 · event \d+ {2}6\n$/)
  }
})

/** This Node, and those that `npm run test:nodes` keeps in `.nodes/`. */
const nodes = [
  process.execPath,
  ...['20', '22', '24', '26'].map((major) => {
    const name = `node-${process.platform}-${process.arch}`
    const root = fileURLToPath(new URL('../../.nodes', import.meta.url))
    return join(root, major, 'node_modules', name, 'bin/node')
  }),
].filter((node) => existsSync(node))

test.each(sampled(nodes, (_, index) => index === 0))(
  '%s can be inspected, and still cannot write',
  async (node) => {
    const { folder } = await folderWith({})
    const retake = (...args: string[]) => run(node, [cli, ...args], folder)
    const agent = agentPath('inspect/fan-out.ts')
    const recorded = await retake('record', agent)
    const shown = await retake('replay', 'last', '--step', '3')
    expect(shown.stdout).toMatch(/\n {2}label +'2:Lima'\n/)
    expect(shown.stdout).toContain(`> ${lineOf('inspect/fan-out.ts', 'const finding: Finding')} `)
    const at = `${agent}:${lineOf('inspect/fan-out.ts', "console.log('warmest'")}`
    const mayWrite = "process.permission?.has('fs.write') ?? 'no guard'"
    const expression = `[warmest.city, ${mayWrite}]`
    const evaluated = await retake(
      'debug',
      'eval',
      'last',
      '--at',
      at,
      expression,
      '--allow-side-effects',
    )
    // Node 22 has a guard, but cannot allow the inspector under it.
    const guarded = (await run(node, ['-p', INSPECTOR_UNDER_GUARD], folder)).stdout === 'true\n'
    expect(evaluated.stdout).toBe(`1 · step 1  ['Rome', ${guarded ? 'false' : "'no guard'"}]\n`)
    expect(evaluated.code).toBe(0)
    expect((await retake('replay', 'last')).stdout).toBe(recorded.stdout)
  },
)

const INSPECTOR_UNDER_GUARD = "process.allowedNodeEnvironmentFlags.has('--allow-inspector')"

test('snapshot captures the state at each step; show prints it and what changed since the previous step', async () => {
  const { stdout } = await tools.retake(['debug', 'snapshot', 'last', '--json'])
  const { file, states } = JSON.parse(stdout) as { file: string; states: number }
  expect(states).toBe(3)
  // Like a tape: it holds what the agent was told.
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n')
  expect(lines.map((line) => (JSON.parse(line) as { step?: string }).step)).toEqual([
    undefined,
    '1',
    '2',
    '3',
  ])
  const shown = await tools.retake(['show', 'last', '--step', '3', '--state'])
  expect(shown.code).toBe(0)
  expect(shown.stdout).toMatch(/\nlookUp .*\n {2}city +'Lima'\n/)
  expect(shown.stdout).toContain(
    "changed since step 2\n  lookUp.city\n  - 'Rome'\n  + 'Lima'\n  lookUp.index\n  - 1\n  + 2\n",
  )
  expect(shown.stdout).toContain('  found\n  - 0\n  + 1\n')
  const json = await tools.retake(['show', 'last', '--step', '3', '--state', '--json'])
  expect(JSON.parse(json.stdout)).toMatchObject({
    label: '3',
    state: { step: '3', frames: [{ name: 'lookUp' }] },
    since: { step: '2' },
  })
})

test('a state is shown with the recorded line if the file has changed since', async () => {
  soakOnly()
  const source = `import { execFileSync } from 'node:child_process'
const said = execFileSync('echo', ['hi']).toString()
console.log(said)
`
  const { retake, folder } = await folderWith({ 'agent.mjs': source })
  await retake(['record', 'agent.mjs'])
  await retake(['debug', 'snapshot', 'last'])
  const state = async (): Promise<string> =>
    (await retake(['show', 'last', '--step', '1', '--state'])).stdout
  const before = await state()
  const line = /^> +\d+ .*$/m.exec(before)?.[0]
  expect(line).toBeDefined()
  await writeFile(join(folder, 'agent.mjs'), `// new\n// lines\n${source}`)
  await rm(join(folder, '.retake', 'sources'), { recursive: true })
  const after = await state()
  expect(after).toContain(`the file has changed since this was captured; the line was\n${line}\n`)
})

test('snapshot --every leaves steps out, and show says how to get them', async () => {
  soakOnly()
  await chats.retake(['debug', 'snapshot', 'last', '--every', '3'])
  for (const step of ['3', '4'])
    expect((await chats.retake(['show', 'last', '--step', step, '--state'])).code).toBe(0)
  expect((await chats.retake(['show', 'last', '--step', '1', '--state'])).stderr).toMatch(
    /NO_STATE/,
  )
  const { code, stderr } = await chats.retake(['show', 'last', '--step', '2', '--state'])
  expect(code).toBe(1)
  expect(stderr).toMatch(/NO_STATE/)
  expect(stderr).toContain('retake debug snapshot')
})

test('a step without an answer is shown where it was started', async () => {
  soakOnly()
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo
  const { retake } = await folderWith({
    'agent.mjs': `async function ask(why) {
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), 100)
  await fetch('http://127.0.0.1:${port}')
}
await ask('because')
`,
  })
  await retake(['record', 'agent.mjs'])
  silent.closeAllConnections()
  silent.close()
  const { stdout, code } = await retake(['replay', 'last', '--step', '1'])
  expect(code).toBe(0)
  expect(stdout).toContain("> 3    await fetch('")
  expect(stdout).toMatch(/why +'because'/)
})

test('a step that answers synchronously stops in the function that called it', async () => {
  soakOnly()
  const { retake } = await folderWith({
    'agent.mjs': `import { execSync } from 'node:child_process'
function say(word) {
  const said = execSync('echo ' + word).toString()
  return said.trim()
}
console.log(say('a'), say('b'))
`,
  })
  await retake(['record', 'agent.mjs'])
  const { stdout } = await retake(['replay', 'last', '--step', '2'])
  expect(stdout).toMatch(/^agent\.mjs:3:\d+ in say$/m)
  expect(stdout).toMatch(/word +'b'/)
})

test('compiled JavaScript without a source map is shown as it runs, and says so', async () => {
  soakOnly()
  const { retake, folder } = await folderWith({})
  await mkdir(join(folder, 'dist'))
  await writeFile(
    join(folder, 'dist', 'agent.mjs'),
    `import { execSync } from 'node:child_process'\nconst a = execSync('echo 1')\nconsole.log(a.length)\n`,
  )
  await retake(['record', 'dist/agent.mjs'])
  const { stdout, code } = await retake(['replay', 'last', '--step', '1'])
  expect(code).toBe(0)
  expect(stdout).toContain('without a source map')
  expect(stdout).toContain('dist/agent.mjs:3:1')
})

test('code that was changed and not kept is reported as the divergence it is', async () => {
  const agent = (word: string): string =>
    `import { execSync } from 'node:child_process'\nconst a = execSync('echo ${word}')\nconsole.log(a.length)\n`
  const { retake, folder } = await folderWith({ 'agent.mjs': agent('one') })
  await retake(['record', 'agent.mjs'])
  await writeFile(join(folder, 'agent.mjs'), agent('other'))
  await rm(join(folder, '.retake', 'sources'), { recursive: true })
  for (const args of [
    ['replay', 'last', '--step', '1'],
    ['debug', 'snapshot', 'last'],
    ['debug', 'eval', 'last', '--at', 'agent.mjs:3', 'a'],
  ]) {
    const { code, stdout, stderr } = await retake(args)
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
    expect(stderr).toContain('behaves differently from the recording')
    expect(stderr).toContain('retake record agent.mjs')
  }
  const { stdout, code } = await retake(['replay', 'last', '--step', '1', '--json'])
  expect(code).toBe(3)
  expect(JSON.parse(stdout)).toMatchObject({ identical: false, divergences: [{}] })
})

test('a run recorded inside a program has no process to inspect', async () => {
  soakOnly()
  const { retake, folder } = await folderWith({})
  const library = new URL('../../packages/cli/dist/index.js', import.meta.url).href
  const program = `import { record } from '${library}'; await record({ name: 'inner' }, () => 1)`
  await writeFile(join(folder, 'program.mjs'), program)
  const made = await run(process.execPath, ['program.mjs'], folder)
  expect(made).toMatchObject({ code: 0 })
  const { code, stderr } = await retake(['debug', 'snapshot', 'last'])
  expect(code).toBe(1)
  expect(stderr).toContain('NOT_A_PROCESS_RUN')
})

const mistakes = [
  [['replay', 'last', '--step', '9'], 1, 'NO_SUCH_STEP', 'numbered 1 to 3'],
  [['replay', 'last', '--inspect'], 2, 'WRONG_USAGE', '--inspect needs --step'],
  [
    ['replay', 'last', '--step', '1', '--inspect=x'],
    2,
    'WRONG_USAGE',
    'not a valid number for --inspect',
  ],
  [['replay', 'last', '--step', '1', '--observe'], 2, 'WRONG_USAGE', '--observe'],
  [['debug', 'eval', 'last', '--at', 'nowhere.ts:4', '1'], 1, 'SOURCE_FILE_MISSING', 'nowhere.ts'],
  [['debug', 'eval', 'last', '--at', 'nowhere.ts', '1'], 2, 'WRONG_USAGE', 'file:line'],
  [['debug', 'eval', 'last', '--at', 'AGENT:2', '1'], 1, 'LINE_NEVER_RAN', 'next line with code'],
  [['debug', 'eval', 'last', '--at', 'AGENT:9999', '1'], 1, 'LINE_NEVER_RAN', 'file ends at line'],
  [
    ['debug', 'eval', 'last', '--at', 'AGENT:1', 'a b'],
    2,
    'EXPRESSION_INVALID',
    'Unexpected identifier',
  ],
  [
    ['debug', 'eval', 'last', '--at', `${agentPath('clock.mjs')}:1`, '1'],
    1,
    'LINE_NEVER_RAN',
    'not load',
  ],
  [['debug', 'eval', 'last', '1'], 2, 'WRONG_USAGE', 'Missing option --at'],
  [
    ['debug', 'snapshot', 'last', '--every', '0'],
    2,
    'WRONG_USAGE',
    'not a valid number for --every',
  ],
  [['show', 'last', '--state'], 2, 'WRONG_USAGE', '--state needs --step'],
] as const

test.each(sampled(mistakes, (_, index) => index % 4 === 0))(
  'bad input: %j',
  async (args, code, errorCode, says) => {
    const agent = agentPath('inspect/fan-out.ts')
    const finished = await tools.retake(args.map((arg) => arg.replace('AGENT', agent)))
    expect(finished).toMatchObject({ code, stdout: '' })
    expect(finished.stderr).toContain(errorCode)
    expect(finished.stderr).toContain(says)
  },
)
