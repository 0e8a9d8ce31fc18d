import { expect, test } from 'vitest'
import { startProviderProcess } from '../support/start-provider-process.mjs'
import { makeWorkspace } from '../support/run-retake.mjs'

test('a timeout that is refreshed after it fired calls back once', async () => {
  const workspace = await makeWorkspace()
  const provider = await startProviderProcess()
  const recorded = await workspace.record('edge-refresh.mjs', { provider })
  await provider.stop()
  expect(recorded.stdout).toBe('early\nlate 1\ncalls 1\n')
  const replayed = await workspace.replay()
  expect(replayed.stdout).toBe(recorded.stdout)
  expect(replayed.code, replayed.stderr).toBe(0)
  await workspace.remove()
})
