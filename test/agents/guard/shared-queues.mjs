/**
 * Queues that a program shares among its tools, and that are busy when a tool uses them. Prints for
 * each what a tool got that reads a file outside of its scope, as JSON. Usage: `shared-queues.mjs <folder>`.
 */
import { AsyncResource } from 'node:async_hooks'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { guard } from '@retake/guard'

const require = createRequire(import.meta.url)
const { default: PQueue } = require('p-queue')
const fastq = require('fastq')
const async = require('async')
const DataLoader = require('dataloader')
const { default: pLimit } = await import('p-limit')

const [, , folder] = process.argv
const secret = join(folder, 'secret.txt')
fs.mkdirSync(join(folder, 'work'))
fs.writeFileSync(secret, 'TOP SECRET')
const inside = join(folder, 'work/inside.txt')
fs.writeFileSync(inside, 'inside')
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** Each runs a function once the task before it is over. */
const limit = pLimit(1)
const queue = new PQueue({ concurrency: 1 })
const fast = fastq.promise(async (work) => work(), 1)
const asyncQueue = async.queue(async (work) => work(), 1)
const loader = new DataLoader((works) => Promise.all(works.map(async (work) => work())), {
  cache: false,
  batchScheduleFn: (run) => setTimeout(run, 20),
})
const queues = {
  'p-limit': (work) => limit(work),
  'p-queue': (work) => queue.add(work),
  fastq: (work) => fast.push(work),
  'async.queue': (work) => asyncQueue.pushAsync(work),
  dataloader: (work) => loader.load(work),
}

const policy = { name: 'inside', files: { read: [join(folder, 'work')], write: [] } }
const run = guard({ name: 'queues', policy, dir: join(folder, 'tapes'), durability: 'memory' })
const results = {}
for (const [name, enqueue] of Object.entries(queues)) {
  // Not a path: it would be refused before the tool starts.
  const open = ({ which }) => fs.readFileSync(which === 'secret' ? secret : inside, 'utf8')
  const read = (args) => enqueue(() => open(args))
  const readBound = (args) => enqueue(AsyncResource.bind(() => open(args)))
  run.tool(name, read)
  const effect = join(folder, `effect of ${name}`)
  run.tool(`${name}, write`, () => enqueue(() => fs.writeFileSync(effect, 'x')))
  run.tool(`${name}, bound`, readBound)
  const attempt = async (tool, which) => {
    void enqueue(() => pause(50)).catch(() => {})
    const { status, output, facts } = await run.call(tool, { which })
    const codes = facts.blocked?.map((each) => each.split(':')[0]) ?? []
    return [status, output, ...codes].filter(Boolean).join(' ')
  }
  results[name] = {
    plain: await attempt(name, 'secret'),
    bound: await attempt(`${name}, bound`, 'secret'),
    benign: await attempt(`${name}, bound`, 'inside'),
    record: await attempt(`${name}, write`, ''),
    happened: fs.existsSync(effect),
  }
}
run.end()
process.stdout.write(`${JSON.stringify(results)}\n`, () => process.exit(0))
