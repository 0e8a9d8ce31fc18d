import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openTape } from '@retake/tape/node'
import { modelAgent, runModelAgent } from './measure/run-model-agent.mjs'
import { startLoopbackServer } from './measure/start-loopback-server.mjs'
import { quantile } from './measure/statistics.mjs'
import { withTemporaryFolder } from './measure/temporary-folder.mjs'

const LATENCY_MS = 40

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
    const recorded = await runModelAgent(args, {
      mode: 'record',
      id: 'bench',
      name: 'bench',
      tape,
      entry: modelAgent,
      args,
    })
    await server.stop()
    const recordedMs = recordedTime(tape)
    const times = { lines: [], whole: [] }
    for (let replay = 0; replay < replays; replay++) {
      const report = join(folder, `report-${replay}.json`)
      const task = { mode: 'replay', tape, observe: false, pace: 'full', report }
      const { stdout, linesMs } = await runModelAgent(args, task)
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

/** From the first line the agent printed to the last. */
function recordedTime(path) {
  const outputs = [...openTape(path).events()].filter(({ type }) => type === 'output')
  return outputs.at(-1).at - outputs[0].at
}
