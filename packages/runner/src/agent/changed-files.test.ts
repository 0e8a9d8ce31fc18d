import { mkdtempSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import fs from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { install, record } from '@retake/engine'
import { openTape } from '@retake/tape/node'
import { expect, onTestFinished, test } from 'vitest'
import { changedFiles } from './changed-files.js'

install()

/** A project with a prompt, and a way to record what reads it. */
function project() {
  const root = mkdtempSync(path.join(tmpdir(), 'retake-files-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const at = (name: string): string => path.join(root, name)
  for (const folder of ['prompts', 'node_modules']) mkdirSync(at(folder))
  writeFileSync(at('prompts/shop.md'), 'Refunds within 30 days.')
  const recorded = async (agent: () => unknown) => {
    const { run } = await record({ name: 'files', dir: at('runs'), root }, async () => {
      await agent()
    })
    return openTape(run.path)
  }
  return { root, at, recorded }
}

const readers: Readonly<Record<string, (file: string) => unknown>> = {
  readFileSync: (file) => fs.readFileSync(file, 'utf8'),
  'readFileSync without encoding': (file) => fs.readFileSync(file),
  'readFileSync as base64': (file) => fs.readFileSync(file, { encoding: 'base64' }),
  'promises.readFile': (file) => fs.promises.readFile(file, 'utf8'),
  openAsBlob: async (file) => (await fs.openAsBlob(file)).text(),
  createReadStream: async (file) => {
    const stream = fs.createReadStream(file, { highWaterMark: 8 })
    for await (const _ of stream);
  },
  'read by descriptor': (file) => {
    const fd = fs.openSync(file, 'r')
    fs.readSync(fd, Buffer.alloc(64))
    fs.closeSync(fd)
  },
}

test.each(Object.entries(readers))(
  'a file that was read with %s is compared with the disk',
  async (_, read) => {
    const { at, recorded } = project()
    const tape = await recorded(() => read(at('prompts/shop.md')))
    expect(changedFiles(tape)).toEqual([])
    writeFileSync(at('prompts/shop.md'), 'Refunds within 60 days.')
    expect(changedFiles(tape)).toMatchObject([{ path: 'prompts/shop.md', change: 'changed' }])
    rmSync(at('prompts/shop.md'))
    expect(changedFiles(tape)).toMatchObject([{ path: 'prompts/shop.md', change: 'deleted' }])
  },
)

test('files that the run wrote, of packages, outside the project or behind a link are not compared', async () => {
  const { root, at, recorded } = project()
  const outside = `${root}-outside.md`
  onTestFinished(() => rmSync(outside))
  const files = [at('own.txt'), at('emptied.txt'), at('node_modules/a.txt'), outside]
  for (const file of files) writeFileSync(file, 'before')
  symlinkSync(outside, at('link.md'))
  const tape = await recorded(() => {
    for (const file of [...files, at('link.md')]) fs.readFileSync(file)
    fs.writeFileSync(at('own.txt'), 'after')
    const { O_CREAT, O_TRUNC } = fs.constants
    fs.closeSync(fs.openSync(at('emptied.txt'), O_CREAT | O_TRUNC))
  })
  for (const file of files) writeFileSync(file, 'later')
  expect(changedFiles(tape)).toEqual([])
})

test('a secret that the tape hides is not a change', async () => {
  const { at, recorded } = project()
  const secret = `sk-${'s3cr3t'.repeat(4)}`
  writeFileSync(at('.env'), `API_KEY=${secret}\nMODE=a\n`)
  const tape = await recorded(() => fs.readFileSync(at('.env'), 'utf8'))
  expect(changedFiles(tape)).toEqual([])
  writeFileSync(at('.env'), `API_KEY=${secret}\nMODE=b\n`)
  expect(changedFiles(tape)).toMatchObject([{ path: '.env', change: 'changed' }])
})

test('the project may be elsewhere now', async () => {
  const { root, at, recorded } = project()
  const tape = await recorded(() => fs.readFileSync(at('prompts/shop.md')))
  const other = project()
  const moved = { recorded: root, current: other.root }
  expect(changedFiles(tape, moved)).toEqual([])
  writeFileSync(other.at('prompts/shop.md'), 'other')
  expect(changedFiles(tape, moved)).toMatchObject([{ path: 'prompts/shop.md', change: 'changed' }])
})

test.each([
  ['package.json', '{ "workspaces": ["*"] }'],
  ['pnpm-workspace.yaml', 'packages: ["*"]'],
])('a file of another package is compared if %s declares a workspace', async (file, text) => {
  const { root, at } = project()
  mkdirSync(at('agent'))
  const { run } = await record({ name: 'files', dir: at('runs'), root: at('agent') }, async () => {
    fs.readFileSync(at('prompts/shop.md'))
  })
  const tape = openTape(run.path)
  writeFileSync(at('prompts/shop.md'), 'Refunds within 60 days.')
  expect(changedFiles(tape)).toEqual([])
  writeFileSync(path.join(root, file), text)
  expect(changedFiles(tape)).toEqual([{ path: '../prompts/shop.md', change: 'changed' }])
})
