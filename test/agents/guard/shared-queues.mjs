/**
 * Queues that a program shares among its tools, and that are busy when a tool uses them. Prints the
 * names of those whose tasks stayed within the scopes of their calls, and the others with what
 * happened, as JSON. The queues are loaded before or after Retake. Usage:
 * `shared-queues.mjs <folder> <before|after> [<package folder>]`.
 */
import fs from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { callbackify, promisify } from 'node:util'

const [, , folder, when, packages] = process.argv
const loadRetake = () => import('@retake/guard')
if (when === 'after') await loadRetake()
const require = createRequire(packages ? join(packages, 'index.js') : import.meta.url)
const load = async (name) => {
  try {
    return (await import(pathToFileURL(require.resolve(name)))).default
  } catch (error) {
    if (error.code !== 'MODULE_NOT_FOUND') throw error
    return undefined
  }
}
/** Modules that are compiled to CommonJS have their default export below `default`. */
const classOf = (exported) => exported?.default ?? exported

const secret = join(folder, 'secret.txt')
fs.mkdirSync(join(folder, 'work'))
fs.writeFileSync(secret, 'TOP SECRET')
const inside = join(folder, 'work/inside.txt')
fs.writeFileSync(inside, 'inside')
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

const own = createRequire(import.meta.url)
const OLD_LIMIT = '../../../node_modules/jest-runner/node_modules/p-limit/index.js'

/** Each runs a function once the task before it is over. */
const queues = {}
const add = (name, make, library) => {
  if (library) queues[name] = make(library)
}
const perform = async (work) => work()
const performAll = (works) => Promise.all(works.map(perform))
add('p-limit', (pLimit) => pLimit(1), await load(require.resolve('p-limit')))
add('p-limit 3', (pLimit) => pLimit(1), own(OLD_LIMIT))
add(
  'p-queue',
  viaMethod('add'),
  new (classOf(await load(require.resolve('p-queue'))))({ concurrency: 1 }),
)
const fastq = await load(require.resolve('fastq'))
add('fastq', viaMethod('push'), fastq.promise(perform, 1))
const callBack = callbackify(perform)
const queueWithCallbacks = fastq(callBack, 1)
const push = promisify(queueWithCallbacks.push.bind(queueWithCallbacks))
add('fastq, callbacks', () => push, queueWithCallbacks)
const async = await load(require.resolve('async'))
add('async.queue', viaMethod('pushAsync'), async.queue(perform, 1))
const prioritized = async.priorityQueue(perform, 1)
add('async.priorityQueue', (queue) => (work) => queue.pushAsync(work, 1), prioritized)
/** Its worker gets a list and answers once for all. */
const cargo = async.cargo(async (works) => {
  await Promise.all(works.map(async ({ work, settle }) => settle(await work())))
})
add(
  'async.cargo',
  (batches) => (work) =>
    new Promise((resolve, reject) =>
      batches.push({ work, settle: resolve }, (error) => error && reject(error)),
    ),
  cargo,
)
const DataLoader = await load(require.resolve('dataloader'))
const batchScheduleFn = (run) => setTimeout(() => run(), 20)
add('dataloader', viaMethod('load'), new DataLoader(performAll, { cache: false, batchScheduleFn }))
// Dispatched by the program, which is in no call.
const waiting = []
setInterval(() => waiting.splice(0).forEach((dispatch) => dispatch()), 10).unref()
const manual = { cache: false, batchScheduleFn: (run) => waiting.push(run) }
add('dataloader, by hand', viaMethod('load'), new DataLoader(performAll, manual))
add('bottleneck', limiting, await load('bottleneck'))
add('async-lock', locking, await load('async-lock'))
add('generic-pool', pooling, await load('generic-pool'))
add(
  'async-mutex',
  (Mutex) => viaMethod('runExclusive')(new Mutex()),
  (await load('async-mutex'))?.Mutex,
)

function viaMethod(name) {
  return (queue) => (work) => queue[name](work)
}
function limiting(Bottleneck) {
  return viaMethod('schedule')(new Bottleneck({ maxConcurrent: 1 }))
}
function locking(AsyncLock) {
  const lock = new AsyncLock()
  return (work) => lock.acquire('key', work)
}
function pooling(genericPool) {
  const factory = { create: async () => ({}), destroy: async () => {} }
  const pool = genericPool.createPool(factory, { max: 1 })
  return (work) => pool.use(perform.bind(undefined, work))
}

const { guard } = await loadRetake()
const policy = { name: 'inside', files: { read: [join(folder, 'work')], write: [] } }
const run = guard({ name: 'queues', policy, dir: join(folder, 'tapes'), durability: 'process' })
async function attempt([name, enqueue]) {
  // Not a path: it would be refused before the tool starts.
  const open = ({ which }) => fs.readFileSync(which === 'secret' ? secret : inside, 'utf8')
  const effect = join(folder, `effect of ${name}`)
  const write = () => fs.writeFileSync(effect, 'x')
  run.tool(name, (args) => enqueue(() => open(args)))
  run.tool(`${name}, write`, () => enqueue(write))
  run.tool(`${name}, late`, () => enqueue(write), { timeoutMs: 10 })
  run.tool(`${name}, slow`, () => enqueue(() => pause(30)))
  const busy = () => void enqueue(() => pause(50)).catch(() => {})
  const call = async (tool, args) => {
    busy()
    const { status, output, facts } = await run.call(tool, args)
    const codes = facts.blocked?.map((each) => each.split(':')[0]) ?? []
    return [status, output, ...codes].filter(Boolean).join(' ')
  }
  // A call, the program and another call in one queue.
  const together = [
    call(`${name}, slow`, {}),
    enqueue(() => fs.readFileSync(secret, 'utf8')).catch(({ code }) => code),
    call(name, { which: 'inside' }),
    call(name, { which: 'secret' }),
  ]
  const result = {
    outside: await call(name, { which: 'secret' }),
    inside: await call(name, { which: 'inside' }),
    write: await call(`${name}, write`, {}),
    late: await call(`${name}, late`, {}),
    together: await Promise.all(together),
  }
  await pause(100)
  return [name, { ...result, happened: fs.existsSync(effect) }]
}
const results = await Promise.all(Object.entries(queues).map(attempt))
const isBound = ([, { outside, inside, write, late, together, happened }]) =>
  outside === 'denied PATH_OUTSIDE_ROOT' &&
  inside === 'done inside' &&
  write === 'denied WRITE_NOT_ALLOWED' &&
  !late.startsWith('done') &&
  // The program itself has no scopes.
  together.join() === 'done,TOP SECRET,done inside,denied PATH_OUTSIDE_ROOT' &&
  !happened

/** Pools of threads: scopes cannot follow, so their tasks are refused. */
const pools = {}
const piscina = await load('piscina')
if (piscina) {
  const filename = join(folder, 'thread.cjs')
  fs.writeFileSync(filename, 'module.exports = (file) => require("fs").readFileSync(file, "utf8")')
  const threads = new piscina.Piscina({ filename, maxThreads: 1 })
  pools.piscina = () => threads.run(secret)
}
const workerpool = await load('workerpool')
if (workerpool) {
  const threads = workerpool.pool({ maxWorkers: 1, workerType: 'thread' })
  pools.workerpool = () => threads.exec((text) => text, ['from a thread'])
}
const threaded = {}
for (const [name, perform] of Object.entries(pools)) {
  await perform()
  run.tool(name, perform)
  const { status, error } = await run.call(name, {})
  threaded[name] = `${status} ${error?.code}`
}

const bound = results.filter(isBound).map(([name]) => name)
const escaped = Object.fromEntries(results.filter((each) => !isBound(each)))
run.end()
// A record never claims that something was blocked that happened.
for (const { write, happened } of Object.values(escaped))
  if (happened && write.includes('denied')) throw new Error(`recorded as ${write}, but it happened`)
process.stdout.write(`${JSON.stringify({ bound, escaped, threaded })}\n`, () => process.exit(0))
