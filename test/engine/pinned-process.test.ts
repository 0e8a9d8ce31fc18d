import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { planPinned, searchableSteps } from '@retake/engine/plans'
import type { PinnedPlan } from '@retake/engine'
import { openTape } from '@retake/tape/node'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { continueAgent } from '../../packages/runner/dist/agent/continue-agent.js'
import { ForkScene, removeScenes, sha256, viewOf } from '../support/forking.js'
import { agentPath } from '../support/run-retake.mjs'
import { sampled } from '../support/soak.js'

afterAll(removeScenes)

const agent = 'fork/conversation.mjs'
const simulator = agentPath('pinned/simulator.mjs')

/** Runs a fork in a process of its own, with its tape in a folder of its own. */
async function forked(scene: ForkScene, plan: Partial<PinnedPlan>) {
  const tape = openTape(scene.parent)
  const folder = mkdtempSync(path.join(tmpdir(), 'retake-pinned-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const before = scene.provider.requests.length
  const sha = sha256(scene.parent)
  let stdout = ''
  const end = await continueAgent(
    tape,
    planPinned(tape, { pinned: [], mode: 'free', seed: 1, folder, ...plan }),
    {
      env: { OPENAI_API_KEY: 'none', ANTHROPIC_API_KEY: 'none' },
      stdio: ['ignore', 'pipe', 'ignore'],
      onOutput: (chunk) => (stdout += String(chunk)),
    },
  )
  expect(sha256(scene.parent)).toBe(sha)
  const sent = scene.provider.requests.slice(before).map(({ body }) => body)
  return { ...end, stdout, lines: stdout.split('\n'), sent, folder }
}

const labels = (scene: ForkScene): string[] =>
  searchableSteps(openTape(scene.parent)).map(({ label }) => label)

test.each(sampled(['openai-chat-stream', 'axios', 'http2'], (client) => client === 'axios'))(
  '%s: a separate process pins some steps, runs the others live, and replays',
  async (client) => {
    const scene = await ForkScene.record(agent, { args: [client, '4'] })
    const recorded = scene.recorded.stdout.split('\n')
    expect(labels(scene)).toEqual(['1', '2', '3', '4', '5', '6', '7', '8'])
    // Tool 2 and model 3 are free; what is said after them is as recorded.
    const made = await forked(scene, { pinned: ['1', '2', '3', '6', '7', '8'] })
    expect(made.exitCode).toBe(0)
    expect(made.sent).toHaveLength(1)
    expect(made.lines.slice(0, 3)).toEqual(recorded.slice(0, 3))
    expect(made.lines[3]).not.toBe(recorded[3])
    expect(made.lines[4]).not.toBe(recorded[4])
    expect(made.lines.slice(5)).toEqual(recorded.slice(5))
    expect(made.pinned).toMatchObject({ live: 2, unmatched: 0, forced: ['6'] })
    const tape = openTape(made.tape)
    expect(tape.status).toBe('sealed')
    expect(tape.verify().problem).toBeUndefined()
    const bySeq = new Map(viewOf(tape).recordedSteps.map((step) => [step.seq, step.label]))
    for (const [label, seq] of Object.entries(made.pinned?.matched ?? {}))
      expect(bySeq.get(seq)).toBe(label)
    if (client !== 'axios') return
    // The fork was made without the command line, which remembers what it may start.
    const replayed = await scene.workspace.retake(['replay', made.tape, '--trust'])
    expect(replayed, replayed.stderr).toMatchObject({ code: 0, stdout: made.stdout })
  },
)

test('a process gets answers from a simulator module, and stops when that fails', async () => {
  const scene = await ForkScene.record(agent, { args: ['openai-chat', '2'] })
  await scene.provider.close()
  const made = await forked(scene, { pinned: ['3'], simulator })
  expect(made).toMatchObject({ exitCode: 0, pinned: { live: 0, unmatched: 0 } })
  const recorded = scene.recorded.stdout.split('\n')
  expect(made.lines[0]).toBe('model 1: simulated 1 true')
  expect(made.lines[1]).toMatch(/^tool 1: simulated 2 1 /)
  expect(made.lines[2]).toBe(recorded[2])
  const broken = await forked(scene, { pinned: ['1'], simulator, seed: 13 })
  expect(broken.pinned?.broken).toMatchObject({ code: 'SIMULATOR_FAILED' })
  expect(broken.pinned?.broken?.why).toContain('the simulator is broken')
  await expect(forked(scene, { simulator: `${simulator}.none` })).rejects.toMatchObject({
    code: 'SIMULATOR_UNUSABLE',
  })
  // Nothing can be asked: the agent is told so, and goes on as it would.
  const failed = await forked(scene, { pinned: ['1', '2', '4'] })
  expect(failed.lines[2]).toMatch(/^model 2: failed with /)
  const died = await forked(scene, { pinned: ['1'], answers: { 2: { error: 'no tool' } } })
  expect(died).toMatchObject({ exitCode: 1, pinned: { live: 0, forced: [] } })
  const end = viewOf(openTape(died.tape)).exit
  expect(end).toMatchObject({ code: 1, error: { message: 'no tool' } })
  const replayed = await forked(scene, { pinned: labels(scene) })
  expect(replayed).toMatchObject({ isLive: false, exitCode: 0, stdout: scene.recorded.stdout })
  expect(readdirSync(replayed.folder)).toEqual([])
})
