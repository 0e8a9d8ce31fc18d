import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { Timeline } from '@retake/engine/inspect'
import { openTape } from '@retake/tape/node'
import { spawnProbe } from '../packages/runner/dist/debug/probe-agent.js'
import { replayAgent } from '../packages/runner/dist/agent/replay-agent.js'
import { viewRun } from '../packages/runner/dist/runs/view-run.js'
import { seededRandom } from './measure/random.mjs'
import { startLoopbackServer } from './measure/start-loopback-server.mjs'
import { median, quantile } from './measure/statistics.mjs'
import { withTemporaryFolder } from './measure/temporary-folder.mjs'

const KEYFRAMES = 8
const MEMORY_BYTES = 2 ** 30
const agent = join(import.meta.dirname, 'measure/long-agent.mjs')
const cli = join(import.meta.dirname, '../packages/cli/bin/retake.mjs')

/**
 * What it costs to get to any step of a long run and stop at the line it woke,
 * against replaying the whole run, in turns.
 *
 * @param {{ quick: boolean }} options
 * @returns {Promise<import('./measure/row.mjs').Row[]>}
 */
export function measure({ quick }) {
  const steps = quick ? 120 : 1000
  const jumps = quick ? 4 : 30
  return withTemporaryFolder(async (folder) => {
    const tape = openTape(await recordRun(folder, steps))
    const recorded = viewRun(tape).recordedSteps
    const timeline = new Timeline({
      tape,
      steps: recorded,
      spawn: () => spawnProbe(tape),
      keyframes: KEYFRAMES,
      memoryBytes: MEMORY_BYTES,
    })
    const random = seededRandom(7)
    const times = { full: [], jump: [], back: [] }
    const seen = { bytes: 0, parked: [] }
    try {
      for (let round = 0; round < jumps; round++) {
        await timeline.warmedUp()
        const { residentBytes, parked } = await timeline.status()
        seen.bytes = Math.max(seen.bytes, residentBytes)
        seen.parked.push(parked.length)
        times.full.push(await timed(() => replayWhole(tape)))
        const step = 1 + Math.floor(random() * recorded.length)
        times.jump.push(await timed(() => stopAt(timeline, step)))
        if (round % 3 !== 0) continue
        await timeline.warmedUp()
        times.back.push(await timed(() => timeline.back()))
      }
    } finally {
      await timeline.close()
    }
    return rowsOf(times, seen, recorded.length)
  })
}

async function recordRun(folder, steps) {
  const server = await startLoopbackServer()
  execFileSync(process.execPath, [cli, 'record', agent, `${server.url}/json`, String(steps)], {
    cwd: folder,
    stdio: 'ignore',
  })
  await server.stop()
  const runs = join(folder, '.retake/runs')
  return join(
    runs,
    readdirSync(runs).find((name) => name.endsWith('.tape')),
  )
}

/** As `retake replay` does it, without the start of the command line itself. */
async function replayWhole(tape) {
  const { divergences } = await replayAgent(tape, { stdio: 'ignore' })
  if (divergences.length > 0) throw new Error('replay diverged')
}

async function stopAt(timeline, step) {
  const { kind, moment, location } = await timeline.jump(step)
  const isThere = kind === 'stop' && moment.label === String(step)
  if (!isThere || !location.file.endsWith('long-agent.mjs'))
    throw new Error(`jumped to ${kind} ${moment?.label} instead of step ${step}`)
}

async function timed(work) {
  const started = performance.now()
  await work()
  return performance.now() - started
}

function rowsOf({ full, jump, back }, { bytes, parked }, steps) {
  const fullMs = median(full)
  const ms = (number) => `${number.toFixed(0)} ms`
  const keyframes = `${Math.min(...parked)} to ${Math.max(...parked)} keyframes of ${KEYFRAMES}`
  return [
    {
      name: `jump to a random step of ${steps} / full replay, p50`,
      ratio: median(jump) / fullMs,
      gate: { max: 0.2 },
      method: `p50 of ${jump.length} jumps, keyframes warm, in turns with full replays; ${ms(median(jump))} against ${ms(fullMs)}; ${keyframes}`,
    },
    {
      name: 'the same, p95',
      ratio: quantile(jump, 0.95) / fullMs,
      method: ms(quantile(jump, 0.95)),
    },
    {
      name: 'one step back / full replay, p50',
      ratio: median(back) / fullMs,
      method: `p50 of ${back.length}, keyframes warm; ${ms(median(back))}`,
    },
    {
      name: 'memory of all processes / limit of 1 GiB',
      ratio: bytes / MEMORY_BYTES,
      gate: { max: 1 },
      method: `largest sum of resident memory seen, ${(bytes / 2 ** 20).toFixed(0)} MiB; shared pages count for each process`,
    },
  ]
}
