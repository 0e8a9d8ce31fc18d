import { expect, onTestFinished, test } from 'vitest'
import { startProvider } from '../support/loopback-provider.mjs'
import { makeWorkspace } from '../support/run-retake.mjs'

/** Here, not with the other tests of the verb, because these run on every Node: guards differ. */
test('another order is tried under the guard of this Node', async () => {
  const provider = await startProvider()
  onTestFinished(provider.close)
  const workspace = await makeWorkspace()
  onTestFinished(workspace.remove)
  await workspace.record('chaos/shared-total.mjs', { provider })
  const { code, stdout, stderr } = await workspace.retake(['chaos', 'last', '--seed', '1'])
  expect(code, stderr).toBe(3)
  expect(stdout).toContain('+ total 30')
})
