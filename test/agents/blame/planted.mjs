/**
 * Records small agents that fail for a known reason, blames each through forks of
 * the recorded run, and prints what was found, one line of JSON an agent. Runs in
 * a process of its own, because recording patches globals.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { blameRun, causeIndexes } from '@retake/lab'
import { forkPinned, record, replay, tool } from '@retake/engine'
import { searchableSteps } from '@retake/engine/plans'
import { openTape } from '@retake/tape/node'

/** Steps with a fault (1) or without (0), as in a recorded run, and what a free one comes to. */
const AGENTS = {
  'root and echo': {
    recorded: [0, 1, 0, 1, 0, 0, 0],
    free: (step, before) => (step === 3 ? before[1] : 0),
    fails: (v) => v[1] || v[3],
  },
  'both halves of a pair': {
    recorded: [0, 0, 0, 1, 1, 0, 0],
    fails: (v) => v[3] && v[4],
  },
  'root, echo and a pair that comes too late': {
    recorded: [1, 1, 0, 1, 1, 0, 0],
    free: (step, before) => (step === 1 ? before[0] : 0),
    fails: (v) => v[0] || v[1] || (v[3] && v[4]),
  },
  'back-up': { recorded: [0, 0, 1, 0, 0, 0, 1, 0], fails: (v) => v[2] || v[6] },
  'decoys that look bad': {
    recorded: [1, 1, 0, 1, 1, 1, 0, 1, 1],
    fails: (v) => v[5],
  },
  'pre-emption': {
    recorded: [0, 1, 0, 0, 0, 0],
    free: (step, before) => (step === 3 ? 1 - before[1] : 0),
    fails: (v) => v[1] || v[3],
  },
  'cascade after a pair': {
    recorded: [0, 1, 0, 1, 1, 1, 1, 1, 1, 1],
    free: (step, before) => (step === 4 ? before[1] && before[3] : step > 4 ? before[step - 1] : 0),
    fails: (v) => v[9],
  },
  // Nothing is to blame in these.
  'control: a coin decides': { recorded: [0, 1, 0, 1, 0], coin: 0.4, fails: () => 0 },
  'control: fails always': { recorded: [0, 1, 0, 1, 0], fails: () => 1 },
}

const folder = mkdtempSync(join(tmpdir(), 'retake-planted-'))
try {
  for (const [name, planted] of Object.entries(AGENTS))
    console.log(JSON.stringify({ name, ...(await blamed(name, planted)) }))
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function blamed(name, { recorded, free = () => 0, fails, coin }) {
  /** Each step is a tool that is told what the steps before it came to. */
  const agent = async () => {
    const values = []
    for (const [step, fault] of recorded.entries()) {
      const work = tool(`step_${step}`, async () => ({ fault }))
      values.push((await work({ step, before: [...values] })).fault)
    }
    return { fails: Boolean(fails(values)), values }
  }
  const simulator = ({ request }) => {
    const { step, before } = Array.isArray(request) ? request[0] : request
    return { payload: { fault: free(step, before) } }
  }
  const { run } = await record({ name, dir: folder }, agent)
  const labels = searchableSteps(openTape(run.path)).map(({ label }) => label)
  let forced = 0
  const source = {
    stepCount: labels.length,
    recorded,
    ambient: [],
    async fork({ pinned: kept, mode }, draw) {
      const options = {
        pinned: kept.map((step) => labels[step]),
        mode,
        seed: draw,
        simulator,
        folder,
      }
      const result =
        kept.length === labels.length
          ? await replay(run.path, agent)
          : await forkPinned(run.path, agent, options)
      const output = 'output' in result ? result.output : result
      forced += result.pinned?.forced.length ?? 0
      const isFail = coin === undefined ? output.fails : chance(kept, mode, draw) < coin
      return { outcome: isFail ? 'fail' : 'pass', values: output.values }
    },
  }
  const found = await blameRun(source, { maxForks: 2000, seed: 1 })
  const withRole = (role) => found.steps.flatMap((step, i) => (step.role === role ? [i] : []))
  return {
    verdict: found.verdict,
    mode: found.mode,
    causes: causeIndexes(found),
    echoes: withRole('echo'),
    necessary: found.steps.flatMap(({ isNecessary }, i) => (isNecessary ? [i] : [])),
    sufficient: found.steps.flatMap(({ isSufficient }, i) => (isSufficient ? [i] : [])),
    repair: found.repair?.steps.map((label) => Number(label) - 1) ?? [],
    forks: found.forks.asked,
    forced,
  }
}

/** From 0 up to 1, the same for the same fork. */
function chance(kept, mode, draw) {
  let state = 2166136261
  for (const byte of Buffer.from(`${kept} ${mode} ${draw}`))
    state = Math.imul(state ^ byte, 16777619)
  state ^= state >>> 15
  state = Math.imul(state, 0x85ebca6b)
  state ^= state >>> 13
  return ((Math.imul(state, 0xc2b2ae35) ^ (state >>> 16)) >>> 0) / 2 ** 32
}
