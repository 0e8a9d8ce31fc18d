/**
 * Twelve guarded steps whose tools insert rows into a database. Kills itself, or is
 * killed, anywhere; started again it resumes. `node guard-workflow.mjs <folder>`, with
 *
 * - EFFECTS: JSON with `connection` and the name of the `workflow` in the table
 * - KILLS: JSON list of `<place> <label>`: where it kills itself, once each, however often
 *   it is started. Places: `before-intent`, `key` (in the middle of deciding),
 *   `before-effect`, `after-effect`, `after-result` and, after all, `before-end`
 *
 * Says on stdout what it saw, a line each.
 */
import { existsSync, writeFileSync, writeSync } from 'node:fs'
import path from 'node:path'
import { outsideRuns } from '@retake/engine'
import { guard } from '@retake/guard'
import { connectTo } from '../support/postgres.mjs'

const [dir] = process.argv.slice(2)
const { connection, workflow } = JSON.parse(process.env.EFFECTS)
const kills = new Set(JSON.parse(process.env.KILLS ?? '[]'))

/** No tool may end the process it runs in; this is not the tool's doing. */
function kill(place, label) {
  const spot = `${place} ${label}`
  if (!kills.has(spot)) return
  outsideRuns(() => {
    const mark = path.join(dir, `${spot}.killed`)
    if (existsSync(mark)) return
    writeFileSync(mark, '')
    process.kill(process.pid, 'SIGKILL')
  })
}

const say = (line) => writeSync(1, `${JSON.stringify(line)}\n`)

const database = await connectTo(connection)

/** `once`: the table takes a second row with the same key for the same. */
async function insert(label, key, { once = false } = {}) {
  kill('before-effect', label)
  await database.query(
    `insert into effects (workflow, label, key, once_key) values ($1, $2, $3, $4)
     on conflict do nothing`,
    [workflow, label, key, once ? `${workflow} ${key}` : null],
  )
  kill('after-effect', label)
}

const run = guard({ name: 'workflow', dir, resume: true })
run.tool('plain', async ({ label }, { idempotencyKey }) => {
  await insert(label, idempotencyKey)
  return { made: label }
})
run.tool(
  'idempotent',
  async ({ label }, { idempotencyKey }) => {
    await insert(label, idempotencyKey, { once: true })
    return { made: label }
  },
  { idempotent: true },
)
run.tool(
  'keyed',
  async ({ label }, { idempotencyKey }) => {
    await insert(label, idempotencyKey, { once: true })
    return { made: label }
  },
  {
    idempotencyKey: ({ label }) => {
      kill('key', label)
      return `key of ${label}`
    },
  },
)
run.tool(
  'outer',
  async ({ label }, { idempotencyKey }) => {
    await called('plain', `${label}, first inside`)
    await called('keyed', `${label}, second inside`)
    await insert(label, idempotencyKey, { once: true })
    return { made: label }
  },
  { idempotent: true },
)

async function called(tool, label) {
  const { status, served, error, output } = await run.call(tool, { label })
  if (status === 'done' && output.made !== label) throw new Error(`${label} got ${output.made}`)
  if (status !== 'done' && error?.code !== 'CALL_IN_DOUBT') throw error
  say({ tool, label, status, served })
}

const steps = [
  ['plain', 'first'],
  ['plain', 'same'],
  ['plain', 'same'],
  ['idempotent', 'fourth'],
  ['keyed', 'fifth'],
  ['plain', 'sixth'],
  ['outer', 'seventh'],
  ['plain', 'same'],
  ['keyed', 'ninth'],
  ['outer', 'tenth'],
  ['idempotent', 'eleventh'],
  ['plain', 'twelfth'],
]
say({ ready: true })
for (const [tool, label] of steps) {
  kill('before-intent', label)
  const { status, served, error } = await run.call(tool, { label })
  // It is on the tape, and nobody has seen it yet.
  kill('after-result', label)
  if (status !== 'done' && error?.code !== 'CALL_IN_DOUBT') throw error
  say({ tool, label, status, served })
}
kill('before-end', 'all')
const { inDoubt } = run.end() ?? { inDoubt: [] }
say({ inDoubt: inDoubt.map(({ tool, args }) => ({ tool, label: args.label })) })
await database.end()
