import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Tape } from '@retake/tape'
import { codeNotStored } from './recorded-code.js'
import { readCode } from './source-code.js'
import { shaOf, SourceStore } from './source-store.js'
import { storeCode } from './store-code.js'
import { removeUnusedSources } from './unused-sources.js'

const FILES: Readonly<Record<string, string>> = {
  'agent.ts': `import './lib.js'; import './deep'; import '@/alias'; import 'openai'; import('./later.mjs')`,
  'lib.ts': 'export const a = 1',
  'deep/index.js': '',
  'later.mjs': '',
  'src/alias.ts': '',
  'package.json': '{}',
  'base.json': '{ "compilerOptions": { "paths": { "@/*": ["./src/*"] } } }',
  'tsconfig.json': '{ "extends": "./base.json" }',
  'node_modules/openai/package.json': '{ "version": "6.0.0" }',
  'other/lib.ts': 'export const a = 2',
}

/** A project that nobody has touched for a minute. */
function project(files = FILES) {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'retake-known-')))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const [name, text] of Object.entries(files)) write(folder, name, text)
  const now = Date.now()
  vi.spyOn(Date, 'now').mockImplementation(() => now + 60_000)
  onTestFinished(() => void vi.restoreAllMocks())
  const runs = path.join(folder, '.retake/runs')
  const entry = path.join(folder, 'agent.ts')
  const store = SourceStore.besideRuns(runs)
  return { folder, runs, entry, store, keep: () => storeCode(entry, folder, runs) }
}

function write(folder: string, name: string, text: string): void {
  const file = path.join(folder, name)
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(file, text)
  utimesSync(file, SAVED_AT, SAVED_AT)
}

/** In seconds. Tools that unpack files set such times. */
const SAVED_AT = 1_700_000_000

const fileOf = ({ folder }: SourceStore, sha: string): string =>
  path.join(folder, sha.slice(0, 2), sha)

const bytesBelow = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(path.join(parentPath, name)).size, 0)

test('unchanged code is not read again, and its list has literal dynamic imports', () => {
  const { folder, entry, store, keep } = project()
  const code = keep()
  expect(Object.keys(store.list(code.list)?.files ?? {})).toContain('later.mjs')
  expect(readdirSync(path.join(store.folder, 'known'))).toHaveLength(1)
  // Only the times are looked at.
  const sha = shaOf(Buffer.from(FILES['lib.ts'] ?? ''))
  rmSync(fileOf(store, sha))
  expect(keep()).toEqual(code)
  expect(existsSync(fileOf(store, sha))).toBe(false)
  expect(readCode(entry, folder).list).toEqual(store.list(code.list))
})

test.each<[string, (folder: string) => void]>([
  [
    'a file with the same size and time',
    (folder) => {
      writeFileSync(path.join(folder, 'lib.ts'), 'export const a = 2')
      utimesSync(path.join(folder, 'lib.ts'), SAVED_AT, SAVED_AT)
    },
  ],
  [
    'a file that another one replaced',
    (folder) => renameSync(path.join(folder, 'other/lib.ts'), path.join(folder, 'lib.ts')),
  ],
  ['a deleted file', (folder) => rmSync(path.join(folder, 'lib.ts'))],
  ['a file that is found first', (folder) => write(folder, 'lib.js', '')],
  ['a file in place of a folder', (folder) => write(folder, 'deep.js', '')],
  ['a package', (folder) => write(folder, 'node_modules/openai/package.json', '{"version":"7"}')],
  [
    'a package that is gone',
    (folder) => rmSync(path.join(folder, 'node_modules'), { recursive: true }),
  ],
  ['a nearer package', (folder) => write(folder, 'src/node_modules/openai/package.json', '{}')],
  ['a lock file', (folder) => write(folder, 'package-lock.json', '{}')],
  [
    'a configuration that another one extends',
    (folder) => write(folder, 'base.json', '{ "compilerOptions": { "paths": {} } }'),
  ],
  [
    'a link',
    (folder) => {
      rmSync(path.join(folder, 'lib.ts'))
      symlinkSync('other/lib.ts', path.join(folder, 'lib.ts'))
    },
  ],
])('%s that changed is noticed', (_, edit) => {
  const { folder, entry, store, keep } = project()
  keep()
  edit(folder)
  const { list } = keep()
  expect(store.list(list)).toEqual(readCode(entry, folder).list)
})

test('new files that nobody imports, and a damaged snapshot, do not change the code', () => {
  const { folder, store, keep } = project()
  const code = keep()
  write(folder, 'out.txt', 'output')
  write(folder, 'deep/notes.txt', 'notes')
  const [name = ''] = readdirSync(path.join(store.folder, 'known'))
  const file = path.join(store.folder, 'known', name)
  const before = readFileSync(file)
  expect(keep()).toEqual(code)
  expect(readFileSync(file).equals(before)).toBe(true)
  for (const text of ['', 'null', '{"format":1}', before.toString().slice(0, 99)]) {
    writeFileSync(file, text)
    expect(keep()).toEqual(code)
  }
})

test('files that were just written are read again, because their times say nothing', () => {
  const { folder, store, keep } = project()
  vi.restoreAllMocks()
  write(folder, 'lib.ts', 'export const a = 3')
  keep()
  expect(readdirSync(store.folder)).not.toContain('known')
})

test('contents that were found to be missing are kept again', () => {
  const { folder, runs, store, keep } = project()
  const code = keep()
  const file = fileOf(store, shaOf(Buffer.from(FILES['lib.ts'] ?? '')))
  rmSync(file)
  const details = { cwd: folder, entry: 'agent.ts', code }
  const tape = { path: path.join(runs, 'a.tape'), run: { id: 'a', scope: 'process' }, details }
  expect(codeNotStored(tape as unknown as Tape).why).toContain('lib.ts')
  expect(keep()).toEqual(code)
  expect(existsSync(file)).toBe(true)
})

test('what is known is removed with the code, but not while a recording begins', () => {
  const { runs, store, keep } = project()
  const { list } = keep()
  const all = Object.values(store.list(list)?.files ?? {})
  const now = Date.now()
  const later = vi.spyOn(Date, 'now').mockReturnValue(now + 2 * 60 * 60 * 1000)
  // Its list is new, its contents are old.
  utimesSync(fileOf(store, list), Date.now() / 1000, Date.now() / 1000)
  expect(removeUnusedSources(runs)).toBe(0)
  expect(all.every((sha) => existsSync(fileOf(store, sha)))).toBe(true)
  later.mockReturnValue(now + 4 * 60 * 60 * 1000)
  const bytes = removeUnusedSources(runs, true)
  expect(bytes).toBeGreaterThan(0)
  expect(removeUnusedSources(runs)).toBe(bytes)
  expect(existsSync(fileOf(store, list))).toBe(false)
  expect(readdirSync(path.join(store.folder, 'known'))).toEqual([])
})

test('another recording of 302 unchanged files adds less than 1 kB', () => {
  const names = Array.from({ length: 300 }, (_, index) => `lib/module-${index}.ts`)
  const { folder, keep } = project({
    'agent.ts': names.map((name) => `import './${name}'`).join('\n'),
    ...Object.fromEntries(names.map((name) => [name, `export const name = '${name}'`])),
    'package.json': '{}',
  })
  keep()
  const before = bytesBelow(path.join(folder, '.retake'))
  const code = keep()
  expect(code.files).toBe(302)
  const added = JSON.stringify({ code }).length + bytesBelow(path.join(folder, '.retake')) - before
  expect(added).toBeLessThanOrEqual(1000)
})
