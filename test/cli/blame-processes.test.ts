import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { openTape } from '@retake/tape/node'
import { expect, onTestFinished, test } from 'vitest'
import type { FindingsFile } from '../../packages/lab/dist/blame/findings.js'
import { runFork } from '../../packages/lab/dist/blame/fork-run.js'
import { LocalForkPool, ProcessForks, StoredForks } from '../../packages/lab/dist/blame/forks.js'
import { readProcesses } from '../../packages/lab/dist/blame/plan-processes.js'
import { searchedSteps } from '../../packages/lab/dist/blame/process-tree.js'
import { makeOracle } from '../../packages/runner/dist/oracle/make-oracle.js'
import type { Workspace } from '../support/run-retake.mjs'
import { soakOnly } from '../support/soak.js'
import { folderWith, tapesOf } from './workspace.js'

/** A search is many processes: on a busy machine it takes its time. */
const PATIENT = { timeoutMs: 500_000 }

const ask = `
const ask = async (content) => {
  const response = await fetch(process.env.MODEL + '/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content }] }),
  })
  return (await response.json()).choices[0].message.content
}
`

/** Starts a sub-agent in the way that its argument says, and decides by what that found. */
const agent = `
import { execFileSync, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
${ask}
const ways = {
  async spawn(input) {
    const child = spawn(process.execPath, ['sub-agent.mjs', '1182'])
    child.stdin.end(input)
    return text(child.stdout)
  },
  async fork(plan) {
    const child = fork('./forked.mjs')
    child.send({ id: '1182', plan })
    const [found] = await once(child, 'message')
    child.send('stop')
    await once(child, 'exit')
    return JSON.stringify(found) + '\\n'
  },
  sync: (input) => execFileSync('node', ['sub-agent.mjs', '1182'], { input, encoding: 'utf8' }),
}
const plan = await ask('plan: which order?')
const found = await ways[process.argv[2]](plan)
const decision = await ask('decide: ' + found)
console.log(decision)
process.exitCode = decision === 'DENIED' ? 0 : 3
`

const subAgent = `
import { text } from 'node:stream/consumers'
${ask}
const plan = await text(process.stdin)
const order = await ask('order: ' + process.argv[2] + ', ' + plan)
const policy = await ask('policy: ' + order)
console.log(JSON.stringify({ order, policy }))
`

const forked = `
${ask}
process.on('message', async (message) => {
  if (message === 'stop') return process.disconnect()
  const order = await ask('order: ' + message.id + ', ' + message.plan)
  process.send({ order, policy: await ask('policy: ' + order) })
})
`

/** Names a wrong policy until the run was recorded. */
async function startModel() {
  const state = { isRecording: true, asked: [] as string[], url: '' }
  const say = (content: string): string => {
    if (content.startsWith('plan')) return state.isRecording ? 'look it up' : 'call them'
    if (content.startsWith('order')) return '40 days old'
    if (content.startsWith('policy')) return state.isRecording ? '90 days' : '30 days'
    return content.includes('90 days') ? 'APPROVED' : 'DENIED'
  }
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      const { messages } = JSON.parse(body) as { messages: { content: string }[] }
      const { content = '' } = messages[0] ?? {}
      state.asked.push(content)
      const choices = [{ index: 0, message: { role: 'assistant', content: say(content) } }]
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ object: 'chat.completion', model: 'm', choices }))
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return state
}

async function recordTree(way: string, ...options: string[]) {
  const model = await startModel()
  const files = { 'agent.mjs': agent, 'sub-agent.mjs': subAgent, 'forked.mjs': forked }
  const workspace = await folderWith(files)
  const env = { MODEL: model.url }
  const recorded = await workspace.retake(['record', ...options, 'agent.mjs', way], { env })
  expect(recorded.stdout).toBe('APPROVED\n')
  Object.assign(model, { isRecording: false, asked: [] })
  return { model, workspace, env }
}

async function openForks(workspace: Workspace) {
  const [file = ''] = await tapesOf(workspace)
  const tape = openTape(file)
  const { signal } = new AbortController()
  const process = await readProcesses(tape, {}, signal)
  const steps = searchedSteps(process)
  const payload = (content: string) => ({
    object: 'chat.completion',
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content } }],
  })
  const forks = await ProcessForks.open({
    tape,
    process,
    steps,
    oracle: await makeOracle('exit:0'),
    pool: new LocalForkPool(2, runFork),
    stored: new StoredForks(tape.path, tape.run.id, 'processes'),
    answers: { '2:2': { payload: payload('30 days') } },
    seed: 1,
    timeoutMs: 120_000,
    signal,
  })
  onTestFinished(() => forks.close())
  const fork = (...pinned: string[]) =>
    forks.fork(
      {
        pinned: steps.flatMap(({ label }, index) => (pinned.includes(label) ? [index] : [])),
        mode: 'free',
        ambient: [],
      },
      0,
    )
  return { process, labels: steps.map(({ label }) => label), fork, forks }
}

test.each(['spawn', 'fork', 'sync'])(
  'steps of a recorded process (%s) are pinned, given and live like those of the run',
  async (way) => {
    if (way === 'sync') soakOnly()
    const { model, workspace } = await recordTree(way, '--children')
    const { labels, fork, forks } = await openForks(workspace)
    expect(labels).toEqual(['1', '2:1', '2:2', '3'])
    // The recorded answers, checked when the processes were read, took no request.
    expect(model.asked).toEqual([])

    const all = await fork('1', '2:1', '2:2', '3')
    expect(all.outcome).toBe('fail')
    expect(all.values).toEqual(forks.recorded)
    expect(model.asked).toEqual([])

    const given = await fork('1', '2:1')
    expect(given.outcome).toBe('pass')
    expect(given.values[2]).not.toBe(forks.recorded[2])
    expect(model.asked).toEqual(['decide: {"order":"40 days old","policy":"30 days"}\n'])

    model.asked = []
    const pinned = await fork('2:2')
    expect(pinned.outcome).toBe('fail')
    // The input of the process is that of the fork, not the recorded one.
    expect(model.asked).toEqual([
      'plan: which order?',
      'order: 1182, call them',
      expect.stringContaining('90 days'),
    ])
    expect(forks.undefinedBy).toEqual({})
  },
)

test('a process that was not recorded, or does something else now, is one step', async () => {
  const { workspace, env, model } = await recordTree('spawn')
  const [file = ''] = await tapesOf(workspace)
  const { signal } = new AbortController()
  const alone = await readProcesses(openTape(file), {}, signal)
  expect(searchedSteps(alone).map(({ label }) => label)).toEqual(['1', '2', '3'])
  expect(alone.opaque).toEqual([])

  model.isRecording = true
  await workspace.retake(['record', '--children', 'agent.mjs', 'spawn'], { env })
  const [, second = ''] = await tapesOf(workspace)
  await writeFile(join(workspace.folder, 'sub-agent.mjs'), subAgent.replace('policy: ', 'rule: '))
  const changed = await readProcesses(openTape(second), {}, signal)
  expect(searchedSteps(changed).map(({ label }) => label)).toEqual(['1', '2', '3'])
  expect(changed.opaque[0]).toContain('its replay differs')
})

test('blame names the step of the process, and the answer that was given inside it', async () => {
  soakOnly()
  const { workspace, env } = await recordTree('spawn', '--children')
  const { stdout, stderr, code } = await workspace.retake(['blame', 'last', '--yes', '--json'], {
    env,
    ...PATIENT,
  })
  expect(stderr).toContain('4 steps')
  const { findings, steps, causes } = JSON.parse(stdout) as FindingsFile
  expect(findings.causes.map((cause) => cause.steps)).toEqual([['2:2']])
  expect(causes[0]?.values[0]).toMatchObject({
    bad: { text: '90 days' },
    good: [{ text: '30 days' }],
  })
  expect(steps[2]).toMatchObject({ process: 'node sub-agent.mjs 1182' })
  expect(steps[2]?.did).toBe('step 2 of sub-agent.mjs: the model said "90 days"')
  expect(code).toBe(3)
})
