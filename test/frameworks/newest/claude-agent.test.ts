import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startModelServer } from '@retake/engine/testing'
import type { ModelRequest, ModelServer, ScriptedAnswer } from '@retake/engine/testing'
import { openTape, readRun } from 'retake'
import {
  type NamedRun,
  refusalOf,
  replayWith,
  unchanged,
  withNamedRun,
} from '../../support/named-run.js'
import { hasNewest, newestPath } from '../../support/newest.js'
import { onlyTape } from '../../support/step-places.js'

const program = newestPath('claude-agent.mjs')
const withProxy = `
  import { recordedClaude } from '${import.meta.resolve('retake/claude-agent')}'
  globalThis.recordedClaude = recordedClaude
`

/** Uses the tool that the prompt asks for, then says that it is done. */
function decide({ messages }: ModelRequest): ScriptedAnswer {
  const use = (name: string, args: Record<string, unknown>) => ({ toolCalls: [{ name, args }] })
  const asked = messages.findLast(({ role }) => role === 'user')?.text ?? ''
  if (messages.some(({ role }) => role === 'assistant')) return { text: 'All done.' }
  if (asked.endsWith('say hello with bash'))
    return use('Bash', { command: 'touch hello && cat hello' })
  const [, order] = /find order (\d+)$/.exec(asked) ?? []
  if (order !== undefined) return use('mcp__shop__find_order', { id: order })
  if (asked.endsWith('let the checker check'))
    return use('Agent', { description: 'check', prompt: 'check it', subagent_type: 'checker' })
  return { text: 'Checked.' }
}

/** The tape of the model calls that a mark in the run names. */
async function modelTape({ workspace }: NamedRun) {
  const run = onlyTape(workspace.folder)
  const folder = run.replace(/\.tape$/, '.claude')
  const names = (await readdir(folder)).filter((name) => name.endsWith('.tape'))
  expect(names).toEqual(['1.tape'])
  const marks = readRun(openTape(run)).steps.filter(({ kind }) => kind === 'mark')
  expect(marks.map(({ title }) => title)).toEqual([
    expect.stringMatching(/^claude-agent: its model calls are on \S+\.claude.1\.tape, beside/),
  ])
  return openTape(join(folder, '1.tape'))
}

describe.skipIf(!hasNewest)('Claude Agent SDK', () => {
  let server: ModelServer
  let home: string
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'retake-claude-'))
    server = await startModelServer({ answer: decide })
  })
  afterAll(async () => {
    await server.stop()
    await rm(home, { recursive: true, force: true, maxRetries: 3 })
  })
  const withClaude = (
    names: string,
    look: (run: NamedRun) => Promise<void>,
    env: Record<string, string> = {},
  ) =>
    withNamedRun({ program, names, baseUrl: server.url, env: { CLAUDE_HOME: home, ...env } }, look)

  test('a query is replayed without its subprocess, and needs no adapter for it', async () => {
    await withClaude('', async (run) => {
      expect(run.recorded.stdout).toContain("[ 'tool_use Bash', 'text All done.', 'result")
      expect(run.recorded.stdout).toContain('will use Bash true\n')
      expect(run.recorded.stdout).toContain('may use Bash touch hello')
      const asked = server.requests.length
      expect(await replayWith(run, '')).toEqual(unchanged(run))
      expect(server.requests.length).toBe(asked)
    })
  })

  test('with the adapter, its model calls are on a separate tape, by session and sub-agent', async () => {
    const before = server.requests.length
    await withClaude(withProxy, async (run) => {
      const tape = await modelTape(run)
      expect(tape.status).toBe('sealed')
      const view = readRun(tape)
      const models = view.steps.filter(({ kind }) => kind === 'model')
      expect(models.length).toBe(server.requests.length - before)
      expect(view.totals.usage.input).toBeGreaterThan(0)
      const places = models.map(({ within }) => within.map(({ name }) => name).join(' > '))
      expect(new Set(places)).toEqual(new Set(['claude', 'claude > sub-agent']))
      const sessions = new Set(models.map(({ within }) => within[0]?.id))
      expect(sessions.size).toBe(5)
      const tools = view.steps.filter(({ kind }) => kind === 'tool').map(({ title }) => title)
      expect(tools.filter((title) => title.startsWith('Bash'))).toHaveLength(2)
      expect(tools.some((title) => title.includes('find_order({"id":"8"})'))).toBe(true)
    })
  })

  test.each([
    ['recorded with the adapter, replayed without', withProxy, ''],
    ['recorded without the adapter, replayed with', '', withProxy],
  ])('%s: identical', async (_title, before, after) => {
    await withClaude(before, async (run) => {
      expect(await replayWith(run, after)).toEqual(unchanged(run))
    })
  })

  test('a program that ends itself leaves a finished tape of its model calls', async () => {
    await withClaude(
      withProxy,
      async (run) => expect((await modelTape(run)).status).toBe('sealed'),
      { CLAUDE_STORY: 'short' },
    )
  })
})

test('an unsupported version of the Claude Agent SDK is refused with its name and the supported range', async () => {
  const names = `${withProxy}\nrecordedClaude({})`
  const { code, stderr } = await refusalOf(names, '@anthropic-ai/claude-agent-sdk', '0.2.80')
  expect(code).toBe(1)
  expect(stderr).toMatch(/FRAMEWORK_NOT_SUPPORTED[^]*claude-agent-sdk 0\.2\.80[^]*0\.3 to 0\.x/)
})
