import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Tape } from '@retake/tape'
import { changedSources, packageChanges, packageChangeText, readCode } from './source-code.js'

/** Writes files to a folder that is removed at the end of the test. */
function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'retake-code-')))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true })
    writeFileSync(path.join(folder, file), text)
  }
  return folder
}

const filesOf = (folder: string, entry: string): string[] =>
  Object.keys(readCode(path.join(folder, entry), folder).code.files).toSorted()

test('imports by relative path, and by aliases of package.json and tsconfig.json, are part of the code', () => {
  const folder = folderWith({
    'agent.ts': `import './a.js'; import '#lib/b'; import { c } from '@/c'; import 'openai'`,
    'a.ts': '',
    'lib/b.mjs': '',
    'src/c/index.ts': '',
    'package.json': JSON.stringify({ imports: { '#lib/*': { default: './lib/*.mjs' } } }),
    'tsconfig.json': `{ "compilerOptions": { "paths": { "@/*": ["./src/*"] } } } // the code`,
    'node_modules/openai/index.js': '',
    'node_modules/openai/package.json': '{ "version": "6.0.0" }',
  })
  expect(filesOf(folder, 'agent.ts')).toEqual(['a.ts', 'agent.ts', 'lib/b.mjs', 'src/c/index.ts'])
})

test('JSON, worker threads and started processes are part of the code', () => {
  const folder = folderWith({
    'agent.mjs': `
      import prices from './prices.json' with { type: 'json' }
      new Worker(new URL('./worker.mjs', import.meta.url))
      fork(new URL("child.mjs", import.meta.url), [])
      new Worker(require.resolve('./old.cjs')); import.meta.resolve('./hooks.mjs')
      readFile(new URL('./data.csv', import.meta.url)); new URL('https://example.com/x.js')`,
    'old.cjs': `const rates = require('./rates.json'), names = require('./names')`,
    'child.mjs': '',
    'hooks.mjs': '',
    'worker.mjs': `import './deep.mjs'`,
    'deep.mjs': '',
    'data.csv': '',
    'prices.json': '{}',
    'rates.json': '{}',
    'names.json': '{}',
  })
  expect(filesOf(folder, 'agent.mjs')).toEqual([
    'agent.mjs',
    'child.mjs',
    'deep.mjs',
    'hooks.mjs',
    'names.json',
    'old.cjs',
    'prices.json',
    'rates.json',
    'worker.mjs',
  ])
})

test('source maps of compiled files are kept with the sources that they name', () => {
  const sources = ['../src/agent.ts', '../node_modules/x/x.ts', 'webpack://x/y.ts', '/etc/hosts', 7]
  const inline = Buffer.from(JSON.stringify({ sources: ['../src/lib.ts'] })).toString('base64')
  const folder = folderWith({
    'package.json': '{}',
    'dist/agent.js': `import './lib.js'; import './broken.js'\n//# sourceMappingURL=agent.js.map\n`,
    'dist/agent.js.map': JSON.stringify({ sources }),
    'dist/lib.js': `//# sourceMappingURL=data:application/json;charset=utf-8;base64,${inline}`,
    'dist/broken.js': '//# sourceMappingURL=broken.js.map',
    'dist/broken.js.map': 'null',
    'src/agent.ts': 'let a: number',
    'src/lib.ts': '',
    'node_modules/x/x.ts': '',
  })
  const { code } = readCode(path.join(folder, 'dist/agent.js'), folder)
  expect(Object.keys(code.settings ?? {}).toSorted()).toEqual([
    'dist/agent.js.map',
    'package.json',
    'src/agent.ts',
    'src/lib.ts',
  ])
  const details = { cwd: folder, entry: 'dist/agent.js', code }
  const file = path.join(folder, '.retake/runs/a.tape')
  const tape = { path: file, run: { scope: 'process' }, details } as unknown as Tape
  expect(changedSources(tape)).toEqual([])
  writeFileSync(path.join(folder, 'src/agent.ts'), 'let b: string')
  writeFileSync(path.join(folder, 'package.json'), '{ "private": true }')
  expect(changedSources(tape)).toEqual([path.join(folder, 'src/agent.ts')])
})

test.each([
  ['@acme/tools', {}, 'index.js'],
  ['@acme/tools', { main: 'lib/main.js' }, 'lib/main.js'],
  ['@acme/tools', { exports: './lib/main.js' }, 'lib/main.js'],
  ['@acme/tools', { exports: { import: './lib/main.js', require: './x.cjs' } }, 'lib/main.js'],
  ['@acme/tools/sky', { exports: { '.': './index.js', './*': './lib/*.js' } }, 'lib/sky.js'],
  ['@acme/tools/lib/sky.js', {}, 'lib/sky.js'],
])('%s of a workspace with the manifest %j is part of the code', (specifier, manifest, file) => {
  const folder = folderWith({
    'agent/agent.mjs': `export { x } from '${specifier}'`,
    [`tools/${file}`]: `import '../deep.js'; import './deep.js'`,
    'tools/deep.js': '',
    'tools/package.json': JSON.stringify({ version: '1.0.0', ...manifest }),
  })
  mkdirSync(path.join(folder, 'node_modules/@acme'), { recursive: true })
  symlinkSync(path.join(folder, 'tools'), path.join(folder, 'node_modules/@acme/tools'), 'junction')
  expect(filesOf(folder, 'agent/agent.mjs')).toEqual(
    ['agent/agent.mjs', `tools/${file}`, 'tools/deep.js'].toSorted(),
  )
})

test('installed packages are listed with their versions, also those that pnpm links', () => {
  const folder = folderWith({
    'agent.mjs': `import OpenAI from 'openai'; import fs from 'node:fs'`,
    'node_modules/.pnpm/openai/node_modules/openai/index.js': '',
    'node_modules/.pnpm/openai/node_modules/openai/package.json': '{ "version": "6.0.0" }',
  })
  const store = path.join(folder, 'node_modules/.pnpm/openai/node_modules/openai')
  symlinkSync(store, path.join(folder, 'node_modules/openai'), 'junction')
  expect(readCode(path.join(folder, 'agent.mjs'), folder).code).toEqual({
    files: { 'agent.mjs': expect.any(String) as string },
    packages: { openai: '6.0.0' },
    settings: {},
  })
})

test('a package of the workspace has dependencies of its own, and Retake is not part of the code', () => {
  const folder = folderWith({
    'agent/agent.mjs': `import '@acme/tools'; import 'retake'`,
    'tools/index.js': `import 'openai'`,
    'tools/package.json': '{ "version": "1.0.0" }',
    'tools/node_modules/openai/package.json': '{ "version": "6.0.0" }',
    'clone/package.json': '{ "name": "retake", "version": "0.1.0", "main": "index.js" }',
    'clone/index.js': `import 'yaml'`,
  })
  mkdirSync(path.join(folder, 'node_modules/@acme'), { recursive: true })
  for (const [from, to] of [
    ['tools', '@acme/tools'],
    ['clone', 'retake'],
  ] as const)
    symlinkSync(path.join(folder, from), path.join(folder, 'node_modules', to), 'junction')
  const cwd = path.join(folder, 'agent')
  const { code } = readCode(path.join(cwd, 'agent.mjs'), cwd)
  expect(code).toEqual({
    files: {
      'agent.mjs': expect.any(String) as string,
      '../tools/index.js': expect.any(String) as string,
    },
    packages: { '@acme/tools': '1.0.0', openai: '6.0.0', retake: '0.1.0' },
    settings: { '../tools/package.json': expect.any(String) as string },
  })
  const tape = { run: { scope: 'process' }, details: { cwd, entry: 'agent.mjs', code } }
  const changed = (): string[] =>
    packageChanges(tape as unknown as Tape, undefined).map(packageChangeText)
  expect(changed()).toEqual([])
  const manifest = path.join(folder, 'tools/node_modules/openai/package.json')
  writeFileSync(manifest, '{ "version": "7.0.0" }')
  expect(changed()).toEqual(['openai 6.0.0 → 7.0.0'])
  rmSync(manifest)
  expect(changed()).toEqual(['openai 6.0.0 → not installed'])
})
