import { expect, onTestFinished, test } from 'vitest'
import { agentPath, makeWorkspace, run } from '../support/run-retake.mjs'

/** A call takes milliseconds; one that waits for what is open here never ends. */
const TIME_LIMIT_MS = 60_000

test.each([
  'a worker that is listened to',
  'a worker from before Retake was loaded',
  'a busy worker',
  'a message port',
  'a message port with onmessage',
  'a message port from before Retake was loaded',
  'a message port that a worker sent',
  'a broadcast channel',
  'a file request that waits',
  'file requests all the time',
  'a worker and hooks of the program',
  'parentPort inside a worker',
])('a guarded call is answered beside %s', async (name) => {
  const { folder, remove } = await makeWorkspace()
  onTestFinished(remove)
  const { stdout, stderr } = await run(
    process.execPath,
    [agentPath('guard/open-ports.mjs'), name, folder],
    folder,
    { timeoutMs: TIME_LIMIT_MS },
  )
  expect(stdout, stderr).toBe('{"sum":3,"later":"later","output":42}\n')
})

test('a call waits for a module that is being loaded beside a worker', async () => {
  const { folder, remove } = await makeWorkspace()
  onTestFinished(remove)
  const { stdout, stderr } = await run(
    process.execPath,
    [agentPath('guard/import-beside-port.mjs'), folder],
    folder,
    { timeoutMs: TIME_LIMIT_MS },
  )
  const { recorded, replayed } = JSON.parse(stdout || stderr) as Record<string, string[]>
  expect(replayed).toEqual(recorded)
  // Other versions load when they please, as they do without Retake.
  expect(process.version.startsWith('v20.') ? recorded : ['import', 'timer']).toEqual([
    'import',
    'timer',
  ])
})
