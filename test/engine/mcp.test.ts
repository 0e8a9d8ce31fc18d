import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib'
import { readRun, type RunView, type Step } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { afterAll, describe, expect, test } from 'vitest'
import { tapesOf } from '../cli/workspace.js'
import { firstDifference } from '../support/first-difference.mjs'
import { mcpFolder } from '../support/mcp-folder.js'
import { agentPath, type Workspace } from '../support/run-retake.mjs'
import { startServerProcess } from '../support/start-server-process.mjs'
import { repetitions, sampled } from '../support/soak.js'

const REPLAYS = repetitions('RETAKE_REPLAYS', { beforeMerge: 1, soak: 5 })

const leftovers: (() => Promise<unknown>)[] = []
afterAll(() => Promise.all(leftovers.map((remove) => remove())))

async function folder(): Promise<Workspace> {
  const workspace = await mcpFolder()
  leftovers.push(workspace.remove)
  return workspace
}

/** Records, takes the servers away, replays, and gives what the tape shows. */
async function recordAndReplay(
  workspace: Workspace,
  args: readonly string[],
  {
    stop = () => Promise.resolve(),
    exitCode = 0,
  }: { stop?: () => Promise<unknown>; exitCode?: number } = {},
): Promise<{ view: RunView; stdout: string }> {
  const recorded = await workspace.retake(['record', ...args])
  expect(recorded.code, recorded.stderr).toBe(exitCode)
  await stop()
  for (const name of ['server-v1.mjs', 'server-v2.mjs', 'docs-tools.mjs'])
    await rm(join(workspace.folder, name))
  for (let index = 1; index <= REPLAYS; index++) {
    const replayed = await workspace.replay()
    const difference = firstDifference(recorded.stdout, replayed.stdout)
    expect(difference, `replay ${index}\n${difference}\n${replayed.stderr}`).toBeUndefined()
    expect(replayed.code, replayed.stderr).toBe(exitCode)
    expect(replayed.waysOut, 'no process was started and no socket opened').toEqual({})
  }
  const [tape = ''] = await tapesOf(workspace)
  return { view: viewOf(tape), stdout: recorded.stdout }
}

const viewOf = (path: string): RunView =>
  readRun(openTape(path), {
    gunzip: gunzipSync,
    inflate: inflateSync,
    brotli: brotliDecompressSync,
  })

const line = ({ kind, state, title, parent }: Step): string =>
  `${kind} ${state === 'done' ? '' : `${state}: `}${title}${parent === undefined ? '' : ` (in ${parent})`}`

/** What every server is asked, after the handshake. `parent`: the process of the server. */
const asked = (parent: string): string[] =>
  [
    'mcp tools/list · docs',
    'tool search_docs({"query":"refunds","limit":3}) · docs',
    'tool slow({"ms":60,"name":"first"}) · docs',
    'tool slow({"ms":10,"name":"second"}) · docs',
    'tool slow({"ms":30,"name":"third"}) · docs',
    'tool failed: broken({}) · docs',
    'tool count({"to":3}) · docs',
    'mcp resources/read docs://guide · docs',
    'mcp prompts/get ask · docs',
    'tool failed: no_such_tool({}) · docs',
  ].map((text) => text + parent)

describe.concurrent(`MCP over stdio, recorded once, replayed ${REPLAYS} times without the server`, () => {
  const pairs = [
    ['v1', 'server-v1.mjs', ['process node server-v1.mjs · docs', 'mcp initialize · docs (in 1)']],
    ['v1', 'server-v2.mjs', ['process node server-v2.mjs · docs', 'mcp initialize · docs (in 1)']],
    [
      'v2-legacy',
      'server-v2.mjs',
      ['process node server-v2.mjs · docs', 'mcp initialize · docs (in 1)'],
    ],
    [
      'v2-modern',
      'server-v2.mjs',
      [
        // The SDK asks a first process for its versions, and stops it.
        'process failed: node server-v2.mjs · docs',
        'mcp server/discover · docs (in 1)',
        'process node server-v2.mjs · docs',
      ],
    ],
    [
      'v2-auto',
      'server-v1.mjs',
      [
        'process failed: node server-v1.mjs',
        'mcp failed: server/discover (in 1)',
        'process node server-v1.mjs · docs',
        'mcp initialize · docs (in 3)',
      ],
    ],
  ] as const
  // Before a merge, engine/mcp-branches and frameworks/mcp record a client of version 1 over stdio.
  test.each(sampled(pairs, (_, index) => index === 3))(
    'client %s, %s',
    async (generation, server, opening) => {
      const workspace = await folder()
      const { view } = await recordAndReplay(workspace, ['agent.mjs', generation, server])
      const parent = opening.findLastIndex((text) => text.startsWith('process')) + 1
      expect(view.recordedSteps.map(line)).toEqual([...opening, ...asked(` (in ${parent})`)])
    },
  )
})

describe.concurrent(`MCP over streamable HTTP, replayed ${REPLAYS} times without the server`, () => {
  const pairs = [
    [
      'v1',
      'server-v1.mjs',
      ['mcp initialize · docs', 'mcp notifications/initialized · docs', 'mcp listen · docs'],
      ['tool summarize({"of":"refunds"}) · docs', 'mcp sampling/createMessage ← docs'],
    ],
    [
      'v2-legacy',
      'server-v2.mjs',
      [
        'mcp initialize · docs',
        'mcp notifications/initialized · docs',
        'mcp listen · docs (not offered)',
      ],
      [],
    ],
    ['v2-modern', 'server-v2.mjs', ['mcp server/discover · docs'], []],
  ] as const
  const tested = sampled(pairs, (_, index) => index === 0)
  test.each(tested)('client %s, %s', async (generation, server, opening, closing) => {
    const workspace = await folder()
    const { ready, stop } = await startServerProcess(agentPath(`mcp/${server}`), ['http'])
    leftovers.push(stop)
    const more = closing.length > 0 ? ['summarize'] : []
    const { view } = await recordAndReplay(
      workspace,
      ['agent.mjs', generation, (ready as { url: string }).url, ...more],
      { stop },
    )
    expect(view.recordedSteps.map(line)).toEqual([...opening, ...asked(''), ...closing])
    expect(view.totals.toolCalls).toBe(7 + more.length)
  })
})

describe.concurrent('A server over stdio', () => {
  test('that exits during a call, prints invalid messages and sends requests to its client', async () => {
    const workspace = await folder()
    const args = ['agent.mjs', 'v1', 'server-v1.mjs', 'chatter', 'summarize', 'crash']
    const { view, stdout } = await recordAndReplay(workspace, args)
    expect(stdout).toMatch(/lost -32000 MCP error -32000: Connection closed/)
    const [process] = view.recordedSteps
    expect(process).toMatchObject({ state: 'failed', error: 'exit code 7' })
    const printed = process?.call()?.output.map(({ bytes }) => Buffer.from(bytes).toString())
    expect(printed).toEqual(['loading index…\n', '{"half": \n', 'out of memory\n'])
    expect(view.recordedSteps.slice(12).map(line)).toEqual([
      'tool chatter({}) · docs (in 1)',
      'tool summarize({"of":"refunds"}) · docs (in 1)',
      'mcp sampling/createMessage ← docs (in 1)',
      'tool failed: crash({}) · docs (in 1)',
    ])
    const shown = await workspace.retake(['show', 'last', '--step', '9'])
    expect(shown.stdout).toMatch(
      /count\(\{"to":3\}\) · docs\ndone · tool · mcp[^]*notifications\n {2}notifications\/progress \{.*"page 1"/,
    )
    expect(view.step(16)?.error).toBe('the server exited with code 7 before it answered')
    expect(view.step(15)?.mcp()).toMatchObject({
      askedBy: 'server',
      params: { maxTokens: 20 },
      result: { content: { text: 'short (1 message)' } },
    })
  })

  test('beside another one, each with its own steps', async () => {
    const workspace = await folder()
    const args = ['two-servers.mjs', 'v2-legacy', 'server-v1.mjs', 'server-v2.mjs']
    const { view } = await recordAndReplay(workspace, args)
    const calls = view.recordedSteps.filter(({ kind }) => kind === 'tool')
    expect(calls.map(line)).toEqual([
      'tool search_docs({"query":"refunds"}) · docs (in 1)',
      'tool search_docs({"query":"returns"}) · docs (in 1)',
      'tool search_docs({"query":"refunds"}) · wiki (in 2)',
      'tool search_docs({"query":"returns"}) · wiki (in 2)',
    ])
    expect(new Set(calls.map(({ lane }) => lane)).size).toBe(4)
  })
})

test('a server over HTTP that ends during a call, and a missing server', async () => {
  const workspace = await folder()
  const server = agentPath('mcp/server-v1.mjs')
  // It ends in the test; else when its stdin closes, with us.
  const { ready } = await startServerProcess(server, ['http'])
  const { url } = ready as { url: string }
  await writeFile(
    join(workspace.folder, 'crash.mjs'),
    `import { connect } from './connect.mjs'
    const [url] = process.argv.slice(2)
    const client = await connect('v1', url)
    const give = { timeout: 2000 }
    await client.callTool({ name: 'crash', arguments: {} }, undefined, give).catch((error) => {
      console.log('lost', error.code)
    })
    await client.listTools(undefined, give).catch((error) => console.log('gone', error.message))
    process.exit(0)`,
  )
  const { view } = await recordAndReplay(workspace, ['crash.mjs', url])
  const steps = view.recordedSteps.map(line)
  expect(steps).toContain('mcp initialize · docs')
  expect(view.recordedSteps.find(({ title }) => title.startsWith('crash('))).toMatchObject({
    kind: 'tool',
    state: 'failed',
  })
  expect(view.recordedSteps.at(-1)).toMatchObject({ kind: 'mcp', state: 'failed' })
})

test('a tool with another description or input, or a new tool, is named in a diff', async () => {
  const workspace = await folder()
  const agent = join(workspace.folder, 'list.mjs')
  await writeFile(
    agent,
    `import { connect } from './connect.mjs'
    const [name, value] = process.argv.slice(2)
    const [generation, server] = name === 'other' ? ['v2-legacy', 'server-v1.mjs'] : ['v1', 'server-v2.mjs']
    const client = await connect(generation, server, name === 'other' ? JSON.parse(value) : {})
    await client.listTools()
    await client.close()`,
  )
  const env = { DOCS_DESCRIPTION: 'Searches all docs.', DOCS_EXTRA: 'language' }
  for (const args of [[], ['other', JSON.stringify(env)]]) {
    const { code, stderr } = await workspace.retake(['record', agent, ...args])
    expect(code, stderr).toBe(0)
  }
  const [a = '', b = ''] = await tapesOf(workspace)
  const { code, stdout } = await workspace.retake(['diff', a, b, '--json'])
  expect(code).toBe(3)
  const { toolLists } = JSON.parse(stdout) as { toolLists: unknown[] }
  expect(toolLists).toEqual([
    {
      server: 'docs',
      added: ['summarize'],
      removed: [],
      changed: expect.arrayContaining([
        {
          name: 'search_docs',
          fields: expect.arrayContaining([
            { path: 'description', a: 'Searches the documentation.', b: 'Searches all docs.' },
            { path: 'inputSchema.properties.language', b: { type: 'string' } },
          ]) as unknown,
        },
      ]) as unknown,
    },
  ])
  const printed = await workspace.retake(['diff', a, b])
  expect(printed.stdout).toMatch(/tools of docs\n {2}\+ summarize\n/)
})
