/**
 * A controller in a process of its own, driven by messages.
 *
 *     fork('timeline-process.mjs', [tape, JSON.stringify({ keyframes, memoryBytes })])
 *
 * Message `{ id, method, args, abortAfterMs }` calls a method of the timeline, a value
 * read with `method: 'position'`; `throw` and `exit` end the process in those ways.
 */
import { Timeline } from '@retake/engine/inspect'
import { openTape } from '@retake/tape/node'
import { spawnProbe } from '../../packages/runner/dist/debug/probe-agent.js'
import { viewRun } from '../../packages/runner/dist/runs/view-run.js'

const [path = '', limits = '{}'] = process.argv.slice(2)
const tape = openTape(path)
const timeline = new Timeline({
  tape,
  steps: viewRun(tape).recordedSteps,
  spawn: () => spawnProbe(tape),
  ...JSON.parse(limits),
})

async function call({ method, args = [], abortAfterMs }) {
  if (method === 'throw')
    setImmediate(() => {
      throw new Error('the controller failed')
    })
  if (method === 'exit') process.exit(0)
  const given =
    abortAfterMs === undefined ? args : [...args, { signal: AbortSignal.timeout(abortAfterMs) }]
  const found = timeline[method]
  return typeof found === 'function' ? found.apply(timeline, given) : found
}

process.on('message', async (message) => {
  const answer = await call(message).then(
    (result) => ({ result }),
    ({ name, code, message: text }) => ({ error: { name, code, message: text } }),
  )
  process.send?.({ id: message.id, ...answer })
})
process.on('disconnect', () => process.exit())
process.send?.('ready')
