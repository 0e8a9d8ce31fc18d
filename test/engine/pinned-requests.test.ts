import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { planPinned, searchableSteps } from '@retake/engine/plans'
import type { PinnedPlan } from '@retake/engine'
import { requestPayload, setPath } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { continueAgent } from '../../packages/runner/dist/agent/continue-agent.js'
import { ForkScene, removeScenes, viewOf } from '../support/forking.js'
import { sampled } from '../support/soak.js'

afterAll(removeScenes)

test.each(sampled(['openai-chat', 'http'], (client) => client === 'http'))(
  '%s sends a free step as planned, first or later, and nothing else',
  async (client) => {
    const scene = await ForkScene.record('fork/conversation.mjs', { args: [client, '2'] })
    const tape = openTape(scene.parent)
    const labels = searchableSteps(tape).map(({ label }) => label)
    const models = viewOf(tape).recordedSteps.filter(({ kind }) => kind === 'model')
    const questions = Object.fromEntries(
      models.map((step) => {
        const { data } = requestPayload(tape, step)
        // Longer than a variable of the environment may be.
        const content = `(left out ${step.label} é)${' and more'.repeat(20_000)}`
        return [step.label, setPath(data, 'messages.0.content', content)]
      }),
    )
    const [first, second] = models.map(({ label }) => label) as [string, string]
    const sent = async (plan: Partial<PinnedPlan>) => {
      const before = scene.provider.requests.length
      const folder = mkdtempSync(path.join(tmpdir(), 'retake-pinned-'))
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
      const options = { pinned: [], mode: 'free', seed: 1, folder, ...plan } as const
      const end = await continueAgent(tape, planPinned(tape, options), {
        env: { OPENAI_API_KEY: 'none', ANTHROPIC_API_KEY: 'none' },
        stdio: ['ignore', 'ignore', 'inherit'],
      })
      expect(end.exitCode).toBe(0)
      return scene.provider.requests.slice(before).map(({ body }) => body)
    }
    /** The provider keeps the beginning of what it was asked. */
    const seen = (label: string) => JSON.stringify(questions[label]).slice(0, 4000)
    // Where the run leaves its tape, with all that comes later held.
    const onlyFirst = { requests: questions, pinned: labels.filter((label) => label !== first) }
    expect(await sent(onlyFirst)).toEqual([seen(first)])
    // Later on, behind a free step that is not changed.
    const all = { requests: { [second]: questions[second] } }
    const asked = await sent(all)
    expect(asked).toHaveLength(2)
    expect(asked[0]).not.toContain('left out')
    expect(asked[1]).toBe(seen(second))
  },
)
