import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { verbs as verbTable } from '../../packages/cli/dist/verbs/index.js'
import { folderWith } from './workspace.js'

const verbs = Object.keys(verbTable)

test('--help lists every command and fits 80 columns', async () => {
  const { retake } = await folderWith({})
  const { stdout, code } = await retake(['--help'])
  expect(code).toBe(0)
  for (const verb of verbs) expect(stdout).toMatch(new RegExp(`^ {2}${verb} `, 'm'))
  expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
})

test('every command explains itself with usage and examples', async () => {
  const { retakeEach } = await folderWith({})
  const pages = await retakeEach(verbs.map((verb) => [verb, '--help']))
  for (const [index, { stdout, code }] of pages.entries()) {
    expect(code).toBe(0)
    expect(stdout).toContain(`usage: retake ${verbs[index]}`)
    expect(stdout).toContain('Examples:')
    expect(stdout.split('\n').filter((line) => line.length > 80 || /\s$/.test(line))).toEqual([])
  }
})

test('`retake docs` with the name of a command prints its reference', async () => {
  const { retake } = await folderWith({})
  expect((await retake(['docs', 'fork'])).stdout).toMatch(/^# fork\n/)
})

test('--version prints the version of the package', async () => {
  const { retake } = await folderWith({})
  const manifest = new URL('../../packages/cli/package.json', import.meta.url)
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }
  expect((await retake(['--version'])).stdout).toBe(`${version}\n`)
})

test('a mistyped command or option is a wrong usage, with a suggestion', async () => {
  const { retakeEach } = await folderWith({})
  const [command, json, option, missing, repeatable] = await retakeEach([
    ['reply', 'last'],
    ['reply', 'last', '--json'],
    ['replay', 'last', '--obsrve'],
    ['show'],
    ['fork', 'last'],
  ])
  expect(command).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Did you mean `retake replay`?') as string,
  })
  expect(JSON.parse(json?.stdout ?? '')).toMatchObject({ error: { code: 'UNKNOWN_COMMAND' } })
  expect(option).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Did you mean --observe?') as string,
  })
  expect(missing).toMatchObject({ code: 2 })
  expect(repeatable?.stderr).toContain('Missing option --at <N>.\n')
})

test('without arguments the command says what it is for and how to begin', async () => {
  const { retake } = await folderWith({})
  const { stderr, code } = await retake([])
  expect(code).toBe(2)
  expect(stderr.split('\n').length).toBeLessThan(20)
  for (const command of ['demo', 'record agent.ts', 'replay last', '--help'])
    expect(stderr).toContain(`npx retake ${command}`)
})
