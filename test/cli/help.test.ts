import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { verbs as verbTable } from '../../packages/cli/dist/verbs/index.js'
import { folderWith } from './workspace.js'
import { sampled } from '../support/soak.js'

const verbs = Object.keys(verbTable)

test('--help lists every command and fits 80 columns', async () => {
  const { retake } = await folderWith({})
  const { stdout, code } = await retake(['--help'])
  expect(code).toBe(0)
  for (const verb of verbs) expect(stdout).toMatch(new RegExp(`^ {2}${verb} `, 'm'))
  expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
})

test('every command explains itself with usage and examples', async () => {
  const { retake } = await folderWith({})
  for (const verb of sampled(verbs, (_, index) => index % 5 === 0)) {
    const { stdout, code } = await retake([verb, '--help'])
    expect(code).toBe(0)
    expect(stdout).toContain(`usage: retake ${verb}`)
    expect(stdout).toContain('Examples:')
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
  }
})

test('--version prints the version of the package', async () => {
  const { retake } = await folderWith({})
  const manifest = new URL('../../packages/cli/package.json', import.meta.url)
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }
  expect((await retake(['--version'])).stdout).toBe(`${version}\n`)
})

test('a mistyped command or option is a wrong usage, with a suggestion', async () => {
  const { retake } = await folderWith({})
  const command = await retake(['reply', 'last'])
  expect(command.code).toBe(2)
  expect(command.stderr).toContain('Did you mean `retake replay`?')
  expect(JSON.parse((await retake(['reply', 'last', '--json'])).stdout)).toMatchObject({
    error: { code: 'UNKNOWN_COMMAND' },
  })
  const option = await retake(['replay', 'last', '--obsrve'])
  expect(option.code).toBe(2)
  expect(option.stderr).toContain('Did you mean --observe?')
  const missing = await retake(['show'])
  expect(missing.code).toBe(2)
})

test('without arguments the command says what it is for and how to begin', async () => {
  const { retake } = await folderWith({})
  const { stderr, code } = await retake([])
  expect(code).toBe(2)
  expect(stderr.split('\n').length).toBeLessThan(20)
  for (const command of ['demo', 'record agent.ts', 'replay last', '--help'])
    expect(stderr).toContain(`npx retake ${command}`)
})
