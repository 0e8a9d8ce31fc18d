import { describe, expect, test } from 'vitest'
import { hasNewest, newestPath } from '../support/newest.js'
import { run } from '../support/run-retake.mjs'
import { tempFolder } from './wrappers-setup.js'

describe.skipIf(!hasNewest)('AI SDK 7', () => {
  test('a denied tool never starts, and the model reads why', async () => {
    const folder = tempFolder()
    const args = [newestPath('ai-sdk-7-guarded.mjs'), folder]
    const { code, stdout, stderr } = await run(process.execPath, args, folder)
    expect(code, stderr).toBe(0)
    expect(JSON.parse(stdout)).toEqual({
      text: 'Done.',
      started: ['look'],
      told: [
        'look {"of":"a"}',
        expect.stringMatching(/POLICY_DENIED: .*wipe.*Allowed/s),
        expect.stringMatching(/INPUT_INVALID: .*to: expected number/s),
      ],
    })
  })
})
