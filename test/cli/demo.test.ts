import { once } from 'node:events'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, symlinkSync, mkdirSync } from 'node:fs'
import { connect } from 'node:net'
import { delimiter, join } from 'node:path'
import { environmentOnTape, originOf, readRun, type Step } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { describe, expect, test } from 'vitest'
import { sampled, soakOnly } from '../support/soak.js'
import { commandsIn, inShell, onTerminal } from './shown-commands.js'
import { folderWith, tapesOf } from './workspace.js'

const shipped = (file: string): string =>
  readFileSync(new URL(`../../packages/cli/demo/${file}`, import.meta.url), 'utf8')

const sha = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('hex')

test('every sentence of the demo is true, and every command that it shows works afterwards', async () => {
  const workspace = await folderWith({})
  const { folder } = workspace
  const { stdout, stderr, code } = inShell(folder, 'retake demo')
  expect(stderr).toBe('')
  expect(code).toBe(0)
  expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
  const [recorded = '', forked = ''] = await tapesOf(workspace)
  const [tape, branch] = [openTape(recorded), openTape(forked)]
  const [run, fork] = [readRun(tape), readRun(branch)]
  const port = Number(new URL(environmentOnTape(tape).get('MODEL_URL')?.value ?? '').port)

  // "No network": every request goes to this machine.
  const hosts = [...run.recordedSteps, ...fork.recordedSteps].flatMap((step) =>
    step.kind === 'model' ? [new URL(step.exchange()?.request.url ?? '').host] : [],
  )
  expect(new Set(hosts)).toEqual(new Set([`127.0.0.1:${port}`]))

  // "The window has been 30 days since March", "an outdated policy, and the model believed it"
  const { policies } = JSON.parse(shipped('shop.json')) as {
    policies: { title: string; text: string; effectiveFrom: string }[]
  }
  const windows = policies.filter(({ title }) => title === 'Refund window')
  const valid = windows.toSorted((a, b) => a.effectiveFrom.localeCompare(b.effectiveFrom)).at(-1)
  expect(valid).toMatchObject({ effectiveFrom: '2026-03-01' })
  expect(valid?.text).toContain('within 30 days')
  const policyCall = run.recordedSteps.find((step) => step.call()?.name === 'search_policy')
  expect(JSON.stringify(policyCall?.call()?.result)).toContain('within 60 days')
  expect(stdout).toContain('decision: APPROVED: €249. Day 41 of a 60-day window.')

  // "The scripted model is free; the costs shown are those of gpt-5-mini."
  const models = (view: typeof run): readonly Step[] =>
    view.recordedSteps.filter(({ kind }) => kind === 'model')
  expect(new Set(models(run).map(({ model }) => model))).toEqual(new Set(['gpt-5-mini']))
  expect(stdout).toContain('the costs shown are those of gpt-5-mini.')
  expect(stdout).not.toContain('cost unknown')
  const priceOf = (steps: readonly Step[]): number =>
    steps.reduce(
      (sum, { usage }) => sum + 0.25e-6 * (usage?.input ?? 0) + 2e-6 * (usage?.output ?? 0),
      0,
    )
  expect(run.totals.costUsd).toBeCloseTo(priceOf(models(run)), 12)

  // "The model is stopped": nothing listens where it was.
  const [refusal] = (await once(connect(port, '127.0.0.1'), 'error')) as [{ code: string }]
  expect(refusal.code).toBe('ECONNREFUSED')

  // "identical · 43 of 43 events · 8 served · 0 sockets", and the digests
  expect(stdout).toMatch(/identical · (\d+) of \1 events · \d+ served · 0 sockets/)
  expect(stdout).toContain(`digest ${tape.digest}\n`)
  const output = Buffer.concat(
    run.outputs.filter(({ stream }) => stream === 'stdout').map((each) => run.outputBytes(each)),
  )
  const digest = sha(output).slice(0, 16)
  expect(stdout).toMatch(
    new RegExp(`stdout sha256 ${digest}… recorded\\n +${digest}… replayed: equal`),
  )

  // "agent.ts, changed": the lines. "restored": the file is as it was shipped, and so is its time.
  const agent = join(folder, '.retake/demo/agent.ts')
  const lines = shipped('agent.ts').split('\n')
  const [, before = '', after = ''] = /agent\.ts, changed\n +- (.*)\n +\+ (.*)\n/.exec(stdout) ?? []
  expect(lines.map((line) => line.trim())).toContain(before)
  expect(after).toBe(before.replace('careful', 'generous'))
  expect(stdout).toMatch(
    /fix {2}Changed since the recording: \.retake\/demo\/agent\.ts\.[^]*\.retake\/demo\/agent\.ts, restored\n/,
  )
  expect(stdout).not.toContain('not captured')
  expect(readFileSync(agent, 'utf8')).toBe(shipped('agent.ts'))
  const [, at = ''] = /at {3}\.retake\/demo\/agent\.ts:(\d+):/.exec(stdout) ?? []
  expect(lines[Number(at) - 1]).toContain('fetch(')

  // The stop: the line is where it is said to be, and shows the policy of that step.
  const [, stopped = '', text = ''] = /> (\d+) {4}(.*)\n/.exec(stdout) ?? []
  expect(lines[Number(stopped) - 1]?.trim()).toBe(text.trim())
  expect(stdout).toMatch(/\n +result +\{ title: 'Refund window'/)

  // The fork: its numbers are those of its tape.
  expect(stdout).toContain('decision: DENIED. Day 41, but the window is 30 days.')
  const live = fork.recordedSteps.filter((step) => originOf(branch, step) === 'live')
  const served = fork.recordedSteps.filter((step) => originOf(branch, step) !== 'live')
  const tokens = (steps: readonly Step[]): number =>
    steps.reduce((sum, { usage }) => sum + (usage?.input ?? 0) + (usage?.output ?? 0), 0)
  const facts = (steps: readonly Step[]): string => {
    const requests = steps.filter(({ kind }) => kind === 'model')
    return `${requests.length} requests · ${tokens(requests)} tokens · $${priceOf(requests).toFixed(5)}`
  }
  // Saved time: while at least one of these steps was in progress in the recorded run.
  const busy = run.recordedSteps
    .filter(({ seq }) => served.some((step) => step.seq === seq))
    .map(({ at, latencyMs = 0 }) => [at, at + latencyMs] as const)
  const took = Array.from({ length: 20_000 }, (_, ms) => ms).filter((ms) =>
    busy.some(([start, end]) => start <= ms && ms < end),
  ).length
  const [, saved = ''] = /saved {4}(.*)/.exec(stdout) ?? []
  expect(saved).toContain(`${facts(served)} · `)
  expect(saved).toMatch(new RegExp(` s \\(${served.length} steps not live\\)$`))
  expect(Math.abs(Number(/([\d.]+) s \(/.exec(saved)?.[1]) * 1000 - took)).toBeLessThan(60)
  expect(stdout).toContain(`paid     ${facts(live)} (${live.length} steps live)`)

  // Everything that it shows works in a new shell, also live: the model answers there again.
  const commands = commandsIn(stdout)
  expect(commands).toEqual(
    expect.arrayContaining([
      'retake record .retake/demo/agent.ts',
      'retake replay last',
      `retake rerun ${tape.run.id}`,
      expect.stringMatching(/^retake fork last --at \d --set /),
      `retake diff ${tape.run.id} ${branch.run.id}`,
      'retake branches last',
    ]),
  )
  // Not run here: servers, demos of their own, and a program that the user has to write first.
  const others = /^retake (?:ui|blame --demo|fix --demo|record agent\.ts)/
  const own = commands.filter((command) => !others.test(command))
  for (const command of sampled(own, (each) => /^retake (?:record|fork .*--set) /.test(each))) {
    const isDiff = command.startsWith('retake diff ')
    expect({ command, ...inShell(folder, command) }).toMatchObject({ code: isDiff ? 3 : 0 })
  }
  const doctor = inShell(folder, 'retake doctor .retake/demo/agent.ts')
  expect(doctor).toMatchObject({ code: 0, stderr: '' })
  expect(doctor.stdout).toMatch(/POST 127\.0\.0\.1:\d+\/\S+ +5 [^]*order of completions/)
})

describe('the demo also says the truth', () => {
  test('as JSON', async () => {
    soakOnly()
    const workspace = await folderWith({})
    const { stdout } = inShell(workspace.folder, 'retake demo --json')
    const [recorded = '', forked = ''] = await tapesOf(workspace)
    expect(JSON.parse(stdout)).toMatchObject({
      run: openTape(recorded).run.id,
      branch: openTape(forked).run.id,
      identical: true,
      receipt: { contacts: {}, divergences: [] },
      divergence: { kind: 'different' },
      flipped: true,
    })
  })

  test('on a terminal of 60 columns', async ({ skip }) => {
    soakOnly()
    skip(process.platform !== 'linux', 'script has other options')
    const { folder } = await folderWith({})
    const { stdout, code } = onTerminal(folder, 'retake demo --no-open', 60)
    expect(code).toBe(0)
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain('the window has been 30 days since March.')
    expect(stdout).toContain('.retake/demo/agent.ts, restored')
    expect(readFileSync(join(folder, '.retake/demo/agent.ts'), 'utf8')).toBe(shipped('agent.ts'))
  })

  test('in a folder that cannot be written', async ({ skip }) => {
    soakOnly()
    skip(process.getuid?.() === 0, 'root writes everywhere')
    const { folder } = await folderWith({ 'keep/x': '' })
    inShell(folder, 'chmod 555 keep')
    const { stdout, code } = inShell(join(folder, 'keep'), 'retake demo')
    expect(code).toBe(0)
    const commands = commandsIn(stdout).filter((each) => /^retake (?!ui).*--dir/.test(each))
    expect(commands).not.toEqual([])
    for (const command of commands)
      expect(inShell(join(folder, 'keep'), command)).toMatchObject({ code: 0 })
  })

  test('without git and without bubblewrap', async () => {
    soakOnly()
    const { folder } = await folderWith({})
    const few = join(folder, '..', 'few')
    mkdirSync(few)
    for (const name of ['sh', 'dash', 'env', 'node'])
      for (const path of ['/bin', '/usr/bin', join(process.execPath, '..')])
        if (readdirSync(path).includes(name)) {
          symlinkSync(join(path, name), join(few, name))
          break
        }
    const { stdout, stderr, code } = inShell(folder, 'retake demo', {
      PATH: few,
      RETAKE_SANDBOX: 'off',
    })
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 })
    expect(stdout).toContain('decision: DENIED')
    expect(few.split(delimiter)).toHaveLength(1)
  })
})
