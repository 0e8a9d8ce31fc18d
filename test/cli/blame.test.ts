import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { appendFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { FindingsFile } from '../../packages/lab/dist/blame/findings.js'
import { agentPath, type Workspace } from '../support/run-retake.mjs'
import { cli, folderWith, smallAgent, tapesOf } from './workspace.js'
import { soakOnly } from '../support/soak.js'

const simulator = agentPath('blame/refund-simulator.mjs')
const right = ['--oracle', 'stdout:/DENIED/', '--simulator', simulator]

async function refundRun(...args: string[]): Promise<Workspace> {
  const workspace = await folderWith({})
  const recorded = await workspace.retake(['record', agentPath('blame/refund.mjs'), ...args])
  expect(recorded.stdout).toBe('APPROVED\n')
  return workspace
}

/** A search is many processes: on a busy machine it takes its time. */
const PATIENT = { timeoutMs: 500_000 }

const foundBy = (stdout: string): FindingsFile => JSON.parse(stdout) as FindingsFile
const blameFiles = ({ folder }: Workspace): string[] => {
  const kept = join(folder, '.retake', 'blame')
  return existsSync(kept) ? readdirSync(kept).map((name) => join(kept, name)) : []
}
const storedForks = (workspace: Workspace): number =>
  blameFiles(workspace)
    .filter((file) => file.endsWith('.jsonl'))
    .flatMap((file) => readFileSync(file, 'utf8').split('\n'))
    .filter((line) => line !== '').length

test('blame names the tool and its echo within a budget, and continues from stored forks', async () => {
  const workspace = await refundRun()
  const blame = ['blame', 'last', ...right]

  const planned = await workspace.retake([...blame, '--dry-run', '--json'])
  expect(planned.code).toBe(0)
  expect(planned.stderr).toMatch(/4 steps to search · \d+ to \d+ forks · 0 live steps · 0 tokens/)
  expect(JSON.parse(planned.stdout)).toMatchObject({
    estimate: { steps: 4, tokens: { least: 0, most: 0 }, effects: {} },
  })
  expect(blameFiles(workspace)).toEqual([])

  const short = await workspace.retake([...blame, '--max-forks', '7', '--json'], PATIENT)
  expect(short.code).toBe(1)
  expect(foundBy(short.stdout).findings).toMatchObject({ verdict: 'stopped', causes: [] })
  const before = storedForks(workspace)
  expect(before).toBeLessThanOrEqual(7)

  const whole = foundBy((await workspace.retake([...blame, '--json'], PATIENT)).stdout)
  expect(whole.findings).toMatchObject({ verdict: 'attributed', repair: { steps: ['2'] } })
  expect(whole.findings.steps.map(({ role }) => role)).toEqual(['clear', 'root', 'echo', 'clear'])
  expect(whole.steps[1]).toMatchObject({ label: '2', name: 'tool search_policy' })
  expect(whole.facts.newForks).toBe(storedForks(workspace) - before)
  expect(whole.facts.newForks).toBeGreaterThan(0)
  expect(whole.findings.forks).toMatchObject({ liveSteps: 0, tokens: 0, undefined: 0 })
  const [parent] = await tapesOf(workspace)
  expect(await tapesOf(workspace)).toEqual([parent])

  // A crash may tear the last line: that fork is run again, no other.
  const file = blameFiles(workspace).find((name) => name.endsWith('.jsonl')) ?? ''
  await appendFile(file, '\n{"key":"free 0 #')
  const again = await workspace.retake(blame, PATIENT)
  expect(again.code).toBe(3)
  expect(again.stdout).toMatch(
    /^Step 2 \(search_policy[^]*\) made this\s+run\s+fail;[^]*\n(\d+) forks \(\1 of an earlier search\)/,
  )
  expect(again.stdout).toMatch(/retake fork \S+ --at 2 --edit/)
  expect(again.stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
  const kept = blameFiles(workspace).find((name) => name.endsWith('.json')) ?? ''
  expect(foundBy(readFileSync(kept, 'utf8')).findings).toEqual(
    expect.objectContaining({ verdict: 'attributed', causes: whole.findings.causes }),
  )
})

test('Ctrl-C stops the forks and keeps what is known', async () => {
  soakOnly()
  const workspace = await refundRun()
  const child = spawn(process.execPath, [cli, 'blame', 'last', ...right, '--jobs', '1'], {
    cwd: workspace.folder,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stdout = ''
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
  const closed = once(child, 'close')
  while (storedForks(workspace) < 6 && child.exitCode === null) await setTimeout(20)
  process.kill(-(child.pid ?? 0), 'SIGINT')
  const [code] = (await closed) as [number]
  expect(code).toBe(130)
  expect(stdout).toMatch(/^Stopped/)
  expect(stdout).not.toMatch(/made (it|this run) fail|root/)
  // Nothing of its process group is left: a fork that was not stopped takes longer than this.
  const lookFor = () => process.kill(-(child.pid ?? 0), 0)
  await vi.waitFor(() => expect(lookFor).toThrow('ESRCH'), 500)
  expect(blameFiles(workspace).some((name) => name.endsWith('.json'))).toBe(true)
  const { newForks } = foundBy(
    (await workspace.retake(['blame', 'last', ...right, '--json', '--max-forks', '0'])).stdout,
  ).facts
  expect(newForks).toBe(0)
})

test('a run of one live step loses no fork to a rate limit', async () => {
  soakOnly()
  const provider = { says: 'bad', refusals: 0, answered: 0 }
  const server = createServer((_, response) => {
    if (provider.refusals > 0) {
      provider.refusals -= 1
      response.writeHead(429, { 'retry-after': '0' }).end('slow down')
      return
    }
    provider.answered += 1
    response.end(provider.says)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/policy`
  const workspace = await folderWith({
    'agent.mjs': `const policy = await (await fetch('${url}')).text()
console.log(policy === 'good' ? 'PASSED' : 'FAILED')`,
  })
  expect((await workspace.retake(['record', 'agent.mjs'])).stdout).toBe('FAILED\n')
  Object.assign(provider, { says: 'good', refusals: 3, answered: 0 })
  const blame = ['blame', 'last', '--oracle', 'stdout:PASSED', '--json', '--keep']
  const { stdout, code } = await workspace.retake(blame, PATIENT)
  const { findings, facts } = foundBy(stdout)
  expect(findings).toMatchObject({
    verdict: 'attributed',
    causes: [{ role: 'root', steps: ['1'] }],
  })
  expect(code).toBe(3)
  expect(facts.undefinedBy).toEqual({})
  expect(provider.refusals).toBe(0)
  // Forks that were turned away are no results; of the others, the tapes are kept.
  expect(findings.forks.liveSteps).toBe(provider.answered)
  const tapes = await tapesOf(workspace)
  expect(tapes).toHaveLength(1 + provider.answered)
  expect((await workspace.retake(['show', tapes.at(-1) ?? ''])).stdout).toContain('200')
})

test('limits of money and forks apply to all forks together', async () => {
  let answered = 0
  const server = createServer((_, response) => {
    answered += 1
    const message = { role: 'assistant', content: 'DENIED' }
    const usage = { prompt_tokens: 10_000, completion_tokens: 0, total_tokens: 10_000 }
    response.setHeader('content-type', 'application/json')
    response.end(
      JSON.stringify({
        object: 'chat.completion',
        model: 'clerk',
        choices: [{ index: 0, message, finish_reason: 'stop' }],
        usage,
      }),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/chat/completions`
  const workspace = await folderWith({
    'agent.mjs': `const ask = async (content) => {
  const body = JSON.stringify({ model: 'clerk', messages: [{ role: 'user', content }] })
  const response = await fetch('${url}', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  return (await response.json()).choices[0].message.content
}
await ask('one')
console.log(await ask('two'))`,
    'retake.config.json': JSON.stringify({ prices: { clerk: { input: 0.15, output: 0 } } }),
  })
  await workspace.retake(['record', 'agent.mjs'])
  const perCallUsd = 0.0015
  // Room for two whole forks, and for one beside the checks of the oracle.
  const limits = [
    ['--max-usd', String(4.5 * perCallUsd), 4, 6],
    ['--max-forks', '5', 2, 5],
  ] as const
  for (const [option, limit, calls, forks] of limits) {
    answered = 0
    const blame = ['blame', 'last', '--oracle', 'stdout:APPROVED', '--json', option, limit]
    // One at a time, so that the same forks are run on every machine.
    const args = [...blame, '--seed', String(calls), '--jobs', '1']
    const { stdout } = await workspace.retake(args, PATIENT)
    const { findings, facts } = foundBy(stdout)
    expect(answered).toBe(calls)
    expect(findings.forks.costUsd).toBeCloseTo(calls * perCallUsd, 6)
    expect(findings).toMatchObject({ verdict: 'stopped', why: expect.stringContaining(limit) })
    expect([findings.forks.asked, facts.newForks]).toEqual([forks, forks])
  }
})

test('forks that crash or hang reach no verdict, and no step is blamed for them', async () => {
  soakOnly()
  const crashing = await refundRun('crash')
  const crashed = await crashing.retake(
    ['blame', 'last', ...right, '--max-forks', '8', '--json'],
    PATIENT,
  )
  expect(crashed.code).toBe(1)
  const { findings, facts } = foundBy(crashed.stdout)
  expect(findings.causes).toEqual([])
  expect(findings.verdict).not.toBe('attributed')
  expect(Object.keys(facts.undefinedBy)).toEqual([
    'the run broke: TypeError: the window is too small',
  ])
  expect(findings.forks.undefined).toBeGreaterThan(0)

  const hanging = await refundRun('hang')
  const limits = ['--max-forks', '6', '--timeout', '2']
  const hung = await hanging.retake(['blame', 'last', ...right, ...limits, '--json'], PATIENT)
  expect(hung.code).toBe(1)
  expect(foundBy(hung.stdout).findings.causes).toEqual([])
  expect(Object.keys(foundBy(hung.stdout).facts.undefinedBy)).toEqual(['it took longer than 2 s'])
})

test('a passing run, an undecided or flaky oracle and a changed agent each get one clear answer', async () => {
  soakOnly()
  const workspace = await folderWith({
    // Says something else each time it is asked.
    'flip.sh': 'n=$(cat n 2>/dev/null || echo 0); echo $((n+1)) > n; exit $((n % 2))',
  })
  const agent = join(workspace.folder, 'refund.mjs')
  const source = readFileSync(agentPath('blame/refund.mjs'), 'utf8')
  const library = JSON.stringify(import.meta.resolve('retake'))
  await writeFile(agent, source.replace("'@retake/engine'", library))
  await workspace.retake(['record', 'refund.mjs'])
  const blame = (...args: string[]) => workspace.retake(['blame', 'last', ...args], PATIENT)

  const passing = await blame('--oracle', 'stdout:/APPROVED/', '--simulator', simulator)
  expect(passing).toMatchObject({ code: 0 })
  expect(passing.stdout).toMatch(/^nothing to blame: the run passes .* No fork was run\.\n$/)

  const unclear = await blame('--oracle', 'json:order.status="denied"', '--simulator', simulator)
  expect(unclear.code).toBe(1)
  expect(unclear.stderr).toContain('BLAME_CANNOT_TELL')
  expect(unclear.stderr).toContain('stdout is not JSON')
  expect(blameFiles(workspace)).toEqual([])

  const flaky = await blame('--oracle', 'sh flip.sh', '--simulator', simulator, '--json')
  expect(flaky.code).toBe(1)
  expect(foundBy(flaky.stdout).findings).toMatchObject({
    verdict: 'flaky',
    why: 'the oracle is inconsistent: it fails the unchanged run only 10 of 20 times',
    causes: [],
    anchors: { pinned: { fails: 10, forks: 20 } },
  })

  const none = await blame(...right, '--max-forks', '0')
  expect(none.code).toBe(1)
  expect(none.stdout).toMatch(/^Stopped .*No forks were allowed/)

  await writeFile(agent, readFileSync(agent, 'utf8').replace('refund window', 'return window'))
  await rm(join(workspace.folder, '.retake', 'sources'), { recursive: true })
  const changed = await blame(...right)
  expect(changed.code).toBe(1)
  expect(changed.stdout).toBe('')
  expect(changed.stderr).toContain('BLAME_AGENT_CHANGED')
})

test("blame of yesterday's run is about yesterday's code", async () => {
  const { folder, retake } = await folderWith({})
  const [agent, tools] = [join(folder, 'agent.mjs'), join(folder, 'tools.mjs')]
  const library = JSON.stringify(import.meta.resolve('retake'))
  const source = readFileSync(agentPath('blame/refund.mjs'), 'utf8')
  await writeFile(tools, `export { tool } from ${library}`)
  await writeFile(
    agent,
    `const luck = Math.random()\n${source.replace("'@retake/engine'", "'./tools.mjs'")}`,
  )
  await retake(['record', 'agent.mjs'])
  const blame = async (...args: string[]): Promise<FindingsFile> =>
    foundBy((await retake(['blame', 'last', ...right, '--json', ...args], PATIENT)).stdout)
  const before = await blame()
  expect(before.findings).toMatchObject({ verdict: 'attributed', repair: { steps: ['2'] } })

  await writeFile(agent, `// new\n${readFileSync(agent, 'utf8').replace("'refund", "'return")}`)
  await rm(tools)
  const again = await blame()
  expect(again.findings.steps).toEqual(before.findings.steps)
  expect(again.facts.newForks).toBe(0)

  await rm(join(folder, '.retake', 'blame'), { recursive: true })
  const few = [...right, '--json', '--keep', '--max-forks', '6']
  const { stderr, stdout } = await retake(['blame', 'last', ...few], PATIENT)
  expect(stderr).toContain('2 files changed since this run; showing the recorded code')
  const { findings, facts } = foundBy(stdout)
  expect(findings.ambient).toEqual(before.findings.ambient)
  expect(facts).toMatchObject({ newForks: 6, undefinedBy: {} })
  const fork = await retake(['show', 'last', '--json'])
  expect(JSON.parse(fork.stdout)).toMatchObject({ start: { cwd: folder } })
  expect(fork.stdout).not.toContain('retake-code-')
})

test('searches that cannot work are refused before anything runs', async () => {
  const workspace = await folderWith({ 'agent.mjs': smallAgent })
  await workspace.retake(['record', 'agent.mjs'])
  const wrong = [
    [['blame', 'last', '--oracle', 'exit:1'], 1, 'BLAME_NO_STEPS'],
    [['blame', 'last'], 2, 'Missing option --oracle <check>.'],
    [['blame', 'last', '--expect', 'x', '--oracle', 'exit:1'], 2, 'both define a pass'],
    [['blame'], 2, 'Missing argument <run>.'],
    [['blame', 'last', '--oracel', 'exit:1'], 2, 'Did you mean --oracle?'],
    [
      ['blame', 'last', '--oracle', 'exit:1', '--max-forks', 'few'],
      2,
      'not a valid number for --max-forks',
    ],
    [['blame', 'nothing', '--oracle', 'exit:1'], 1, 'UNKNOWN_RUN'],
    [['blame', 'last', '--validate'], 2, 'Unexpected argument "last".'],
  ] as const
  for (const [args, code, said] of wrong) {
    const finished = await workspace.retake(args)
    expect(finished.stderr).toContain(said)
    expect(finished.code).toBe(code)
  }
  expect(blameFiles(workspace)).toEqual([])
})

test('blame --validate --seeds shows nine of nine, and controls that stay flat', async () => {
  soakOnly()
  const { retake } = await folderWith({})
  const { stdout, code } = await retake(['blame', '--validate', '--seeds', '4', '--json'])
  const bench = JSON.parse(stdout) as {
    good: boolean
    competing: { isRight: boolean }[]
    scenarios: unknown[]
    controls: { blamed: number }[]
  }
  expect(code).toBe(0)
  expect(bench.competing.map(({ isRight }) => isRight)).toEqual(Array(9).fill(true))
  expect(bench.scenarios).toHaveLength(17)
  expect(bench.controls.map(({ blamed }) => blamed)).toEqual([0, 0, 0])
})

test('blame --validate finds planted causes through processes, and none in the control', async () => {
  soakOnly()
  const { retake } = await folderWith({})
  const { stdout, code } = await retake(['blame', '--validate', '--json'], {
    timeoutMs: 600_000,
  })
  expect(JSON.parse(stdout)).toMatchObject({ good: true })
  expect(code).toBe(0)
})
