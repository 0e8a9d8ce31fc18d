import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fork, record, replay, rerun, resume } from '@retake/engine'
import { guard, type GuardOptions } from '@retake/guard'
import { readGuards, readRun } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { expect, onTestFinished, test } from 'vitest'
import { cutTape } from '../support/cut-tape.js'
import { firstDifference } from '../support/first-difference.mjs'
import { agentPath, makeWorkspace } from '../support/run-retake.mjs'

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'retake-guarded-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

/** An agent that makes these calls one after another, and what its tools have done. */
function agentOf(options: Partial<GuardOptions> = {}) {
  const done: string[] = []
  const failing = new Set<string>()
  const agent = (calls: readonly (readonly [tool: string, args: unknown])[]) => async () => {
    const run = guard({ name: 'shop', ...options })
    run.tool('pay', ({ to }: { to: string }) => {
      if (failing.has(to)) throw new Error(`no money for ${to}`)
      done.push(to)
      return { paid: to, at: Math.random() }
    })
    run.tool('all', async ({ of }: { of: string[] }) => {
      for (const to of of) await run.call('pay', { to }, { throws: true })
      return of.length
    })
    const results = []
    for (const [tool, args] of calls) {
      const { status, output, error, step, intent, facts } = await run.call(tool, args)
      if (status === 'failed') throw error
      results.push({ status, output, step, intent, facts })
    }
    return results
  }
  return { agent, done, failing }
}

const pay = (to: string) => ['pay', { to }] as const

test('a recorded agent with a guard is replayed bit for bit, without its tools and its policy', async () => {
  const { agent, done } = agentOf({
    policy: { name: 'shop', rules: [{ deny: 'pay', when: { to: { in: ['Ed'] } } }] },
  })
  const calls = [pay('Al'), pay('Al'), pay('Ed'), ['all', { of: ['Bo', 'Cy'] }]] as const
  const { output, run } = await record({ name: 'guarded', dir: folder() }, agent(calls))
  expect(output.map(({ status }) => status)).toEqual(['done', 'done', 'denied', 'done'])
  expect(done).toEqual(['Al', 'Al', 'Bo', 'Cy'])
  const other = agentOf({ policy: { name: 'frozen', rules: [{ deny: '*' }] } })
  const replayed = await replay(run.path, other.agent(calls))
  expect(replayed.output).toEqual(output)
  expect(other.done).toEqual([])
  const { guards, calls: taped } = readGuards(openTape(run.path))
  expect(guards).toMatchObject([{ guard: 'shop', policy: { policies: [{ name: 'shop' }] } }])
  expect(taped.map(({ tool, state, isNested }) => [tool, state, isNested])).toEqual([
    ['pay', 'done', false],
    ['pay', 'done', false],
    ['pay', 'denied', false],
    ['all', 'done', false],
    ['pay', 'done', true],
    ['pay', 'done', true],
  ])
})

test('a guard that is created in the run replays where the state of Retake is in another folder', async () => {
  const dir = folder()
  const stateHome = process.env['XDG_STATE_HOME']
  onTestFinished(() => {
    if (stateHome === undefined) delete process.env['XDG_STATE_HOME']
    else process.env['XDG_STATE_HOME'] = stateHome
  })
  delete process.env['XDG_STATE_HOME']
  const agent = agentOf().agent([['pay', { to: 'Ann' }]])
  const { run } = await record({ name: 'shop', dir }, agent)
  process.env['XDG_STATE_HOME'] = dir
  const { divergences } = await replay(run.path, agent)
  expect(divergences).toEqual([])
})

test('a guarded script is recorded and replayed by the command line to the same output', async () => {
  const workspace = await makeWorkspace()
  onTestFinished(workspace.remove)
  const recorded = await workspace.retake(['record', agentPath('guard-recorded.mjs')])
  expect(recorded.code).toBe(0)
  expect(recorded.stdout.trim().split('\n')).toHaveLength(6)
  const replayed = await workspace.retake(['replay', 'last'])
  expect(firstDifference(recorded.stdout, replayed.stdout)).toBeUndefined()
  expect(replayed.code).toBe(0)
  const shown = await workspace.retake(['show', 'last', '--json'])
  expect(shown.stdout).toContain('"denied"')
})

test('a killed recording continues with the right occurrences', async () => {
  const { agent, done } = agentOf()
  const dir = folder()
  const calls = [pay('Al'), pay('Al'), pay('Al'), pay('Bo')] as const
  const { run, output } = await record({ name: 'guarded', dir }, agent(calls))
  const second = readGuards(openTape(run.path)).calls[1]
  const cut = cutTape(run.path, (second?.resultSeq ?? 0) + 1, join(dir, 'cut'))
  done.length = 0
  const resumed = await resume(cut, agent(calls))
  expect(done).toEqual(['Al', 'Bo'])
  expect(resumed.output.slice(0, 2)).toEqual(output.slice(0, 2))
  expect(resumed.output.map(({ step }) => [step.number, step.occurrence])).toEqual([
    [1, 1],
    [2, 2],
    [3, 3],
    [4, 1],
  ])
  const replayed = await replay(resumed.run.path, agent(calls))
  expect(replayed.output).toEqual(resumed.output)
})

test('a killed call of a tool that may run twice is repeated automatically with the same key', async () => {
  const dir = folder()
  const keys: string[] = []
  const agent = async () => {
    const run = guard({ name: 'shop' })
    const send = (_: unknown, { idempotencyKey }: { idempotencyKey: string }) => {
      keys.push(idempotencyKey)
      return 'sent'
    }
    run.tool('send', send, { idempotent: true })
    run.tool('shout', send)
    return [(await run.call('send', {})).output, (await run.call('shout', {})).output]
  }
  const { run } = await record({ name: 'guarded', dir }, agent)
  const [first, second] = readGuards(openTape(run.path)).calls
  const inSend = cutTape(run.path, (first?.callSeq ?? 0) + 1, join(dir, 'send'))
  const inShout = cutTape(run.path, (second?.callSeq ?? 0) + 1, join(dir, 'shout'))
  expect((await resume(inSend, agent)).output).toEqual(['sent', 'sent'])
  expect(keys[2]).toBe(keys[0])
  await expect(resume(inShout, agent)).rejects.toThrow(
    expect.objectContaining({ code: 'STEP_IN_DOUBT' }) as Error,
  )
  expect((await resume(inShout, agent, { inDoubt: 'retry' })).output).toEqual(['sent', 'sent'])
  expect(keys.at(-1)).toBe(keys[1])
})

test.each([
  ['has happened', { happened: true, output: 'found' }, ['found'], 0],
  ['has not happened', { happened: false }, ['sent'], 1],
  ['may have happened', 'unknown', [undefined], 0],
] as const)('a killed call that %s is verified by its tool', async (_, verified, output, sent) => {
  const dir = folder()
  let times = 0
  const agent = async () => {
    const run = guard({ name: 'shop' })
    const send = () => {
      times += 1
      return 'sent'
    }
    run.tool('send', send, { verify: () => verified })
    return [(await run.call('send', {})).output]
  }
  const { run } = await record({ name: 'guarded', dir }, agent)
  const [call] = readGuards(openTape(run.path)).calls
  const cut = cutTape(run.path, (call?.callSeq ?? 0) + 1, join(dir, 'cut'))
  times = 0
  const resumed = await resume(cut, agent)
  expect({ output: resumed.output, times }).toEqual({ output, times: sent })
  expect((await replay(resumed.run.path, agent)).output).toEqual(resumed.output)
  expect(times).toBe(sent)
})

test('limits include calls that the tape served', async () => {
  const { agent, done } = agentOf({ limits: { calls: 3 } })
  const dir = folder()
  const calls = [pay('Al'), pay('Bo'), pay('Cy'), pay('Di')] as const
  const { run } = await record({ name: 'guarded', dir }, agent(calls))
  const second = readGuards(openTape(run.path)).calls[1]
  const cut = cutTape(run.path, (second?.resultSeq ?? 0) + 1, join(dir, 'cut'))
  done.length = 0
  const { output } = await resume(cut, agent(calls))
  expect(output.map(({ status }) => status)).toEqual(['done', 'done', 'done', 'stopped'])
  expect(done).toEqual(['Cy'])
})

test('a resume repeats a failed call and serves what its tool had done', async () => {
  const { agent, done, failing } = agentOf()
  const dir = folder()
  const calls = [pay('Al'), ['all', { of: ['Bo', 'Cy'] }]] as const
  failing.add('Cy')
  await expect(record({ name: 'guarded', dir }, agent(calls))).rejects.toThrow('no money')
  failing.clear()
  expect(done).toEqual(['Al', 'Bo'])
  const tape = readdirSync(dir).find((file) => file.endsWith('.tape')) ?? ''
  const resumed = await resume(join(dir, tape), agent(calls))
  expect(resumed.output.at(-1)).toMatchObject({ status: 'done', output: 2 })
  expect(done).toEqual(['Al', 'Bo', 'Cy'])
  const replayed = await replay(resumed.run.path, agent(calls))
  expect(replayed.output).toEqual(resumed.output)
})

test('a repeated call is judged by the current policy, and the tape says so', async () => {
  const { agent, done } = agentOf()
  const { run } = await record({ name: 'guarded', dir: folder() }, agent([pay('Al'), pay('Bo')]))
  const frozen = agentOf({ policy: { name: 'frozen', rules: [{ deny: 'pay' }] } })
  const forked = await fork(run.path, frozen.agent([pay('Al'), pay('Bo')]), { at: '2' })
  expect(forked.output.map(({ status }) => status)).toEqual(['done', 'denied'])
  expect(frozen.done).toEqual([])
  expect(done).toEqual(['Al', 'Bo'])
  const [, second] = readGuards(openTape(forked.run.path)).calls
  expect(second).toMatchObject({ state: 'denied', intent: { verdict: 'deny', rule: 'frozen/1' } })
  const replayed = await replay(forked.run.path, frozen.agent([pay('Al'), pay('Bo')]))
  expect(replayed.output).toEqual(forked.output)
})

test('the decision about one call is never used for another that a changed program makes', async () => {
  const policy = { name: 'shop', rules: [{ deny: 'pay', when: { to: { in: ['Ed'] } } }] }
  const { agent, done } = agentOf({ policy })
  const { run } = await record({ name: 'guarded', dir: folder() }, agent([pay('Al'), pay('Bo')]))
  done.length = 0
  const changed = agent([pay('Al'), pay('Ed'), pay('Di')])
  const rerun1 = await rerun(run.path, changed)
  expect(rerun1.output.map(({ status }) => status)).toEqual(['done', 'denied', 'done'])
  expect(done).toEqual(['Di'])
  const tape = openTape(rerun1.run.path)
  expect(readGuards(tape).calls.map(({ tool, state }) => [tool, state])).toEqual([
    ['pay', 'done'],
    ['pay', 'denied'],
    ['pay', 'done'],
  ])
  expect(readRun(tape).recordedSteps.map(({ state }) => state)).toEqual(['done', 'denied', 'done'])
  const replayed = await replay(rerun1.run.path, changed)
  expect(replayed.output).toEqual(rerun1.output)
})

test('a rerun decides by the policy of today, and a replay by that of the recording', async () => {
  const calls = [pay('Al'), pay('Bo'), pay('Cy')] as const
  const { run } = await record({ name: 'guarded', dir: folder() }, agentOf().agent(calls))
  const policy = { name: 'shop', rules: [{ deny: 'pay', when: { to: 'Bo' } }] }
  const { agent, done } = agentOf({ policy })
  const again = await rerun(run.path, agent(calls))
  expect(again.output.map(({ status }) => status)).toEqual(['done', 'denied', 'done'])
  expect(done).toEqual([])
  expect((await replay(again.run.path, agent(calls))).output).toEqual(again.output)
  // The calls that the recording does not have are judged as well, also where their answers are.
  const others = await rerun(run.path, agent([pay('Cy'), pay('Bo'), pay('Bo')]))
  expect(others.output.map(({ status }) => status)).toEqual(['done', 'denied', 'denied'])
  expect(done).toEqual([])
  const replayed = await replay(run.path, agent(calls))
  expect(replayed.output.map(({ status }) => status)).toEqual(['done', 'done', 'done'])
})

test('a rerun makes a call that only the recorded policy refused', async () => {
  const calls = [pay('Al'), pay('Bo'), pay('Cy')] as const
  const policy = { name: 'shop', rules: [{ deny: 'pay', when: { to: 'Bo' } }] }
  const { run } = await record({ name: 'guarded', dir: folder() }, agentOf({ policy }).agent(calls))
  const { agent, done } = agentOf()
  const again = await rerun(run.path, agent(calls))
  expect(again.output.map(({ status }) => status)).toEqual(['done', 'done', 'done'])
  expect(done).toEqual(['Bo'])
  expect((await replay(again.run.path, agent(calls))).output).toEqual(again.output)
})

test('results that a guard serves inside a recording are on its tape, and replayed without the earlier run', async () => {
  const dir = folder()
  const { agent, done } = agentOf({ dir, resume: true })
  const own = guard({ name: 'shop', dir })
  own.tool('pay', ({ to }: { to: string }) => ({ paid: to, at: 1 }))
  await own.call('pay', { to: 'Al' })
  own.end(undefined, { error: new Error('stopped') })
  const calls = [pay('Al'), pay('Bo')] as const
  const { output, run } = await record({ name: 'other', dir: folder() }, agent(calls))
  expect(done).toEqual(['Bo'])
  expect(output[0]).toMatchObject({ output: { paid: 'Al', at: 1 }, facts: { attempts: 0 } })
  rmSync(dir, { recursive: true })
  const replayed = await replay(run.path, agent(calls))
  expect(replayed.output).toEqual(output)
})
