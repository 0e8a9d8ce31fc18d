import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Tape } from '@retake/tape'
import { expect, onTestFinished, test } from 'vitest'
import { replacesRecorded } from './code-loading.js'
import { RecordedCode } from './recorded-code.js'
import { changedSources } from './source-code.js'
import { sourceListOf } from './source-store.js'
import { storeCode } from './store-code.js'

/** A project whose code is recorded. */
function project(files: Readonly<Record<string, string>>, links: Readonly<Record<string, string>>) {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'retake-loading-')))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const at = (name: string): string => path.join(folder, name)
  const write = (name: string, text: string): void => {
    mkdirSync(path.dirname(at(name)), { recursive: true })
    writeFileSync(at(name), text)
  }
  const link = (name: string, target: string): void => {
    rmSync(at(name), { force: true })
    symlinkSync(target, at(name))
  }
  for (const [name, text] of Object.entries(files)) write(name, text)
  for (const [name, target] of Object.entries(links)) link(name, target)
  const runs = at('.retake/runs')
  const record = (entry: string, withTexts = false): Tape => {
    const code = storeCode(at(entry), folder, runs, { withTexts })
    const run = { id: 'a', scope: 'process' }
    return { path: path.join(runs, 'a.tape'), run, details: { cwd: folder, entry, code } } as never
  }
  const changed = (tape: Tape): string[] =>
    changedSources(tape).map((file) => path.relative(folder, file))
  return { folder, at, write, link, record, changed }
}

test('settings that load the same files in another way count as changed, others do not', () => {
  const { write, record, changed } = project(
    { 'package.json': '{ "version": "1.0.0" }', 'tsconfig.json': '{}', 'src/agent.mjs': '' },
    {},
  )
  const tape = record('src/agent.mjs')
  write('package.json', '{ "version": "2.0.0", "dependencies": { "a": "1" } }')
  expect(changed(tape)).toEqual([])
  write('package.json', '{ "type": "module" }')
  write('src/package.json', '{ "name": "x" }')
  expect(changed(tape)).toEqual(['package.json'])
  write('src/package.json', '{ "imports": {} }')
  write('tsconfig.json', '{ "compilerOptions": {} }')
  expect(changed(tape)).toEqual(['package.json', 'tsconfig.json', 'src/package.json'])
})

test('a link to a file or to a folder that leads elsewhere is changed, and the copy has the old target', () => {
  const { folder, at, link, record, changed } = project(
    {
      'package.json': '{}',
      'releases/1/agent.mjs': `import './lib.mjs'`,
      'releases/1/one.mjs': 'one',
      'releases/2/agent.mjs': 'two',
      'releases/2/lib.mjs': 'two',
    },
    { current: 'releases/1', 'releases/1/lib.mjs': 'one.mjs' },
  )
  const tape = record('current/agent.mjs')
  expect(sourceListOf(tape)?.links).toEqual({
    'current/agent.mjs': 'releases/1/agent.mjs',
    'releases/1/lib.mjs': 'releases/1/one.mjs',
  })
  expect(changed(tape)).toEqual([])
  link('current', 'releases/2')
  link('releases/1/lib.mjs', '../2/lib.mjs')
  expect(changed(tape)).toEqual(['current/agent.mjs', 'releases/1/lib.mjs'])
  using code = RecordedCode.required(tape)
  const read = (name: string): string => readFileSync(code.fileOf(at(name)) ?? '', 'utf8')
  expect(read('current/agent.mjs')).toBe(`import './lib.mjs'`)
  expect(read('releases/1/lib.mjs')).toBe('one')
  expect(readFileSync(path.join(folder, 'current/agent.mjs'), 'utf8')).toBe('two')
})

test('texts that modules read by a literal name are kept if wanted', () => {
  const { record } = project(
    {
      'package.json': '{}',
      'agent.mjs': `readFileSync(new URL('./prompts/a.md', import.meta.url)); readFile('b.txt'); readFileSync('large.json'); readFileSync(name)`,
      'prompts/a.md': 'a',
      'b.txt': 'b',
      'large.json': ' '.repeat(300_000),
    },
    {},
  )
  const names = (tape: Tape): string[] => Object.keys(sourceListOf(tape)?.settings ?? {}).toSorted()
  expect(names(record('agent.mjs'))).toEqual(['package.json'])
  expect(names(record('agent.mjs', true))).toEqual(['b.txt', 'package.json', 'prompts/a.md'])
})

test.each([
  ['lib.ts', 'lib.js', true],
  ['lib.mts', 'lib.mjs', true],
  ['lib.js', 'lib', true],
  ['package.json', 'agent.mjs', true],
  ['lib.js', 'lib.js', false],
  ['lib', 'lib.js', false],
  ['lib.json', 'lib.js', false],
  ['other.js', 'lib.js', false],
  ['lib.test.js', 'lib.js', false],
])('%s beside the recorded %s: replaces it %s', (name, recorded, expected) => {
  expect(replacesRecorded(name, new Set([recorded]))).toBe(expected)
})
