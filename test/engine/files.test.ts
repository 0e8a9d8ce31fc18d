import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { randomBytes } from 'node:crypto'
import type { Divergence, DivergenceKind } from '@retake/engine'
import { openTape } from '@retake/tape/node'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { digestTree, emptyTree } from '../support/file-tree.mjs'
import { firstDifference } from '../support/first-difference.mjs'
import { runTask } from '../support/run-library.mjs'
import { agentPath, makeWorkspace, run, type Workspace } from '../support/run-retake.mjs'
import { tapesOldestFirst } from '../support/tapes-oldest-first.js'
import { isSoak, repetitions, sampled, soakOnly } from '../support/soak.js'

type Tape = ReturnType<typeof openTape>

const cycles = repetitions('RETAKE_STRESS_CYCLES', { beforeMerge: 1, soak: 20 })

let workspace: Workspace
beforeEach(async () => {
  workspace = await makeWorkspace()
})
afterEach(() => workspace.remove())

/** Writes files into the folder the agent runs in. */
async function put(files: Readonly<Record<string, string | Buffer>>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    await writeFile(join(workspace.folder, name), content)
  }
}

async function record(agent: string, ...args: string[]) {
  const recorded = await workspace.retake(['record', agent, ...args])
  expect(recorded.code, recorded.stderr).toBe(0)
  return recorded
}

/** The newest tape of the workspace. */
function lastTape(): Tape {
  return openTape(tapesOldestFirst(join(workspace.folder, '.retake', 'runs')).at(-1) ?? '')
}

/** Replays and compares with what was recorded; the folder must stay as it is. */
async function expectSame(stdout: string, times = isSoak ? 3 : 1): Promise<void> {
  const before = await digestTree(workspace.folder)
  for (let index = 1; index <= times; index++) {
    const replayed = await workspace.replay()
    const difference = firstDifference(stdout, replayed.stdout)
    expect(difference, `replay ${index}\n${difference}\n${replayed.stderr}`).toBeUndefined()
    expect(replayed.code, replayed.stderr).toBe(0)
    expect(Object.keys(replayed.waysOut ?? {})).toEqual([])
  }
  expect(await digestTree(workspace.folder)).toBe(before)
}

describe('an agent with deterministic output', () => {
  const agents = [
    'edge-files.mjs',
    'edge-file-handle.mjs',
    'edge-file-mistakes.mjs',
    'edge-output-descriptors.mjs',
    'edge-modules.cjs',
  ]
  test.each(sampled(agents, (_, index) => index % 2 === 1))(
    '%s prints the same without Retake, recorded, and replayed with its files deleted',
    async (agent) => {
      const plain = await makeWorkspace()
      const native = await run(process.execPath, [agentPath(agent)], plain.folder)
      await plain.remove()
      const recorded = await record(agentPath(agent))
      // How a pipe can be opened by its name is not the question here.
      const comparable = (text: string): string => text.replaceAll(/^1[345] .*\n/gm, '')
      expect(comparable(recorded.stdout)).toBe(comparable(native.stdout))
      await emptyTree(workspace.folder)
      await expectSame(recorded.stdout)
    },
  )
})

test('restored files print the same, errors with their stacks', async () => {
  soakOnly()
  const recorded = await record(agentPath('edge-file-inspect.mjs'))
  // The stack shows the agent, not what stands between it and Node.
  expect(recorded.stdout).toMatch(
    /ENOENT.*\n    at openSync.*\n.*\n    at file:.*edge-file-inspect/,
  )
  expect(recorded.stdout).not.toContain('captured-call')
  await emptyTree(workspace.folder)
  await expectSame(recorded.stdout)
})

test('a function among the options is reported', async () => {
  soakOnly()
  await put({
    'agent.mjs': `import fs from 'node:fs'
      fs.mkdirSync('from')
      fs.cpSync('from', 'to', { recursive: true, filter: () => true })`,
  })
  await record(join(workspace.folder, 'agent.mjs'))
  const notes = [...lastTape().events()].filter((event) => event.type === 'note')
  expect(notes).toEqual([expect.objectContaining({ name: 'fs.cpSync' })])
})

test('arguments that Node refuses leave no event', async () => {
  await record(agentPath('edge-file-mistakes.mjs'))
  const tape = lastTape()
  expect([...tape.events()].filter(({ type }) => type === 'call')).toEqual([])
})

test('what the module loader reads is not on the tape', async () => {
  await record(agentPath('edge-modules.cjs'))
  const calls = [...lastTape().events()].filter((event) => event.type === 'call')
  const titles = calls.map((event) => (event.type === 'call' ? event.title : undefined))
  expect(titles.filter((title) => title?.endsWith('.json'))).toEqual([])
  expect(titles.filter((title) => title?.endsWith('edge-module.cjs'))).toHaveLength(1)
})

describe('code that a compiler in the same thread loads', () => {
  const read = `fs.readFileSync('data.txt', 'utf8')`
  const hooks = {
    'Module._extensions': `const fs = require('node:fs')
      require('node:module')._extensions['.part'] = (module, file) =>
        module._compile(fs.readFileSync(file, 'utf8').replace('VALUE', ${read}), file)
      require('./code.part')`,
    'module.registerHooks': `const fs = require('node:fs')
      const { registerHooks } = require('node:module')
      const load = (url, context, next) => url.endsWith('.part')
        ? { format: 'commonjs', shortCircuit: true, source: fs.readFileSync(new URL(url), 'utf8').replace('VALUE', ${read}) }
        : next(url, context)
      if (registerHooks) registerHooks({ load })
      else require.extensions['.part'] = (m, file) => m._compile(fs.readFileSync(file, 'utf8').replace('VALUE', ${read}), file)
      require('./code.part')`,
  }
  const code = `const fs = require('node:fs')\nconsole.log(\`VALUE \${${read}}\`)`

  test.each(sampled(Object.entries(hooks), (_, index) => index === 0))(
    'by %s is read again on replay, its data is not',
    async (_, agent) => {
      await put({ 'agent.cjs': agent, 'code.part': code, 'data.txt': 'then' })
      const recorded = await record(join(workspace.folder, 'agent.cjs'))
      expect(recorded.stdout).toBe('then then\n')
      const calls = [...lastTape().events()].filter(({ type }) => type === 'call')
      expect(calls).toHaveLength(1)
      await put({ 'code.part': code.replace('VALUE', 'changed') })
      const replayed = await workspace.replay()
      expect(replayed.code).toBe(3)
      expect(replayed.stderr).toContain('changed then')
    },
  )
})

test(
  `${cycles} recordings of concurrent file work replay in their order`,
  { timeout: 600_000 + cycles * 20_000 },
  async () => {
    for (let index = 0; index < cycles; index++) {
      await emptyTree(workspace.folder)
      const recorded = await record(agentPath('edge-file-order.mjs'))
      expect(recorded.stdout).toContain('import')
      await emptyTree(workspace.folder)
      await expectSame(recorded.stdout)
    }
  },
)

test('files that changed since are neither read nor touched', async () => {
  await put({ 'notes.txt': 'the notes then' })
  const recorded = await record(agentPath('files.mjs'))
  expect(recorded.stdout).toContain('the notes then')
  await put({ 'notes.txt': 'other notes now' })
  await expectSame(recorded.stdout)
  expect(await readFile(join(workspace.folder, 'notes.txt'), 'utf8')).toBe('other notes now')
})

test('content that is read often is stored once', async () => {
  const agent = join(workspace.folder, 'reader.mjs')
  await put({
    'large.bin': randomBytes(1_000_000),
    'reader.mjs': `import fs, { promises } from 'node:fs'
      for (let i = 0; i < 3; i++) console.log((await promises.readFile('large.bin')).length, fs.readFileSync('large.bin').length)`,
  })
  const recorded = await record(agent)
  expect((await stat(lastTape().path)).size).toBeLessThan(1_500_000)
  await writeFile(join(workspace.folder, 'large.bin'), 'small')
  await expectSame(recorded.stdout)
})

test('a file without permission fails on replay as recorded', async () => {
  await put({
    'locked.txt': 'locked',
    'reader.mjs': `import fs from 'node:fs'
      try { fs.readFileSync('locked.txt/below') } catch (error) { console.log(error.stack.split('\\n')[0], error.errno, Object.keys(error).join()) }
      await fs.promises.readFile('nowhere.txt').catch((error) => console.log(error.stack.replace(/file:.*/, ''), error instanceof Error))`,
  })
  await chmod(join(workspace.folder, 'locked.txt'), 0o000)
  const recorded = await record(join(workspace.folder, 'reader.mjs'))
  expect(recorded.stdout).toContain('ENOTDIR')
  expect(recorded.stdout).toContain('reader.mjs')
  await expectSame(recorded.stdout)
})

describe('a .env file', () => {
  const secret = ['sk', 'very-secret-value', '123456'].join('-')
  const text = `NAME=plain\nAPI_KEY=${secret}\n`

  const ways = [
    'readFileSync',
    'readFile',
    'buffer',
    'stream',
    'lines',
    'handle',
    'descriptor',
    'copy',
    'local',
    'loadEnvFile',
  ]
  test.each(sampled(ways, (way) => /^(readFileSync|loadEnvFile)$/.test(way)))(
    'read by %s leaves no secret on the tape, and replays without it',
    async (way) => {
      await put({ '.env': text, '.env.local': text })
      const recorded = await record(agentPath('edge-env-file.mjs'), way)
      const tape = lastTape()
      for (const event of tape.events()) {
        const whole = JSON.stringify(event) + Buffer.from(tape.body(event.seq)).toString()
        expect(whole).not.toContain('very-secret')
        expect(whole).not.toContain(`made-${way}`)
      }
      expect(await readFile(join(workspace.folder, 'request.json'), 'utf8')).toContain(secret)
      await emptyTree(workspace.folder)
      await expectSame(recorded.stdout)
    },
  )
})

test('watched changes are replayed in order', async () => {
  const recorded = await record(agentPath('edge-watch.mjs'))
  expect(recorded.stdout).toContain('change of watched.txt')
  await emptyTree(workspace.folder)
  await expectSame(recorded.stdout)
})

test('a function is served from its tape while its process works with real files', async () => {
  const agent = agentPath('edge-file-function.mjs')
  const at = { cwd: workspace.folder }
  const dir = join(workspace.folder, '.retake')
  const recorded = await runTask({ mode: 'record', agent, base: '', dir, lingerMs: 150 }, at)
  expect(recorded.result.error).toBeUndefined()
  const left = join(workspace.folder, 'made', 'left-open.txt')
  expect(await readFile(left, 'utf8')).toBe('first last')
  await emptyTree(workspace.folder)
  const tape = recorded.result.run?.path ?? ''
  const replayed = await runTask({ mode: 'replay', agent, base: '', tape, lingerMs: 150 }, at)
  expect(replayed.result.error).toBeUndefined()
  expect(replayed.result.output).toEqual(recorded.result.output)
  expect(await readdir(workspace.folder)).toEqual(['.retake', 'host.txt'])
})

describe('an agent that was changed after it was recorded', () => {
  /** An edit, and where and how replay must stop. */
  interface Control {
    readonly title: string
    readonly edit: readonly [from: string, to: string]
    readonly at: string
    readonly kind?: DivergenceKind
    readonly summary: RegExp
  }
  const controls: readonly Control[] = [
    {
      title: 'other content written',
      edit: ['signed`', 'signed twice`'],
      at: 'fs.promises.writeFile',
      summary: /^fs\.promises\.writeFile out\/answer\.txt differs in line 3$/,
    },
    {
      title: 'another path written',
      edit: ['out/answer.txt', 'out/other.txt'],
      at: 'fs.promises.writeFile',
      summary: /^fs\.promises\.writeFile out\/other\.txt differs in title$/,
    },
    {
      title: 'another path read',
      edit: [`'rules.txt'`, `'order.json'`],
      at: 'fs.readFileSync',
      summary: /^fs\.readFileSync order\.json differs in title$/,
    },
    {
      title: 'another way to read',
      edit: [`readFileSync('rules.txt', 'utf8')`, `readFileSync('rules.txt').toString()`],
      at: 'fs.readFileSync',
      summary: /^fs\.readFileSync rules\.txt differs in as, /,
    },
    {
      title: 'other options',
      edit: [`{ recursive: true }`, `{ recursive: false }`],
      at: 'fs.mkdirSync',
      summary: /differs in body\[0\]\.recursive$/,
    },
    {
      title: 'other flags of a write',
      edit: [`{ flag: 'a' }`, `{ flag: 'w' }`],
      at: 'fs.appendFileSync',
      summary: /differs in title$/,
    },
    {
      title: 'other bytes to a descriptor',
      edit: [`Buffer.from('bytes')`, `Buffer.from('bytez')`],
      at: 'fs.writeSync',
      summary: /^fs\.writeSync out\/bytes\.bin \[0\] differs in line 1$/,
    },
    {
      title: 'another position in a file',
      edit: ['0, 5, 0)', '0, 5, 1)'],
      at: 'fs.writeSync',
      summary: /differs in title$/,
    },
    {
      title: 'another name looked up',
      edit: [`'localhost'`, `'localhost.localdomain'`],
      at: 'dns.promises.lookup',
      summary: /^dns\.promises\.lookup localhost\.localdomain differs in title$/,
    },
    {
      title: 'a missing read',
      edit: [`fs.readFileSync('rules.txt', 'utf8')`, `'fixed'`],
      at: 'fs.readFileSync',
      kind: 'unexpected',
      summary: /^the tape has fs\.readFileSync rules\.txt, the program did dns/,
    },
    {
      title: 'an extra read',
      edit: ['fs.mkdirSync', `fs.existsSync('out')\nfs.mkdirSync`],
      at: 'fs.mkdirSync',
      kind: 'unexpected',
      summary: /^the tape has fs\.mkdirSync out, the program did fs\.existsSync out$/,
    },
    {
      title: 'a missing write',
      edit: [`fs.appendFileSync('out/log.txt', 'answered\\n', { flag: 'a' })`, ''],
      at: 'fs.appendFileSync',
      kind: 'unexpected',
      summary: /^the tape has fs\.appendFileSync .*, the program did fs\.openSync out\/bytes\.bin$/,
    },
  ]

  const tested = sampled(controls, (_, index) => index % 6 === 0)
  test.each(tested.map((control) => [control.title, control] as const))(
    '%s stops replay at that call',
    async (_, control) => {
      const source = await readFile(agentPath('edge-file-control.mjs'), 'utf8')
      const agent = join(workspace.folder, 'agent.mjs')
      await put({ 'agent.mjs': source, 'order.json': '{"id":7}', 'rules.txt': 'be kind\n' })
      await record(agent)
      const tape = lastTape()
      const expected = [...tape.events()].find(
        (event) => event.type === 'call' && event.name === control.at,
      )
      const edited = source.replace(control.edit[0], () => control.edit[1])
      expect(edited).not.toBe(source)
      await put({ 'agent.mjs': edited })
      const before = await digestTree(workspace.folder)
      const { code, stdout } = await workspace.retake(['replay', 'last', '--json'])
      expect(code).toBe(3)
      const { divergences } = JSON.parse(stdout) as { divergences: Divergence[] }
      expect(divergences[0]).toMatchObject({
        seq: expected?.seq,
        kind: control.kind ?? 'different',
      })
      expect(divergences[0]?.summary).toMatch(control.summary)
      expect(await digestTree(workspace.folder)).toBe(before)
    },
  )
})

test('folders created on disk in the meantime do not matter', async () => {
  const recorded = await record(agentPath('edge-files.mjs'))
  await emptyTree(workspace.folder)
  await mkdir(join(workspace.folder, 'in'))
  await put({ 'in/text.txt': 'something else entirely', 'w-sync': 'in the way' })
  await expectSame(recorded.stdout)
  expect(await readFile(join(workspace.folder, 'w-sync'), 'utf8')).toBe('in the way')
})
