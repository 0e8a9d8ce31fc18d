import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Tape } from '@retake/tape'
import { expect, onTestFinished, test } from 'vitest'
import { PLAIN_LOOK } from '../terminal/terminal.js'
import { codeChangeLines, codeChanges } from './code-changes.js'
import { SourceStore } from './source-store.js'
import { storeCode } from './store-code.js'

/** A project whose files can be changed, and recorded as a run. */
function project(files: Readonly<Record<string, string | undefined>>) {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'retake-changes-')))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const write = (changed: typeof files): void => {
    for (const [name, text] of Object.entries(changed)) {
      const file = path.join(folder, name)
      mkdirSync(path.dirname(file), { recursive: true })
      if (text === undefined) rmSync(file)
      else writeFileSync(file, text)
    }
  }
  write(files)
  const record = (node = process.version): Tape => {
    const runs = path.join(folder, '.retake/runs')
    const code = storeCode(path.join(folder, 'agent.mjs'), folder, runs)
    const tape = {
      path: path.join(runs, 'a.tape'),
      run: { id: 'a', scope: 'process', node },
      details: { cwd: folder, entry: 'agent.mjs', code },
      events: () => [],
    }
    return tape as unknown as Tape
  }
  return { write, record }
}

// Put together here, so that no key is in the repository.
const key = (end: string): string => ['sk', 'proj', `${'a1B2c3D4'.repeat(6)}${end}`].join('-')

test('files, packages and Node that changed since a run are shown, without secrets', () => {
  const { write, record } = project({
    'agent.mjs': `import './lib.mjs'\nimport './old.mjs'\nimport 'openai'\n`,
    'lib.mjs': `const key = '${key('AA')}'\nconst a = 1\n`,
    'old.mjs': 'old()\n',
    'package.json': '{}\n',
    'package-lock.json': '{ "lockfileVersion": 3 }',
    'node_modules/openai/package.json': '{ "version": "6.0.0" }',
    'node_modules/zod/package.json': '{ "version": "4.0.0" }',
  })
  const tape = record('v18.0.0')
  expect(codeChanges(record())).toEqual({ files: [], packages: [] })
  write({
    'agent.mjs': `import './lib.mjs'\nimport './new.mjs'\nimport 'openai'\nimport 'zod'\n`,
    'lib.mjs': `const key = '${key('BB')}'\nconst a = 2\n`,
    'old.mjs': undefined,
    'new.mjs': 'added()\n',
    'package-lock.json': '{ "lockfileVersion": 4 }',
    'node_modules/openai/package.json': '{ "version": "7.0.0" }',
  })
  const changes = codeChanges(tape)
  expect(changes.files.map(({ path: file, change, why }) => [file, change, why])).toEqual([
    ['agent.mjs', 'changed', undefined],
    ['lib.mjs', 'changed', undefined],
    ['new.mjs', 'added', undefined],
    ['old.mjs', 'deleted', undefined],
    ['package-lock.json', 'changed', 'long'],
  ])
  const [, lib] = changes.files
  expect(lib?.hunks).toHaveLength(1)
  expect(lib?.hunks[0]?.lines.slice(1)).toEqual(['-const a = 1', '+const a = 2'])
  expect(JSON.stringify(changes)).not.toContain('a1B2c3D4')
  expect(changes.packages).toEqual([
    { name: 'openai', before: '6.0.0', after: '7.0.0' },
    { name: 'zod', after: '4.0.0' },
  ])
  expect(changes.node).toEqual({ before: 'v18.0.0', after: process.version })
  const lines = codeChangeLines(changes, { ...PLAIN_LOOK, width: 24 }, false)
  expect(lines.filter((line) => line.length > 24 && !line.startsWith('Node'))).toEqual([])
  expect(lines).toContain('  + const a = 2')
  expect(lines).toContain('  openai 6.0.0 → 7.0.0')
})

test('two runs are compared with each other, not with today', () => {
  const { write, record } = project({ 'agent.mjs': 'let a = 1\n', 'package.json': '{}' })
  const before = record()
  write({ 'agent.mjs': `let a = 1\n${'more()\n'.repeat(100)}` })
  const after = record()
  write({ 'agent.mjs': 'let today' })
  const { files } = codeChanges(before, after)
  expect(files).toMatchObject([{ path: 'agent.mjs', change: 'changed', hunks: [{ before: 1 }] }])
  const lines = codeChangeLines({ files, packages: [] }, PLAIN_LOOK, false)
  expect(lines.at(-1)).toMatch(/… 4\d more lines/)
  expect(codeChangeLines({ files, packages: [] }, PLAIN_LOOK, true)).toHaveLength(104)
})

test('a compiled file is only named, and so is one whose recorded text is missing', () => {
  const { write, record } = project({
    'agent.mjs': `import './lib.mjs'\n//# sourceMappingURL=agent.mjs.map`,
    'agent.mjs.map': '{ "sources": ["src/agent.ts"] }',
    'src/agent.ts': 'let a: number\n',
    'lib.mjs': 'one',
    'package.json': '{}',
  })
  const tape = record()
  write({
    'agent.mjs': `import './lib.mjs' // compiled again\n//# sourceMappingURL=agent.mjs.map`,
    'agent.mjs.map': '{ "sources": ["src/agent.ts"], "names": [] }',
    'src/agent.ts': 'let a: string\n',
    'lib.mjs': 'two',
  })
  const { list = '' } = tape.details.code ?? {}
  const store = SourceStore.besideRuns(path.dirname(tape.path))
  const bytes = store.read(list) ?? Buffer.alloc(0)
  rmSync(store.folder, { recursive: true })
  expect(() => codeChanges(tape)).toThrow('is not available')
  store.keep(new Map([[list, bytes]]))
  expect(codeChanges(tape).files).toEqual([
    { path: 'agent.mjs', change: 'changed', hunks: [], why: 'generated' },
    { path: 'lib.mjs', change: 'changed', hunks: [], why: 'not kept' },
    { path: 'src/agent.ts', change: 'changed', hunks: [], why: 'not kept' },
  ])
  const without = { run: tape.run, details: { entry: 'agent.mjs' } } as unknown as Tape
  expect(() => codeChanges(without)).toThrow('is not available')
})
