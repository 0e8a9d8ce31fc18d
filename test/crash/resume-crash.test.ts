import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readRun } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { startEffectProvider } from '../support/effect-provider.mjs'
import { firstDifference } from '../support/first-difference.mjs'
import { agentPath, makeWorkspace, type Workspace } from '../support/run-retake.mjs'
import { repetitions } from '../support/soak.js'

/**
 * An agent is killed at a random moment, with everything that was started for
 * it, and resumed. It must come to the same end, and nothing that was answered
 * before the kill may be asked again: the provider counts.
 */
const kills = repetitions('RETAKE_RESUME_KILLS', { beforeMerge: 2, soak: 100 })
const cli = fileURLToPath(new URL('../../packages/cli/bin/retake.mjs', import.meta.url))
const agent = agentPath('resume/steps.mjs')

type Provider = Awaited<ReturnType<typeof startEffectProvider>>
let provider: Provider
let workspace: Workspace
/** What the agent prints when nobody kills it, and how many requests it makes. */
let wanted: string
let requests: number

beforeAll(async () => {
  provider = await startEffectProvider()
  workspace = await makeWorkspace()
  const whole = await workspace.retake(['record', agent], { env: { AGENT_BASE_URL: provider.url } })
  if (whole.code !== 0) throw new Error(`nothing was recorded: ${whole.stderr}`)
  wanted = whole.stdout
  requests = provider.counts.size
})
afterAll(async () => {
  await provider.close()
  await workspace.remove()
})

/**
 * Records until a random moment around a random request; answers with the tape. The first
 * kill comes before the provider answers, so that at least one request is in doubt.
 */
async function recordAndKill(kill: number, folder: string): Promise<string> {
  mkdirSync(folder)
  const running = spawn(process.execPath, [cli, 'record', '--dir', folder, agent], {
    cwd: folder,
    env: { ...process.env, AGENT_BASE_URL: provider.url },
    stdio: 'ignore',
    detached: true,
  })
  const victim = Math.floor(Math.random() * requests)
  const delayMs = kill === 1 ? 0 : Math.random() * 12
  let seen = 0
  const killAll = (): void => {
    if (running.exitCode === null) process.kill(-Number(running.pid), 'SIGKILL')
  }
  provider.onRequest(() => {
    if (seen++ !== victim) return
    if (delayMs === 0) killAll()
    else setTimeout(killAll, delayMs)
  })
  await new Promise((resolve) => running.on('exit', resolve))
  provider.onRequest(undefined)
  // What was on the wire when it died still arrives.
  await new Promise((resolve) => setTimeout(resolve, 40))
  const tape = readdirSync(folder).find((name) => name.endsWith('.tape'))
  return join(folder, String(tape))
}

/** A kill can come too late, when the run has just come to its end: then there is nothing to resume, and it is tried again. */
async function recordUntilKilled(kill: number): Promise<string> {
  for (let attempt = 1; attempt <= 5; attempt++) {
    provider.counts.clear()
    const tape = await recordAndKill(kill, join(workspace.folder, `kill-${kill}-${attempt}`))
    if (openTape(tape).status === 'truncated') return tape
  }
  throw new Error('five kills in a row came too late')
}

/** What the provider was asked in steps whose answer is on the tape in full. */
function acknowledged(tape: string): string[] {
  return readRun(openTape(tape)).recordedSteps.flatMap((step) => {
    if (step.state !== 'done') return []
    const request = step.exchange()?.request
    if (request) return [`${new URL(request.url).pathname} ${request.text}`]
    const call = step.call()
    if (call === undefined) return []
    const { id } = call.args as { id: string }
    return [`/effect tool ${id}`]
  })
}

async function killAndResume(kill: number): Promise<{ failure?: string; settled: number }> {
  const tape = await recordUntilKilled(kill)
  const done = acknowledged(tape)
  const resumed = await workspace.retake(['resume', tape, '--in-doubt', 'retry', '--json'])
  const report = jsonOf(resumed.stderr)
  const settled = (report?.['settled'] as unknown[] | undefined)?.length ?? 0
  const twice = [...provider.counts].filter(([, count]) => count > 1).map(([key]) => key)
  const replayed = await workspace.retake(['replay', tape])
  const complaints = [
    resumed.code === 0 ? undefined : `resume ended with ${resumed.code}\n${resumed.stderr}`,
    firstDifference(wanted, resumed.stdout),
    ...done.filter((key) => provider.counts.get(key) !== 1).map((key) => `asked again: ${key}`),
    twice.length <= settled ? undefined : `repeated without being reported: ${twice.join(', ')}`,
    provider.counts.size === requests ? undefined : `${provider.counts.size} requests made`,
    replayed.code === 0 ? undefined : `replay ended with ${replayed.code}\n${replayed.stderr}`,
    firstDifference(wanted, replayed.stdout),
  ].filter((complaint) => complaint !== undefined)
  return complaints.length === 0
    ? { settled }
    : { settled, failure: `kill ${kill}: ${complaints.join('\n')}` }
}

const jsonOf = (text: string): Record<string, unknown> | undefined => {
  const line = text.trim().split('\n').at(-1) ?? ''
  return line.startsWith('{') ? (JSON.parse(line) as Record<string, unknown>) : undefined
}

test(
  `a run killed at ${kills} random points resumes to the same end without repeating an answered request`,
  { timeout: 600_000 + kills * 20_000 },
  async () => {
    const failures: string[] = []
    let [settled, doubtful] = [0, 0]
    for (let kill = 1; kill <= kills; kill++) {
      const result = await killAndResume(kill)
      if (result.failure !== undefined) failures.push(result.failure)
      settled += result.settled
      if (result.settled > 0) doubtful += 1
    }
    process.stdout.write(
      `${kills - failures.length} of ${kills} killed runs resumed to the same end; ` +
        `${settled} steps in doubt in ${doubtful} of them, all reported\n`,
    )
    expect(failures, failures.slice(0, 3).join('\n\n')).toEqual([])
    // Kills that never hit a request in flight would prove little.
    expect(doubtful).toBeGreaterThan(kills / 10)
  },
)
