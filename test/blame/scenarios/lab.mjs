import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { agentPath, makeWorkspace } from '../../support/run-retake.mjs'
import { LabModel } from './model.mjs'

const GOOD_RULES = '{"vat":0.2}'
/** Later than the recorded run, and earlier than its forks. Doubled while the run is slower. */
const OPENS_AFTER_MS = 2000
const READY = /REPORT READY/
const clock = {
  opens: true,
  args: ['--oracle', `stdout:${READY}`],
  isFailure: ({ stdout }) => !READY.test(stdout),
}

const STRICT = { PARCEL_MODE: 'strict' }
const LENIENT = { PARCEL_MODE: 'lenient' }

/** Files, programs and timing of a scenario, by its letter in the table. */
const SETUPS = {
  a1: clock,
  a2: clock,
  a3: clock,
  m: { args: ['--oracle', 'exit:0'], isFailure: ({ code }) => code === 1 },
  b1: { args: ['--oracle', 'json:total=1440'] },
  "b1'": { agent: 'b1', putBack: true, args: ['--oracle', 'json:total=1440'] },
  b2: { args: ['--oracle', 'json:total=1440', '--free', `read_rules=json:${GOOD_RULES}`] },
  c1: { args: ['--oracle', 'exit:0'] },
  c2: { args: ['--oracle', 'exit:0'] },
  d: { args: ['--oracle', 'stdout:/OUT OF STOCK/', '--free', 'get_stock=set:units=0'] },
  p: { args: ['--oracle', 'stdout:/OUT OF STOCK/', '--free', 'get_stock=set:units=0'] },
  e: { agent: 'and', args: ['--oracle', 'json:total=100'] },
  f: { agent: 'or', args: ['--oracle', 'json:total=100'] },
  "f'": { agent: 'or', chance: 0.3, args: ['--oracle', 'json:total=100'] },
  g: {
    agent: 'd',
    args: ['--oracle', 'flaky.mjs', '--free', 'get_stock=set:units=0', '--seed', '1'],
  },
  h: { agent: 'd', args: ['--oracle', 'stdout:/IN STOCK/'] },
  i: { agent: 'one', chance: 0.3, args: ['--oracle', 'exit:0'] },
  k1: { args: ['--oracle', 'stdout:/APPROVED/'] },
  k2: { args: ['--oracle', 'stdout:/APPROVED/'] },
  // The tool only reads: with another id no recording has its answer.
  l: { args: ['--oracle', 'stdout:/REFUND 249/', '--live-tools=get_order'] },
  n: { args: ['--oracle', 'exit:0'] },
  o: { agent: 'b2', sibling: true, args: ['--oracle', 'json:total=1440'] },
  q: { args: ['--oracle', 'stdout:/REFUND 249/'] },
  r: { args: ['--oracle', 'stdout:/SOLVED/'] },
  v1: { recordEnv: STRICT, args: ['--oracle', 'exit:0', '--env', 'PARCEL_MODE=lenient'] },
  v2: { agent: 'v1', recordEnv: STRICT, args: ['--oracle', 'exit:0'] },
  v3: { agent: 'v1', recordEnv: STRICT, blameEnv: LENIENT, args: ['--oracle', 'exit:0'] },
  "v3'": { agent: 'v1', recordEnv: STRICT, blameEnv: STRICT, args: ['--oracle', 'exit:0'] },
  v4: { recordEnv: STRICT, args: ['--oracle', 'exit:0', '--env', 'PARCEL_MODE=lenient'] },
  "v4'": { agent: 'v4', recordEnv: STRICT, args: ['--oracle', 'exit:0'] },
  v5: { recordEnv: STRICT, args: ['--oracle', 'exit:0', '--env', 'PARCEL_MODE=lenient'] },
  w1: { args: ['--oracle', 'stdout:/TOTAL 14.9/'] },
  w2: { args: ['--oracle', 'stdout:/IN STOCK/'] },
  w3: { args: ['--oracle', 'stdout:/IN STOCK/'] },
  w4: { args: ['--oracle', 'stdout:/IN TIME/'] },
  w5: { args: ['--oracle', 'stdout:/TOTAL 10/'] },
  x1: { args: ['--oracle', 'stdout:/REFUND 20 /'] },
  x2: { args: ['--oracle', 'stdout:/REFUND 20 /'] },
  x3: { args: ['--oracle', 'stdout:/CASE CLOSED/'] },
  x4: { args: ['--oracle', 'stdout:/GRANTED/'] },
  y1: { args: ['--oracle', 'exit:0'] },
  y2: { args: ['--oracle', 'stdout:/LAST lamp/'] },
  y3: { args: ['--oracle', 'exit:0'] },
  y4: { args: ['--oracle', 'stdout:/TOTAL 4/'] },
}

export const LETTERS = Object.keys(SETUPS)

/** Fails one verdict in five by chance. */
const FLAKY = `
export default ({ stdout }) => /OUT OF STOCK/.test(stdout) !== Math.random() < 0.2
`

/**
 * Records the agent of a scenario while its model makes the mistake, then searches for the
 * cause with the built command line. Counts what reached the model and the bank meanwhile.
 */
export async function blameScenario(letter, { extra = [], seed = 1 } = {}) {
  const setup = SETUPS[letter]
  const { agent = letter, args, opens, putBack, sibling, isFailure = () => true } = setup
  const { recordEnv = {}, blameEnv = {} } = setup
  const model = await new LabModel(seed, setup).start()
  const workspace = await makeWorkspace()
  const env = { AGENT_BASE_URL: model.url }
  const record = (...more) =>
    workspace.retake(['record', agentPath('blame/scenarios.mjs'), agent, ...more], {
      env: { ...env, ...recordEnv },
    })
  try {
    await writeFile(join(workspace.folder, 'flaky.mjs'), FLAKY)
    const rules = join(workspace.folder, 'rules.json')
    if (sibling) {
      await writeFile(rules, GOOD_RULES)
      await record()
      await writeFile(rules, '{"vat":0.1}')
    }
    let opensAt = 0
    let waitMs = OPENS_AFTER_MS
    const recorded = await until(isFailure, () => {
      opensAt = Date.now() + waitMs
      waitMs *= 2
      return record(...(opens ? [`${opensAt}`] : []))
    })
    if (putBack) await writeFile(rules, GOOD_RULES)
    if (opens) await setTimeout(Math.max(0, opensAt - Date.now()))
    model.isRecording = false
    model.requests = 0
    model.refunds = 0
    const blamed = await workspace.retake(
      ['blame', 'last', ...args, ...extra, '--yes', '--jobs', '2', '--json'],
      { env: { ...env, ...blameEnv }, timeoutMs: 900_000 },
    )
    const { requests, refunds } = model
    return { recorded, blamed, requests, refunds, found: parsed(blamed.stdout) }
  } finally {
    model.close()
    await workspace.remove()
  }
}

/** An agent whose failure is chance is recorded until it fails. */
async function until(isFailure, record, tries = 40) {
  const recorded = await record()
  if (isFailure(recorded) || tries === 0) return recorded
  return until(isFailure, record, tries - 1)
}

function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Everything a search names: verdict, causes with their ambient inputs, echoes. */
export function summaryOf({ found, blamed }) {
  if (found?.findings === undefined) return { verdict: found?.verdict ?? blamed.stderr, echoes: [] }
  const { verdict, causes, steps, ambient, race, confidence, forks, why, repair } = found.findings
  const withRole = (role) => steps.flatMap((step) => (step.role === role ? [step.label] : []))
  return {
    verdict,
    ...(why && { why }),
    causes: causes.map((cause) => [
      ...cause.steps,
      ...(cause.ambient ?? []).map((index) => ambient[index]?.kind),
    ]),
    ways: causes.flatMap((cause) =>
      cause.steps.map((label) => steps.find((step) => step.label === label)?.intervention),
    ),
    echoes: withRole('echo'),
    unknown: withRole('unknown'),
    ...(race && { race }),
    ...(repair && { repair }),
    ambient,
    confidence,
    forks: forks.asked,
  }
}
