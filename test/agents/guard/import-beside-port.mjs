/**
 * Records and replays a run in which a module is loaded by a slow hook while a timer runs, in a
 * program with a worker that is listened to. Prints in which order both came each time.
 * Usage: `import-beside-port.mjs <folder>`.
 */
import { register } from 'node:module'
import { Worker } from 'node:worker_threads'
import { record, replay } from 'retake'

const SLOW = `export const load = async (url, context, next) => {
  if (url.includes('slow')) await new Promise((resolve) => setTimeout(resolve, 100))
  return next(url, context)
}`
register(`data:text/javascript,${encodeURIComponent(SLOW)}`)
new Worker('require("worker_threads").parentPort.on("message", () => {})', { eval: true }).on(
  'message',
  () => {},
)

const EMPTY = 'data:text/javascript,export {}'
let loads = 0
const agent = async () => {
  const order = []
  loads += 1
  await Promise.all([
    import(`data:text/javascript,export const slow = ${loads}`).then(() => order.push('import')),
    new Promise((resolve) => setTimeout(resolve, 5)).then(() => order.push('timer')),
  ])
  return order
}
// Hooks are registered, and their thread is known, before the run begins.
await import(EMPTY)

const { output: recorded, run } = await record({ name: 'loads', dir: process.argv[2] }, agent)
const { output: replayed } = await replay(run.path, agent)
console.log(JSON.stringify({ recorded, replayed }))
process.exit(0)
