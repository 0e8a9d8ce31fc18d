import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { isDelivery, readRun } from '@retake/tape'
import { openTape, TapeWriter } from '@retake/tape/node'
import { startEffectProvider } from '../support/effect-provider.mjs'
import { agentPath, makeWorkspace, type Workspace } from '../support/run-retake.mjs'
import { isSoak, soakOnly } from '../support/soak.js'

const cli = fileURLToPath(new URL('../../packages/cli/bin/retake.mjs', import.meta.url))

let provider: Awaited<ReturnType<typeof startEffectProvider>>
let workspace: Workspace
/** A whole run of the agent, to be cut. */
let whole: string
let wanted: string
let cuts = 0

const AGENT = 'resume/steps.mjs'

beforeAll(async () => {
  provider = await startEffectProvider()
  workspace = await makeWorkspace()
  const recorded = await workspace.retake(['record', agentPath(AGENT)], {
    env: { AGENT_BASE_URL: provider.url },
  })
  wanted = recorded.stdout
  const folder = join(workspace.folder, '.retake/runs')
  whole = join(folder, String(readdirSync(folder).find((name) => name.endsWith('.tape'))))
})
afterAll(async () => {
  await provider.close()
  await workspace.remove()
})
beforeEach(() => provider.counts.clear())

/** The tape, and the log that the agent keeps, as a kill after `count` events would have left them. */
function cutAfter(count: number): string {
  const source = openTape(whole)
  restoreLog(count)
  const folder = join(workspace.folder, `cut-${cuts++}`)
  mkdirSync(folder)
  const path = join(folder, `${source.run.id}.tape`)
  const { type, format: _, seq: _s, at: _a, ...run } = source.run
  const times = [...source.events(0, count)].map(({ at }) => at)
  let next = 0
  const writer = TapeWriter.create(path, { type, ...run }, source.details, {
    now: () => times[next++] ?? 0,
  })
  for (const event of source.events(1, count)) {
    const { seq, at: _at, ...rest } = event
    writer.append(rest, source.body(seq))
  }
  writer.close()
  return path
}

function restoreLog(count: number): void {
  const tape = openTape(whole)
  // The result stands right behind the call; without it the line was not written yet.
  const lines = [...tape.events(0, count - 1)].flatMap((event) =>
    event.type === 'call' && event.name === 'fs.appendFileSync'
      ? [Buffer.from(tape.body(event.seq)).toString()]
      : [],
  )
  writeFileSync(join(workspace.folder, 'log.txt'), lines.join(''))
}

/** Number of events up to and including the first that fits. */
function upTo(fits: (event: ReturnType<ReturnType<typeof openTape>['event']>) => boolean): number {
  for (const event of openTape(whole).events()) if (fits(event)) return event.seq + 1
  throw new Error('no such event')
}

const firstTool = (): number => upTo((event) => event.type === 'call' && event.kind === 'tool')
const stepsOf = (tape: string): number => readRun(openTape(tape)).recordedSteps.length
const tools = (): string[] =>
  [...provider.counts.keys()].filter((key) => key.startsWith('/effect tool'))

describe('a write to a file that was in progress', () => {
  const cut = (): { tape: string; line: string; log: string } => {
    const count = upTo((event) => event.type === 'call' && event.name.includes('append'))
    const line = Buffer.from(openTape(whole).body(count - 1)).toString()
    return { tape: cutAfter(count), line, log: join(workspace.folder, 'log.txt') }
  }

  /** Resumes with the first bytes of the line in the file. */
  async function resumeWith(count: number) {
    const { tape, line, log } = cut()
    rmSync(log, { force: true })
    if (count > 0) writeFileSync(log, line.slice(0, count))
    const resumed = await workspace.retake(['resume', tape, '--json'])
    expect(resumed.stdout, resumed.stderr).toBe(wanted)
    const written = readFileSync(log, 'utf8')
    expect(written.slice(0, line.length)).toBe(line)
    expect(written.split('\n').map((each) => each[0])).toEqual(['1', '2', '3', '4', undefined])
    expect((await workspace.retake(['verify', tape])).code).toBe(0)
    const { settled } = JSON.parse(resumed.stderr.trim().split('\n').at(-1) ?? '') as {
      settled: unknown
    }
    return { settled, length: line.length }
  }

  test('is not repeated if the file shows that it had been done', async () => {
    const { settled, length } = await resumeWith(Infinity)
    expect(settled).toMatchObject([{ decision: 'done', file: { written: length, length } }])
  })

  test('is finished if the file has a part of it', async () => {
    const { settled, length } = await resumeWith(5)
    expect(settled).toMatchObject([{ decision: 'finished', file: { written: 5, length } }])
  })

  test('is made if the file is as before, and the receipt says so', async () => {
    soakOnly()
    const { tape, log } = cut()
    rmSync(log, { force: true })
    const resumed = await workspace.retake(['resume', tape])
    expect(resumed.stdout).toBe(wanted)
    expect(resumed.stderr.replaceAll(/\s+/g, ' ')).toContain(
      'settled fs.appendFileSync log.txt: done now; the file was as before the call',
    )
  })
})

describe('a step in doubt', () => {
  test('stops a resume without a decision before anything runs', async () => {
    const tape = cutAfter(firstTool())
    const before = readFileSync(tape)
    const resumed = await workspace.retake(['resume', tape])
    expect(resumed.code).toBe(1)
    expect(resumed.stdout).toBe('')
    expect(resumed.stderr).toContain('STEP_IN_DOUBT')
    expect(resumed.stderr).toMatch(/step \d+ \(charge\(\{"id":"r1"\}\)\)/)
    expect(resumed.stderr).toContain('--in-doubt retry')
    expect(provider.counts.size).toBe(0)
    expect(readFileSync(tape).equals(before)).toBe(true)
  })

  test('is repeated with retry, and reported', async () => {
    const tape = cutAfter(firstTool())
    const resumed = await workspace.retake(['resume', tape, '--in-doubt', 'retry'])
    expect(resumed.stderr).toMatch(/in doubt step \d+ tool call charge: retried/)
    expect(resumed.stdout).toBe(wanted)
    expect(resumed.code).toBe(0)
    expect(tools()).toHaveLength(4)
    expect((await workspace.retake(['verify', tape])).code).toBe(0)
  })

  test('is not repeated with skip: the agent gets an error it can handle', async () => {
    soakOnly()
    const tape = cutAfter(firstTool())
    const resumed = await workspace.retake(['resume', tape, '--in-doubt', 'skip'])
    expect(resumed.stderr).toContain('STEP_SKIPPED')
    expect(resumed.stderr).toMatch(/in doubt step \d+ tool call charge: skipped/)
    expect(resumed.code).toBe(1)
    expect(tools()).toHaveLength(0)
    const replayed = await workspace.retake(['replay', tape])
    expect(replayed.stdout).toBe(resumed.stdout)
    expect(replayed.stderr).toContain('identical')
  })

  test('can be a command on a connection, which its client may send again', async () => {
    const charged: string[] = []
    const server = createServer((socket) =>
      socket.on('data', (data) => {
        const [command, pid] = String(data).trim().split(' ')
        if (command === 'charge' && charged.push(String(data)) === 1) process.kill(Number(pid), 9)
        else socket.write(`${command} ${charged.length}`)
      }),
    ).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const env = { CHARGE_PORT: String((server.address() as AddressInfo).port) }
    const killed = await workspace.retake(['record', agentPath('resume/charge.mjs')], { env })
    expect(killed.stdout).toBe('balance 0\n')

    const refused = await workspace.retake(['resume', 'last'], { env })
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('CONNECTION_IN_DOUBT')
    expect(charged).toHaveLength(1)

    const resumed = await workspace.retake(['resume', 'last', '--in-doubt', 'skip'], { env })
    expect(resumed.stderr).toMatch(/in doubt bytes sent to 127\.0\.0\.1:\d+: lost/)
    expect(resumed.stderr).toMatch(/lost +1 connection to 127\.0\.0\.1:\d+: open on the tape/)
    expect(resumed.stdout).toBe('balance 0\ncharge 2\n')
    server.close()
    const replayed = await workspace.retake(['replay', 'last'])
    expect(replayed.stderr).toContain('identical')
    expect(replayed.stdout).toBe(resumed.stdout)
  })

  test('is not repeated by a rerun either', async () => {
    soakOnly()
    const tape = cutAfter(firstTool())
    const rerun = await workspace.retake(['rerun', tape])
    expect(rerun.stderr).toMatch(/in doubt step \d+ tool call charge: skipped/)
    expect(tools()).toHaveLength(0)
  })

  test('can be a file that something else has changed since; the error says what was found', async () => {
    const tape = cutAfter(upTo((event) => event.type === 'call' && event.name.includes('append')))
    const log = join(workspace.folder, 'log.txt')
    writeFileSync(log, 'of another program')
    const { stderr, code } = await workspace.retake(['resume', tape])
    expect(code).toBe(1)
    expect(stderr).toContain('STEP_IN_DOUBT')
    expect(stderr.replaceAll(/\s+/g, ' ')).toMatch(
      /log\.txt has 18 bytes; before the call, which writes \d+ bytes, it did not exist\. Its content matches neither/,
    )
    if (!isSoak) return
    const skipped = await workspace.retake(['resume', tape, '--in-doubt', 'skip'])
    expect(skipped.stderr).toMatch(/in doubt fs\.appendFileSync log\.txt: skipped/)
    expect(readFileSync(log, 'utf8')).toBe('of another program')
    expect((await workspace.retake(['replay', tape])).stdout).toBe(skipped.stdout)
  })

  test('is found even if the agent already used the beginning of its answer', async () => {
    soakOnly()
    const agent = join(workspace.folder, 'head.mjs')
    writeFileSync(
      agent,
      `const response = await fetch(process.env.AGENT_BASE_URL + '/effect?late', { method: 'POST', body: 'h' })
      console.log(response.status)
      console.log((await response.json()).seen)`,
    )
    await workspace.retake(['record', '--dir', 'head', agent], {
      env: { AGENT_BASE_URL: provider.url },
    })
    const backup = whole
    const folder = join(workspace.folder, 'head')
    whole = join(folder, String(readdirSync(folder)[0]))
    const cut = cutAfter(upTo((event) => event.type === 'output'))
    whole = backup
    const failed = await workspace.retake(['resume', cut])
    expect(failed.code).toBe(1)
    expect(failed.stderr).toContain('STEP_IN_DOUBT')
    const resumed = await workspace.retake(['resume', cut, '--in-doubt', 'retry'])
    expect(resumed.code).toBe(0)
    expect(resumed.stdout).toMatch(/^200\nh-/)
    expect(resumed.stderr).toContain('retried')
  })

  test('does not exist if only the end of the answer is missing', async () => {
    soakOnly()
    const chunk = upTo((event) => event.type === 'deliver' && event.part === 'chunk')
    const resumed = await workspace.retake(['resume', cutAfter(chunk)])
    expect(resumed.code).toBe(0)
    expect(resumed.stdout).toBe(wanted)
    const first = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'begin' }] })
    expect(provider.counts.get(`/v1/chat/completions ${first}`)).toBe(undefined)
  })

  test('of a model is skipped with an answer that its SDK does not retry', async () => {
    soakOnly()
    const tape = cutAfter(upTo((event) => event.type === 'request'))
    const resumed = await workspace.retake(['resume', tape, '--in-doubt', 'skip'])
    expect(resumed.stderr).toContain('409')
    expect(provider.counts.size).toBe(0)
  })
})

describe('a run cut off', () => {
  test('distinguishes served from paid steps on its one tape', async () => {
    const tape = cutAfter(firstTool())
    const before = stepsOf(tape)
    const args = ['resume', tape, '--in-doubt', 'retry', '--json']
    const { stderr } = await workspace.retake(args)
    const { facts, steps } = JSON.parse(String(stderr.trimEnd().split('\n').at(-1))) as {
      facts: { served: number; live: number; paidRequests: number; savedRequests: number }
      steps: readonly { answer: string }[]
    }
    const asked = [...provider.counts].filter(([key]) => !key.startsWith('/effect tool'))
    expect(facts.served).toBe(before - 1)
    expect(facts.served + facts.live).toBe(stepsOf(tape))
    expect(steps.filter(({ answer }) => answer === 'served')).toHaveLength(facts.served)
    expect(facts.savedRequests).toBeGreaterThan(0)
    expect(facts.paidRequests).toBe(asked.reduce((sum, [, count]) => sum + count, 0))
  })

  const apart = isSoak ? 20 : 180
  test(`at every ${apart}th event is resumed to the same end`, async () => {
    const { count } = openTape(whole)
    for (let events = 2; events < count - 2; events += apart) {
      provider.counts.clear()
      const tape = cutAfter(events)
      // A run that was killed before it read a variable reads the one of today.
      const env = { AGENT_BASE_URL: provider.url }
      const resumed = await workspace.retake(['resume', tape, '--in-doubt', 'retry'], { env })
      expect(resumed.stdout, `${events}: ${resumed.stderr}`).toBe(wanted)
      expect(resumed.code).toBe(0)
    }
  })

  test('in the middle of a record loses only that record', async () => {
    soakOnly()
    const tape = cutAfter(60)
    const bytes = readFileSync(tape)
    writeFileSync(tape, bytes.subarray(0, bytes.length - 7))
    const resumed = await workspace.retake(['resume', tape, '--in-doubt', 'retry'])
    expect(resumed.stdout).toBe(wanted)
    expect((await workspace.retake(['replay', tape])).stdout).toBe(wanted)
  })

  test('is refused if the program has changed, and left unchanged', async () => {
    soakOnly()
    const agent = join(workspace.folder, 'changing.mjs')
    writeFileSync(
      agent,
      `console.log('one'); await fetch(process.env.AGENT_BASE_URL + '/effect', { method: 'POST', body: 'x' }); console.log('two')`,
    )
    await workspace.retake(['record', '--dir', 'changing', agent], {
      env: { AGENT_BASE_URL: provider.url },
    })
    const folder = join(workspace.folder, 'changing')
    const tape = join(folder, String(readdirSync(folder)[0]))
    const sealed = openTape(tape)
    const end = [...sealed.events()].findLast(isDelivery)?.seq ?? 0
    const backup = whole
    whole = tape
    const cut = cutAfter(end)
    whole = backup
    writeFileSync(agent, `console.log('uno'); console.log('due')`)
    const before = readFileSync(cut)
    const resumed = await workspace.retake(['resume', cut, '--in-doubt', 'retry'])
    expect(resumed.code).toBe(3)
    expect(resumed.stderr).toContain('diverged at event')
    expect(readFileSync(cut).equals(before)).toBe(true)
  })
})

test('a second resume at the same time is refused', async () => {
  const waiting = join(workspace.folder, 'waiting.mjs')
  const go = join(workspace.folder, 'go')
  writeFileSync(
    waiting,
    `import { existsSync } from 'node:fs'
    console.log('up')
    while (!existsSync(${JSON.stringify(go)})) await new Promise((r) => setTimeout(r, 50))
    console.log('done')`,
  )
  const firstLine = (child: ChildProcess): Promise<unknown> =>
    new Promise((resolve) => child.stdout?.once('data', resolve))
  const start = (args: readonly string[]): ChildProcess =>
    spawn(process.execPath, [cli, ...args], {
      cwd: workspace.folder,
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
    })
  const recording = start(['record', '--dir', 'waiting', waiting])
  await firstLine(recording)
  process.kill(-Number(recording.pid), 'SIGKILL')
  await new Promise((resolve) => recording.on('exit', resolve))
  const folder = join(workspace.folder, 'waiting')
  const tape = join(folder, String(readdirSync(folder).find((name) => name.endsWith('.tape'))))
  const first = start(['resume', tape])
  await firstLine(first)
  const second = await workspace.retake(['resume', tape])
  expect(second.code).toBe(1)
  expect(second.stderr).toContain('TAPE_IN_USE')
  writeFileSync(go, '')
  expect(await new Promise((resolve) => first.on('exit', resolve))).toBe(0)
  expect((await workspace.retake(['replay', tape])).stdout).toBe('up\ndone\n')
})

test('a run that goes live without stdin gets no signal that nobody sent', async () => {
  const agent = join(workspace.folder, 'listening.mjs')
  const source = `process.on('SIGINT', () => console.log('interrupted'))
    for (const body of ['one', 'two']) {
      const response = await fetch(process.env.AGENT_BASE_URL + '/effect', { method: 'POST', body })
      console.log((await response.json()).seen)
    }`
  writeFileSync(agent, source)
  const recording = spawn(process.execPath, [cli, 'record', '--dir', 'listening', agent], {
    cwd: workspace.folder,
    env: { ...process.env, AGENT_BASE_URL: provider.url },
    stdio: 'ignore',
    detached: true,
  })
  provider.onRequest((key) => {
    if (key.endsWith('two')) process.kill(-Number(recording.pid), 'SIGKILL')
  })
  await once(recording, 'exit')
  provider.onRequest(undefined)
  const folder = join(workspace.folder, 'listening')
  const tape = join(folder, String(readdirSync(folder).find((name) => name.endsWith('.tape'))))
  const resumed = await workspace.retake(['resume', tape, '--in-doubt', 'retry'])
  expect(resumed.stdout, resumed.stderr).toMatch(/^one-\w+\ntwo-\w+\n$/)
  const forked = await workspace.retake(['fork', tape, '--at', '1', '--set', 'seen="other"'])
  expect(forked.stdout, forked.stderr).toMatch(/^other\ntwo-\w+\n$/)
  writeFileSync(agent, source.replace('two', 'three'))
  const rerun = await workspace.retake(['rerun', tape])
  expect(rerun.stdout, rerun.stderr).toMatch(/^one-\w+\nthree-\w+\n$/)
})

describe('a run that ended with an error', () => {
  const agent = (): string => join(workspace.folder, 'failing.mjs')
  const source = `
    const url = process.env.AGENT_BASE_URL
    for (let step = 1; step <= 10; step++) {
      const response = await fetch(url + '/effect', { method: 'POST', body: 'step ' + step })
      if (!response.ok) throw new Error('step ' + step + ' failed with ' + response.status)
      console.log(step, (await response.json()).seen)
    }`

  test('at step 9 of 10 continues there as a branch, and its tape is unchanged', async () => {
    soakOnly()
    writeFileSync(agent(), source)
    provider.failNext('step 9')
    const failed = await workspace.retake(['record', '--dir', 'failing', agent()], {
      env: { AGENT_BASE_URL: provider.url },
    })
    expect(failed.code).toBe(1)
    const folder = join(workspace.folder, 'failing')
    const [name] = readdirSync(folder)
    const tape = join(folder, String(name))
    const before = readFileSync(tape)
    provider.counts.clear()
    const resumed = await workspace.retake(['resume', tape])
    expect(resumed.code).toBe(0)
    expect(resumed.stdout.trim().split('\n')).toHaveLength(10)
    expect([...provider.counts.keys()]).toEqual(['/effect step 9', '/effect step 10'])
    expect(readFileSync(tape).equals(before)).toBe(true)
    expect(resumed.stderr).toMatch(/resumed .* from .* at step 9/)
    expect((await workspace.retake(['replay', 'last', '--dir', folder])).stdout).toBe(
      resumed.stdout,
    )
  })

  test('that is complete has nothing to resume', async () => {
    const copy = join(workspace.folder, 'whole')
    mkdirSync(copy)
    copyFileSync(whole, join(copy, 'run.tape'))
    const resumed = await workspace.retake(['resume', join(copy, 'run.tape')])
    expect(resumed.code).toBe(1)
    expect(resumed.stderr).toContain('RUN_COMPLETE')
  })

  test('by its own exception continues after the code was fixed', async () => {
    soakOnly()
    const own = join(workspace.folder, 'own.mjs')
    const broken = `
      const seen = (await (await fetch(process.env.AGENT_BASE_URL + '/effect', { method: 'POST', body: 'a' })).json()).seen
      console.log(seen)
      if (true) throw new Error('a mistake')
      console.log((await (await fetch(process.env.AGENT_BASE_URL + '/effect', { method: 'POST', body: 'b' })).json()).seen)`
    writeFileSync(own, broken)
    const env = { AGENT_BASE_URL: provider.url }
    expect((await workspace.retake(['record', '--dir', 'own', own], { env })).code).toBe(1)
    provider.counts.clear()
    const same = await workspace.retake(['resume', 'last', '--dir', 'own'])
    expect(same.stderr).toContain('a mistake')
    expect(same.code).toBe(1)
    expect(provider.counts.size).toBe(0)
    writeFileSync(own, broken.replace('if (true)', 'if (false)'))
    const resumed = await workspace.retake(['resume', 'last', '--dir', 'own'])
    expect(resumed.code).toBe(0)
    expect([...provider.counts.keys()]).toEqual(['/effect b'])
  })
})
