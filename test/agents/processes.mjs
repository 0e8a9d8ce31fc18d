// An agent that runs other programs, in every way Node offers.
import { exec, execFile, execFileSync, execSync, fork, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

let line = 0
const log = (...words) => console.log(line++, Date.now(), ...words)
const ended = (child) => once(child, 'close')

/** Prints the lines of a child as they come, then how it ended. */
async function follow(name, child) {
  child.stdout?.on('data', (data) => log(name, 'out', data.toString().trim()))
  child.stderr?.on('data', (data) => log(name, 'err', data.toString().trim()))
  log(name, 'ended', ...(await ended(child)))
}

const slowly = 'for i in 1 2 3; do echo $i $$; sleep 0.01; done'
await follow('spawn', spawn('sh', ['-c', slowly]))
await Promise.all(
  ['left', 'right', 'middle'].map((name) => follow(name, spawn('sh', ['-c', slowly]))),
)

const { stdout } = await promisify(exec)('echo pid $$; echo über ☃')
log('exec', stdout.trim())
log('execFile', (await promisify(execFile)('sh', ['-c', 'date +%N; pwd | wc -c'])).stdout.trim())
log('execFileSync', execFileSync('sh', ['-c', 'echo $$'], { encoding: 'utf8' }).trim())
log('execSync', execSync('cat', { input: `given ${Math.random()}` }).toString())

const sorter = spawn('sort')
for (const word of ['pear', 'apple', crypto.randomUUID()]) sorter.stdin.write(`${word}\n`)
sorter.stdin.end()
await follow('sort', sorter)

const failed = spawnSync('sh', ['-c', 'echo out; echo wrong >&2; exit 3'], { encoding: 'utf8' })
log('failed', failed.status, failed.stdout.trim(), failed.stderr.trim())
await promisify(execFile)('sh', ['-c', 'echo half; exit 7']).catch((error) =>
  log(
    'execFile failed',
    error.constructor.name,
    error.code,
    error.stdout.trim(),
    error.message.length,
  ),
)
try {
  execFileSync('sh', ['-c', 'exit 9'], { stdio: 'pipe' })
} catch (error) {
  log('sync failed', error.status, error.signal, error.message)
}

const missing = spawn('no-such-program')
const [error] = await once(missing, 'error').catch((reason) => [reason])
log('missing', error.code, error.syscall, error.path, missing.stdin.destroyed)

// Its stdin is left open: execa waits until all pipes are closed.
const unread = spawn('sh', ['-c', 'exit 2'])
await Promise.all([once(unread.stdin, 'close'), ended(unread)])
log('unread', unread.exitCode, unread.stdin.destroyed)

const [numbers, extra] = ['seq 1 5', 'read word <&3; echo "got $word" >&4'].map((script, index) =>
  spawn('sh', ['-c', script], {
    stdio: index === 0 ? 'pipe' : ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'],
  }),
)
await follow('counted', spawn('wc', ['-l'], { stdio: [numbers.stdout, 'pipe', 'inherit'] }))
extra.stdio[3].write(`${Math.random()}\n`)
extra.stdio[4].on('data', (data) => log('extra pipe', data.toString().trim()))
await follow('extra', extra)

const sleeper = spawn('sleep', ['5'])
setTimeout(() => log('kill', sleeper.kill('SIGTERM')), 5 + Math.random() * 10)
await follow('sleeper', sleeper)
await promisify(exec)('sleep 5', { timeout: 20 }).catch((reason) =>
  log('timeout', reason.killed, reason.signal),
)
const controller = new AbortController()
const aborted = spawn('sleep', ['5'], { signal: controller.signal })
setTimeout(() => controller.abort(), 5)
const [abortError] = await once(aborted, 'error').catch((reason) => [reason])
log('aborted', abortError.name, abortError.code)

const child = fork(fileURLToPath(new URL('parts/ipc-child.mjs', import.meta.url)))
child.on('message', (message) => {
  log('message', JSON.stringify(message))
  if (message.answer === 2) child.disconnect()
  else child.send({ question: message.answer + 1 })
})
log('fork ended', ...(await once(child, 'exit')))

// It waits for its parent, which does not wait for it.
const left = fork(fileURLToPath(new URL('parts/ipc-child.mjs', import.meta.url)), {
  stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
})
await once(left, 'message')
left.unref()
left.channel.refCounted()
left.channel.unrefCounted()
left.channel.unref()
