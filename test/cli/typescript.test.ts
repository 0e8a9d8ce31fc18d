import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { folderWith } from './workspace.js'
import { run } from '../support/run-retake.mjs'
import { isSoak, sampled, soakOnly } from '../support/soak.js'

/** A folder with files in subfolders. */
async function project(files: Readonly<Record<string, string>>) {
  const workspace = await folderWith({})
  for (const [name, text] of Object.entries(files)) {
    const path = join(workspace.folder, name)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, text)
  }
  return workspace
}

test('a loader that hooks require compiles the agent, as without Retake', async () => {
  const { retake, folder } = await project({
    'package.json': '{ "type": "commonjs" }',
    'node_modules/ts-node/register/index.js': `const { readFileSync } = require('fs')
require.extensions['.ts'] = (module, file) =>
  module._compile(readFileSync(file, 'utf8').replace(/import (.*) = (.*)/, 'const $1 = $2'), file)`,
    // Node alone cannot run this syntax.
    'main.ts': `import path = require('path')
console.log(path.basename(__filename), require.main === module, Math.random() < 2)`,
  })
  const args = ['--require=ts-node/register', 'main.ts']
  const plain = await run(process.execPath, args, folder)
  expect(plain).toMatchObject({ code: 0, stdout: 'main.ts true true\n' })
  const recorded = await retake(['record', `--node-arg=${args[0]}`, 'main.ts'])
  expect(recorded).toMatchObject({ code: 0, stdout: plain.stdout })
  expect(await retake(['replay', 'last'])).toMatchObject({ code: 0, stdout: plain.stdout })
})

test('imports resolve the way TypeScript authors write them', async () => {
  const { retake } = await project({
    'package.json': '{ "type": "commonjs" }',
    'main.ts': `import { Shape, area } from './lib/shape'
import deep, { Level } from './lib/deep'
import { fromCts } from './cjs/plain.cjs'
import { fromMts } from './lib/em.mjs'
import { Only } from './lib/only.js'
const shape: Shape = { width: 2, height: 3 }
const only = { a: 1 } satisfies Only
import path = require('path')
console.log(area(shape), deep, Level.Two, fromCts(), fromMts, only.a, path.basename('/a/b'))
console.log((await import('./lib/lazy.js')).default)`,
    'lib/shape.ts': `export interface Shape { width: number; height: number }
export const area = ({ width, height }: Shape): number => width * height`,
    'lib/deep/index.ts': `export enum Level { One = 1, Two }
export default 'deep' as string`,
    'lib/em.mts': `export const fromMts: string = 'mts'`,
    'lib/only.ts': `export interface Only { a: number }`,
    'lib/lazy.ts': `export default 'lazy' as string`,
    'cjs/plain.cts': `const { other } = require('./other') as { other: () => string }
exports.fromCts = (): string => [__filename.split('/').at(-1), other()].join()`,
    'cjs/other.ts': `enum Word { Hello = 'hello' }
module.exports = { other: (): string => Word.Hello }`,
  })
  const expected = '6 deep 2 plain.cts,hello mts 1 b\nlazy\n'
  expect(await retake(['record', 'main.ts'])).toMatchObject({ stdout: expected, code: 0 })
  expect(await retake(['replay', 'last'])).toMatchObject({ stdout: expected, code: 0 })
})

test('paths of tsconfig.json resolve, also through extends and with comments', async () => {
  soakOnly()
  const { retake } = await project({
    'package.json': '{ "type": "module" }',
    'tsconfig.base.json': `{ "compilerOptions": { "baseUrl": ".", "paths": { "@lib/*": ["src/lib/*"], "config": ["src/config.ts"] } } }`,
    'tsconfig.json': `{
  // Comments and trailing commas are common here.
  "extends": "./tsconfig.base.json",
}`,
    'src/main.ts': `import { word } from '@lib/word.js'
import { config } from 'config'
console.log(word, config)`,
    'src/lib/word.ts': `export const word: string = 'aliased'`,
    'src/config.ts': `export const config: number = 1`,
  })
  expect(await retake(['record', 'src/main.ts'])).toMatchObject({ stdout: 'aliased 1\n', code: 0 })
  expect(await retake(['replay', 'last'])).toMatchObject({ stdout: 'aliased 1\n', code: 0 })
})

test('errors point at the line of the source, whether types were blanked or rewritten', async () => {
  const { retake, folder } = await project({
    'blanked.ts': `interface Order { id: string }

const order: Order = { id: 'x' }
throw new Error(order.id satisfies string)
`,
    'rewritten.ts': `enum Mood {
  Calm,
}
namespace Space {
  export const mood: Mood = Mood.Calm
}
throw new Error(String(Space.mood))
`,
  })
  const blanked = await retake(['record', 'blanked.ts'])
  expect(blanked.stderr).toContain(`${join(folder, 'blanked.ts')}:4:7`)
  const rewritten = await retake(['record', 'rewritten.ts'])
  expect(rewritten.stderr).toContain(`${join(folder, 'rewritten.ts')}:7:7`)
  expect((await retake(['replay', 'last'])).code).toBe(1)
})

test('a syntax error in an imported file names that file once', async () => {
  soakOnly()
  const { retake, folder } = await project({
    'main.ts': `import { broken } from './broken.ts'\nconsole.log(broken)`,
    'broken.ts': `export const broken: string = 'a' 'b'`,
  })
  const { stderr, code } = await retake(['record', 'main.ts'])
  expect(code).toBe(1)
  expect(stderr.match(/^SyntaxError: /gm)).toHaveLength(1)
  expect(stderr).toContain(`${join(folder, 'broken.ts')}:1:35`)
  expect(stderr).not.toMatch(/packages\/(cli|engine|tape)\//)
})

test('decorators without a compiler are one error of four lines, recorded and replayed', async () => {
  const { retake } = await project({
    'main.ts': `import './tool.ts'\nconsole.log('ran')`,
    'tool.ts': `const named = (tool: unknown) => tool\nexport class Tool { @named hammer(): void {} }`,
  })
  for (const args of [
    ['record', 'main.ts'],
    ['replay', 'last'],
  ]) {
    const { stdout, stderr, code } = await retake(args)
    expect({ stdout, code }).toEqual({ stdout: '', code: 1 })
    expect(stderr).toMatch(
      /^error .+tool\.ts uses decorators.+\n {2}why .+\n {2}fix .+typescript@5.+\n {2}code DECORATORS_NOT_COMPILED\n(?:recorded|identical)/,
    )
  }
})

test.each(sampled(['module', 'commonjs'], (type) => type === 'module'))(
  'decorators in a package of type %s are compiled by the TypeScript of the project, as its tsconfig says',
  async (type) => {
    const { folder, retake } = await project({
      'package.json': JSON.stringify({ type }),
      'main.ts': `import { Tool } from './legacy/tool.js'
enum Mood { Calm = 'calm' }
function logged<T extends (...args: never[]) => unknown>(call: T, { name }: ClassMethodDecoratorContext): T {
  return function (this: unknown, ...args: never[]) {
    console.log('call', String(name), Math.random())
    return call.apply(this, args)
  } as T
}
class Agent {
  constructor(private readonly mood: Mood) {}
  @logged ask(question: string): string { return question + this.mood }
}
console.log(new Agent(Mood.Calm).ask('x'), new Tool().name)`,
      'legacy/tool.ts': `function field(target: object, key: string): void { console.log('field', key, typeof target) }
export class Tool { @field kind: string = 'tool'; name = 'hammer' }`,
      'legacy/tsconfig.json': `{ "compilerOptions": { "experimentalDecorators": true /* yes */ } }`,
    })
    const compiler = fileURLToPath(new URL('../../node_modules/typescript-5', import.meta.url))
    await mkdir(join(folder, 'node_modules'))
    await symlink(compiler, join(folder, 'node_modules/typescript'))
    const recorded = await retake(['record', 'main.ts'])
    expect(recorded.stdout, recorded.stderr).toMatch(
      /^field kind object\ncall ask 0\.\d+\nxcalm hammer\n$/,
    )
    expect(recorded.stderr).not.toContain('not captured')
    const replayed = await retake(['replay', 'last'])
    expect(replayed.stdout).toBe(recorded.stdout)
    expect(replayed.stderr).toMatch(/^identical/)
  },
)

test.runIf(isSoak).each(['module', 'commonjs'])(
  'in a package of type %s tsx compiles the agent outside the run, with a cold and a warm cache',
  async (type) => {
    const { folder, retake } = await project({
      'package.json': JSON.stringify({ type }),
      'main.ts': `import { word } from './lib/word.js'
function logged<T extends (...args: never[]) => unknown>(call: T, { name }: ClassMethodDecoratorContext): T {
  return function (this: unknown, ...args: never[]) {
    console.log('call', String(name), Math.random())
    return call.apply(this, args)
  } as T
}
class Agent {
  @logged async ask(question: string): Promise<string> { return question + Date.now() }
}
void new Agent().ask(word).then(async (answer) => {
  const { late } = await import('./lib/late.js')
  console.log(answer, late)
})`,
      'lib/word.ts': `enum Word { Hello = 'hello' }\nexport const word: string = Word.Hello`,
      'lib/late.ts': `export const late: number = Math.random()`,
    })
    const modules = fileURLToPath(new URL('../../node_modules', import.meta.url))
    await symlink(modules, join(folder, 'node_modules'))
    const cache = join(folder, 'tmp')
    const env = { TMPDIR: cache, TEMP: cache, TMP: cache }
    const empty = async (): Promise<void> => {
      await rm(cache, { recursive: true, force: true })
      await mkdir(cache)
    }
    await empty()
    const recorded = await retake(['record', '--strict', '--node-arg=--import=tsx', 'main.ts'], {
      env,
    })
    expect(recorded.stdout, recorded.stderr).toMatch(/^call ask 0\.\d+\nhello\d+ 0\.\d+\n$/)
    expect(recorded.code, recorded.stderr).toBe(0)
    for (const isCold of [false, false, true]) {
      if (isCold) await empty()
      const replayed = await retake(['replay', 'last'], { env })
      expect(replayed.stdout, replayed.stderr).toBe(recorded.stdout)
      expect(replayed.code, replayed.stderr).toBe(0)
    }
    const again = await retake(['record', '--strict', 'main.ts'], {
      env: { ...env, NODE_OPTIONS: '--import=tsx' },
    })
    expect(again.code, again.stderr).toBe(0)
    expect(await retake(['replay', 'last'], { env })).toMatchObject({
      stdout: again.stdout,
      code: 0,
    })
  },
)
