import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { planFork, planRerun, planResume } from '@retake/engine/plans'
import { openTape, TapeWriter } from '@retake/tape/node'
import { modelAgent, runModelAgent } from './measure/run-model-agent.mjs'
import { startLoopbackServer } from './measure/start-loopback-server.mjs'
import { quantile } from './measure/statistics.mjs'
import { withTemporaryFolder } from './measure/temporary-folder.mjs'

const LATENCY_MS = 40

/**
 * How long it takes until a run that goes on from its tape is live, compared with
 * how long it took to get there when it was recorded.
 *
 * @param {{ quick: boolean }} options
 * @returns {Promise<import('./measure/row.mjs').Row[]>}
 */
export async function measure({ quick }) {
  const steps = quick ? 10 : 50
  const served = steps - 5
  const rounds = quick ? 2 : 10
  return withTemporaryFolder(async (folder) => {
    const server = await startLoopbackServer()
    const args = [`${server.url}/slow?ms=${LATENCY_MS}`, String(steps)]
    const source = join(folder, 'bench.tape')
    await runModelAgent(args, {
      mode: 'record',
      id: 'bench',
      name: 'bench',
      tape: source,
      entry: modelAgent,
      args,
    })
    const tape = openTape(source)
    const requests = [...tape.events()].filter(({ type }) => type === 'request')
    const cut = requests[served].seq
    const recordedMs = tape.event(cut).at
    const times = { fork: [], resume: [], rerun: [] }
    for (let round = 0; round < rounds; round++) {
      const killed = cutTape(tape, cut, join(folder, `killed-${round}.tape`))
      times.fork.push(await run(args, folder, planFork(tape, { at: served + 1 })))
      times.resume.push(await run(args, folder, planResume(openTape(killed))))
      times.rerun.push(await run(args, folder, planRerun(tape)))
    }
    await server.stop()
    const row = (name, values, againstMs, max) => {
      const ms = quantile(values, 0.25)
      const method = `from the opened tape, lower quartile of ${rounds} processes: ${ms.toFixed(0)} ms against ${againstMs.toFixed(0)} ms recorded`
      return { name, ratio: ms / againstMs, ...(max && { gate: { max } }), method }
    }
    const whole = tape.event(tape.count - 1).at
    return [
      row(`fork at step ${served + 1}: time until live / recorded`, times.fork, recordedMs, 0.06),
      row(
        `resume after step ${served}: time until live / recorded`,
        times.resume,
        recordedMs,
        0.06,
      ),
      row(`rerun of ${steps} unchanged steps / recorded`, times.rerun, whole, 0.06),
    ]
  })
}

/** Milliseconds until the run was live, or over. */
async function run(args, folder, plan) {
  const report = join(folder, 'report.json')
  await runModelAgent(args, { mode: 'continue', plan, report })
  const { servedMs, divergences } = JSON.parse(readFileSync(report, 'utf8'))
  if (divergences.length > 0) throw new Error('the served part diverged')
  return servedMs
}

/** The tape as a kill before event `count` would have left it. */
function cutTape(tape, count, path) {
  const { type, format: _format, seq: _seq, at: _at, ...run } = tape.run
  const writer = TapeWriter.create(path, { type, ...run }, tape.details)
  for (const { seq, at: _time, ...event } of tape.events(1, count))
    writer.append(event, tape.body(seq))
  writer.close()
  return path
}
