import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTape } from '@retake/tape/node'
import { agentPath, makeWorkspace, type Workspace } from '../support/run-retake.mjs'
import { repetitions } from '../support/soak.js'

/**
 * An agent that only writes to files is killed at random moments, and resumed without any decision.
 * Afterwards its files must be those of a run that nobody killed: nothing lost, nothing twice.
 */
const kills = repetitions('RETAKE_WRITE_KILLS', { beforeMerge: 3, soak: 200 })
const cli = fileURLToPath(new URL('../../packages/cli/bin/retake.mjs', import.meta.url))
const agent = agentPath('resume/writes.mjs')

let workspace: Workspace
let wanted: Readonly<Record<string, string>>
/** How long the agent writes if nobody kills it. */
let writesMs: number

beforeAll(async () => {
  workspace = await makeWorkspace()
  const folder = join(workspace.folder, 'whole')
  const whole = await runAndKill(['record', agent], folder, Infinity)
  if (whole.signal !== null) throw new Error('the run was killed')
  writesMs = whole.wroteMs
  wanted = filesIn(folder)
})
afterAll(() => workspace.remove())

const filesIn = (folder: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    readdirSync(folder)
      .filter((name) => name.endsWith('.txt'))
      .map((name) => [name, readFileSync(join(folder, name), 'utf8')]),
  )

interface Ended {
  readonly signal: NodeJS.Signals | null
  readonly code: number | null
  readonly stderr: string
  readonly wroteMs: number
}

/** Kills the command and everything that it has started, `afterMs` after the agent has begun to write. */
async function runAndKill(
  args: readonly string[],
  folder: string,
  afterMs: number,
): Promise<Ended> {
  mkdirSync(folder, { recursive: true })
  const running = spawn(process.execPath, [cli, ...args], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  let stderr = ''
  let begunMs = Infinity
  running.stderr.on('data', (data) => (stderr += String(data)))
  running.stdout.on('data', () => {
    if (begunMs !== Infinity) return
    begunMs = performance.now()
    if (afterMs !== Infinity)
      setTimeout(() => {
        if (running.exitCode === null) process.kill(-Number(running.pid), 'SIGKILL')
      }, afterMs)
  })
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) =>
    running.on('close', (...end) => resolve(end)),
  )
  return { code, signal, stderr, wroteMs: performance.now() - begunMs }
}

async function killAndResume(kill: number) {
  const folder = join(workspace.folder, `kill-${kill}`)
  const first = await runAndKill(['record', agent], folder, Math.random() * writesMs)
  const runs = join(folder, '.retake/runs')
  const tape = join(runs, String(readdirSync(runs).find((name) => name.endsWith('.tape'))))
  const settled: string[] = []
  let isKilled = first.signal !== null && openTape(tape).status === 'truncated'
  // Some resumed runs are killed, too: they write from the middle of the tape.
  for (let again = 0; isKilled; again++) {
    const afterMs = kill % 3 === 0 && again === 0 ? Math.random() * writesMs : Infinity
    const resumed = await runAndKill(['resume', tape, '--json'], folder, afterMs)
    // It may have come to its end just before the kill.
    isKilled = resumed.signal !== null && openTape(tape).status === 'truncated'
    if (resumed.signal !== null && !isKilled) break
    if (isKilled) continue
    if (resumed.code !== 0) return { settled, failure: `kill ${kill}: ${resumed.stderr}` }
    const report = JSON.parse(resumed.stderr.trim().split('\n').at(-1) ?? '{}') as {
      settled?: { decision: string; what: string }[]
    }
    for (const { decision, what } of report.settled ?? [])
      settled.push(`${decision} ${what.split(' ')[0]}`)
  }
  const files = filesIn(folder)
  const differing = Object.keys(wanted).filter((name) => files[name] !== wanted[name])
  const failure = differing.length > 0 && `kill ${kill}: ${differing.join(', ')} differ`
  return { settled, ...(failure && { failure }) }
}

test(
  'the files of an agent that was killed while it wrote are complete, with nothing twice',
  { timeout: 60_000 + kills * 20_000 },
  async () => {
    const failures: string[] = []
    const counts = new Map<string, number>()
    for (let kill = 1; kill <= kills; kill++) {
      const { settled, failure } = await killAndResume(kill)
      if (failure !== undefined) failures.push(failure)
      for (const each of settled) counts.set(each, (counts.get(each) ?? 0) + 1)
    }
    const settled = [...counts].map(([what, count]) => `${what} ${count}`)
    process.stdout.write(`${kills} kills; settled: ${settled.join(', ') || 'nothing'}\n`)
    expect(failures, failures.slice(0, 5).join('\n')).toEqual([])
  },
)
