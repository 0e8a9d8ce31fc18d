import { expect, test } from 'vitest'
import { folderWith } from './workspace.js'
import { soakOnly } from '../support/soak.js'

test('the sample shows a policy, a contract and a replay, in 80 columns', async () => {
  const { retake } = await folderWith({})
  const { stdout, stderr, code } = await retake(['sample'])
  expect(stderr).toBe('')
  expect(code).toBe(0)
  expect(stdout).toMatch(/read_note\(today\.txt\): done\n +Water the plants\./)
  expect(stdout).toMatch(/read_note\(\.\.\/policy\.ts\): denied\n +PATH_/)
  expect(stdout).toMatch(/clean_up\(today\.txt\): denied\n/)
  expect(stdout).toMatch(/day 0: done \{ temperature: 21 \}/)
  expect(stdout).toMatch(/day 1: failed[^]*TYPE_CHANGED at temperature: /)
  expect(stdout).toMatch(/day 2: failed[^]*TEXT_WHERE_JSON/)
  expect(stdout).toMatch(/identical · (\d+) of \1 events/)
  expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
  expect(stdout).toMatch(/retake record \S+policy\.ts  run it again/)
  // What it leaves behind works with the command it names.
  const [, run = ''] = /retake audit (\S+)/.exec(stdout) ?? []
  expect((await retake(['audit', run])).stdout).toContain('3 calls, 1 done, 2 denied')
})

test('sample --json gives what became of each call', async () => {
  soakOnly()
  const { retake } = await folderWith({})
  expect(JSON.parse((await retake(['sample', '--json'])).stdout)).toMatchObject({
    policy: { states: ['read_note: done', 'read_note: denied', 'clean_up: denied'] },
    contract: { states: ['weather: done', 'weather: failed', 'weather: failed'] },
    replay: { identical: true, divergences: [] },
  })
})
