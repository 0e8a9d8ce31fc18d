import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { startModelServer } from '@retake/engine/testing'
import type { ScriptedAnswer } from '@retake/engine/testing'
import { makeWorkspace, run } from '../support/run-retake.mjs'
import { onlyTape } from '../support/step-places.js'

const example = (file: string) =>
  fileURLToPath(new URL(`../../examples/langgraph-time-travel/${file}`, import.meta.url))

test('the time travel example is answered by the tape alone', async () => {
  const answers = JSON.parse(await readFile(example('model.json'), 'utf8')) as ScriptedAnswer[]
  const server = await startModelServer({ answers })
  const workspace = await makeWorkspace()
  try {
    const recorded = await workspace.retake(['record', example('agent.mjs')], { env: server.env })
    expect(recorded.code, recorded.stderr).toBe(0)
    // Still there, to count what comes.
    const args = [example('travel.mjs'), onlyTape(workspace.folder)]
    const travelled = await run(process.execPath, args, workspace.folder, { env: server.env })
    expect(travelled.stderr).toBe('')
    expect(travelled.stdout).toContain('2 requests answered by the tape, 0 sent')
    expect(server.requests).toHaveLength(3)
    const jokes = travelled.stdout.match(/better: '.*'/g)
    expect(jokes).toHaveLength(2)
    expect(jokes?.[0]).toBe(jokes?.[1])
  } finally {
    await server.stop()
    await workspace.remove()
  }
})
