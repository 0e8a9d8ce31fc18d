import { expect, test } from 'vitest'
import { folderWith } from './workspace.js'
import { soakOnly } from '../support/soak.js'

test('the demo records, replays without a socket, shows a divergence, jumps and forks, in 80 columns', async () => {
  const { retake } = await folderWith({})
  const { stdout, stderr, code, ms } = await retake(['demo'])
  expect(stderr).toBe('')
  expect(code).toBe(0)
  expect(stdout).toContain('APPROVED: €249. Day 41 of a 60-day window.')
  expect(stdout).toMatch(/identical · (\d+) of \1 events · \d+ served · 0 sockets/)
  expect(stdout).toMatch(/stdout sha256 (\w{16})… recorded\n +\1… replayed: equal/)
  expect(stdout).toMatch(/- You are a careful manager\.[^]*\+ You are a generous manager\./)
  expect(stdout).toMatch(/at {3}\.retake\/demo\/agent\.ts:\d+:\d+/)
  expect(stdout).toMatch(/> 57 .*\n[^]*result +\{ title: 'Refund window'/)
  expect(stdout).toContain('decision: DENIED. Day 41, but the window is 30 days.')
  expect(stdout).toMatch(/forked \S+ from \S+ at step \d · exit code 0/)
  expect(stdout).toMatch(/saved {4}\d requests · \d+ tokens/)
  expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
  // That is promised. On an idle machine of two cores it takes six seconds.
  expect(ms).toBeLessThan(60_000)

  const [, demo = '', step = ''] = /retake ui (\S+) --step (\d+)$/.exec(stdout.trimEnd()) ?? []
  expect((await retake(['show', demo, '--step', step])).stdout).toContain('search_policy')

  // What it leaves behind works with the commands it names.
  expect((await retake(['replay', 'last'])).code).toBe(0)
  expect((await retake(['show', 'last'])).stdout).toMatch(/ tool .*search_policy/)
})

test('demo --json gives the receipt', async () => {
  soakOnly()
  const { retake } = await folderWith({})
  const { stdout } = await retake(['demo', '--json'])
  expect(JSON.parse(stdout)).toMatchObject({
    identical: true,
    receipt: { contacts: {}, divergences: [] },
    divergence: { kind: 'different' },
    flipped: true,
  })
})
