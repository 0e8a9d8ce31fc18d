import { execFile, execFileSync, spawn } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createConnectionServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { guard, type GuardRun, type Policy, presets } from '@retake/guard'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { hasSandbox } from '../support/has-sandbox.js'
import { agentPath } from '../support/run-retake.mjs'

const module = agentPath('guard/sandboxed-tool.mjs')

/** A folder that tools may use, beside a file that they may not. */
function makeFolder() {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'retake-sandbox-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'work'))
  writeFileSync(join(folder, 'secret.txt'), 'TOP SECRET')
  writeFileSync(join(folder, 'work/inside.txt'), 'inside')
  return { folder, work: join(folder, 'work') }
}

function open(policy: Policy, dir: string, limits = {}): GuardRun {
  const run = guard({ name: 'sandbox', policy, dir, limits, durability: 'process' })
  onTestFinished(() => void run.end())
  return run
}

/** Of all processes, one after the other. */
const commandLines = (): string =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
      } catch {
        return ''
      }
    })
    .join('\n')

async function serve(): Promise<string> {
  const server = createServer((request, response) => response.end(`hello ${request.url}`))
  server.listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe.skipIf(!hasSandbox)('a program of a guarded tool', () => {
  /** Runs `sh` in the work folder. */
  const shellIn = (work: string, folder: string, policy = {}) => {
    const run = open(
      {
        ...presets.sandbox({
          root: work,
          programs: [
            ['sh', '-c', '*'],
            ['git', '**'],
            ['git', '-**'],
          ],
        }),
        ...policy,
      },
      join(folder, 'tapes'),
    )
    const start = promisify(execFile)
    run.tool(
      'sh',
      async ({ text }: { text: string }) => (await start('sh', ['-c', text], { cwd: work })).stdout,
    )
    run.tool('shSync', ({ text }: { text: string }) =>
      execFileSync('sh', ['-c', text], { cwd: work, encoding: 'utf8' }),
    )
    run.tool(
      'git',
      async ({ args }: { args: string[] }) => (await start('git', args, { cwd: work })).stdout,
    )
    return run
  }

  test.each(['sh', 'shSync'])(
    'sees the folders of its scope and nothing else: %s',
    async (tool) => {
      const { folder, work } = makeFolder()
      const run = shellIn(work, folder)
      const { output } = await run.call(tool, {
        text: 'cat inside.txt; echo; cat ../secret.txt; ls ..; true',
      })
      expect(output).toBe('inside\nwork\n')
      await run.call(tool, { text: 'echo new > made.txt; echo x > ../made.txt; true' })
      expect(readFileSync(join(work, 'made.txt'), 'utf8')).toBe('new\n')
      expect(existsSync(join(folder, 'made.txt'))).toBe(false)
    },
  )

  test('runs what a repository configures inside the sandbox only', async () => {
    const { folder, work } = makeFolder()
    execFileSync('git', ['init', '-q', work])
    const leak = `cat ${folder}/secret.txt > ${work}/leak; touch ${folder}/escaped`
    writeFileSync(join(work, '.git/config'), `[core]\n\tfsmonitor = "${leak}; true"\n`)
    const { status, output } = await shellIn(work, folder).call('git', {
      args: ['status', '--short'],
    })
    expect({ status, output }).toMatchObject({ status: 'done', output: /inside\.txt/ })
    expect(existsSync(join(folder, 'escaped'))).toBe(false)
    expect(readFileSync(join(work, 'leak'), 'utf8')).toBe('')
  })

  test('has no network under a network scope, and no keys', async () => {
    const { folder, work } = makeFolder()
    const endpoint = await serve()
    const [host, port] = endpoint.split(':')
    process.env['SANDBOX_TEST_API_KEY'] = 'x'.repeat(40)
    onTestFinished(() => void delete process.env['SANDBOX_TEST_API_KEY'])
    const run = shellIn(work, folder)
    const text = `(echo > /dev/tcp/${host}/${port}) 2>&1 || true; env | grep -c SANDBOX_TEST || true`
    const { output } = await run.call('sh', { text })
    expect(output).toMatch(/0\n$/)
    const node = `node -e "require('net').connect(${port}).on('error', (e) => console.log(e.code))"`
    expect((await run.call('sh', { text: node })).output).toBe('ECONNREFUSED\n')
  })

  test('cannot see the tapes of the guard or move them to a visible folder', async () => {
    const { folder, work } = makeFolder()
    const project = join(work, 'project')
    const run = open(
      presets.sandbox({ root: work, programs: [['sh', '-c', '*']] }),
      join(project, '.retake/runs'),
    )
    writeFileSync(join(work, 'project.txt'), '')
    run.tool('sh', ({ text }: { text: string }) =>
      execFileSync('sh', ['-c', text], { cwd: work, encoding: 'utf8' }),
    )
    const sh = async (text: string) => (await run.call('sh', { text })).output
    await sh('true')
    const [tape = ''] = readdirSync(join(project, '.retake/runs'))
    expect(await sh('ls pro*; ls -A pro*/.ret*/r*')).toContain('project.txt')
    expect(await sh('ls -A pro*/.ret*/r*')).not.toContain(tape)
    await sh('mv pro*/.ret* moved; mv projec? moved; mv pro*/.ret*/r* moved; true')
    expect(existsSync(join(project, '.retake/runs', tape))).toBe(true)
    expect(existsSync(folder)).toBe(true)
  })

  test('leaves nothing behind when it is killed before its sandbox is set up', async () => {
    const { folder, work } = makeFolder()
    const seconds = String(3000 + (process.pid % 1000))
    const run = open(
      { name: 'sleep', shell: { allow: [['sleep', seconds]] } },
      join(folder, 'tapes'),
    )
    run.tool('sleep', async ({ afterMs }: { afterMs: number }) => {
      const child = spawn('sleep', [seconds], { cwd: work, stdio: 'ignore' })
      await new Promise((resolve) => setTimeout(resolve, afterMs))
      child.kill('SIGKILL')
      await new Promise((resolve) => child.once('exit', resolve))
    })
    for (const afterMs of [0, 1, 2, 3, 4, 6, 8]) await run.call('sleep', { afterMs })
    await vi.waitFor(() => expect(commandLines()).not.toContain(`sleep ${seconds}`), 60_000)
  })

  test('sees the other files of a folder that also has tapes', async () => {
    const { work } = makeFolder()
    const run = open(presets.sandbox({ root: work, programs: [['sh', '-c', '*']] }), work)
    run.tool('cat', () =>
      execFileSync('sh', ['-c', 'cat *.tap?; cat *.txt'], { cwd: work, encoding: 'utf8' }),
    )
    expect((await run.call('cat', {})).output).toBe('inside')
  })

  test('cannot reach sockets of the machine without network access', async () => {
    const { folder, work } = makeFolder()
    const endpoints = [join(folder, 'outer.sock'), join(work, 'inner.sock')]
    for (const endpoint of endpoints) {
      const server = createConnectionServer((socket) => socket.end('hello'))
      server.listen(endpoint)
      onTestFinished(() => void server.close())
      await new Promise((resolve) => server.once('listening', resolve))
    }
    const script = (endpoint: string) =>
      `require('net').connect(${JSON.stringify(endpoint)}).on('error', (e) => console.log(e.code)).on('data', (d) => console.log(String(d)))`
    const tryAll = async (policy: Policy) => {
      const run = open(
        { ...policy, shell: { allow: [['node', '-e', '*']] } },
        join(folder, 'tapes'),
      )
      // The servers are in this process, which must not wait for a program.
      run.tool('node', async ({ text }: { text: string }) => {
        const { stdout } = await promisify(execFile)('node', ['-e', text], { cwd: work })
        return stdout.trim()
      })
      const results = []
      for (const endpoint of endpoints)
        results.push((await run.call('node', { text: script(endpoint) })).output)
      return results
    }
    expect(await tryAll({ name: 'all', network: { allow: [] } })).toEqual(['EPERM', 'EPERM'])
    const files = { read: [work], write: [work] }
    const [outer, inner] = await tryAll({ name: 'some', files, network: { allow: [] } })
    expect([outer, inner]).toEqual(['ENOENT', expect.stringMatching(/^(?:ECONNREFUSED|ENOTSOCK)$/)])
    expect(await tryAll({ name: 'files', files: { write: [] } })).toEqual(['hello', 'hello'])
  })

  test('may do no more than its tool declares, and has a folder for temporary files', async () => {
    const { folder, work } = makeFolder()
    const run = open({ name: 'none' }, join(folder, 'tapes'))
    const text = 'cat inside.txt; touch made || true; mktemp'
    const sh = () => execFileSync('sh', ['-c', text], { cwd: work, encoding: 'utf8' })
    run.tool('reads', sh, { effects: ['shell'] })
    run.tool('writes', sh, { effects: ['shell', 'write'] })
    expect((await run.call('reads', {})).output).toMatch(/^inside\/dev\/shm\//)
    expect(existsSync(join(work, 'made'))).toBe(false)
    expect((await run.call('writes', {})).status).toBe('done')
    expect(existsSync(join(work, 'made'))).toBe(true)
  })
})

describe('without a sandbox', () => {
  test('only argument vectors without a pattern start', () => {
    const { folder, work } = makeFolder()
    const script = `
      import { guard, presets } from '@retake/guard'
      import { execFileSync } from 'node:child_process'
      const programs = [['echo', '*'], ['echo', 'listed']]
      const run = guard({ name: 'x', policy: presets.sandbox({ root: ${JSON.stringify(work)}, programs }), dir: ${JSON.stringify(join(folder, 'tapes'))} })
      run.tool('echo', ({ text }) => execFileSync('echo', [text], { cwd: ${JSON.stringify(work)}, encoding: 'utf8' }))
      const results = [await run.call('echo', { text: 'other' }), await run.call('echo', { text: 'listed' })]
      run.end()
      console.log(JSON.stringify(results.map(({ status, output, error }) => [status, output ?? error?.code])))`
    const env = { ...process.env, RETAKE_SANDBOX: 'off' }
    const args = ['--input-type=module', '-e', script]
    const output = execFileSync(process.execPath, args, {
      env,
      encoding: 'utf8',
      cwd: process.cwd(),
    })
    expect(JSON.parse(output)).toEqual([
      ['denied', 'SHELL_NO_SANDBOX'],
      ['done', 'listed\n'],
    ])
  })

  test('a tool that accepts a missing sandbox runs under the permission model of Node', async () => {
    const { folder, work } = makeFolder()
    const endpoint = await serve()
    const script = `
      import { guard, presets } from '@retake/guard'
      const [work, secret, url, module] = ${JSON.stringify([work, join(folder, 'secret.txt'), `http://${endpoint}/x`, module])}
      const policy = presets.sandbox({ root: work, addresses: ['${endpoint}'] })
      const run = guard({ name: 'x', policy, dir: ${JSON.stringify(join(folder, 'tapes'))} })
      const codes = []
      try { run.tool('strict', { module }) } catch (error) { codes.push(error.code) }
      run.tool('tool', { module, sandbox: 'best-effort' })
      // Paths among its arguments are plain text, so that the process has to refuse them.
      run.tool('spends', { module, sandbox: 'best-effort', effects: ['spend'] })
      const call = async (tool, args) => {
        const { status, output, error } = await run.call(tool, args)
        return [status, output ?? error?.code]
      }
      const results = [
        codes,
        await call('tool', { does: 'read', path: work + '/inside.txt' }),
        await call('tool', { does: 'write', path: work + '/made.txt', text: 'made' }),
        await call('tool', { does: 'fetch', url }),
        await call('tool', { does: 'fetch', url: 'http://example.com/' }),
        await call('spends', { does: 'read', path: secret }),
        await call('spends', { does: 'write', path: secret, text: 'forged' }),
        await call('tool', { does: 'shell', text: 'echo hi' }),
      ]
      run.end()
      console.log(JSON.stringify(results))
      process.exit(0)`
    const env = { ...process.env, RETAKE_SANDBOX: 'off' }
    const args = ['--input-type=module', '-e', script]
    const { stdout } = await promisify(execFile)(process.execPath, args, { env })
    expect(JSON.parse(stdout)).toEqual([
      ['SANDBOX_MISSING'],
      ['done', 'inside'],
      ['done', null],
      ['done', 'hello /x'],
      ['denied', 'HOST_NOT_ALLOWED'],
      ['failed', 'ERR_ACCESS_DENIED'],
      ['failed', 'ERR_ACCESS_DENIED'],
      ['failed', 'ERR_ACCESS_DENIED'],
    ])
    expect(readFileSync(join(work, 'made.txt'), 'utf8')).toBe('made')
    expect(readFileSync(join(folder, 'secret.txt'), 'utf8')).toBe('TOP SECRET')
  })
})

describe.skipIf(!hasSandbox)('a sandboxed tool', () => {
  const openTool = async (limits = {}, sandbox = {}) => {
    const { folder, work } = makeFolder()
    const endpoint = await serve()
    const policy = presets.sandbox({ root: work, addresses: [endpoint] })
    const run = open(policy, join(folder, 'tapes'), limits)
    run.tool('tool', { module, sandbox })
    const call = async (args: object) => {
      const { status, output, error } = await run.call('tool', args)
      return { status, output, code: (error as { code?: string } | undefined)?.code }
    }
    return { folder, work, endpoint, call, run }
  }

  test('answers with its result, its errors and its usage', async () => {
    const { call, run } = await openTool()
    expect(await call({ does: 'multiply', text: 'four' })).toMatchObject({
      status: 'done',
      output: 8,
    })
    expect(await call({ does: 'fly' })).toMatchObject({ status: 'failed', code: 'CANNOT' })
    const { step, facts } = await run.call('tool', { does: 'use' })
    expect(facts).toMatchObject({ status: 'done', usage: { costUsd: 0.25 } })
    expect(step).toBeDefined()
  })

  test('reads and writes inside its scope only, programs included', async () => {
    const { call, work, folder } = await openTool()
    expect(await call({ does: 'read', path: join(work, 'inside.txt') })).toMatchObject({
      output: 'inside',
    })
    await call({ does: 'write', path: join(work, 'new.txt'), text: 'new' })
    expect(readFileSync(join(work, 'new.txt'), 'utf8')).toBe('new')
    const text = `cat ${folder}/sec*; ls ${folder}; cat /etc/shadow; ls /root; true`
    expect(await call({ does: 'shell', text })).toMatchObject({ output: 'work\n' })
    expect(await call({ does: 'shell', text: `echo x > ${module}` })).toMatchObject({
      status: 'failed',
    })
  })

  test('reaches the hosts that its scope allows, through the guard', async () => {
    const { call, endpoint } = await openTool()
    expect(await call({ does: 'fetch', url: `http://${endpoint}/x` })).toMatchObject({
      output: 'hello /x',
    })
    expect(await call({ does: 'fetch', url: 'http://example.com/' })).toMatchObject({
      status: 'denied',
      code: 'HOST_NOT_ALLOWED',
    })
  })

  test('gets only harmless variables', async () => {
    const { call } = await openTool({}, { env: ['SANDBOX_TEST'] })
    process.env['SANDBOX_TEST'] = 'given'
    onTestFinished(() => void delete process.env['SANDBOX_TEST'])
    const { output } = await call({ does: 'variables' })
    expect(output).toContain('SANDBOX_TEST')
    expect(output).toContain('PATH')
    expect(output).not.toContain('VITEST')
  })

  test('is ended when it takes too long, and restarts for the next call', async () => {
    const { call } = await openTool({ timeoutMs: 5000 })
    expect(await call({ does: 'spin' })).toMatchObject({ status: 'stopped', code: 'LIMIT_TIMEOUT' })
    expect(await call({ does: 'multiply', text: 'a' })).toMatchObject({ output: 2 })
  })

  test('leaves no process when it is ended while its sandbox starts', async () => {
    const { folder, work } = makeFolder()
    for (const name of ['sandboxed-tool.mjs', 'sandboxed-factor.mjs'])
      copyFileSync(agentPath(`guard/${name}`), join(work, name))
    const policy = presets.sandbox({ root: work })
    for (let timeoutMs = 1; timeoutMs <= 20; timeoutMs++) {
      const run = open(policy, join(folder, 'tapes'), { timeoutMs })
      run.tool('tool', { module: join(work, 'sandboxed-tool.mjs') })
      expect(await run.call('tool', { does: 'spin' })).toMatchObject({ status: 'stopped' })
    }
    await vi.waitFor(() => expect(commandLines()).not.toContain(folder), 10_000)
  })

  test('does not get more memory than it may have', async () => {
    const { call } = await openTool({}, { memoryMb: 150 })
    expect(await call({ does: 'allocate' })).toMatchObject({ status: 'failed' })
    expect(await call({ does: 'multiply', text: 'a' })).toMatchObject({ output: 2 })
  })

  test('keeps its process for the next call', async () => {
    const { folder } = makeFolder()
    const run = open({ name: 'open' }, join(folder, 'tapes'))
    const pid = run.tool<object, number>('pid', { module, export: 'pid' })
    expect(await pid({})).toBe(await pid({}))
  })

  test.each([
    ['-e', ['--input-type=module', '--no-warnings', '-e']],
    ['--eval=', ['--input-type=module', '--eval=']],
  ])('runs in a program that is given with %s', (_, flags) => {
    const { folder, work } = makeFolder()
    const tool = JSON.stringify(module)
    const script = `
      import { guard, presets } from '@retake/guard'
      const policy = presets.sandbox({ root: ${JSON.stringify(work)} })
      const run = guard({ name: 'x', policy, dir: ${JSON.stringify(join(folder, 'tapes'))} })
      run.tool('tool', { module: ${tool} })
      const { status, output } = await run.call('tool', { does: 'multiply', text: 'four' })
      console.log(status, output)
      run.end()`
    const last = flags.at(-1) ?? ''
    const args = last.endsWith('=')
      ? [...flags.slice(0, -1), last + script]
      : [...flags, script, 'argument']
    expect(execFileSync(process.execPath, args, { encoding: 'utf8' })).toBe('done 8\n')
  })

  test('is loaded by a call that passed its policy, its limits, its schema and its approval', async () => {
    const { folder, work } = makeFolder()
    const loaded = join(work, 'loaded')
    const loading = join(folder, 'loading.mjs')
    writeFileSync(
      loading,
      `import { writeFileSync } from 'node:fs'
      writeFileSync(${JSON.stringify(loaded)}, '')
      export default () => 'answer'`,
    )
    const policy = {
      ...presets.sandbox({ root: work }),
      rules: [
        { deny: '*', when: { amount: 1 } },
        { ask: '*', when: { amount: 2 } },
      ],
    }
    const run = open(policy, join(folder, 'tapes'), { tools: { none: { calls: 0 } } })
    const input = z.object({ amount: z.number() })
    for (const name of ['none', 'tool']) run.tool(name, { module: loading, input })
    const codes = []
    for (const [name, amount] of [
      ['tool', 1],
      ['tool', 2],
      ['tool', 'three'],
      ['none', 4],
    ] as const)
      codes.push(((await run.call(name, { amount })).error as { code?: string }).code)
    expect(codes).toEqual(['POLICY_DENIED', 'APPROVAL_MISSING', 'INPUT_INVALID', 'LIMIT_CALLS'])
    expect(commandLines()).not.toContain(loading)
    expect(existsSync(loaded)).toBe(false)
    expect((await run.call('tool', { amount: 5 })).output).toBe('answer')
    expect(existsSync(loaded)).toBe(true)
  })

  test('that keeps a program for its next call gets a new process for it', async () => {
    const { folder, work } = makeFolder()
    const run = open(presets.sandbox({ root: work }), join(folder, 'tapes'))
    const service = join(folder, 'service.mjs')
    writeFileSync(
      service,
      `import { spawn } from 'node:child_process'
      let service
      export default ({ text }) => new Promise((resolve) => {
        service ??= spawn('cat')
        service.stdout.once('data', (data) => resolve(String(data)))
        service.stdin.write(text)
      })`,
    )
    run.tool('service', { module: service })
    for (const text of ['one', 'two'])
      expect(await run.call('service', { text })).toMatchObject({ status: 'done', output: text })
    await vi.waitFor(() => expect(commandLines()).not.toContain(service), 2000)
  })

  test('that dies while it is loaded fails with its output on each call', async () => {
    const { folder, work } = makeFolder()
    const run = open(presets.sandbox({ root: work }), join(folder, 'tapes'))
    const dying = join(folder, 'dying.mjs')
    writeFileSync(dying, `console.error('no licence'); process.exit(3)`)
    run.tool('dying', { module: dying })
    for (const _ of [1, 2]) {
      const { status, error } = await run.call('dying', {})
      expect({ status, error }).toMatchObject({
        status: 'failed',
        error: { code: 'SANDBOX_FAILED', why: 'It printed: no licence' },
      })
    }
  })
})
