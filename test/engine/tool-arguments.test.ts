import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

test('a tool called with one array is not the same call as one with two arguments', async () => {
  const agent = fileURLToPath(new URL('../agents/library/tool-arguments.mjs', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [agent])
  expect(JSON.parse(stdout)).toEqual({ same: 3, other: 'REPLAY_DIVERGED' })
})
