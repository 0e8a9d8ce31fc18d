import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { planPinned, searchableSteps } from '@retake/engine/plans'
import { openTape } from '@retake/tape/node'
import { modelAgent, runModelAgent } from './measure/run-model-agent.mjs'
import { startLoopbackServer } from './measure/start-loopback-server.mjs'
import { quantile } from './measure/statistics.mjs'
import { withTemporaryFolder } from './measure/temporary-folder.mjs'

const LATENCY_MS = 40

/**
 * What a fork of blame costs: in time for each step that is asked again, and how
 * many of them two processes make in the time in which one makes one.
 *
 * @param {{ quick: boolean }} options
 * @returns {Promise<import('./measure/row.mjs').Row[]>}
 */
export async function measure({ quick }) {
  const steps = quick ? 10 : 50
  return withTemporaryFolder(async (folder) => {
    const server = await startLoopbackServer()
    const args = [`${server.url}/slow?ms=${LATENCY_MS}`, String(steps)]
    const source = join(folder, 'bench.tape')
    const recording = { mode: 'record', id: 'bench', name: 'bench', tape: source }
    await runModelAgent(args, { ...recording, entry: modelAgent, args })
    const tape = openTape(source)
    const labels = searchableSteps(tape).map(({ label }) => label)
    if (labels.length !== steps) throw new Error(`${labels.length} steps are searchable`)
    let count = 0
    /** Milliseconds of a whole fork whose last `tail` steps are free, as a command sees it. */
    const fork = async (tail) => {
      count += 1
      const pinned = labels.slice(0, steps - tail)
      const plan = planPinned(tape, { pinned, mode: 'free', seed: count, folder })
      const report = join(folder, `report-${count}.json`)
      const started = performance.now()
      await runModelAgent(args, { mode: 'continue', plan, report })
      const ms = performance.now() - started
      const { divergences, pinned: what } = JSON.parse(readFileSync(report, 'utf8'))
      if (divergences.length > 0) throw new Error('the served part diverged')
      if (what.live !== tail) throw new Error(`${what.live} steps were live, not ${tail}`)
      return ms
    }
    const rows = [...(await tailRows(fork, steps, quick)), ...(await poolRows(fork, steps, quick))]
    await server.stop()
    return rows
  })
}

async function tailRows(fork, steps, quick) {
  const rounds = quick ? 1 : 5
  const tails = [1, 0.2, 0.4, 0.6, 0.8, 1].map((part, index) =>
    index === 0 ? 1 : Math.round(part * steps),
  )
  const points = []
  for (const tail of tails) {
    const times = []
    for (let round = 0; round < rounds; round++) times.push(await fork(tail))
    points.push({ tail, ms: quantile(times, 0.5) })
  }
  const { perStep, fixed } = fitLine(points)
  const off = Math.max(...points.map(({ tail, ms }) => Math.abs(ms - fixed - perStep * tail)))
  const whole = points.at(-1).ms
  return [
    {
      name: 'blame: time for one more live step / latency of the model',
      ratio: perStep / LATENCY_MS,
      gate: { max: 1.3 },
      method: `line through forks with ${tails.join(', ')} of ${steps} steps free: ${fixed.toFixed(0)} ms and ${perStep.toFixed(1)} ms a live step`,
    },
    {
      name: 'blame: farthest from that line / fork of all steps',
      ratio: off / whole,
      gate: { max: 0.1 },
      method: `${off.toFixed(0)} of ${whole.toFixed(0)} ms, medians of ${rounds}`,
    },
    {
      name: 'blame: fork with one live step / fork with all live',
      ratio: points[0].ms / whole,
      method: `${points[0].ms.toFixed(0)} against ${whole.toFixed(0)} ms, process and all`,
    },
  ]
}

/** Least squares. */
function fitLine(points) {
  const mean = (pick) => points.reduce((sum, point) => sum + pick(point), 0) / points.length
  const tail = mean((point) => point.tail)
  const ms = mean((point) => point.ms)
  const perStep =
    mean((point) => (point.tail - tail) * (point.ms - ms)) /
    mean((point) => (point.tail - tail) ** 2)
  return { perStep, fixed: ms - perStep * tail }
}

async function poolRows(fork, steps, quick) {
  const forks = quick ? 4 : 24
  const tail = Math.round(steps / 5)
  const forksPerSecond = async (processes) => {
    let left = forks
    const started = performance.now()
    const work = async () => {
      while (left-- > 0) await fork(tail)
    }
    await Promise.all(Array.from({ length: processes }, work))
    return forks / ((performance.now() - started) / 1000)
  }
  const one = await forksPerSecond(1)
  const two = await forksPerSecond(2)
  return [
    {
      name: 'blame: forks a second of two processes / of one',
      ratio: two / one,
      gate: { min: 1.6 },
      method: `${two.toFixed(1)} against ${one.toFixed(1)} forks a second, ${tail} of ${steps} steps live, ${LATENCY_MS} ms each`,
    },
  ]
}
