import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { TapeWriter } from '@retake/tape/node'
import { storeCode, storeCodeOfFunction } from './store-code.js'
import { shaOf, SourceStore } from './source-store.js'
import { removeUnusedSources } from './unused-sources.js'

function newFolder(): string {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'retake-sources-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Keeps texts two hours ago, and returns their digests. */
function keepOld(store: SourceStore, ...texts: string[]): string[] {
  const old = new Date(Date.now() - 2 * 60 * 60 * 1000)
  return texts.map((text) => {
    const sha = shaOf(Buffer.from(text))
    store.keep(new Map([[sha, Buffer.from(text)]]))
    utimesSync(path.join(store.folder, sha.slice(0, 2), sha), old, old)
    return sha
  })
}

/** A tape of a run with this code, and as many other files. Returns the digest of its list. */
function writeTape(file: string, store: SourceStore, sha: string, others = 0): string {
  mkdirSync(path.dirname(file), { recursive: true })
  const names = Array.from({ length: others }, (_, index) => `lib/${index}.mjs`)
  const list = {
    files: Object.fromEntries(names.map((name) => [name, shaOf(Buffer.from(name))])),
    packages: {},
    settings: { 'package.json': sha },
  }
  const [kept = ''] = keepOld(store, JSON.stringify(list))
  const code = { list: kept, files: others + 1 }
  const run = {
    type: 'run',
    id: path.basename(file, '.tape'),
    name: 'agent',
    startedAt: 0,
    scope: 'process',
    node: 'v20.0.0',
  } as const
  const writer = TapeWriter.create(file, run, { entry: 'agent.mjs', code })
  writer.append({ type: 'end', exitCode: 0 })
  writer.seal()
  return kept
}

const linesOfError = (): string[] => {
  const lines: string[] = []
  const spy = vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    lines.push(String(text))
    return true
  })
  onTestFinished(() => spy.mockRestore())
  return lines
}

test('contents that no run names are removed; those of the trash, forks and children stay', () => {
  const folder = newFolder()
  const runs = path.join(folder, '.retake/runs')
  const store = SourceStore.besideRuns(runs)
  const tapes = [
    'a.tape',
    'a.children/a-1.tape',
    'a.children/a-1.children/a-1-2.tape',
    'a.compare/b.tape',
    '.trash/1795125187687-c/tape',
    '.trash/1795125187687-c/children/c-1.tape',
    '../fix/fixed/a/d.tape',
  ]
  const used = keepOld(store, ...tapes)
  const lists = tapes.map((tape, index) =>
    writeTape(path.join(runs, tape), store, used[index] ?? '', index * 100),
  )
  const [unused = ''] = keepOld(store, 'of no run')
  const fresh = shaOf(Buffer.from('fresh'))
  store.keep(new Map([[fresh, Buffer.from('fresh')]]))
  const foreign = path.join(store.folder, 'aa')
  mkdirSync(foreign, { recursive: true })
  writeFileSync(path.join(foreign, 'notes.txt'), 'mine')
  utimesSync(path.join(foreign, 'notes.txt'), 0, 0)

  const bytes = removeUnusedSources(runs, true)
  expect(bytes).toBeGreaterThan(0)
  expect(store.read(unused)?.toString()).toBe('of no run')
  expect(removeUnusedSources(runs)).toBe(bytes)
  expect(store.read(unused)).toBeUndefined()
  expect(used.map((sha) => store.read(sha)?.toString())).toEqual(tapes)
  expect(lists.map((sha) => Object.keys(store.list(sha)?.files ?? {}).length)).toEqual(
    tapes.map((_, index) => index * 100),
  )
  expect(store.read(fresh)?.toString()).toBe('fresh')
  expect(existsSync(path.join(foreign, 'notes.txt'))).toBe(true)
  expect(removeUnusedSources(runs)).toBe(0)
})

test('nothing is removed while a tape cannot be read, and unfinished files are removed', () => {
  const runs = path.join(newFolder(), 'tapes')
  const store = SourceStore.besideRuns(runs)
  expect(store.folder).toBe(path.join(runs, '.sources'))
  expect(removeUnusedSources(runs)).toBe(0)
  const [sha = ''] = keepOld(store, 'text')
  symlinkSync('nowhere', path.join(runs, 'broken.tape'))
  expect(() => removeUnusedSources(runs)).toThrow('ENOENT')
  expect(store.read(sha)).toBeDefined()
  rmSync(path.join(runs, 'broken.tape'))
  const unfinished = path.join(store.folder, sha.slice(0, 2), `${sha}.0123456789ab`)
  writeFileSync(unfinished, 'half')
  utimesSync(unfinished, 0, 0)
  writeTape(path.join(runs, 'a.tape'), store, sha)
  writeFileSync(path.join(runs, 'empty.tape'), '')
  writeFileSync(path.join(runs, 'damaged.tape'), 'not a tape')
  expect(removeUnusedSources(runs)).toBe(4)
  expect(store.read(sha)).toBeDefined()
})

test('a content that is kept again is not removed before its new run has a tape', () => {
  const runs = path.join(newFolder(), '.retake/runs')
  const store = SourceStore.besideRuns(runs)
  const [sha = ''] = keepOld(store, 'text')
  store.keep(new Map([[sha, Buffer.from('text')]]))
  expect(removeUnusedSources(runs)).toBe(0)
  expect(store.read(sha)?.toString()).toBe('text')
})

test('a damaged content and one that expands to too much are missing', () => {
  const store = new SourceStore(newFolder())
  const large = Buffer.alloc(17 * 1024 * 1024)
  const sha = shaOf(large)
  store.keep(new Map([[sha, large]]))
  expect(store.read(sha)).toBeUndefined()
  expect(store.read('../../etc/passwd')).toBeUndefined()
  const [other = ''] = keepOld(store, 'text')
  const file = path.join(store.folder, other.slice(0, 2), other)
  chmodSync(file, 0o600)
  writeFileSync(file, readFileSync(file).subarray(0, -4))
  expect(store.read(other)).toBeUndefined()
})

test('functions keep their code once per process, and again where it is missing', () => {
  const folder = newFolder()
  vi.spyOn(process, 'cwd').mockReturnValue(folder)
  onTestFinished(() => void vi.restoreAllMocks())
  const agent = path.join(folder, 'agent.mjs')
  writeFileSync(agent, 'export const handle = 1')
  const runs = path.join(folder, '.retake/runs')
  const code = storeCodeOfFunction('agent.mjs#handle', runs)
  writeFileSync(agent, 'export const handle = 2')
  expect(storeCodeOfFunction('agent.mjs#handle', runs)).toBe(code)
  const elsewhere = path.join(folder, 'tenant')
  expect(storeCodeOfFunction('agent.mjs#handle', elsewhere)).toBe(code)
  const shaOfAgent = (): string =>
    SourceStore.besideRuns(runs).list(code?.list ?? '')?.files['agent.mjs'] ?? ''
  const sha = shaOfAgent()
  const text = 'export const handle = 1'
  expect(SourceStore.besideRuns(elsewhere).read(sha)?.toString()).toBe(text)
  rmSync(path.join(folder, '.retake'), { recursive: true })
  vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 40 * 60 * 1000)
  expect(storeCodeOfFunction('agent.mjs#handle', runs)).toBe(code)
  expect(SourceStore.besideRuns(runs).read(sha)?.toString()).toBe(text)
  expect(shaOfAgent()).toBe(sha)
  expect(storeCodeOfFunction('missing.mjs#handle', runs)).toBeUndefined()
})

test('a store that cannot be written and a file that is too large are said once', () => {
  const folder = newFolder()
  const runs = path.join(folder, '.retake/runs')
  mkdirSync(path.join(folder, '.retake'))
  writeFileSync(path.join(folder, '.retake/sources'), 'in the way')
  writeFileSync(path.join(folder, 'agent.mjs'), `import './bundle.js'`)
  writeFileSync(path.join(folder, 'bundle.js'), Buffer.alloc(16 * 1024 * 1024 + 1))
  const lines = linesOfError()
  const codes = [1, 2].map(() => storeCode(path.join(folder, 'agent.mjs'), folder, runs))
  expect(codes.map(({ files }) => files)).toEqual([2, 2])
  expect(lines.filter((line) => line.includes('cannot be written'))).toHaveLength(1)
  expect(lines.filter((line) => /bundle\.js.*larger than 16/.test(line))).toHaveLength(1)
})

test('two processes that keep the same content leave one file', () => {
  const store = new SourceStore(newFolder())
  const again = new SourceStore(store.folder)
  const contents = new Map([[shaOf(Buffer.from('x')), Buffer.from('x')]])
  store.keep(contents)
  again.keep(contents)
  const files = readdirSync(store.folder, { recursive: true, encoding: 'utf8' })
  expect(files).toHaveLength(2)
})
