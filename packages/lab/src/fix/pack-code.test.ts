import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { SourceStore } from '@retake/runner/sources'
import { openTape, TapeWriter } from '@retake/tape/node'
import { expect, onTestFinished, test } from 'vitest'
import { packCode } from './pack-code.js'

/** Made up at run time, so that no scanner finds a key in this file. */
const letters = 'aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fR3uI6oL9e'
const key = `sk-${letters}`
const FILES: Readonly<Record<string, string>> = {
  'agent.mjs': "import './key.mjs'\n",
  'key.mjs': `export const apiKey = '${key}'\n`,
}

/** A project with a run. */
function project(isKept = true): { folder: string; tape: string } {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'retake-pack-')))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const runs = path.join(folder, '.retake', 'runs')
  mkdirSync(runs, { recursive: true })
  const contents = Object.entries(FILES).map(([name, text]) => {
    writeFileSync(path.join(folder, name), text)
    return [name, createHash('sha256').update(text).digest('hex'), Buffer.from(text)] as const
  })
  const files = Object.fromEntries(contents.map(([name, sha]) => [name, sha]))
  const listBytes = Buffer.from(JSON.stringify({ files, packages: {}, settings: {} }))
  const list = createHash('sha256').update(listBytes).digest('hex')
  if (isKept)
    SourceStore.besideRuns(runs).keep(
      new Map([...contents.map(([, sha, bytes]) => [sha, bytes] as const), [list, listBytes]]),
    )
  const tape = path.join(runs, 'run-1.tape')
  const run = { id: 'run-1', name: 'run', startedAt: 0, node: 'v20.0.0' }
  const writer = TapeWriter.create(
    tape,
    { type: 'run', scope: 'process', ...run },
    { cwd: folder, entry: 'agent.mjs', code: { list, files: contents.length } },
  )
  writer.append({ type: 'end', exitCode: 0 })
  writer.seal()
  return { folder, tape }
}

function packed(tape: string, folder: string, allowsSecrets = false): (name: string) => string {
  const archive = path.join(folder, '.retake', 'code.tar.gz')
  packCode(tape, archive, allowsSecrets)
  const into = path.join(folder, '.retake', 'unpacked')
  mkdirSync(into)
  execFileSync('tar', ['-xzf', archive, '-C', into])
  return (name) => readFileSync(path.join(into, folder, name), 'utf8')
}

test.skipIf(process.platform === 'win32')(
  'the recorded code is packed instead of an edited file, with masked secrets',
  () => {
    const { folder, tape } = project()
    writeFileSync(path.join(folder, 'agent.mjs'), 'edited\n')
    rmSync(path.join(folder, 'key.mjs'))
    writeFileSync(path.join(folder, 'notes.txt'), 'not imported\n')
    const read = packed(tape, folder)
    expect(read('agent.mjs')).toBe(FILES['agent.mjs'])
    expect(read('key.mjs')).not.toContain(key)
    expect(read('key.mjs')).toHaveLength(FILES['key.mjs']?.length ?? 0)
    expect(read('notes.txt')).toBe('not imported\n')
    // A worker can say which files differ.
    const { list = '' } = openTape(tape).details.code ?? {}
    expect(() => read(path.join('.retake/sources', list.slice(0, 2), list))).not.toThrow()
  },
)

test.skipIf(process.platform === 'win32')('with --allow-secrets, nothing is masked', () => {
  const { folder, tape } = project()
  expect(packed(tape, folder, true)('key.mjs')).toBe(FILES['key.mjs'])
})

test.skipIf(process.platform === 'win32')(
  'a secret in a file that is not recorded code is refused',
  () => {
    const { folder, tape } = project()
    writeFileSync(path.join(folder, 'notes.txt'), `key ${key}\n`)
    expect(() => packed(tape, folder)).toThrow(/notes\.txt seems to contain a secret/)
    const other = project(false)
    expect(() => packed(other.tape, other.folder)).toThrow(/key\.mjs seems to contain a secret/)
  },
)
