import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { agentPath, makeWorkspace } from '../../support/run-retake.mjs'

/** A guarded call ends its connections with it: nobody else's request may be on them. */
test('guarded calls and others share clients concurrently without disturbing each other', async () => {
  const { folder, remove } = await makeWorkspace()
  onTestFinished(remove)
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [agentPath('guard/network-beside.mjs'), folder],
    { cwd: folder },
  )
  expect(JSON.parse(stdout)).toEqual({ guarded: 150, others: 150, errors: [] })
})
