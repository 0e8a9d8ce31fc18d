import { startModelServer, type ModelServer } from '@retake/engine/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeWorkspace, type Workspace } from '../support/run-retake.mjs'
import { sampled } from '../support/soak.js'

/** `retake fork --set` on the streams of real SDKs, with the provider gone. */

const RECORDED = 'Order 1182 left the warehouse this morning.'
const TEXT = 'Order 1182 is “lost” ☃ since 12:30.'

let server: ModelServer
const workspaces: Workspace[] = []

beforeAll(async () => {
  server = await startModelServer({ answer: () => ({ text: RECORDED }) })
})

afterAll(async () => {
  await server.stop()
  for (const workspace of workspaces) await workspace.remove()
})

const models = [
  ['gemini', 'candidates.0.content.parts.0.text', 'usageMetadata.candidatesTokenCount'],
  ['converse', 'output.message.content.0.text', 'usage.outputTokens'],
  ['converse-http1', 'output.message.content.0.text', 'usage.outputTokens'],
  ['ollama', 'message.content', 'eval_count'],
] as const

test.each(sampled(models, ([model]) => model === 'converse'))(
  'a fork of %s receives the text and the counts that were set',
  async (model, path, counted) => {
    const workspace = await makeWorkspace()
    workspaces.push(workspace)
    const provider = { url: server.url, h2Url: server.url }
    const recorded = await workspace.record('fork/streamed-model.mjs', { provider, args: [model] })
    expect(recorded.stderr).not.toMatch(/^error/m)
    expect(JSON.parse(recorded.stdout)).toMatchObject({ text: RECORDED })
    const edits = [`${path}=${JSON.stringify(TEXT)}`, `${counted}=4242`]
    const sets = edits.flatMap((edit) => ['--set', edit])
    const forked = await workspace.retake([
      'fork',
      'last',
      '--at',
      '1',
      ...sets,
      '--tail',
      'offline',
    ])
    expect(forked.stderr).not.toMatch(/^error/m)
    expect(JSON.parse(forked.stdout)).toEqual({ text: TEXT, output: 4242 })
  },
)
