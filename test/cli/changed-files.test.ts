import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sampled } from '../support/soak.js'
import { makeProject, runJest, runVitest, writeFiles } from './runner-project.js'
import { folderWith } from './workspace.js'

const warning = 'prompts/shop.md changed since the recording; served as recorded'

test('replay and verify say which files have changed since; --strict-files makes it a finding', async () => {
  const { retake, folder } = await folderWith({
    'package.json': '{}',
    // A URL as a string is a path that does not exist.
    'agent.mjs': `import { readFileSync } from 'node:fs'
try {
  readFileSync(import.meta.url)
} catch {}
console.log(readFileSync('prompts/shop.md', 'utf8'))`,
  })
  await mkdir(join(folder, 'prompts'))
  const prompt = join(folder, 'prompts', 'shop.md')
  await writeFile(prompt, '30 days')
  await retake(['record', 'agent.mjs'])
  const before = await retake(['replay', 'last', '--strict-files'])
  expect(before.code).toBe(0)
  expect(before.stderr).not.toContain('since the recording')

  await writeFile(prompt, '60 days')
  const replayed = await retake(['replay', 'last'])
  expect(replayed).toMatchObject({ code: 0, stdout: '30 days\n' })
  expect(replayed.stderr).toContain(`${warning}\n`)
  expect((await retake(['replay', 'last', '--strict-files'])).code).toBe(3)
  const json = JSON.parse((await retake(['replay', 'last', '--json'])).stdout)
  expect(json).toMatchObject({
    identical: true,
    changedFiles: [{ path: 'prompts/shop.md', change: 'changed' }],
  })

  const verified = await retake(['verify', 'last'])
  expect(verified.code).toBe(0)
  expect(verified.stderr).toContain(`: ${warning}\n`)
  const strict = await retake(['verify', 'last', '--strict-files'])
  expect(strict.code).toBe(3)
  expect(strict.stdout).toContain(warning)
  const result = JSON.parse((await retake(['verify', 'last', '--json'])).stdout)
  expect(result).toMatchObject({ ok: true, changedFiles: [{ path: 'prompts/shop.md' }] })
})

const agent = `const { readFileSync } = require('node:fs')
module.exports = async () => readFileSync('prompts/shop.md', 'utf8')
`
const testsWith = (first: string): string => `${first}
const agent = require('../agent.cjs')

test('warns', async () => {
  await expect(agent).toReplay('tapes/a.tape')
})

test('is strict', async () => {
  await expect(agent).toReplay('tapes/b.tape', { strictFiles: true })
})
`

const runners = [
  {
    runner: 'Vitest',
    run: (folder: string) => runVitest(folder, {}),
    files: {
      'test/shop.test.mjs': testsWith(`import { createRequire } from 'node:module'
import { expect, test } from 'retake/vitest'
const require = createRequire(import.meta.url)`),
    },
  },
  {
    runner: 'Jest',
    run: (folder: string) => runJest(folder, {}, {}),
    files: {
      'jest.config.json': JSON.stringify({
        testEnvironment: 'retake/jest-environment',
        transform: {},
        haste: { enableSymlinks: false },
      }),
      'test/shop.test.js': testsWith(`require('retake/jest')`),
    },
  },
]

test.each(sampled(runners, ({ runner }) => runner === 'Jest'))(
  'the matcher in $runner says which files have changed since',
  async ({ run, files }) => {
    const folder = await makeProject({
      'package.json': '{}',
      'agent.cjs': agent,
      'prompts/shop.md': '30 days',
      ...files,
    })
    const passed = { warns: 'passed', 'is strict': 'passed' }
    expect((await run(folder)).tests).toEqual(passed)
    for (const unchanged of sampled([folder], () => false))
      expect((await run(unchanged)).tests).toEqual(passed)
    await writeFiles(folder, { 'prompts/shop.md': '60 days' })
    const { tests, text } = await run(folder)
    expect(tests['warns']).toBe('passed')
    expect(text).toContain(warning)
    expect(tests['is strict']).toMatchObject({
      failed: expect.stringContaining('FILES_CHANGED') as string,
    })
  },
)
