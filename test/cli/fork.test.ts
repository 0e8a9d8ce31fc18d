import { readdirSync } from 'node:fs'
import { chmod, readFile, rename, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openTape } from '@retake/tape/node'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { ForkScene, removeScenes, viewOf } from '../support/forking.js'
import { run, type Finished } from '../support/run-retake.mjs'
import { sampled, soakOnly } from '../support/soak.js'
import { folderWith } from './workspace.js'

afterAll(removeScenes)

const modules = fileURLToPath(new URL('../../node_modules', import.meta.url))
const agent = 'fork/conversation.mjs'

/** The code of the one error a command ended with, and its exit code. */
function oneError({ stderr, code }: Finished): string {
  const found =
    stderr.match(
      /^error .+\n {2}why {2}.+(\n {7}.+)*\n {2}fix {2}.+(\n {7}.+)*\n {2}code [A-Z_]+\n/gm,
    ) ?? []
  const [, name] = /code ([A-Z_]+)/.exec(found[0] ?? '') ?? []
  const isClean = found.length === 1 && !/^ +at .*packages\//m.test(stderr)
  return isClean && name !== undefined ? `${name}, exit code ${code}` : stderr
}

describe('is refused with one error, and leaves nothing behind:', () => {
  let scene: ForkScene
  beforeAll(async () => {
    scene = await ForkScene.record(agent, { args: ['openai-chat', '2'] })
  })

  /** A fork that must not happen. */
  async function refused(
    args: readonly string[],
    env?: Readonly<Record<string, string>>,
  ): Promise<string> {
    const { folder } = scene.workspace
    const runs = join(folder, '.retake', 'runs')
    const before = readdirSync(runs)
    const made = await scene.branch(['fork', ...args], env)
    expect(made.sent, made.stderr).toEqual([])
    expect(readdirSync(runs), made.stderr).toEqual(before)
    expect(made.stdout).toBe('')
    return oneError(made)
  }

  const refusals: readonly [string, string[], string][] = [
    ['a step out of range', ['--at', '99'], 'NO_SUCH_STEP, exit code 1'],
    ['step 0', ['--at', '0'], 'NO_SUCH_STEP, exit code 1'],
    ['a step that is no number', ['--at', 'four'], 'NO_SUCH_STEP, exit code 1'],
    [
      'an event out of range',
      ['--at', 'e9999', '--set', 'value=1'],
      'TAPE_NO_SUCH_EVENT, exit code 1',
    ],
    ['an event that is no draw', ['--at', 'e0', '--set', 'value=1'], 'EDIT_NO_ANSWER, exit code 1'],
    ['no step', [], 'WRONG_USAGE, exit code 2'],
    [
      'a path that is not in the answer',
      ['--at', '1', '--set', 'choices.7.message.content="x"'],
      'EDIT_NO_SUCH_PATH, exit code 1',
    ],
    [
      'a misspelt key',
      ['--at', '1', '--set', 'choices.0.mesage.content="x"'],
      'EDIT_NO_SUCH_PATH, exit code 1',
    ],
    [
      'a misspelt key at the end',
      ['--at', '1', '--set', 'choices.0.message.contents="x"'],
      'EDIT_NO_SUCH_PATH, exit code 1',
    ],
    [
      'a path that is no path',
      ['--at', '1', '--set', 'choices[="x"'],
      'EDIT_BROKEN_PATH, exit code 1',
    ],
    [
      'a value that is not JSON',
      ['--at', '1', '--set', 'choices.0.message.content=No.'],
      'EDIT_NOT_JSON, exit code 1',
    ],
    [
      'a change without a value',
      ['--at', '1', '--set', 'choices.0.message.content'],
      'EDIT_BROKEN_PATH, exit code 1',
    ],
    [
      'an answer that the provider never gives',
      ['--at', '1', '--set', 'choices=[]'],
      'EDIT_INVALID_ANSWER, exit code 1',
    ],
    [
      'a response file that is not there',
      ['--at', '1', '--response', 'none.json'],
      'RESPONSE_UNREADABLE, exit code 1',
    ],
    [
      'both an answer and a request',
      ['--at', '1', '--set', 'choices.0.message.content="x"', '--request', 'model="m"'],
      'ANSWER_AND_REQUEST_EDITED, exit code 1',
    ],
    [
      'a path that is not in the request',
      ['--at', '1', '--request', 'modell="m"'],
      'EDIT_NO_SUCH_PATH, exit code 1',
    ],
    ['an unknown tail', ['--at', '1', '--tail', 'wagging'], 'WRONG_USAGE, exit code 2'],
    ['an impossible status', ['--at', '1', '--status', '99'], 'WRONG_USAGE, exit code 2'],
    ['a status for a tool', ['--at', '2', '--status', '500'], 'CHANGE_DOES_NOT_FIT, exit code 1'],
    [
      'a request of a clock',
      ['--at', 'e2', '--request', 'model="m"'],
      'CHANGE_DOES_NOT_FIT, exit code 1',
    ],
    ['an unknown option', ['--at', '1', '--sett', 'x=1'], 'WRONG_USAGE, exit code 2'],
    ['a variable without a value', ['--at', '1', '--env', 'NAME'], 'WRONG_USAGE, exit code 2'],
  ]
  test.each(sampled(refusals, (_, index) => index % 4 === 0))('%s', async (_, args, error) => {
    expect(await refused([scene.parent, ...args])).toBe(error)
  })

  test('an unknown run', async () => {
    expect(await refused(['nothing-like-it', '--at', '1'])).toBe('UNKNOWN_RUN, exit code 1')
    expect(await refused(['--at', '1'])).toBe('WRONG_USAGE, exit code 2')
  })

  test('a response file that is not JSON, or not an answer of the provider', async () => {
    soakOnly()
    const { folder } = scene.workspace
    await writeFile(join(folder, 'broken.json'), '{"choices": [')
    await writeFile(join(folder, 'other.json'), '{"weather": "fine"}')
    const with_ = (file: string): string[] => [scene.parent, '--at', '1', '--response', file]
    expect(await refused(with_('broken.json'))).toBe('EDIT_NOT_JSON, exit code 1')
    expect(await refused(with_('other.json'))).toBe('EDIT_INVALID_ANSWER, exit code 1')
  })

  test('an editor that changes nothing, breaks the JSON, fails or is missing', async () => {
    soakOnly()
    const { folder } = scene.workspace
    const editor = async (name: string, script: string): Promise<Record<string, string>> => {
      const path = join(folder, name)
      await writeFile(path, `#!/bin/sh\n${script}\n`)
      await chmod(path, 0o755)
      return { EDITOR: path, VISUAL: '' }
    }
    const args = [scene.parent, '--at', '1', '--edit']
    expect(await refused(args, await editor('look', 'exit 0'))).toBe('NOTHING_EDITED, exit code 1')
    expect(await refused(args, await editor('break', 'echo "{" > "$1"'))).toBe(
      'EDIT_NOT_JSON, exit code 1',
    )
    expect(await refused(args, await editor('spoil', `sed -i 's/"choices"/"choice"/' "$1"`))).toBe(
      'EDIT_INVALID_ANSWER, exit code 1',
    )
    expect(await refused(args, await editor('quit', 'exit 1'))).toBe('EDITOR_FAILED, exit code 1')
    expect(await refused(args, { EDITOR: join(folder, 'no-such-editor'), VISUAL: '' })).toBe(
      'EDITOR_FAILED, exit code 1',
    )
    expect(
      await refused([scene.parent, '--at', '77', '--edit'], await editor('look', 'exit 0')),
    ).toBe('NO_SUCH_STEP, exit code 1')
  })

  test('a run of record() in a program: there is no process to start again', async () => {
    const { folder } = scene.workspace
    const runs = join(folder, '.retake', 'runs')
    await symlink(modules, join(folder, 'node_modules'))
    await writeFile(
      join(folder, 'library.mjs'),
      `import { fork, record, rerun, tool } from '@retake/engine'
const roll = tool('roll', () => ({ dice: Math.random() }))
const agent = async () => [(await roll()).dice, (await roll()).dice]
const { run, output } = await record({ name: 'library', dir: '${runs}' }, agent)
const forked = await fork(run.path, agent, { at: 1, set: { dice: 6 } })
const again = await rerun(run.path, agent)
const other = await rerun(run.path, async () => [...(await agent()), 'more'])
const refused = await fork(run.path, agent, { at: 9 }).catch(({ code }) => code)
console.log(JSON.stringify({ path: run.path, output, forked: forked.output, isNew: forked.run.path !== run.path,
  again: again.output, same: again.run.path === run.path, other: other.output, why: other.divergence?.kind, refused }))
`,
    )
    const { stdout, stderr } = await run(process.execPath, ['library.mjs'], folder)
    expect(stdout, stderr).not.toBe('')
    const told = JSON.parse(stdout) as Record<string, unknown> & { path: string; output: number[] }
    expect(told).toMatchObject({
      forked: [6, expect.any(Number)],
      isNew: true,
      again: told.output,
      same: true,
      other: [...told.output, 'more'],
      why: 'result',
      refused: 'NO_SUCH_STEP',
    })
    expect(await refused([told.path, '--at', '1'])).toBe('NOT_A_PROCESS_RUN, exit code 1')
  })
})

test('a tool that is only seen in the conversation cannot be forked', async () => {
  soakOnly()
  const scene = await ForkScene.record('openai-chat.mjs')
  const inferred = viewOf(openTape(scene.parent)).steps.find((step) => step.inferred)
  const made = await scene.branch(['fork', scene.parent, '--at', inferred?.label ?? ''])
  expect(oneError(made)).toBe('STEP_NOT_RECORDED, exit code 1')
  expect(made.stderr).toMatch(
    /retake fork \S+ --at \d+ --(every-)?request 'messages\.\d+\.content="…"'/,
  )
  expect(made.sent).toEqual([])
})

test('--edit without an editor and a terminal opens nothing', async () => {
  soakOnly()
  const scene = await ForkScene.record('openai-chat.mjs')
  const made = await scene.branch(['fork', scene.parent, '--at', '1', '--edit'], {
    EDITOR: '',
    VISUAL: '',
  })
  expect(oneError(made)).toBe('EDITOR_MISSING, exit code 1')
})

test('keys that the run was recorded with must be set again', async () => {
  soakOnly()
  const fakeKey = (name: string) => `sk-${name}-${'x9'.repeat(8)}`
  const env = { OPENAI_API_KEY: fakeKey('test') }
  const scene = await ForkScene.record(agent, { args: ['openai-chat', '2'], env })
  const fork = ['fork', scene.parent, '--at', '1', '--set', 'choices.0.message.content="x"']
  const refused = await scene.branch(fork)
  expect(oneError(refused)).toBe('CREDENTIALS_MISSING, exit code 4')
  expect(refused.stderr).toContain('OPENAI_API_KEY')
  expect(refused.sent).toEqual([])
  expect(refused.path).toBeUndefined()
  const made = await scene.branch(fork, { OPENAI_API_KEY: fakeKey('other') })
  expect(made.code, made.stderr).toBe(0)
  const given = await scene.branch([...fork, '--env', `OPENAI_API_KEY=${fakeKey('given')}`])
  expect(given.code, given.stderr).toBe(0)
  for (const { path = '' } of [made, given])
    expect(await readFile(path, 'utf8')).not.toMatch(/sk-(other|given)/)
})

test('code that changed before the fork is a divergence, and no branch is left behind', async () => {
  const source = `console.log('one')
const ask = async (text) => (await fetch(process.env.AGENT_BASE_URL + '/echo', { method: 'POST', body: text })).json()
console.log((await ask('first')).number)
console.log((await ask('second')).number)
`
  const scene = await ForkScene.record('agent.mjs', {
    prepare: (folder) => writeFile(join(folder, 'agent.mjs'), source),
  })
  await writeFile(join(scene.workspace.folder, 'agent.mjs'), source.replace("'first'", "'changed'"))
  const made = await scene.branch(['fork', scene.parent, '--at', '2', '--set', 'number=77'])
  expect(made.code, made.stderr).toBe(3)
  expect(made.stderr).toMatch(/^diverged at event \d+ of \d+ · step 1\n/)
  expect(made.stderr).toContain('- first')
  expect(made.stderr).toContain('Nothing was sent and nothing was recorded.')
  expect(made.sent).toEqual([])
  expect(made.path).toBeUndefined()
  expect(readdirSync(join(scene.workspace.folder, '.retake', 'runs')).length).toBe(1)
  // Behind the fork, code may change.
  await writeFile(join(scene.workspace.folder, 'agent.mjs'), `${source}console.log('three')\n`)
  const fine = await scene.branch(['fork', scene.parent, '--at', '2', '--set', 'number=77'])
  expect(fine).toMatchObject({ code: 0, sent: [] })
  expect(fine.stdout).toMatch(/^one\n\d+\n77\nthree\n$/)
})

describe('a truncated tape', () => {
  test('is forked inside, not beyond its end', async () => {
    const scene = await ForkScene.record(agent, { args: ['http', '4'] })
    const whole = openTape(scene.parent)
    const bytes = await readFile(scene.parent)
    const cut = join(scene.workspace.folder, '.retake', 'runs', 'cut.tape')
    // Until the request of step 5 has left.
    const marker = Buffer.from(`{"seq":${(viewOf(whole).step('5')?.seq ?? 0) + 1},`)
    await writeFile(cut, bytes.subarray(0, bytes.indexOf(marker)))
    const beyond = await scene.branch(['fork', cut, '--at', '7'])
    expect(oneError(beyond)).toBe('NO_SUCH_STEP, exit code 1')
    expect(beyond.stderr).toContain('it was cut off there')
    expect(beyond.sent).toEqual([])
    const unanswered = await scene.branch([
      'fork',
      cut,
      '--at',
      '5',
      '--set',
      'choices.0.message.content="x"',
    ])
    expect(oneError(unanswered)).toBe('EDIT_NO_ANSWER, exit code 1')
    const inside = await scene.branch(['fork', cut, '--at', '4', '--set', 'heard="inside"'])
    expect(inside.code, inside.stderr).toBe(0)
    expect(inside.sent.length).toBe(2)
    expect(inside.sent[0]?.body).toContain('seen: inside')
    // The step in doubt may be asked again when that is what one forks for.
    const again = await scene.branch(['fork', cut, '--at', '5'])
    expect(again.code, again.stderr).toBe(0)
    expect(again.sent.length).toBe(2)
  })
})

test('a branch whose parent was deleted says so', async () => {
  soakOnly()
  const scene = await ForkScene.record(agent, { args: ['http', '2'] })
  const made = await scene.branch(['fork', scene.parent, '--at', '2', '--set', 'heard="x"'])
  const { retake } = scene.workspace
  await rename(scene.parent, `${scene.parent}.away`)
  for (const args of [
    ['fork', made.path ?? '', '--at', '1'],
    ['rerun', made.path ?? ''],
    ['show', made.path ?? ''],
    ['replay', made.path ?? ''],
  ])
    expect(oneError(await retake(args)), args.join(' ')).toBe('BRANCH_PARENT_MISSING, exit code 1')
  const listed = await retake(['list'])
  expect(listed.stdout).toContain('BRANCH_PARENT_MISSING')
  await rename(`${scene.parent}.away`, scene.parent)
  expect((await retake(['replay', made.path ?? ''])).code).toBe(0)
})

test('an answer edited in $EDITOR is checked and served', async () => {
  const scene = await ForkScene.record(agent, { args: ['openai-chat-stream', '2'] })
  const editor = join(scene.workspace.folder, 'editor')
  await writeFile(
    editor,
    `#!/bin/sh\nsed -i -E 's/"content": "[^"]*"/"content": "from the editor"/' "$1"\n`,
  )
  await chmod(editor, 0o755)
  const made = await scene.branch(['fork', scene.parent, '--at', '1', '--edit'], {
    EDITOR: editor,
    VISUAL: '',
  })
  expect(made.code, made.stderr).toBe(0)
  expect(made.stdout).toMatch(/^model 1: from the editor\n/)
  expect(made.sent[0]?.body).toContain('seen: from the editor')
})

test('an answer can come from a file, an invalid one can be forced, and the branch can be named', async () => {
  soakOnly()
  const scene = await ForkScene.record(agent, { args: ['http', '2'] })
  const file = join(scene.workspace.folder, 'answer.json')
  const answer = viewOf(openTape(scene.parent)).step('1')?.exchange()?.response?.json
  const text = JSON.stringify(answer).replace(/"content":"[^"]*"/, '"content":"from a file"')
  await writeFile(file, text)
  const made = await scene.branch([
    'fork',
    scene.parent,
    '--at',
    '1',
    '--response',
    file,
    '--name',
    'by file',
  ])
  expect(made.code, made.stderr).toBe(0)
  expect(made.stdout).toMatch(/^model 1: from a file\n/)
  expect(made.tape.run.name).toBe('by file')
  expect(made.tape.details.branch).toMatchObject({
    kind: 'fork',
    at: '1',
    edits: [{ target: 'answer', value: JSON.parse(text) as object }],
  })
  const odd = await scene.branch([
    'fork',
    scene.parent,
    '--at',
    '1',
    '--set',
    'choices=[]',
    '--force',
  ])
  expect(odd.stdout).toMatch(/^model 1: failed with Cannot read properties of undefined/)
})

test('the example of docs/branches.md runs as it says', async () => {
  soakOnly()
  const docs = await readFile(new URL('../../docs/branches.md', import.meta.url), 'utf8')
  const source = /```js\n\/\/ agent\.mjs\n(.*?)```/s.exec(docs)?.[1] ?? ''
  const scene = await ForkScene.record('agent.mjs', {
    prepare: async (folder) => {
      await symlink(modules, join(folder, 'node_modules'))
      await writeFile(join(folder, 'agent.mjs'), source)
    },
  })
  expect(scene.recorded.stdout).toMatch(/^bought lamp for 3\d\n$/)
  const forked = await scene.branch(['fork', 'last', '--at', '1', '--set', 'price=99'])
  expect(forked.stdout, forked.stderr).toBe('99 is too much\n')
  const shape = (text: string): string => text.replaceAll(/\d{8}-\d{6}-[a-z]{4}|[\d.]+ m?s/g, '…')
  expect(shape(docs)).toContain(shape(forked.stderr))
  const changed = source.replace('price }) :', 'price: price - 1 }) :')
  await writeFile(join(scene.workspace.folder, 'agent.mjs'), changed)
  const rerun = await scene.branch(['rerun', scene.parent])
  expect(rerun.stdout).toMatch(/^bought lamp for [23]\d\n$/)
  expect(shape(docs)).toContain(shape(rerun.stderr))
})

test('the report of a fork names an MCP session that the server has ended since the recording', async () => {
  const sessions = new Set<string>()
  const server = createServer((request, response) => {
    const session = String(request.headers['mcp-session-id'] ?? `session-${sessions.size}`)
    const isNew = request.headers['mcp-session-id'] === undefined
    if (isNew) sessions.add(session)
    if (!sessions.has(session)) response.statusCode = 404
    if (request.method === 'DELETE') sessions.delete(session)
    response.setHeader('content-type', 'application/json')
    response.setHeader('mcp-session-id', session)
    response.end('{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const { retake } = await folderWith({
    'agent.mjs': `const url = 'http://127.0.0.1:${port}/mcp'
const headers = { 'content-type': 'application/json', 'mcp-protocol-version': '2025-11-25' }
const send = async (id, method, params = {}) => {
  const body = JSON.stringify({ jsonrpc: '2.0', id, method, params })
  const response = await fetch(url, { method: 'POST', headers, body })
  headers['mcp-session-id'] ??= response.headers.get('mcp-session-id')
  console.log(method, response.status, await response.text())
}
await send(1, 'initialize', { protocolVersion: '2025-11-25' })
await send(2, 'tools/call', { name: 'search' })
await send(3, 'tools/call', { name: 'order' })
await fetch(url, { method: 'DELETE', headers })`,
  })
  await retake(['record', 'agent.mjs'])
  const { stderr } = await retake([
    'fork',
    'last',
    '--at',
    '2',
    '--set',
    'result.protocolVersion=1',
  ])
  expect(stderr.replaceAll(/\s+/g, ' ')).toContain(
    `lost MCP session at http://127.0.0.1:${port}/mcp: the server no longer knows it, so step 3 got 404`,
  )
})
