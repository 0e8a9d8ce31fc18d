/**
 * Pays three people, one after another, under a limit of 50 cents; each payment is a line of
 * the file `wallet`. `node spending-workflow.mjs <folder>`, with KILL: where in the first
 * payment that is live it kills itself (`before` it, `after` it, or after its `result`).
 * Says on stdout what became of each.
 */
import { appendFileSync, writeSync } from 'node:fs'
import path from 'node:path'
import { outsideRuns } from '@retake/engine'
import { guard } from '@retake/guard'

const [dir] = process.argv.slice(2)

/** No tool may end the process it runs in; this is not the tool's doing. */
function kill(place) {
  if (process.env.KILL === place) outsideRuns(() => process.kill(process.pid, 'SIGKILL'))
}

const run = guard({
  name: 'payments',
  dir: path.join(dir, 'tapes'),
  resume: true,
  inDoubt: 'retry',
  limits: { costUsd: 0.5 },
})
run.tool(
  'pay',
  ({ to }) => {
    kill('before')
    appendFileSync(path.join(dir, 'wallet'), '10\n')
    kill('after')
    return to
  },
  { reserve: { costUsd: 0.1 } },
)
for (const to of ['Al', 'Bo', 'Cy']) {
  const { status, served, error } = await run.call('pay', { to })
  if (!served) kill('result')
  writeSync(1, `${JSON.stringify({ to, status, served, why: error?.why })}\n`)
}
