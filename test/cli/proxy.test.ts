import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Provider, startProvider } from '../support/loopback-provider.mjs'
import type { Workspace } from '../support/run-retake.mjs'
import { cli, folderWith, tapesOf } from './workspace.js'
import { isSoak, soakOnly } from '../support/soak.js'

const run = promisify(execFile)
const has = async (program: string) =>
  run(program, ['--version']).then(
    () => true,
    () => false,
  )
const hasCurl = await has('curl')
const hasPython = await has('python3')

let provider: Provider
beforeEach(async () => {
  provider = await startProvider({ maxLatencyMs: 4 })
  return () => provider.close().catch(() => {})
})
let stops: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const stop of stops) await stop()
  stops = []
})

interface Listening {
  readonly url: string
  /** Ctrl-C; gives the last line of JSON and the exit code. */
  readonly stop: () => Promise<{ code: number | null; told: Record<string, unknown> }>
}

/** Starts `retake proxy …` and waits until it listens. */
async function startProxy({ folder }: Workspace, args: readonly string[]): Promise<Listening> {
  const child = spawn(process.execPath, [cli, 'proxy', ...args, '--port', '0', '--json'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let out = ''
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
  await once(child.stdout, 'data')
  const { listening } = JSON.parse(out) as { listening: string }
  const closed = once(child, 'close') as Promise<[number | null]>
  const stop = async () => {
    child.kill('SIGINT')
    const [code] = await closed
    const lines = out.trim().split('\n')
    return { code, told: JSON.parse(lines.at(-1) ?? '') as Record<string, unknown> }
  }
  stops.push(stop)
  return { url: listening, stop }
}

const pythonAgent = `
import json, os, sys, urllib.request

def ask(path, body, **headers):
    request = urllib.request.Request(path, data=json.dumps(body).encode(), headers={
        'content-type': 'application/json', **headers})
    with urllib.request.urlopen(request) as answer:
        return answer.status, answer.read().decode()

question = sys.argv[1] if len(sys.argv) > 1 else open('question.txt').read()
key = os.environ['OPENAI_API_KEY']
messages = [{'role': 'user', 'content': question}]
print(ask(os.environ['OPENAI_BASE_URL'] + '/chat/completions',
    {'model': 'gpt-4o', 'messages': messages, 'user': key}, authorization='Bearer ' + key))
print(ask(os.environ['ANTHROPIC_BASE_URL'] + '/v1/messages',
    {'model': 'claude-sonnet-4-5', 'max_tokens': 64, 'stream': True, 'messages': messages},
    **{'x-api-key': 'none', 'anthropic-version': '2023-06-01'}))
print('done at', os.environ['OPENAI_BASE_URL'])
print('to stderr', file=sys.stderr)
sys.exit(7)
`

const environment = () => ({
  OPENAI_API_KEY: ['sk', 'very-secret', '0123456789'].join('-'),
  OPENAI_BASE_URL: `${provider.url}/v1`,
  ANTHROPIC_BASE_URL: provider.url,
})

describe.skipIf(!hasCurl)('curl', () => {
  test('is recorded through the proxy and served from the tape without the upstream', async () => {
    const workspace = await folderWith({})
    const ask = async (url: string) => {
      const body = '{"model":"gpt-4o","stream":true,"messages":[{"role":"user","content":"hi"}]}'
      const json = ['-H', 'content-type: application/json', '-d', body]
      const whole = await run('curl', ['-sS', '-i', ...json, `${url}/v1/chat/completions`])
      const old = await run('curl', ['-sS', '--http1.0', `${url}/echo`])
      return [whole.stdout, old.stdout]
    }
    const recording = await startProxy(workspace, ['record', '--upstream', provider.url])
    const recorded = await ask(recording.url)
    const { code, told } = await recording.stop()
    expect({ code, steps: told['steps'] }).toEqual({ code: 0, steps: 2 })
    await provider.close()

    const replaying = await startProxy(workspace, ['replay', 'last'])
    const replayed = await ask(replaying.url)
    expect(replayed).toEqual(recorded)
    expect(recorded[0]).toContain('data: [DONE]')
    const end = await replaying.stop()
    expect(end).toMatchObject({ code: 0, told: { served: 2, unused: 0, misses: [] } })
  })

  test('gets the difference if it sends another request, and the proxy exits with code 3', async () => {
    soakOnly()
    const workspace = await folderWith({})
    const recording = await startProxy(workspace, ['record', '--upstream', provider.url])
    await run('curl', ['-sS', '-d', 'before', `${recording.url}/echo`])
    await recording.stop()
    const replaying = await startProxy(workspace, ['replay', 'last'])
    const { stdout } = await run('curl', ['-sS', '-d', 'after', `${replaying.url}/echo`])
    expect(stdout).toContain('"code": "PROXY_MISS"')
    expect(stdout).toContain('line 1 was \\"before\\", is \\"after\\"')
    expect((await replaying.stop()).code).toBe(3)
  })
})

describe.skipIf(!hasPython)('a Python program', () => {
  const recordIt = async (
    files: Readonly<Record<string, string>>,
    args: readonly string[] = [],
  ) => {
    const workspace = await folderWith({ 'agent.py': pythonAgent, ...files })
    const recorded = await workspace.retake(['record', '--', 'python3', 'agent.py', ...args], {
      env: environment(),
    })
    await provider.close()
    return { workspace, recorded }
  }

  test('is recorded with one command and replays without a network', async () => {
    const { workspace, recorded } = await recordIt({ 'question.txt': 'Where is my order?' })
    expect(recorded).toMatchObject({ code: 7 })
    expect(recorded.stderr).toMatch(/to stderr[^]*recorded .* exit code 7 · 2 steps/)
    for (let time = 0; time < 3; time++) {
      const replayed = await workspace.retake(['replay', 'last'])
      expect(replayed.stderr).toMatch(/to stderr[^]*identical · 2 requests served/)
      expect(replayed).toMatchObject({ code: 7, stdout: recorded.stdout })
    }
    const [tape = ''] = await tapesOf(workspace)
    expect(await readFile(tape, 'latin1')).not.toContain('very-secret')
  })

  test('is listed, shown, exported, compared and verified like every other run', async () => {
    soakOnly()
    const { workspace } = await recordIt({}, ['What is déjà vu?'])
    const list = await workspace.retake(['list'])
    expect(list.stdout).toMatch(/failed +2 .*agent/)
    const show = await workspace.retake(['show', 'last'])
    expect(show.stdout).toMatch(/1 .*model +gpt-4o[^]*2 .*model +claude/)
    const step = await workspace.retake(['show', 'last', '--step', '1'])
    expect(step.stdout).toContain('What is déjà vu?')
    const verify = await workspace.retake(['verify', 'last'])
    expect(verify).toMatchObject({ code: 0 })
    expect(verify.stdout).toMatch(/intact +identical/)
    expect((await workspace.retake(['export', 'last', '--jsonl'])).code).toBe(0)
    expect((await workspace.retake(['diff', 'last', 'last'])).code).toBe(0)
    expect((await workspace.retake(['locate', 'last', 'déjà vu'])).stdout).toContain('déjà vu')
    const commandLine = await workspace.retake(['locate', 'last', 'agent.py'])
    expect(commandLine.stdout).toContain('the command line')
  })

  test('gets no advice that cannot work for a command', async () => {
    soakOnly()
    const { workspace } = await recordIt({ 'agent.py': 'print(1)' })
    for (const args of [
      ['resume', 'last'],
      ['fork', 'last', '--at', '1'],
      ['rerun', 'last'],
    ]) {
      const refused = await workspace.retake(args)
      expect(refused.stderr).toContain('NOT_A_NODE_RUN')
      expect(refused.stderr).toContain('Use replay, show, diff, locate or verify')
    }
    const examined = await workspace.retake(['doctor', '--', 'python3', 'agent.py'])
    expect(examined).toMatchObject({ code: 2 })
    expect(examined.stderr).toContain('Only JavaScript and TypeScript programs can be examined.')
    expect(examined.stderr).toContain('`retake record --strict -- …` names what was not captured')
    const named = await workspace.retake(['doctor', 'agent.py'])
    expect(named.stderr).toContain('Record it as a command: retake record -- python agent.py')
  })

  test('that sends another request now is reported with the difference', async () => {
    soakOnly()
    const { workspace } = await recordIt({ 'question.txt': 'Where is my order?' })
    await writeFile(join(workspace.folder, 'question.txt'), 'Where is my refund?')
    const replayed = await workspace.retake(['replay', 'last', '--json'])
    expect(replayed.code).toBe(3)
    const { identical, divergences } = JSON.parse(replayed.stdout) as {
      identical: boolean
      divergences: { kind: string; mismatches: { field: string }[] }[]
    }
    expect(identical).toBe(false)
    expect(divergences[0]).toMatchObject({
      kind: 'different',
      mismatches: [{ field: 'body.messages[0].content', current: 'Where is my refund?' }],
    })
    const verify = await workspace.retake(['verify', 'last'])
    expect(verify).toMatchObject({ code: 3 })
    expect(verify.stdout).toContain('diverged')
  })

  test('is replayed with the recorded variables, except those of the session', async () => {
    soakOnly()
    const program = `
import os
print(os.environ['SHOP'], os.environ['XDG_CONFIG_HOME'], 'SSH_AUTH_SOCK' in os.environ)
`
    const workspace = await folderWith({ 'agent.py': program })
    const session = { SSH_AUTH_SOCK: '/run/my-agent', TERM_PROGRAM: 'my-terminal' }
    const recorded = await workspace.retake(['record', '--', 'python3', 'agent.py'], {
      env: { SHOP: 'corner', XDG_CONFIG_HOME: '/settings', ...session },
    })
    expect(recorded.stdout).toBe('corner /settings True\n')
    const [tape = ''] = await tapesOf(workspace)
    expect(await readFile(tape, 'latin1')).not.toMatch(/my-agent|my-terminal/)
    const replayed = await workspace.retake(['replay', 'last'], { env: { SSH_AUTH_SOCK: '/else' } })
    expect(replayed, replayed.stderr).toMatchObject({ code: 0, stdout: recorded.stdout })
  })

  test('has telemetry disabled on replay', async () => {
    soakOnly()
    const program = `
import os, sys
for name in ['CREWAI_DISABLE_TELEMETRY', 'LITELLM_LOCAL_MODEL_COST_MAP', 'LANGSMITH_TRACING']:
    print(os.environ.get(name), file=sys.stderr)
`
    const workspace = await folderWith({ 'agent.py': program })
    const recorded = await workspace.retake(['record', '--', 'python3', 'agent.py'], {
      env: { LANGSMITH_TRACING: 'true' },
    })
    expect(recorded.stderr).toContain('None\nNone\ntrue\n')
    const replayed = await workspace.retake(['replay', 'last'])
    expect(replayed.stderr).toContain('true\nTrue\nfalse\n')
  })

  test('that tries to bypass the proxy on replay is refused and reported', async () => {
    const program = `
import os, sys, urllib.request
try:
    if os.path.exists('now'):
        print(urllib.request.urlopen('https://example.invalid/').status)
except Exception as error:
    pass
`
    const workspace = await folderWith({ 'agent.py': program })
    await workspace.retake(['record', '--', 'python3', 'agent.py'])
    await writeFile(join(workspace.folder, 'now'), '')
    const replayed = await workspace.retake(['replay', 'last'])
    expect(replayed.code).toBe(3)
    expect(replayed.stderr).toContain('tunnel to example.invalid:443 is not on the tape')
  })
})

describe('commands', () => {
  test('a Node program with the openai SDK needs no more than its base URL variable', async () => {
    const sdk = import.meta.resolve('openai')
    const workspace = await folderWith({
      'agent.mjs': `import OpenAI from ${JSON.stringify(sdk)}
        const stream = await new OpenAI().chat.completions.create({
          model: 'gpt-4o', stream: true, messages: [{ role: 'user', content: 'Hello' }] })
        for await (const { choices } of stream) process.stdout.write(choices[0]?.delta.content ?? '')`,
    })
    const command = ['record', '--name', 'sdk', '--', process.execPath, 'agent.mjs']
    const recorded = await workspace.retake(command, { env: environment() })
    await provider.close()
    const replayed = await workspace.retake(['replay', 'last'])
    expect(recorded).toMatchObject({ code: 0 })
    expect(recorded.stdout.length).toBeGreaterThan(5)
    expect(replayed).toMatchObject({ code: 0, stdout: recorded.stdout })
  })

  test('piped input is replayed, and an open stdin blocks nothing', async () => {
    soakOnly()
    const workspace = await folderWith({})
    const input = 'two\nlines\n'.repeat(20_000)
    const recorded = await workspace.retake(['record', '--', 'sort', '-u'], { input })
    expect(recorded).toMatchObject({ code: 0, stdout: 'lines\ntwo\n' })
    expect(recorded.stderr).toContain('the proxy saw no requests')
    expect(await workspace.retake(['replay', 'last'])).toMatchObject({
      code: 0,
      stdout: recorded.stdout,
    })
    const open = spawn(process.execPath, [cli, 'record', '--', 'true'], { cwd: workspace.folder })
    expect(await once(open, 'close')).toEqual([0, null])
  })

  test('a command that repeats a refused request is reported once', async () => {
    const asks = `
const question = String(Math.random())
for (let attempt = 0; attempt < 3; attempt++) {
  const response = await fetch(process.env.OPENAI_BASE_URL + '/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer none' },
    body: JSON.stringify({
      model: 'gpt-4o',
      messages: [{ role: 'user', content: question }],
    }),
  })
  if (response.ok) break
  if (attempt === 2) process.exitCode = 1
}
console.log(process.exitCode)
`
    const workspace = await folderWith({ 'asks.mjs': asks })
    const env = { OPENAI_BASE_URL: `${provider.url}/v1` }
    const record = ['record', '--', process.execPath, 'asks.mjs']
    expect(await workspace.retake(record, { env })).toMatchObject({ code: 0 })
    const { stderr, code } = await workspace.retake(['replay', 'last'])
    expect(code).toBe(3)
    expect(stderr.match(/^diverged at /gm)).toHaveLength(1)
    expect(stderr).toMatch(/^ {2}body\.messages\[0\]\.content\n {2}- "0\.\d+"\n {2}\+ "0\.\d+"\n/m)
    expect(stderr).toMatch(
      /\n\nand 3 more differences, which may follow from it; --observe shows all\n$/,
    )
    const observed = await workspace.retake(['replay', 'last', '--observe'])
    expect(observed.stderr.match(/^diverged at /gm)?.length).toBeGreaterThan(1)
    const json = await workspace.retake(['replay', 'last', '--json'])
    const { divergences } = JSON.parse(json.stdout) as { divergences: unknown[] }
    expect(divergences.length).toBeGreaterThan(3)
  })

  test('output that changes between runs is named', async () => {
    soakOnly()
    const workspace = await folderWith({
      'a.mjs': 'console.log("one"); console.log(Math.random())',
    })
    await workspace.retake(['record', '--', process.execPath, 'a.mjs'])
    const replayed = await workspace.retake(['replay', 'last'])
    expect(replayed.code).toBe(3)
    expect(replayed.stderr).toMatch(/stdout differs from byte \d+[^]*line 2/i)
  })

  test('a missing command and contradictory options are refused', async () => {
    const workspace = await folderWith({ 'a.mjs': '' })
    const missing = await workspace.retake(['record', '--', 'no-such-program-here'])
    expect(missing).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('COMMAND_NOT_STARTED') as string,
    })
    await workspace.retake(['record', 'a.mjs'])
    const [list, ...refused] = await workspace.retakeEach([
      ['list'],
      ['record', '--'],
      ['record', '--upstream', 'https://x.invalid', 'a.mjs'],
      ['proxy'],
      ['proxy', 'record'],
      ['proxy', 'record', '--upstream', 'nowhere'],
      ['record', '--matcher', 'nonsense', '--', 'true'],
      ['proxy', 'replay', 'last'],
    ])
    expect(list?.stdout).not.toMatch(/no-such/)
    expect(
      refused.map(({ code, stderr }) => `${code} ${/code ([A-Z_]+)/.exec(stderr)?.[1]}`),
    ).toEqual([
      '2 WRONG_USAGE',
      '2 WRONG_USAGE',
      '2 WRONG_USAGE',
      '2 WRONG_USAGE',
      '1 UPSTREAM_INVALID',
      '1 UNKNOWN_MATCHER',
      '1 NOT_A_PROXY_RUN',
    ])
  })

  test('of a killed recording is compared up to its end, and not beyond', async () => {
    const program = `
      for (const path of ['echo', 'hang', 'echo?later'])
        console.log((await fetch(process.env.OPENAI_BASE_URL + '/' + path)).status)
    `
    const workspace = await folderWith({ 'agent.mjs': program })
    const env = { ...process.env, OPENAI_BASE_URL: provider.url }
    const before = provider.requests.length
    const child = spawn(process.execPath, [cli, 'record', '--', 'node', 'agent.mjs'], {
      cwd: workspace.folder,
      env,
    })
    await once(child.stdout, 'data')
    await expect.poll(() => provider.requests.length - before, { timeout: 60_000 }).toBe(2)
    child.kill('SIGKILL')
    await once(child, 'close')
    const replayed = await workspace.retake(['replay', 'last'])
    expect(replayed.stdout).toBe('200\n502\n502\n')
    expect(replayed.stderr).toContain(
      '2 requests served · the same until the recording was cut off',
    )
    expect(replayed.code).toBe(3)
    for (const [changed, difference] of [
      [program.replace("'echo', ", ''), 'was not made'],
      [program.replace('console.log(', "console.log('changed', "), 'Stdout differs from byte 0'],
    ] as const) {
      await writeFile(join(workspace.folder, 'agent.mjs'), changed)
      const other = await workspace.retake(['replay', 'last', '--observe'])
      expect(other.code).toBe(3)
      expect(other.stderr).toContain(difference)
    }
  })

  test('a tape of a killed proxy can be replayed up to its end', async () => {
    const workspace = await folderWith({})
    const args = ['proxy', 'record', '--upstream', provider.url, '--port', '0', '--json']
    const child = spawn(process.execPath, [cli, ...args], { cwd: workspace.folder })
    const [line] = (await once(child.stdout, 'data')) as [Buffer]
    const { listening } = JSON.parse(line.toString()) as { listening: string }
    const recorded = await (await fetch(`${listening}/echo`)).text()
    const hanging = fetch(`${listening}/hang`).catch(() => {})
    await expect.poll(() => provider.requests.length, { timeout: 60_000 }).toBe(2)
    child.kill('SIGKILL')
    await hanging
    const replaying = await startProxy(workspace, ['replay', 'last'])
    expect(await (await fetch(`${replaying.url}/echo`)).text()).toBe(recorded)
    const cut = await fetch(`${replaying.url}/hang`)
    expect(cut.status).toBe(502)
    expect(await cut.text()).toContain('PROXY_ANSWER_CUT_OFF')
  })
})

test.runIf(isSoak && hasPython)('the first example of docs/proxy.md runs as written', async () => {
  const text = await readFile(new URL('../../docs/proxy.md', import.meta.url), 'utf8')
  const [, block = ''] = /## One command\n\n```sh\n([^]*?)```/.exec(text) ?? []
  const commands = block.trim().split('\n')
  expect(commands.length).toBeGreaterThan(2)
  const workspace = await folderWith({ 'agent.py': pythonAgent.replace('sys.exit(7)', '') })
  const bin = join(workspace.folder, 'bin')
  await mkdir(bin)
  for (const [name, program] of Object.entries({
    retake: `"${process.execPath}" "${cli}"`,
    python: 'python3',
  }))
    await writeFile(join(bin, name), `#!/bin/sh\nexec ${program} "$@"\n`, { mode: 0o755 })
  const env = { ...process.env, PATH: `${bin}:${process.env['PATH']}` }
  for (const [index, command] of commands.entries()) {
    const options = {
      cwd: workspace.folder,
      env: index === 0 ? { ...env, ...environment() } : env,
    }
    const { stdout } = await run('sh', ['-c', `${command.split('#')[0]} </dev/null`], options)
    expect(stdout, command).not.toBe('')
    if (index === 0) await provider.close()
  }
})
