import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openTape } from '@retake/tape/node'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tapesOf } from '../cli/workspace.js'
import { cutTape } from '../support/cut-tape.js'
import { mcpFolder } from '../support/mcp-folder.js'
import { agentPath, type Finished, type Workspace } from '../support/run-retake.mjs'
import { startServerProcess } from '../support/start-server-process.mjs'
import { soakOnly } from '../support/soak.js'

/**
 * What was printed, in any order, without times and what a server makes up. How much
 * of its progress a client hears before the result is a matter of chance.
 */
const said = (stdout: string): string[] =>
  stdout
    .trimEnd()
    .split('\n')
    .filter((line) => !line.includes(' progress '))
    .map((line) =>
      line.replace(/^\d+ /, '').replace(/ \(?[0-9a-f-]{36}\)?| at \d+| of \d{6,}/g, ''),
    )
    .toSorted()

/** The same run, but for what the search said. */
const withSearch = (lines: readonly string[], result: string): string[] =>
  lines
    .map((line) => (line.startsWith('search_docs said') ? `search_docs said ${result}` : line))
    .toSorted()

async function expectReplays(workspace: Workspace, made: Finished): Promise<void> {
  const replayed = await workspace.replay()
  expect([replayed.code, replayed.stdout], replayed.stderr).toEqual([made.code, made.stdout])
  expect(replayed.waysOut).toEqual({})
}

describe('A run with a server over stdio', () => {
  const server = 'spy.mjs'
  const search = 4
  let workspace: Workspace
  let parent: string
  let wanted: string[]
  beforeAll(async () => {
    workspace = await mcpFolder()
    await writeFile(
      join(workspace.folder, server),
      `import { appendFileSync } from 'node:fs'
      import './server-v1.mjs'
      process.stdin.on('data', (data) => appendFileSync('told.jsonl', data))`,
    )
    const recorded = await workspace.retake(['record', 'agent.mjs', 'v1', server])
    wanted = said(recorded.stdout)
    ;[parent = ''] = await tapesOf(workspace)
  })
  afterAll(() => workspace.remove())

  /** What servers were told since this was last asked, by method and tool. */
  async function told(): Promise<string[]> {
    const path = join(workspace.folder, 'told.jsonl')
    const text = await readFile(path, 'utf8').catch(() => '')
    await rm(path, { force: true })
    return text
      .trimEnd()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as { method: string; params?: { name?: string } })
      .map(({ method, params }) => (method === 'tools/call' ? `${params?.name}` : method))
  }

  test('continues with a new server after an edited tool result', async () => {
    const set = 'result.content.0.text="no page"'
    await told()
    const made = await workspace.retake(['fork', parent, '--at', String(search), '--set', set])
    expect(made.code, made.stderr).toBe(0)
    const handshake = ['initialize', 'notifications/initialized']
    expect((await told()).slice(0, 6)).toEqual([...handshake, 'slow', 'slow', 'slow', 'broken'])
    expect(said(made.stdout)).toEqual(withSearch(wanted, 'no page'))
    await expectReplays(workspace, made)
  })

  test('gets recorded answers for requests under way, and sends the rest to the new server', async () => {
    soakOnly()
    const made = await workspace.retake(['fork', parent, '--at', String(search + 2)])
    expect(made.code, made.stderr).toBe(0)
    expect(said(made.stdout)).toEqual(wanted)
    await expectReplays(workspace, made)
  })

  test('needs no server if the answers of its parent are enough', async () => {
    soakOnly()
    const file = join(workspace.folder, server)
    await rename(file, `${file}.gone`)
    const set = 'result.content.0.text="no page"'
    const args = ['fork', parent, '--at', String(search), '--set', set, '--tail', 'offline']
    const made = await workspace.retake(args)
    await rename(`${file}.gone`, file)
    expect(made.code, made.stderr).toBe(0)
    expect(said(made.stdout)).toEqual(withSearch(wanted, 'no page'))
    await expectReplays(workspace, made)
  })

  /** The run as a kill just after it has asked for a search would have left it. */
  function killedInSearch(name: string): string {
    const tape = openTape(parent)
    const call = [...tape.events()].find(
      ({ type, seq }) => type === 'write' && Buffer.from(tape.body(seq)).includes('"search_docs"'),
    )
    return cutTape(parent, (call?.seq ?? 0) + 1, join(workspace.folder, name))
  }

  test('that was killed inside a call repeats it on a new server, if requested', async () => {
    soakOnly()
    const made = await workspace.retake(['resume', killedInSearch('again'), '--in-doubt', 'retry'])
    expect(made.code, made.stderr).toBe(0)
    expect(made.stderr).toContain('search_docs({"query":"refunds","limit":3})')
    expect(said(made.stdout)).toEqual(wanted)
  })

  test('that was killed inside a call answers it with an error, if it must not be repeated', async () => {
    soakOnly()
    const made = await workspace.retake(['resume', killedInSearch('once'), '--in-doubt', 'skip'])
    expect(made.code).toBe(1)
    expect(made.stderr).toMatch(/McpError: MCP error -32000: .*search_docs/)
  })

  test('refuses what cannot be changed on a pipe, and an answer to another request', async () => {
    soakOnly()
    const at = ['fork', parent, '--at', String(search)]
    const asked = await workspace.retake([...at, '--request', 'params.name="slow"'])
    expect([asked.code, asked.stderr]).toEqual([1, expect.stringContaining('CHANGE_DOES_NOT_FIT')])
    const other = await workspace.retake([...at, '--set', 'id=99'])
    expect([other.code, other.stderr]).toEqual([1, expect.stringContaining('EDIT_INVALID_ANSWER')])
  })
})

test('the result of a tool over HTTP is edited in its stream, with the progress before it', async () => {
  const workspace = await mcpFolder()
  const { ready, stop } = await startServerProcess(agentPath('mcp/server-v1.mjs'), ['http'])
  try {
    const { url } = ready as { url: string }
    await workspace.retake(['record', 'agent.mjs', 'v1', url])
    const set = 'result.content.0.text="counted to nothing"'
    const made = await workspace.retake(['fork', 'last', '--at', '10', '--set', set])
    expect(made.code, made.stderr).toBe(0)
    expect(made.stdout.replaceAll(/^\d+ /gm, '')).toContain(
      `progress 3 3 page 3
count said counted to nothing
`,
    )
    await expectReplays(workspace, made)
  } finally {
    await stop()
    await workspace.remove()
  }
})

test('a server of the newer protocol needs no handshake to continue', async () => {
  soakOnly()
  const workspace = await mcpFolder()
  try {
    const recorded = await workspace.retake(['record', 'agent.mjs', 'v2-modern', 'server-v2.mjs'])
    const set = 'result.content.0.text="no page"'
    const made = await workspace.retake(['fork', 'last', '--at', '5', '--set', set])
    expect(made.code, made.stderr).toBe(0)
    expect(said(made.stdout)).toEqual(withSearch(said(recorded.stdout), 'no page'))
    await expectReplays(workspace, made)
  } finally {
    await workspace.remove()
  }
})
