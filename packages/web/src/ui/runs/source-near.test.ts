import {
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { RunDetails, Tape } from '@retake/tape'
import { openTape, TapeWriter } from '@retake/tape/node'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { storeCode } from '@retake/runner/sources'
import { sourceNear } from './source-near.js'

let outer: string
let project: string
const code = Array.from({ length: 40 }, (_, line) => `line ${line + 1}`).join('\n')

beforeEach(() => {
  outer = realpathSync(mkdtempSync(path.join(tmpdir(), 'retake-source-')))
  project = path.join(outer, 'project')
  mkdirSync(path.join(project, 'src'), { recursive: true })
  mkdirSync(path.join(project, 'node_modules/x'), { recursive: true })
  writeFileSync(path.join(project, 'package.json'), '{}')
  for (const file of ['src/agent.ts', 'node_modules/x/index.js', '.env', '../outside.ts'])
    writeFileSync(path.join(project, file), code)
})

afterEach(() => rmSync(outer, { recursive: true }))

/** An empty run that was recorded in a folder. */
function tapeOf(
  cwd: string,
  startedAt = Date.now() + 60_000,
  details: Partial<RunDetails> = {},
): Tape {
  const file = path.join(mkdtempSync(path.join(outer, 'tape-')), 'planted.tape')
  const run = { id: 'planted', name: 'planted', startedAt, node: process.version }
  TapeWriter.create(file, { type: 'run', scope: 'process', ...run }, { cwd, ...details }).seal()
  return openTape(file)
}

describe('the source around a location', () => {
  test('is shown without the keys in it', () => {
    const file = path.join(project, 'src/agent.ts')
    const secret = 'aB3dE6gH9jK2mN5pQ8sT1vW4'
    writeFileSync(file, `const client = new Client({ apiKey: 'sk-${secret}' })\n${code}`)
    const shown = sourceNear(tapeOf(project), `${file}:1:7`)?.lines.join('\n')
    expect(shown).toContain("apiKey: 'sk-retake-hidden")
    expect(shown).not.toContain(secret)
  })

  test('is shown with some lines before and after', () => {
    const file = path.join(project, 'src/agent.ts')
    expect(sourceNear(tapeOf(project), `${file}:20:7`)).toEqual({
      file,
      line: 20,
      column: 7,
      firstLine: 12,
      lines: code.split('\n').slice(11, 28),
    })
    expect(sourceNear(tapeOf(project), 'src/agent.ts:1')).toMatchObject({ line: 1, firstLine: 1 })
    // From anywhere in the project, not only below the folder it was started in.
    expect(sourceNear(tapeOf(path.join(project, 'src')), `${file}:40:1`)?.lines.at(-1)).toBe(
      'line 40',
    )
  })

  test('says when the file was saved after the run began', () => {
    const file = path.join(project, 'src/agent.ts')
    utimesSync(file, 2000, 2000)
    expect(sourceNear(tapeOf(project, 1_000_000), `${file}:1:1`)?.savedSince).toBe(true)
    expect(sourceNear(tapeOf(project, 3_000_000), `${file}:1:1`)?.savedSince).toBeUndefined()
  })

  describe('of a run that has its code', () => {
    let file: string
    let recorded: Tape
    beforeEach(() => {
      file = path.join(project, 'src/agent.ts')
      const kept = storeCode(file, project, path.join(project, '.retake/runs'))
      recorded = tapeOf(project, 1000, { code: kept })
    })

    test('is the recorded one after the file was edited or deleted', () => {
      const before = sourceNear(recorded, `${file}:20:7`)
      expect(before?.savedSince).toBeUndefined()
      expect(before?.changedFiles).toBeUndefined()
      writeFileSync(file, `// new\n${code}`)
      expect(sourceNear(recorded, `${file}:20:7`)).toEqual({ ...before, changedFiles: 1 })
      rmSync(file)
      const gone = { ...before, changedFiles: 1, isDeleted: true }
      expect(sourceNear(recorded, `${file}:20:7`)).toEqual(gone)
    })

    test("is today's if the recorded one was not kept, which is said", () => {
      rmSync(path.join(project, '.retake'), { recursive: true })
      writeFileSync(file, `// new\n${code}`)
      const shown = sourceNear(recorded, `${file}:1:1`)
      expect(shown).toMatchObject({ savedSince: true })
      expect(shown?.lines[0]).toBe('// new')
      expect(shown?.changedFiles).toBeUndefined()
    })

    test('is empty for a file that has become a link out of the project', () => {
      rmSync(file)
      symlinkSync(path.join(outer, 'outside.ts'), file)
      expect(sourceNear(recorded, `${file}:1:1`)).toBeUndefined()
    })

    test('is shown without the keys that were in it', () => {
      const secret = 'aB3dE6gH9jK2mN5pQ8sT1vW4'
      writeFileSync(file, `const client = new Client({ apiKey: 'sk-${secret}' })\n`)
      const kept = storeCode(file, project, path.join(project, '.retake/runs'))
      writeFileSync(file, code)
      const lines = sourceNear(tapeOf(project, 1000, { code: kept }), `${file}:1:7`)?.lines
      expect(lines?.[0]).toContain("apiKey: 'sk-retake-hidden")
    })
  })

  test('is empty outside the project and for files that are not its sources', () => {
    symlinkSync(path.join(outer, 'outside.ts'), path.join(project, 'src/link.ts'))
    for (const site of [
      path.join(outer, 'outside.ts:1:1'),
      `${project}/../outside.ts:1:1`,
      `${project}/src/link.ts:1:1`,
      `${project}/node_modules/x/index.js:1:1`,
      `${project}/.env:1:1`,
      `${project}/src/none.ts:1:1`,
      `${project}/src/agent.ts:41:1`,
      `${project}/src/agent.ts:0:1`,
      `${project}/src:1:1`,
      '/etc/passwd:1:1',
      'node:internal/fs:1:1',
      'nonsense',
      '',
    ])
      expect(sourceNear(tapeOf(project), site), site).toBeUndefined()
  })

  test('is empty if the tape names the whole disk or a home directory as its project', () => {
    const site = `${outer}/outside.ts:1:1`
    expect(sourceNear(tapeOf(outer), site)).toBeDefined()
    vi.stubEnv('HOME', outer)
    vi.stubEnv('USERPROFILE', outer)
    for (const cwd of ['/', outer, path.dirname(outer)])
      expect(sourceNear(tapeOf(cwd), site), cwd).toBeUndefined()
    vi.unstubAllEnvs()
  })
})
