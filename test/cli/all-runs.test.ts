import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { run } from '../support/run-retake.mjs'
import { isSoak, repetitions } from '../support/soak.js'
import { makeProject } from './runner-project.js'
import { cli } from './workspace.js'

/** Twenty ways in which the state of this agent can be wrong; none of them is in a variable. */
const agent = `
import { defineAgent, tool } from 'retake'
export const order = defineAgent('agent.mjs#order', async (seed) => {
const mixed = (index) => ((seed * 7919 + index * 104729 + ((seed * (index + 3)) % 97) * 31) % 1009) % 100
const fetchCart = tool('cart', async () => ({
  total: mixed(1), tax: mixed(2), items: Array.from({ length: mixed(3) % 7 }, (_, at) => at),
  customer: { tier: ['gold', 'silver', 'basic'][mixed(4) % 3], age: mixed(5), country: ['CH', 'DE', 'FR'][mixed(6) % 3] },
}))
const cart = await fetchCart()
const flags = { express: mixed(7) < 40, gift: mixed(8) < 30, insured: mixed(9) < 50 }
const limits = [mixed(10), mixed(11), mixed(12), mixed(13)]
const notify = tool('notify', async () => ({ sent: mixed(14) % 5, retries: mixed(15) % 4 }))
const sent = await notify()
let stock = limits[0] - cart.items.length
console.log(JSON.stringify([
  cart.total > 60, cart.total < 30, cart.tax > 70, cart.tax < 25, cart.items.length === 0,
  cart.items.length > 4, cart.customer.tier === 'gold', cart.customer.tier === 'basic',
  cart.customer.age > 65, cart.customer.age < 25, cart.customer.country === 'CH',
  cart.customer.country === 'FR', flags.express, flags.gift, flags.insured, limits[1] > 60,
  limits[2] < 30, limits[3] > 75, sent.sent === 0, sent.retries === 3,
].map((isWrong) => !isWrong)))
if (flags.gift) throw new Error('no gifts today')
})
`

/** A server that has answered as many requests as there are runs. */
const server = `
import { record } from 'retake'
import { order } from './agent.mjs'
for (let seed = 0; seed < Number(process.argv[2]); seed++)
  await record({ name: 'order', input: seed, durability: 'process' }, order).catch(() => {})
`

/** The variable that each bug is about. */
const ABOUT = [
  'cart.total',
  'cart.total',
  'cart.tax',
  'cart.tax',
  'cart.items.length',
  'cart.items.length',
  'cart.customer.tier',
  'cart.customer.tier',
  'cart.customer.age',
  'cart.customer.age',
  'cart.customer.country',
  'cart.customer.country',
  'flags.express',
  'flags.gift',
  'flags.insured',
  'limits[1]',
  'limits[2]',
  'limits[3]',
  'sent.sent',
  'sent.retries',
]

interface Separated {
  readonly failed: number
  readonly passed: number
  readonly predicates: readonly {
    readonly text: string
    readonly site: string
    readonly adjustedP: number
    readonly alike: readonly string[]
  }[]
}

const RUNS = repetitions('RETAKE_SEPARATE_RUNS', { beforeMerge: 8, soak: 1000 })

test(
  `the state that separates failed from passed runs is found in ${RUNS} real runs`,
  { timeout: 7_200_000 },
  async () => {
    const folder = await makeProject({ 'agent.mjs': agent, 'server.mjs': server })
    const retake = (...args: string[]) =>
      run(process.execPath, [cli, ...args], folder, { timeoutMs: 3_600_000 })
    const served = await run(process.execPath, ['server.mjs', String(RUNS)], folder, {
      timeoutMs: 600_000,
    })
    expect(served.code, served.stderr).toBe(0)

    const bugs = isSoak ? ABOUT.keys() : [13]
    const ranks: number[] = []
    const rows: string[] = []
    for (const bug of bugs) {
      const startedMs = performance.now()
      const { stdout, stderr } = await retake(
        'failures',
        '--variables',
        '--oracle',
        `json:${bug}=true`,
        '--json',
      )
      expect(stdout, stderr).not.toBe('')
      const { failed, passed, predicates } = JSON.parse(stdout) as Separated
      const about = ABOUT[bug] ?? ''
      const rank = predicates.findIndex(({ text, alike }) =>
        [text, ...alike].some((each) => each.includes(`${about} `)),
      )
      ranks.push(rank + 1)
      const [first] = predicates
      const seconds = ((performance.now() - startedMs) / 1000).toFixed(0)
      rows.push(
        `| ${about} | ${failed} of ${failed + passed} | ${rank + 1} | \`${first?.text}\`${first?.alike.length ? ` and ${first.alike.length} alike` : ''} | ${seconds} |`,
      )
    }
    if (isSoak) process.stdout.write(`${rows.join('\n')}\n`)
    expect(ranks, rows.join('\n')).toEqual(ranks.map(() => 1))

    const byEnd = JSON.parse(
      (await retake('failures', '--variables', '--json')).stdout,
    ) as Separated
    expect(byEnd.failed + byEnd.passed).toBe(RUNS)
    expect(byEnd.predicates[0]?.text).toBe('flags.gift === true')

    const line = 1 + agent.split('\n').findIndex((text) => text.includes('let stock'))
    const asked = await retake(
      'debug',
      'eval',
      '--all',
      '--at',
      `agent.mjs:${line}`,
      'flags.gift',
      '--by',
      'outcome',
    )
    expect(asked.code, asked.stderr).toBe(0)
    expect(asked.stdout).toMatch(new RegExp(`${byEnd.failed}\\s+0\\s+0\\s+true`))
    expect(asked.stdout).toMatch(new RegExp(`0\\s+${byEnd.passed}\\s+0\\s+false`))
    const since = await retake(
      'debug',
      'eval',
      '--all',
      '--since',
      '2099-01-01',
      '--at',
      `agent.mjs:${line}`,
      'seed',
    )
    expect(since.stderr).toContain('NO_RUNS')
  },
)

test('mistakes are errors, and runs that cannot be replayed are listed', async () => {
  const folder = await makeProject({ 'agent.mjs': "console.log('x')\n" })
  const retake = (...args: string[]) => run(process.execPath, [cli, ...args], folder)
  expect((await retake('failures', '--variables')).stderr).toContain('NO_RUNS')
  await retake('record', 'agent.mjs')
  expect((await retake('failures', '--variables')).stderr).toContain('NOTHING_TO_SEPARATE')
  expect(await retake('debug', 'eval', '--all', '--at', 'agent.mjs:1')).toMatchObject({ code: 2 })
  expect(
    await retake('debug', 'eval', 'last', '--by', 'outcome', '--at', 'agent.mjs:1', '1'),
  ).toMatchObject({ code: 2 })
  expect(
    await retake('debug', 'eval', '--all', '--since', 'soon', '--at', 'agent.mjs:1', '1'),
  ).toMatchObject({ code: 2 })
  await writeFile(join(folder, '.retake/runs/broken.tape'), 'not a tape')
  const evaluated = await retake('debug', 'eval', '--all', '--at', 'agent.mjs:1', '1 + 1', '--json')
  expect(JSON.parse(evaluated.stdout)).toMatchObject({
    runs: [{ values: [{ text: '2' }] }],
    skipped: [{ run: 'broken' }],
  })
  await writeFile(join(folder, 'agent.mjs'), "console.log('y')\n")
  const evaluate = () => retake('debug', 'eval', '--all', '--at', 'agent.mjs:1', '1', '--json')
  expect((await evaluate()).stdout).not.toContain("today's code differs")
  await rm(join(folder, '.retake/sources'), { recursive: true })
  expect((await evaluate()).stdout).toContain("today's code differs")
})
