import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import compiler from 'typescript-5'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startEffectProvider } from '../support/effect-provider.mjs'
import { run } from '../support/run-retake.mjs'
import { folderWith } from './workspace.js'

const library = new URL('../../packages/cli/bundle/index.js', import.meta.url).href

let provider: Awaited<ReturnType<typeof startEffectProvider>>
beforeAll(async () => {
  provider = await startEffectProvider()
})
afterAll(() => provider.close())

const LIBRARY = `export const polite = (name) => {
  const text = 'Dear ' + name
  return text
}
`
const AGENT = `import { polite } from './lib.mjs'
const response = await fetch(process.env.AGENT_BASE_URL + '/effect', { method: 'POST', body: polite('Ann') })
const { seen } = await response.json()
const price = 30 + Math.floor(Math.random() * 10)
console.log(seen, price)
`
const env = (): Record<string, string> => ({ AGENT_BASE_URL: provider.url })
const files = (): Record<string, string> => ({ 'agent.mjs': AGENT, 'lib.mjs': LIBRARY })

/** Edits as people make them: a prompt, moved lines, code in another file, a deleted file. */
const EDITS: Readonly<Record<string, (folder: string) => void>> = {
  'another prompt': (folder) =>
    writeFileSync(join(folder, 'lib.mjs'), LIBRARY.replace('Dear', 'Hi')),
  'lines before it': (folder) => writeFileSync(join(folder, 'lib.mjs'), `// new\n\n${LIBRARY}`),
  'code in another file': (folder) => {
    renameSync(join(folder, 'lib.mjs'), join(folder, 'letters.mjs'))
    writeFileSync(join(folder, 'agent.mjs'), AGENT.replace('./lib', './letters'))
  },
  'code that does not compile': (folder) => writeFileSync(join(folder, 'lib.mjs'), 'export cons'),
  'a deleted file': (folder) => rmSync(join(folder, 'lib.mjs')),
}

test.each(Object.entries(EDITS))(
  'a past run is shown with its own code after %s',
  async (_, edit) => {
    const { folder, retake } = await folderWith(files())
    const recorded = await retake(['record', 'agent.mjs'], { env: env() })
    const price = recorded.stdout.trim().split(' ').at(-1) ?? ''
    edit(folder)
    const before = readdirSync(folder).toSorted()

    const replayed = await retake(['replay', 'last', '--code', 'recorded'])
    expect(replayed.stderr).toContain('identical')
    expect(replayed.stderr).toMatch(/code: as recorded; changed since: .*lib\.mjs/)
    expect(replayed.code).toBe(0)

    const note = /\d files? changed since this run; showing the recorded code/
    const evaluated = await retake(['debug', 'eval', 'last', '--at', 'lib.mjs:3', 'text'])
    expect(evaluated.stdout).toContain("'Dear Ann'")
    expect(evaluated.stderr).toMatch(note)
    const stepped = await retake(['debug', 'step', 'last', '--at', '1'], {
      input: 'next\nlocals\n',
    })
    expect(stepped.stdout).toMatch(/agent\.mjs:3/)
    const state = await retake(['replay', 'last', '--step', '1'])
    expect(state.stderr).toMatch(note)
    expect(state.stdout).toContain('const { seen } = await response.json()')
    const at = await retake(['debug', 'eval', 'last', '--at', 'agent.mjs:5', 'price'])
    expect(at.stdout).toContain(price)
    expect(readdirSync(folder).toSorted()).toEqual(before)
  },
)

test('a divergence after an edit names the file and how to run the recorded code', async () => {
  const { folder, retake } = await folderWith(files())
  await retake(['record', 'agent.mjs'], { env: env() })
  EDITS['another prompt']?.(folder)
  const { stderr } = await retake(['replay', 'last'])
  expect(stderr).toContain('Changed since the recording: lib.mjs.')
  expect(stderr).toMatch(/retake replay \S+ --code recorded/)
})

test('diff --code shows what changed and the first step that behaves differently', async () => {
  const { folder, retake } = await folderWith(files())
  await retake(['record', 'agent.mjs'], { env: env() })
  const same = await retake(['diff', 'last', '--code'])
  expect(same).toMatchObject({ code: 0, stdout: 'The code is the same.\n' })
  EDITS['lines before it']?.(folder)
  expect((await retake(['diff', 'last', '--code'])).stdout).toContain('No step behaves differently')
  EDITS['another prompt']?.(folder)
  const { code, stdout } = await retake(['diff', 'last', '--code', '--json'])
  expect(code).toBe(3)
  expect(JSON.parse(stdout)).toMatchObject({
    files: [{ path: 'lib.mjs', hunks: [{ before: 1, after: 1 }] }],
    behaves: 'differently',
    step: '1',
  })
  await retake(['record', 'agent.mjs'], { env: env() })
  const runs = await retake(['diff', 'last~1', 'last', '--code'])
  expect(runs.stdout).toMatch(/^Changed: 1 file\nFirst step that behaves differently: 1 /)
  expect(runs.stdout).toContain(
    "  -   const text = 'Dear ' + name\n  +   const text = 'Hi ' + name",
  )
  EDITS['code that does not compile']?.(folder)
  expect((await retake(['diff', 'last', '--code'])).stdout).toContain('ended with SyntaxError')
})

test('behind links, and for runs that are recorded together, the recorded code runs', async () => {
  const { folder, retake } = await folderWith({
    'package.json': '{}',
    'real/deep/agent.mjs': `import { word } from '../lib.mjs'\nconsole.log(word, Math.random())`,
    'real/lib.mjs': `export const word = 'old'`,
    'apps/a.txt': '',
  })
  symlinkSync('../real/deep', join(folder, 'apps/link'), 'junction')
  symlinkSync('apps', join(folder, 'also'), 'junction')
  const entries = ['apps/link/agent.mjs', join(folder, 'also/link/agent.mjs')]
  await Promise.all(entries.map((entry) => retake(['record', entry])))
  writeFileSync(join(folder, 'real/lib.mjs'), `export const word = 'new'`)
  for (const run of ['last', 'last~1']) {
    const { stderr, code } = await retake(['replay', run, '--code', 'recorded'])
    expect(stderr).toContain('changed since: real/lib.mjs')
    expect(code).toBe(0)
  }
})

test('damaged or missing sources are not used, and said', async () => {
  const { folder, retake } = await folderWith(files())
  await retake(['record', 'agent.mjs'], { env: env() })
  const store = join(folder, '.retake', 'sources')
  const file = readdirSync(store, { recursive: true, encoding: 'utf8' }).find((name) =>
    /[\da-f]{64}$/.test(name),
  )
  writeFileSync(join(store, file ?? ''), 'something else')
  EDITS['another prompt']?.(folder)
  const refused = await retake(['replay', 'last', '--code', 'recorded'])
  expect(refused.stderr).toContain('CODE_NOT_STORED')
  expect(refused.code).toBe(1)
  const { stderr } = await retake(['replay', 'last'])
  expect(stderr).not.toContain('--code recorded')
  rmSync(store, { recursive: true })
  expect(
    (await retake(['debug', 'eval', 'last', '--at', 'agent.mjs:5', 'price'])).stderr,
  ).toContain('changed since the recording: lib.mjs')
})

test('a store that cannot be written is said, and the run is recorded', async () => {
  const { folder, retake } = await folderWith({ ...files(), '.retake/sources': 'in the way' })
  const recorded = await retake(['record', 'agent.mjs'], { env: env() })
  expect(recorded.code).toBe(0)
  expect(recorded.stderr).toContain('the code of this run is not kept')
  expect((await retake(['replay', 'last'])).stderr).toContain('identical')
  expect(readFileSync(join(folder, '.retake/sources'), 'utf8')).toBe('in the way')
})

test('unchanged code is kept once, whatever the number of runs', async () => {
  const { folder, retake } = await folderWith(files())
  const stored = (): string[] =>
    readdirSync(join(folder, '.retake', 'sources'), {
      recursive: true,
      encoding: 'utf8',
    }).toSorted()
  await retake(['record', 'agent.mjs'], { env: env() })
  const first = stored()
  await retake(['record', 'agent.mjs'], { env: env() })
  expect(stored()).toEqual(first)
  const old = new Date(Date.now() - 2 * 60 * 60 * 1000)
  for (const name of stored()) utimesSync(join(folder, '.retake/sources', name), old, old)
  const remove = async (...args: string[]) =>
    JSON.parse((await retake(['rm', ...args, '--json'])).stdout) as { sourceBytes: number }
  expect(await remove('last', '--purge')).toMatchObject({ sourceBytes: 0 })
  expect(await remove('last')).toMatchObject({ sourceBytes: 0 })
  expect(stored()).toEqual(first)
  expect((await remove('--purge')).sourceBytes).toBeGreaterThan(100)
  expect(stored().filter((name) => name.length > 2)).toEqual([])
})

test('runs of a function carry their code, which is read once in a process', async () => {
  const { folder, retake } = await folderWith({
    'lib.mjs': LIBRARY,
    'agent.mjs': `import { defineAgent, tool } from '${library}'
import { polite } from './lib.mjs'
const price = tool('price', async ({ letter }) => letter + Math.random())
export const handle = defineAgent('agent.mjs#handle', async (name) => {
  const answer = await price({ letter: polite(name) })
  return answer
})`,
    'server.mjs': `import { appendFileSync } from 'node:fs'
import { record } from '${library}'
import { handle } from './agent.mjs'
await record({ name: 'first', input: 'Ann' }, handle)
appendFileSync('lib.mjs', '// edited while the server runs')
await record({ name: 'second', input: 'Bob' }, handle)
await record({ name: 'elsewhere', input: 'Cy', dir: 'tenant/runs' }, handle)
await record({ name: 'last', input: 'Dan' }, (name) => handle(name))`,
  })
  const served = await run(process.execPath, ['server.mjs'], folder)
  expect(served.stderr).toBe('')
  EDITS['another prompt']?.(folder)
  const elsewhere = readdirSync(join(folder, 'tenant/runs')).find((name) => name.endsWith('.tape'))
  for (const name of ['last~2', 'last~1', join('tenant/runs', elsewhere ?? '')]) {
    const { stderr } = await retake(['replay', name, '--code', 'recorded'])
    expect(stderr).toContain('identical')
    expect(stderr).toContain('changed since: lib.mjs')
  }
  const evaluated = await retake(['debug', 'eval', 'last~1', '--at', 'lib.mjs:3', 'text'])
  expect(evaluated.stdout).toContain("'Dear Bob'")
  const bare = await retake(['replay', 'last', '--code', 'recorded'])
  expect(bare.code).not.toBe(0)
})

test('threads and recorded child processes run their recorded code', async () => {
  const { folder, retake } = await folderWith({
    'agent.mjs': `import { spawnSync } from 'node:child_process'
import { Worker } from 'node:worker_threads'
const { stdout } = spawnSync(process.execPath, ['child.mjs'], { cwd: 'sub', encoding: 'utf8' })
new Worker(new URL('./worker.mjs', import.meta.url)).on('message', (m) => console.log(m, stdout))`,
    'worker.mjs': `import { parentPort } from 'node:worker_threads'
parentPort.postMessage('hello')`,
    'sub/child.mjs': `import { word } from './word.mjs'\nconsole.log(word, Math.random())`,
    'sub/word.mjs': `export const word = 'old'`,
  })
  await retake(['record', '--children', 'agent.mjs'])
  writeFileSync(join(folder, 'sub/word.mjs'), `export const word = 'new'`)
  writeFileSync(join(folder, 'worker.mjs'), '')
  const parent = await retake(['replay', 'last', '--code', 'recorded'])
  expect(parent.stderr).toContain('changed since: worker.mjs')
  expect(parent.code).toBe(0)
  const child = readdirSync(join(folder, '.retake/runs'), {
    recursive: true,
    encoding: 'utf8',
  }).find((name) => /\.children.*\.tape$/.test(name))
  const file = join('.retake/runs', child ?? '')
  const replayed = await retake(['replay', file, '--code', 'recorded'])
  expect(replayed.stderr).toContain('changed since: sub/word.mjs')
  expect(replayed.code).toBe(0)
})

test('a changed package is named, and --install replays with that of the recorded lock file', async () => {
  const manifest = (version: string) =>
    JSON.stringify({ name: 'dep', version, type: 'module', main: 'index.js' })
  const tarball = 'file:dep-1.0.0.tgz'
  const root = { name: 'p', dependencies: { dep: tarball } }
  const { folder, retake } = await folderWith({
    'agent.mjs': `import { word } from 'dep'\nconsole.log(word, Math.random())`,
    'package.json': JSON.stringify({ ...root, scripts: { postinstall: 'echo > installed' } }),
    'package-lock.json': JSON.stringify({
      name: 'p',
      lockfileVersion: 3,
      packages: { '': root, 'node_modules/dep': { version: '1.0.0', resolved: tarball } },
    }),
    'package/package.json': manifest('1.0.0'),
    'package/index.js': `export const word = 'one'`,
    'node_modules/dep/package.json': manifest('1.0.0'),
    'node_modules/dep/index.js': `export const word = 'one'`,
  })
  await run('tar', ['-czf', 'dep-1.0.0.tgz', 'package'], folder)
  await retake(['record', 'agent.mjs'])
  const installed = join(folder, 'node_modules/dep')
  writeFileSync(join(installed, 'package.json'), manifest('2.0.0'))
  writeFileSync(join(installed, 'index.js'), `export const word = 'two'`)
  const { stderr } = await retake(['replay', 'last', '--code', 'recorded'])
  expect(stderr).toContain('Changed since the recording: dep 1.0.0 → 2.0.0.')
  expect(stderr).toContain('--code recorded --install')
  const changes = await retake(['diff', 'last', '--code'])
  expect(changes.stdout).toMatch(/^Changed: 1 package\n[^]*\npackages\n {2}dep 1\.0\.0 → 2\.0\.0\n/)
  const offline = { env: { npm_config_offline: 'true' } }
  const replayed = await retake(['replay', 'last', '--code', 'recorded', '--install'], offline)
  expect(replayed.stderr).toContain('identical')
  expect(replayed.code).toBe(0)
  expect(readFileSync(join(installed, 'index.js'), 'utf8')).toContain('two')
  expect(readdirSync(folder)).not.toContain('installed')
  rmSync(join(folder, 'dep-1.0.0.tgz'))
  const failed = await retake(['replay', 'last', '--code', 'recorded', '--install'], offline)
  expect(failed.stderr).toContain('PACKAGES_NOT_INSTALLED')
  expect(failed.code).toBe(1)
})

test('another TypeScript that compiles decorators is named', async () => {
  const { folder, retake } = await folderWith({
    'agent.ts': `const logged = (call: () => number, _: ClassMethodDecoratorContext) => () => call() + 1
class Agent {
  @logged answer(): number { return 41 }
}
console.log(new Agent().answer(), Math.random())`,
    'package.json': '{}',
  })
  const use = (name: string): void => {
    const link = join(folder, 'node_modules/typescript')
    rmSync(link, { force: true })
    symlinkSync(fileURLToPath(new URL(`../../node_modules/${name}`, import.meta.url)), link)
  }
  mkdirSync(join(folder, 'node_modules'))
  use('typescript-5')
  expect((await retake(['record', 'agent.ts'])).stdout).toMatch(/^42 /)
  expect((await retake(['replay', 'last'])).stderr).toContain('identical')
  use('typescript')
  const { stderr } = await retake(['replay', 'last'])
  expect(stderr).toMatch(/Changed since the recording: typescript 5\.\S+ → 7\./)
})

test('lines of compiled code are shown as they were written', async () => {
  const { folder, retake } = await folderWith({ 'package.json': '{ "type": "module" }' })
  const source =
    'export const answer: number = Math.random()\nexport const twice: number = answer * 2\n'
  const compile = (text: string): void => {
    const compiled = compiler.transpileModule(text, {
      fileName: 'agent.ts',
      compilerOptions: { module: compiler.ModuleKind.ESNext, sourceMap: true },
    })
    for (const [name, content] of Object.entries({
      'src/agent.ts': text,
      'dist/agent.js': compiled.outputText,
      'dist/agent.js.map': (compiled.sourceMapText ?? '').replace(
        '"agent.ts"',
        '"../src/agent.ts"',
      ),
    })) {
      mkdirSync(dirname(join(folder, name)), { recursive: true })
      writeFileSync(join(folder, name), content)
    }
  }
  compile(`await fetch(process.env['AGENT_BASE_URL'] + '/effect', { method: 'POST' })\n${source}`)
  await retake(['record', '--node-arg=--enable-source-maps', 'dist/agent.js'], { env: env() })
  const snapshot = await retake(['debug', 'snapshot', 'last'])
  expect(snapshot.code, snapshot.stderr).toBe(0)
  const shown = async (): Promise<string> =>
    (await retake(['show', 'last', '--step', '1', '--state'])).stdout
  const before = await shown()
  expect(before).toMatch(/src\/agent\.ts:2:\d+\n/)
  compile(`// Written again\n// by somebody\n${source}`)
  const note = 'the file has changed since; showing the recorded code\n'
  expect(await shown()).toContain(note)
  expect((await shown()).replace(note, '')).toBe(before)
})
