import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { TASK_VARIABLE } from '@retake/engine'
import { openTape } from '@retake/tape/node'
import { startLoopbackServer } from './measure/start-loopback-server.mjs'
import { quantile } from './measure/statistics.mjs'
import { withTemporaryFolder } from './measure/temporary-folder.mjs'

const LATENCY_MS = 40
const agent = join(import.meta.dirname, 'measure/model-agent.mjs')
const preload = import.meta.resolve('@retake/engine/preload')

/**
 * How long a run takes again, compared with how long it took: models, networks
 * and timers are not waited for.
 *
 * @param {{ quick: boolean }} options
 * @returns {Promise<import('./measure/row.mjs').Row[]>}
 */
export async function measure({ quick }) {
  const steps = quick ? 10 : 50
  const replays = quick ? 2 : 15
  return withTemporaryFolder(async (folder) => {
    const tape = join(folder, 'run.tape')
    const server = await startLoopbackServer()
    const args = [`${server.url}/slow?ms=${LATENCY_MS}`, String(steps)]
    const recorded = await runAgent(args, {
      mode: 'record',
      id: 'bench',
      name: 'bench',
      tape,
      entry: agent,
      args,
    })
    await server.stop()
    const recordedMs = recordedTime(tape)
    const times = { lines: [], whole: [] }
    for (let replay = 0; replay < replays; replay++) {
      const report = join(folder, `report-${replay}.json`)
      const task = { mode: 'replay', tape, observe: false, pace: 'full', report }
      const { stdout, linesMs } = await runAgent(args, task)
      const { wallMs, divergences } = JSON.parse(readFileSync(report, 'utf8'))
      if (divergences.length > 0 || stdout !== recorded.stdout) throw new Error('replay diverged')
      times.lines.push(linesMs)
      times.whole.push(wallMs)
    }
    const [linesMs, wholeMs] = [quantile(times.lines, 0.25), quantile(times.whole, 0.25)]
    const method = `lower quartile of ${replays} replays in processes of their own, outputs equal`
    return [
      {
        name: `replay time / recorded time, ${steps} steps of ${LATENCY_MS} ms`,
        ratio: linesMs / recordedMs,
        gate: { max: 0.02 },
        method: `${method}; from the first line printed to the last, ${linesMs.toFixed(0)} ms against ${recordedMs.toFixed(0)} ms`,
      },
      {
        name: 'the same with loading the agent and ending it',
        ratio: wholeMs / recordedMs,
        method: `wallMs of the replay report: from the opened tape to exit, ${wholeMs.toFixed(0)} ms`,
      },
    ]
  })
}

/** Runs the agent as the command line does. */
async function runAgent(args, task) {
  const env = { ...process.env, [TASK_VARIABLE]: JSON.stringify({ ...task, flagCount: 1 }) }
  const child = spawn(process.execPath, [`--import=${preload}`, agent, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let stdout = ''
  const arrivals = []
  child.stdout.on('data', (chunk) => {
    stdout += chunk
    arrivals.push(performance.now())
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`the agent ended with ${code} (${task.mode})`)
  return { stdout, linesMs: arrivals.at(-1) - arrivals[0] }
}

/** From the first line the agent printed to the last. */
function recordedTime(path) {
  const outputs = [...openTape(path).events()].filter(({ type }) => type === 'output')
  return outputs.at(-1).at - outputs[0].at
}
