import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { firstDifference } from '../support/first-difference.mjs'
import { type Provider, startProvider } from '../support/loopback-provider.mjs'
import { runTask, runTasks } from '../support/run-library.mjs'
import { agentPath, makeWorkspace, run, type Workspace } from '../support/run-retake.mjs'
import { sampled } from '../support/soak.js'

/**
 * A tape of the seams with meaning (fetch, tools, clock, timers, output) replays
 * on every Node. Uses the Node that runs this and those that `npm run test:nodes`
 * keeps in `.nodes/`; where there are none, the one Node is tested with itself.
 */
const root = fileURLToPath(new URL('../..', import.meta.url))
const cli = join(root, 'packages/cli/bin/retake.mjs')

const installed = [
  { major: process.versions.node.split('.')[0] ?? '', path: process.execPath },
  ...['20', '22', '24', '26'].map((major) => {
    const folder = join(root, '.nodes', major, 'node_modules')
    return { major, path: join(folder, `node-${process.platform}-${process.arch}`, 'bin/node') }
  }),
].filter(
  ({ major, path }, index, all) =>
    existsSync(path) && all.findIndex((other) => other.major === major) === index,
)
/** Before a merge: this one and the newest. */
const nodes = sampled(installed, (_, index) => index === 0 || index === installed.length - 1)

/** Agents that draw, wait, stream, fail, retry and call tools, all through `fetch`. */
const functions = [
  { agent: 'library/refund-agent.mjs', name: 'agent' },
  { agent: 'library/known-sdk-holes.mjs', name: 'toolCallIds' },
  { agent: 'library/known-holes.mjs', name: 'sameAtOnce' },
  { agent: 'library/known-holes.mjs', name: 'anyResult' },
  { agent: 'library/stream-agent.mjs', name: 'slowly' },
]
const programs = ['openai-chat.mjs', 'clock.mjs']

let provider: Provider
let workspace: Workspace
beforeAll(async () => {
  provider = await startProvider({ maxLatencyMs: 4 })
  workspace = await makeWorkspace()
})
afterAll(async () => {
  await provider.close()
  await workspace.remove()
})

// Before a merge, only the Node that runs this records.
const recorders = sampled(nodes, (_, index) => index === 0)

describe.each(recorders)('a recording of Node $major', ({ path: recorder }) => {
  test(`is replayed by ${nodes.map(({ major }) => major).join(', ')}: functions`, async () => {
    const cwd = workspace.folder
    const base = provider.url
    const tapes = await Promise.all(
      functions.map(async ({ agent, name }) => {
        const task = { agent: agentPath(agent), name, base }
        const recording = { mode: 'record' as const, dir: cwd, ...task }
        const { result } = await runTask(recording, { cwd, node: recorder })
        return { task, tape: result.run?.path ?? '', output: result.output }
      }),
    )
    for (const { major, path: node } of nodes) {
      const tasks = tapes.map(({ task, tape }) => ({ mode: 'replay' as const, tape, ...task }))
      const { results } = await runTasks(tasks, { cwd, node })
      for (const [index, result] of results.entries()) {
        const where = `${functions[index]?.name} on Node ${major}`
        expect(result.error?.message, where).toBeUndefined()
        expect(result.output, where).toEqual(tapes[index]?.output)
      }
    }
  })

  test.each(programs)('is replayed by each of them: %s', async (agent) => {
    const place = await makeWorkspace()
    const env = { AGENT_BASE_URL: provider.url }
    const recorded = await run(recorder, [cli, 'record', agentPath(agent)], place.folder, { env })
    expect(recorded.code, recorded.stderr).toBe(0)
    const { requests } = provider.counts()
    for (const { major, path: node } of nodes) {
      const replayed = await run(node, [cli, 'replay', 'last'], place.folder)
      const difference = firstDifference(recorded.stdout, replayed.stdout)
      expect(difference, `Node ${major}\n${replayed.stderr}`).toBeUndefined()
      expect(replayed.code, replayed.stderr).toBe(0)
    }
    expect(provider.counts().requests).toBe(requests)
    await place.remove()
  })
})
