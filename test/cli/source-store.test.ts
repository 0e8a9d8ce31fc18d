import {
  appendFileSync,
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { openTape } from '@retake/tape/node'
import { expect, test } from 'vitest'
import { run } from '../support/run-retake.mjs'
import { fillUp, removeDisk, smallDisk } from '../support/small-disk.js'
import { skipTest } from '../support/soak.js'
import { cli, folderWith, openParent, runAsNobody, tapesOf } from './workspace.js'

const FILES = {
  'agent.mjs': `import { word } from './lib.mjs'\nconsole.log(word, Math.random())\n`,
  'lib.mjs': `export const word = 'old'\n`,
  'package.json': '{}\n',
}
const edit = (folder: string): void =>
  writeFileSync(join(folder, 'lib.mjs'), FILES['lib.mjs'].replace('old', 'new'))
const sources = (folder: string): string => join(folder, '.retake', 'sources')
const contentsIn = (folder: string): string[] =>
  readdirSync(sources(folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /^..[\\/]/.test(name))
    .toSorted()

/** Path of the list that the newest run names. */
async function listOf(workspace: Parameters<typeof tapesOf>[0]): Promise<string> {
  const { list = '' } = openTape((await tapesOf(workspace)).at(-1) ?? '').details.code ?? {}
  return join(sources(workspace.folder), list.slice(0, 2), list)
}

test('a list that is missing or damaged is named, and the next recording keeps it again', async () => {
  const workspace = await folderWith(FILES)
  const { folder, retake } = workspace
  await retake(['record', 'agent.mjs'])
  const list = await listOf(workspace)
  const bytes = readFileSync(list)
  for (const spoil of [() => rmSync(list), () => writeFileSync(list, bytes.subarray(0, -9))]) {
    spoil()
    edit(folder)
    const replayed = await retake(['replay', 'last'])
    expect(replayed.stderr).toContain('Changed since the recording: lib.mjs.')
    expect(replayed.stderr).toContain('the list of its 3 source files')
    for (const args of [
      ['replay', 'last', '--code', 'recorded'],
      ['diff', 'last', '--code'],
      ['export', 'last', '--capsule', 'out.retake'],
    ]) {
      const refused = await retake(args)
      expect(refused.stderr).toContain('the list of its 3 source files')
      expect(refused.stderr).toContain('CODE_NOT_STORED')
      expect(refused.code).toBe(1)
    }
    const state = await retake(['debug', 'eval', 'last', '--at', 'agent.mjs:2', 'word'])
    expect(state.stderr).toContain('changed since the recording: lib.mjs')
    expect(state.stderr).toContain('the list of its 3 source files')
    expect((await retake(['verify', 'last', '--integrity-only'])).code).toBe(0)
    expect((await retake(['rm', '--keep', '9'])).code).toBe(0)
    writeFileSync(join(folder, 'lib.mjs'), FILES['lib.mjs'])
  }
  rmSync(list)
  await retake(['record', 'agent.mjs'])
  edit(folder)
  expect((await retake(['replay', 'last~1', '--code', 'recorded'])).code).toBe(0)
})

test('a store that is read-only is said, and the run is recorded', async () => {
  const workspace = await folderWith(FILES)
  const { folder } = workspace
  await openParent(folder)
  if (process.getuid?.() === 0) chownSync(folder, 65534, 65534)
  expect(await runAsNobody(['record', 'agent.mjs'], folder)).toMatchObject({ code: 0 })
  chmodSync(sources(folder), 0o555)
  try {
    const same = await runAsNobody(['record', 'agent.mjs'], folder)
    expect(same).toMatchObject({ code: 0, stderr: expect.not.stringContaining('not kept') })
    edit(folder)
    const changed = await runAsNobody(['record', 'agent.mjs'], folder)
    expect(changed.stderr).toMatch(/code of this run is not kept, because .* cannot be written/)
    expect(changed.code).toBe(0)
    expect((await runAsNobody(['replay', 'last', '--trust'], folder)).stderr).toContain('identical')
  } finally {
    chmodSync(sources(folder), 0o755)
  }
})

test('a store on a full disk is said, and kept as soon as there is space', async () => {
  const small = smallDisk('64k')
  if (small === undefined) return skipTest('no right to mount a small disk')
  try {
    const { folder, retake } = await folderWith(FILES)
    mkdirSync(join(folder, '.retake'))
    symlinkSync(small.disk, sources(folder))
    fillUp(join(small.disk, 'filler'))
    const full = await retake(['record', 'agent.mjs'])
    expect(full.stderr).toContain('the code of this run is not kept')
    expect(full.code).toBe(0)
    expect((await retake(['replay', 'last'])).stderr).toContain('identical')
    // Nothing is left half written.
    expect(contentsIn(folder).filter((name) => statSync(join(small.disk, name)).isFile())).toEqual(
      [],
    )
    rmSync(join(small.disk, 'filler'))
    const kept = await retake(['record', 'agent.mjs'])
    expect(kept.stderr).not.toContain('not kept')
    edit(folder)
    expect((await retake(['replay', 'last', '--code', 'recorded'])).code).toBe(0)
    expect((await retake(['replay', 'last~1', '--code', 'recorded'])).code).toBe(0)
  } finally {
    removeDisk(small)
  }
})

test('a file that changes while it is loaded is recorded as it was before, and named', async () => {
  const { folder, retake } = await folderWith({
    ...FILES,
    'agent.mjs': `import { appendFileSync } from 'node:fs'
appendFileSync('lib.mjs', "export const more = 'more'")
const { word, more } = await import('./lib.mjs')
console.log(word, more, Math.random())
`,
  })
  const recorded = await retake(['record', 'agent.mjs'])
  expect(recorded.stdout).toContain('old more')
  expect((await retake(['replay', 'last'])).stderr).toContain('identical')
  const { stderr, code } = await retake(['replay', 'last', '--code', 'recorded'])
  expect(stderr).toContain('diverged')
  expect(code).toBe(3)
  const changes = await retake(['diff', 'last', '--code'])
  expect(changes.stdout).toContain("+ export const more = 'more'")
  expect(readFileSync(join(folder, 'lib.mjs'), 'utf8').match(/more'/g)).toHaveLength(1)
})

test('runs that are recorded together share one list, and leave nothing half written', async () => {
  const workspace = await folderWith(FILES)
  const { folder, retake } = workspace
  const ended = await Promise.all([1, 2, 3, 4].map(() => retake(['record', 'agent.mjs'])))
  expect(ended.map(({ code }) => code)).toEqual([0, 0, 0, 0])
  const tapes = (await tapesOf(workspace)).map((file) => openTape(file))
  expect(new Set(tapes.map(({ details }) => details.code?.list)).size).toBe(1)
  // Three files and the list.
  expect(contentsIn(folder)).toHaveLength(4)
  edit(folder)
  for (const name of ['last', 'last~3'])
    expect((await retake(['replay', name, '--code', 'recorded'])).code).toBe(0)
})

test('a project behind a link is that project', async () => {
  const { folder } = await folderWith(
    Object.fromEntries(Object.entries(FILES).map(([name, text]) => [`real/${name}`, text])),
  )
  symlinkSync('real', join(folder, 'link'), 'junction')
  const inLink = (args: readonly string[]) =>
    run(process.execPath, [cli, ...args], join(folder, 'link'))
  expect(await inLink(['record', 'agent.mjs'])).toMatchObject({ code: 0 })
  expect(await inLink(['record', join(folder, 'link', 'agent.mjs')])).toMatchObject({ code: 0 })
  edit(join(folder, 'real'))
  const replayed = await inLink(['replay', 'last~1', '--code', 'recorded'])
  expect(replayed.stderr).toContain('changed since: lib.mjs')
  expect(replayed.code).toBe(0)
  // The path of this program leads through the link, so it is not in the copy of the project.
  const refused = await inLink(['replay', 'last', '--code', 'recorded'])
  expect(refused.stderr).toContain('its program is not in the project')
  const today = await inLink(['replay', 'last'])
  expect(today.stderr).toContain('Changed since the recording: lib.mjs.')
})

test('a bundle of 50 MB is not kept, which is said, and named when it is needed', async () => {
  const { folder, retake } = await folderWith({
    ...FILES,
    'agent.mjs': `import { word } from './bundle.mjs'\nconsole.log(word, Math.random())\n`,
    'bundle.mjs': `export const word = 'old' //`,
  })
  appendFileSync(join(folder, 'bundle.mjs'), Buffer.alloc(50_000_000, 'x'))
  const recorded = await retake(['record', 'agent.mjs'])
  expect(recorded.stderr).toMatch(/bundle\.mjs: larger than 16\S* MB, so this code is not kept/)
  expect(recorded.code).toBe(0)
  expect((await retake(['replay', 'last'])).stderr).toContain('identical')
  writeFileSync(join(folder, 'bundle.mjs'), `export const word = 'new'`)
  expect((await retake(['replay', 'last'])).stderr).toContain(
    'Changed since the recording: bundle.mjs.',
  )
  const { stderr, code } = await retake(['replay', 'last', '--code', 'recorded'])
  expect(stderr).toContain('Missing or damaged in `.retake/sources`: bundle.mjs.')
  expect(code).toBe(1)
})
